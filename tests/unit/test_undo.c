/* Undoing what was done to files: after it, both trackers find the base again. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "probe/fingerprint.h"
#include "probe/sensors/sensors.h"
#include "probe/undo.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/json.h"
#include "tests/lib/deeds.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/minicell.h"
#include "tests/lib/tap.h"

static const struct sensor *const only_files[] = { &sensor_files, NULL };

/* What stands in the private places before the order. */
static void furnish(void)
{
	put("tmp/empty", "");
	put("tmp/kept", "content");
	make("tmp/folder");
	check(symlink("kept", "tmp/link") == 0, "symlink");
}

/* ---- deeds ---- */

static void create(void)
{
	put("tmp/new", "x");
	make("tmp/tree");
	make("tmp/tree/sub");
	put("tmp/tree/sub/leaf", "x");
	put("tmp/tree/\xff\n", "odd");
	put("home/project/new", "x");
	make("home/project/dir/more");
	put("home/project/dir/more/leaf", "x");
	check(mkfifo("tmp/fifo", 0600) == 0, "fifo");
}

static void change_base(void)
{
	put("home/project/file", "changed");
	check(chmod("home/project/dir/deep/x", 0600) == 0, "chmod");
	check(setxattr("home/project/dir/same", "user.a", "1", 1, 0) == 0, "setxattr");
}

static void change_base_folder(void)
{
	check(chmod("home/project/tree", 0700) == 0, "chmod");
	check(setxattr("home/project/dir", "user.a", "1", 1, 0) == 0, "setxattr");
	put("home/project/tree/three", "3");
}

static void delete_base(void)
{
	drop("home/project/gone");
	drop("home/project/dir/deep/x");
}

static void delete_tree(void)
{
	drop("home/project/tree/sub/two");
	drop("home/project/tree/sub");
	drop("home/project/tree/one");
	drop("home/project/tree");
}

static void make_tree_again(void)
{
	delete_tree();
	make("home/project/tree");
	put("home/project/tree/fresh", "fresh");
}

/* As it was but for one file: the folders hide those below them, and are no change. */
static void copy_tree(void)
{
	delete_tree();
	make("home/project/tree");
	make("home/project/tree/sub");
	put("home/project/tree/one", "1");
}

static void swap_kinds(void)
{
	drop("home/project/file");
	make("home/project/file");
	put("home/project/file/inside", "x");
	drop("home/project/flat/leaf");
	drop("home/project/flat");
	put("home/project/flat", "flat");
}

static void move_about(void)
{
	move("home/project/file", "home/project/gone");
	move("home/project/dir/same", "home/project/tree/same");
}

static void link_base(void)
{
	check(link("home/project/file", "home/project/second") == 0, "link");
}

/* What is written to the one would be in the other. */
static void link_over(void)
{
	drop("home/project/file");
	check(link("home/project/dir/same", "home/project/file") == 0, "link");
	drop("home/project/gone");
	check(link("home/project/tree/one", "home/project/gone") == 0, "link");
	check(chmod("home/project/gone", 0600) == 0, "chmod");
}

static void change_private(void)
{
	put("tmp/empty", "filled");
	check(chmod("tmp/kept", 0600) == 0, "chmod");
	check(chmod("tmp/folder", 0700) == 0, "chmod");
	check(setxattr("tmp/folder", "user.a", "1", 1, 0) == 0, "setxattr");
	drop("tmp/link");
	check(symlink("empty", "tmp/link") == 0, "symlink");
}

static void delete_private(void)
{
	drop("tmp/empty");
	drop("tmp/folder");
	drop("tmp/link");
}

static void lead_astray(void)
{
	drop("tmp/folder");
	check(symlink("/home/project", "tmp/folder") == 0, "symlink");
}

static void everything(void)
{
	create();
	change_base_folder();
	delete_base();
	swap_kinds();
	move("home/project/dir/same", "home/project/tree/same");
	change_private();
}

static const struct {
	const char *name;
	void (*act)(void);
} cases[] = {
	{ "what was created", create },
	{ "changed files of the tree below", change_base },
	{ "changed folders of the tree below", change_base_folder },
	{ "deleted files of the tree below", delete_base },
	{ "a deleted tree", delete_tree },
	{ "a tree that was made anew", make_tree_again },
	{ "a tree that was made anew, much as it was", copy_tree },
	{ "a file for a folder, and a folder for a file", swap_kinds },
	{ "renamed files", move_about },
	{ "a second name", link_base },
	{ "names for other files", link_over },
	{ "what changed in a private place", change_private },
	{ "what was deleted in a private place", delete_private },
	{ "a link in place of a folder", lead_astray },
	{ "all together", everything },
};

/* ---- the table ---- */

static bool is_leak(const struct delta *d)
{
	return d->kind == DELTA_LEAK;
}

static bool must(int r, const struct err *e)
{
	return !r || (tap_ok(false, "%s", e->text), false);
}

static struct fingerprint *begin(struct minicell *cell, bool watch)
{
	struct fingerprint *f = NULL;
	struct err e = ERR_NULL;
	minicell_make(cell, watch);
	minicell_do(furnish);
	int r = fingerprint_new(&cell->v, only_files, &f, &e);
	r = r ? r : fingerprint_look(f, DELTA_STOOD, NULL, NULL, &e);
	if (!must(r, &e))
		_exit(tap_done());
	return f;
}

static void end(struct fingerprint *f, struct minicell *cell)
{
	fingerprint_free(f);
	minicell_done(cell);
}

static bool has_leak(const struct delta_list *list)
{
	for (size_t i = 0; i < list->len; i++)
		if (is_leak(&list->at[i]))
			return true;
	return false;
}

static size_t not_undone(const struct delta_list *list)
{
	size_t n = 0;
	for (size_t i = 0; i < list->len; i++) {
		if (list->at[i].undone == DELTA_UNDONE || list->at[i].kind == DELTA_TOUCH)
			continue;
		printf("# %s %s: %s\n", list->at[i].what, list->at[i].key,
		       list->at[i].undone_why ? list->at[i].undone_why : "?");
		n++;
	}
	return n;
}

static void test_case(size_t n, bool watch)
{
	struct minicell cell;
	struct err e = ERR_NULL;
	struct fingerprint *f = begin(&cell, watch);
	cleanup(delta_list_done) struct delta_list deltas = DELTA_LIST_NULL;
	cleanup(delta_list_done) struct delta_list aside = DELTA_LIST_NULL;
	cleanup(delta_list_done) struct delta_list last = DELTA_LIST_NULL;
	cleanup(buf_done) struct buf seen = BUF_NULL;
	struct digest before = fingerprint_digest(f, "files");
	minicell_do(cases[n].act);
	int r = fingerprint_look(f, 0, &deltas, NULL, &e);
	r = r ? r : undo_all(f, &cell.v, is_leak, &deltas, &aside, &e);
	bool again = digest_eq(before, fingerprint_digest(f, "files"));
	r = r ? r : fingerprint_look_full(f, DELTA_STOOD, &last, &e);
	deeds_tell(&last, DELTA_LEAK, false, "", &seen);
	tap_ok(must(r, &e) && deltas.len && !not_undone(&deltas) && again && !has_leak(&aside) &&
		       !*seen.at,
	       "%s, by %s: %zu undone, left: %s%s", cases[n].name, watch ? "fanotify" : "scan",
	       deltas.len, seen.at, again ? "" : " (other digest)");
	end(f, &cell);
}

/* ---- while a process holds it ---- */

static void hold_and_change(void)
{
	memcpy(map("home/project/file"), "HELD", 4);
	put("tmp/ready", "");
	pause();
}

static void test_held(void)
{
	struct minicell cell;
	struct err e = ERR_NULL;
	struct fingerprint *f = begin(&cell, true);
	cleanup(delta_list_done) struct delta_list deltas = DELTA_LIST_NULL;
	cleanup(delta_list_done) struct delta_list aside = DELTA_LIST_NULL;
	struct digest base = fingerprint_digest(f, "files");
	char text[16] = "";
	pid_t holder = minicell_start(hold_and_change);
	while (access("/tmp/ready", F_OK))
		usleep(1000);
	int r = fingerprint_look(f, 0, &deltas, NULL, &e);
	r = r ? r : undo_all(f, &cell.v, is_leak, &deltas, &aside, &e);
	cleanup_close int fd = open("/home/project/file", O_RDONLY | O_CLOEXEC);
	tap_ok(must(r, &e) && !not_undone(&deltas) &&
		       digest_eq(base, fingerprint_digest(f, "files")) &&
		       read(fd, text, sizeof(text) - 1) == 4 && text_eq(text, "file"),
	       "a file that a process holds: %s", text);
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	end(f, &cell);
}

/* ---- what cannot be undone is left as it is ---- */

static void change_kept(void)
{
	put("tmp/kept", "another");
	put("tmp/new", "x");
}

static void test_kept_nowhere(void)
{
	struct minicell cell;
	struct err e = ERR_NULL;
	struct fingerprint *f = begin(&cell, true);
	cleanup(delta_list_done) struct delta_list deltas = DELTA_LIST_NULL;
	cleanup(delta_list_done) struct delta_list aside = DELTA_LIST_NULL;
	char text[16] = "";
	minicell_do(change_kept);
	int r = fingerprint_look(f, 0, &deltas, NULL, &e);
	r = r ? r : undo_all(f, &cell.v, is_leak, &deltas, &aside, &e);
	cleanup_close int fd = open("/tmp/kept", O_RDONLY | O_CLOEXEC);
	tap_ok(must(r, &e) && deltas.len == 2 && read(fd, text, sizeof(text) - 1) == 7 &&
		       text_eq(text, "another"),
	       "a content that was kept nowhere is left as it is: %s", text);
	for (size_t i = 0; i < deltas.len; i++) {
		bool kept = text_eq(deltas.at[i].key, "/tmp/kept");
		tap_ok(deltas.at[i].undone == (kept ? DELTA_NOT_UNDONE : DELTA_UNDONE) &&
			       (deltas.at[i].undone_why != NULL) == kept,
		       "%s: %s", deltas.at[i].key,
		       kept && deltas.at[i].undone_why ? deltas.at[i].undone_why : "undone");
	}
	end(f, &cell);
}

static void lead_out(void)
{
	lead_astray();
	make("tmp/tree");
	check(symlink("/home", "tmp/tree/out") == 0, "symlink");
}

/* What a process of the cell swaps in while we are at work leads nowhere. */
static void test_hostile(void)
{
	static const char *const ids[] = { "/tmp/folder/file", "/tmp/folder/dir/same",
					   "/tmp/tree/out/project/gone", "/elsewhere", "/tmp" };
	struct minicell cell;
	struct fingerprint *f = begin(&cell, true);
	minicell_do(lead_out);
	for (size_t i = 0; i < countof(ids); i++) {
		struct err e = ERR_NULL;
		const struct delta d = { .domain = "files",
					 .sensor = &sensor_files,
					 .id = (char *)ids[i],
					 .after = (char *)"{}" };
		int r = undo_one(&cell.v, &d, &e);
		tap_ok(r < 0 && e.text[0] && !access("/home/project/file", F_OK) &&
			       !access("/home/project/dir/same", F_OK) &&
			       !access("/home/project/gone", F_OK) && !access("/tmp/kept", F_OK),
		       "%s: %s", ids[i], e.text);
	}
	end(f, &cell);
}

static void test_other_domains(void)
{
	struct err e = ERR_NULL;
	const struct delta d = { .domain = "env", .sensor = &sensor_env };
	tap_ok(undo_one(&(struct vantage){ 0 }, &d, &e) == -ENOTSUP, "%s", e.text);
}

/* ---- faults ---- */

static void test_faults(void)
{
	bool handled = true;
	int n = 1;
	cJSON_InitHooks(&(struct cJSON_Hooks){ malloc, free });
	for (bool more = true; more && handled; n++) {
		struct minicell cell;
		struct err e = ERR_NULL;
		struct fingerprint *f = begin(&cell, true);
		struct delta_list deltas = DELTA_LIST_NULL;
		struct delta_list aside = DELTA_LIST_NULL;
		struct digest base = fingerprint_digest(f, "files");
		minicell_do(copy_tree);
		if (fingerprint_look(f, 0, &deltas, NULL, &e))
			abort();
		more = fault_walk_on(n);
		int r = undo_all(f, &cell.v, is_leak, &deltas, &aside, &e);
		more = fault_walk_hit() && more;
		bool told = r < 0 && e.text[0];
		for (size_t i = 0; i < deltas.len; i++)
			told |= deltas.at[i].undone == DELTA_NOT_UNDONE;
		handled = told || digest_eq(base, fingerprint_digest(f, "files"));
		delta_list_done(&deltas);
		delta_list_done(&aside);
		end(f, &cell);
	}
	tap_ok(handled && n > 10, "each of %d calls failed once", n - 2);
}

static int inside(void)
{
	deeds_base(MINICELL_BASE);
	for (size_t n = 0; n < countof(cases); n++) {
		test_case(n, true);
		test_case(n, false);
	}
	test_held();
	test_kept_nowhere();
	test_hostile();
	test_other_domains();
	test_faults();
	return tap_done();
}

int main(void)
{
	return minicell_enter(inside);
}
