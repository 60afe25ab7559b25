/* The files sensor under both trackers: the same deeds must leave the same leaks. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "probe/fingerprint.h"
#include "probe/sensor.h"
#include "probe/sensors/sensors.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "tests/lib/minicell.h"
#include "tests/lib/tap.h"

static void check(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "a deed failed: %s: %s\n", what, strerror(errno));
	_exit(1);
}

static void put_at(const char *path, int flags, const char *text)
{
	cleanup_close int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0644);
	check(fd >= 0 && fd_write_full(fd, text, strlen(text)) == 0, path);
}

static void put(const char *path, const char *text)
{
	put_at(path, O_CREAT | O_TRUNC, text);
}

static void add(const char *path, const char *text)
{
	put_at(path, O_APPEND, text);
}

static void make(const char *path)
{
	check(mkdir(path, 0755) == 0, path);
}

static void drop(const char *path)
{
	check(remove(path) == 0, path);
}

static void move(const char *from, const char *to)
{
	check(rename(from, to) == 0, from);
}

static char *map(const char *path)
{
	cleanup_close int fd = open(path, O_RDWR | O_CLOEXEC);
	char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	check(at != MAP_FAILED, path);
	return at;
}

/* ---- deeds ---- */

static void create(void)
{
	put("tmp/a", "one");
	put("tmp/b", "two");
	put("home/h", "three");
}

static void append(void)
{
	add("tmp/a", "+");
}

static void rewrite_in_disguise(void)
{
	struct stat st;
	check(stat("tmp/b", &st) == 0, "stat");
	put("tmp/b", "TWO");
	check(utimensat(AT_FDCWD, "tmp/b", (struct timespec[]){ st.st_atim, st.st_mtim }, 0) == 0,
	      "utimensat");
}

static void rewrite_equal(void)
{
	put("tmp/b", "TWO");
}

static void come_and_go(void)
{
	put("tmp/brief", "x");
	drop("tmp/brief");
	make("tmp/briefdir");
	put("tmp/briefdir/f", "x");
	drop("tmp/briefdir/f");
	drop("tmp/briefdir");
}

static void write_by_map(void)
{
	memcpy(map("tmp/b"), "map", 3);
}

static void rename_over(void)
{
	put("tmp/new", "new");
	move("tmp/new", "tmp/a");
}

static void make_tree(void)
{
	make("tmp/dir");
	make("tmp/dir/sub");
	put("tmp/dir/f", "f");
	put("tmp/dir/sub/g", "g");
}

static void rename_tree(void)
{
	move("tmp/dir", "tmp/moved");
	put("tmp/moved/late", "late");
}

static void swap_trees(void)
{
	make("tmp/other");
	put("tmp/other/o", "o");
	check(renameat2(AT_FDCWD, "tmp/moved", AT_FDCWD, "tmp/other", RENAME_EXCHANGE) == 0,
	      "exchange");
}

static void rename_to_and_fro(void)
{
	for (int i = 0; i < 3; i++) {
		move("tmp/other", "tmp/fro");
		put("tmp/fro/between", i ? "x" : "y");
		move("tmp/fro", "tmp/other");
	}
	move("tmp/other", "tmp/fro");
}

static void remove_tree(void)
{
	move("tmp/fro", "tmp/doomed");
	drop("tmp/doomed/sub/g");
	drop("tmp/doomed/sub");
	drop("tmp/doomed/f");
	drop("tmp/doomed/late");
	drop("tmp/doomed/between");
	drop("tmp/doomed");
}

static void change_mode(void)
{
	check(chmod("tmp/a", 0600) == 0, "chmod");
}

static void make_link(void)
{
	check(symlink("a", "tmp/link") == 0, "symlink");
}

static void swap_link(void)
{
	check(symlink("b\xff", "tmp/link2") == 0, "symlink");
	move("tmp/link2", "tmp/link");
}

static void make_hard_link(void)
{
	check(link("tmp/a", "tmp/hard") == 0, "link");
}

static void write_through_hard_link(void)
{
	add("tmp/hard", "through");
}

static void truncate_one(void)
{
	check(truncate("tmp/a", 1) == 0, "truncate");
}

static void allocate(void)
{
	cleanup_close int fd = open("tmp/a", O_WRONLY | O_CLOEXEC);
	check(fallocate(fd, 0, 0, 9000) == 0, "fallocate");
}

static void punch(void)
{
	put("tmp/hole", "0123456789");
	cleanup_close int fd = open("tmp/hole", O_WRONLY | O_CLOEXEC);
	check(ftruncate(fd, 1LL << 40) == 0, "a terabyte of hole");
}

static void set_xattr(void)
{
	check(setxattr("tmp/a", "user.mark", "1", 1, 0) == 0, "setxattr");
}

static void change_xattr(void)
{
	check(setxattr("tmp/a", "user.mark", "2", 1, 0) == 0, "setxattr");
}

static void link_nameless(void)
{
	cleanup_close int fd = open("tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0644);
	check(fd >= 0 && write(fd, "t", 1) == 1, "O_TMPFILE");
	char path[64];
	snprintf(path, sizeof(path), "proc/self/fd/%d", fd);
	check(linkat(AT_FDCWD, path, AT_FDCWD, "tmp/linked", AT_SYMLINK_FOLLOW) == 0, "linkat");
	check(write(fd, "u", 1) == 1, "write");
}

static void change_base(void)
{
	add("project/file", "more");
}

static void append_again(void)
{
	add("project/file", "!");
}

static void copy_up_only(void)
{
	cleanup_close int fd = open("project/dir/same", O_RDWR | O_CLOEXEC);
	check(fd >= 0, "open");
}

static void mode_of_base(void)
{
	check(chmod("project/dir/deep/x", 0755) == 0, "chmod");
}

static void restore_base(void)
{
	check(chmod("project/dir/deep/x", 0644) == 0, "chmod");
}

static void delete_base(void)
{
	drop("project/gone");
}

static void delete_base_tree(void)
{
	drop("project/tree/one");
	drop("project/tree/sub/two");
	drop("project/tree/sub");
	drop("project/tree");
}

static void make_it_again(void)
{
	make("project/tree");
	put("project/tree/fresh", "fresh");
}

static void file_to_folder(void)
{
	drop("project/file");
	make("project/file");
	put("project/file/inside", "inside");
}

static void folder_to_file(void)
{
	drop("project/flat/leaf");
	drop("project/flat");
	put("project/flat", "flat");
}

static void move_in_project(void)
{
	make("project/built");
	put("project/built/out", "out");
	move("project/built", "project/dist");
	move("project/dir/same", "project/dist/same");
}

static void quick_writes(void)
{
	make("tmp/q");
	make("tmp/q/r");
	make("tmp/q/r/s");
	put("tmp/q/r/s/t", "quick");
}

static void no_access(void)
{
	put("tmp/secret", "secret");
	make("tmp/closed");
	put("tmp/closed/in", "in");
	check(chmod("tmp/secret", 0) == 0 && chmod("tmp/closed", 0) == 0, "chmod");
}

static void special(void)
{
	check(mkfifo("tmp/fifo", 0644) == 0, "mkfifo");
	cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "tmp/socket" };
	check(bind(fd, (struct sockaddr *)&name, sizeof(name)) == 0, "bind");
}

static void strange_names(void)
{
	put("tmp/\xff\xfe", "bytes");
	put("tmp/new\nline", "newline");
	char name[256 + 4] = "tmp/";
	memset(name + 4, 'n', 255);
	put(name, "long");
}

/* 30 folders whose names are 200 bytes long: a path of 6000. */
static void deep(void)
{
	char name[201];
	memset(name, 'd', 200);
	name[200] = '\0';
	check(chdir("tmp") == 0, "chdir");
	for (int i = 0; i < 30; i++) {
		make(name);
		check(chdir(name) == 0, name);
	}
	put("bottom", "deep");
}

static void change_deep(void)
{
	char name[201];
	memset(name, 'd', 200);
	name[200] = '\0';
	check(chdir("tmp") == 0, "chdir");
	for (int i = 0; i < 30; i++)
		check(chdir(name) == 0, name);
	put("bottom", "deeper");
}

static void state(void)
{
	make("tmp/state");
	put("tmp/state/s", "s");
}

static void nothing(void)
{
	cleanup_close int fd = open("tmp/b", O_RDONLY | O_CLOEXEC);
	check(fd >= 0, "open");
}

static void own_dir(void)
{
	put("tmp/fumehood/ours", "ours");
}

static const struct step {
	const char *name;
	void (*deed)(void);
	const char *leaks; /* "what path" each, in the order of their lines; "+n": that many */
} steps[] = {
	{ "create", create, "created /home/h|created /tmp/a|created /tmp/b" },
	{ "nothing", nothing, "" },
	{ "what is ours", own_dir, "" },
	{ "append", append, "content /tmp/a" },
	{ "rewrite with the same size and time", rewrite_in_disguise, "content /tmp/b" },
	{ "rewrite with the same bytes", rewrite_equal, "" },
	{ "create and delete", come_and_go, "" },
	{ "write through a mapping", write_by_map, "content /tmp/b" },
	{ "rename over", rename_over, "content /tmp/a" },
	{ "mode", change_mode, "mode /tmp/a" },
	{ "a tree", make_tree,
	  "created /tmp/dir|created /tmp/dir/f|created /tmp/dir/sub|created /tmp/dir/sub/g" },
	{ "rename a tree", rename_tree,
	  "created /tmp/moved|created /tmp/moved/f|created /tmp/moved/late|created /tmp/moved/sub|"
	  "created /tmp/moved/sub/g|deleted /tmp/dir|deleted /tmp/dir/f|deleted /tmp/dir/sub|"
	  "deleted /tmp/dir/sub/g" },
	{ "exchange two trees", swap_trees,
	  "created /tmp/moved/o|created /tmp/other|created /tmp/other/f|created /tmp/other/late|"
	  "created /tmp/other/sub|created /tmp/other/sub/g|deleted /tmp/moved/f|"
	  "deleted /tmp/moved/late|deleted /tmp/moved/sub|deleted /tmp/moved/sub/g" },
	{ "rename to and fro", rename_to_and_fro,
	  "created /tmp/fro|created /tmp/fro/between|created /tmp/fro/f|created /tmp/fro/late|"
	  "created /tmp/fro/sub|created /tmp/fro/sub/g|deleted /tmp/other|deleted /tmp/other/f|"
	  "deleted /tmp/other/late|deleted /tmp/other/sub|deleted /tmp/other/sub/g" },
	{ "rename and remove a tree", remove_tree,
	  "deleted /tmp/fro|deleted /tmp/fro/between|deleted /tmp/fro/f|deleted /tmp/fro/late|"
	  "deleted /tmp/fro/sub|deleted /tmp/fro/sub/g" },
	{ "symlink", make_link, "created /tmp/link" },
	{ "symlink swap", swap_link, "target /tmp/link" },
	{ "hard link", make_hard_link, "created /tmp/hard" },
	{ "write through a hard link", write_through_hard_link, "content /tmp/a|content /tmp/hard" },
	{ "truncate", truncate_one, "content /tmp/a|content /tmp/hard" },
	{ "fallocate", allocate, "content /tmp/a|content /tmp/hard" },
	{ "a terabyte", punch, "created /tmp/hole" },
	{ "xattr", set_xattr, "xattrs /tmp/a|xattrs /tmp/hard" },
	{ "another xattr", change_xattr, "xattrs /tmp/a|xattrs /tmp/hard" },
	{ "O_TMPFILE", link_nameless, "created /tmp/linked" },
	{ "change a lower file", change_base, "content /project/file" },
	{ "change it again", append_again, "content /project/file" },
	{ "copy up only", copy_up_only, "" },
	{ "mode of a lower file", mode_of_base, "mode /project/dir/deep/x" },
	{ "mode restored", restore_base, "mode /project/dir/deep/x" },
	{ "delete a lower file", delete_base, "deleted /project/gone" },
	{ "delete a lower folder", delete_base_tree,
	  "deleted /project/tree|deleted /project/tree/one|deleted /project/tree/sub|"
	  "deleted /project/tree/sub/two" },
	{ "make it again", make_it_again, "created /project/tree|created /project/tree/fresh" },
	{ "a file becomes a folder", file_to_folder,
	  "created /project/file/inside|type /project/file" },
	{ "a folder becomes a file", folder_to_file, "deleted /project/flat/leaf|type /project/flat" },
	{ "rename in the project", move_in_project,
	  "created /project/dist|created /project/dist/out|created /project/dist/same|"
	  "deleted /project/dir/same" },
	{ "mkdir -p and quick writes", quick_writes,
	  "created /tmp/q|created /tmp/q/r|created /tmp/q/r/s|created /tmp/q/r/s/t" },
	{ "mode 000", no_access, "created /tmp/closed|created /tmp/closed/in|created /tmp/secret" },
	{ "fifo and socket", special, "created /tmp/fifo|created /tmp/socket" },
	{ "strange names", strange_names, "+3" },
	{ "deep", deep, "+31" },
	{ "change at the bottom", change_deep, "+1" },
	{ "state", state, "created /tmp/state|created /tmp/state/s" },
};

static void make_base(void)
{
	if (mkdir(MINICELL_BASE "/dir", 0755) < 0)
		return; /* made before */
	make(MINICELL_BASE "/dir/deep");
	make(MINICELL_BASE "/tree");
	make(MINICELL_BASE "/tree/sub");
	make(MINICELL_BASE "/flat");
	put(MINICELL_BASE "/file", "file");
	put(MINICELL_BASE "/gone", "gone");
	put(MINICELL_BASE "/dir/same", "same");
	put(MINICELL_BASE "/dir/deep/x", "x");
	put(MINICELL_BASE "/tree/one", "1");
	put(MINICELL_BASE "/tree/sub/two", "2");
	put(MINICELL_BASE "/flat/leaf", "leaf");
}

static const struct sensor *const only_files[] = { &sensor_files, NULL };

/* ---- what a look says, as text ---- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort(struct strv *lines)
{
	if (lines->len)
		qsort(lines->at, lines->len, sizeof(char *), by_text);
}

static void tell(const struct delta_list *deltas, bool whole, struct strv *ret)
{
	for (size_t i = 0; i < deltas->len; i++) {
		const struct delta *d = &deltas->at[i];
		if (d->kind == DELTA_TOUCH)
			continue;
		if (whole)
			strv_addf(ret, "%s %s %s %s -> %s", d->what, d->key, d->zone, d->before,
				  d->after);
		else
			strv_addf(ret, "%s %s", d->what, d->key);
	}
	sort(ret);
}

static bool is_expected(const struct strv *lines, const char *expected)
{
	if (expected[0] == '+')
		return lines->len == strtoul(expected + 1, NULL, 10);
	cleanup(buf_done) struct buf all = BUF_NULL;
	buf_puts(&all, "");
	for (size_t i = 0; i < lines->len; i++)
		buf_printf(&all, "%s%s", i ? "|" : "", lines->at[i]);
	return text_eq(all.at, expected);
}

static void show(const char *title, const struct strv *lines)
{
	for (size_t i = 0; i < lines->len; i++)
		printf("# %s: %s\n", title, lines->at[i]);
}

static struct fingerprint *begin(struct minicell *cell, bool watch)
{
	make_base();
	minicell_make(cell, watch);
	struct fingerprint *f = NULL;
	struct err e = ERR_NULL;
	int r = fingerprint_new(&cell->v, only_files, &f, &e);
	if (!r)
		r = fingerprint_look(f, DELTA_STOOD, NULL, NULL, &e);
	if (!tap_ok(!r, "the first look%s%s", r ? ": " : "", e.text))
		_exit(tap_done());
	return f;
}

static void look(struct fingerprint *f, int by, struct delta_list *deltas)
{
	struct err e = ERR_NULL;
	if (fingerprint_look(f, by, deltas, NULL, &e))
		tap_ok(false, "look: %s", e.text);
}

/* One row of text for each step: all that its test left. */
static void run_steps(bool watch, struct strv ret[countof(steps)])
{
	const char *name = watch ? "fanotify" : "scan";
	struct minicell cell;
	struct fingerprint *f = begin(&cell, watch);
	for (size_t i = 0; i < countof(steps); i++) {
		cleanup(delta_list_done) struct delta_list deltas = DELTA_LIST_NULL;
		cleanup(strv_done) struct strv lines = STRV_NULL;
		minicell_do(steps[i].deed);
		look(f, (int)i, &deltas);
		tell(&deltas, false, &lines);
		tell(&deltas, true, &ret[i]);
		if (!tap_ok(is_expected(&lines, steps[i].leaks), "%s: %s", name, steps[i].name))
			show("seen", &ret[i]);
	}
	cleanup(delta_list_done) struct delta_list rest = DELTA_LIST_NULL;
	cleanup(strv_done) struct strv lines = STRV_NULL;
	struct err e = ERR_NULL;
	tap_ok(fingerprint_look_full(f, DELTA_STOOD, &rest, &e) == 0 && rest.len == 0,
	       "%s: a full look finds nothing more%s%s", name, e.code ? ": " : "", e.text);
	tell(&rest, true, &lines);
	show("more", &lines);
	const char *why;
	const char *how = fingerprint_tracker(f, &why);
	tap_ok(text_eq(how, name), "%s is what looked: %s", name, why ? why : "always");
	fingerprint_free(f);
	minicell_done(&cell);
}

static bool same_lines(const struct strv *a, const struct strv *b)
{
	bool same = a->len == b->len;
	for (size_t i = 0; same && i < a->len; i++)
		same = text_eq(a->at[i], b->at[i]);
	return same;
}

static void test_same_leaks(void)
{
	struct strv watched[countof(steps)] = { 0 };
	struct strv scanned[countof(steps)] = { 0 };
	run_steps(true, watched);
	run_steps(false, scanned);
	for (size_t i = 0; i < countof(steps); i++) {
		if (!tap_ok(same_lines(&watched[i], &scanned[i]), "same leaks: %s", steps[i].name)) {
			show("fanotify", &watched[i]);
			show("scan", &scanned[i]);
		}
		strv_done(&watched[i]);
		strv_done(&scanned[i]);
	}
}

static int inside(void)
{
	test_same_leaks();
	return tap_done();
}

int main(void)
{
	return minicell_enter(inside);
}
