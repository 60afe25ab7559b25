/* The files sensor under both trackers: the same deeds must leave the same leaks. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
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
	add("home/project/file", "more");
}

static void append_again(void)
{
	add("home/project/file", "!");
}

static void copy_up_only(void)
{
	cleanup_close int fd = open("home/project/dir/same", O_RDWR | O_CLOEXEC);
	check(fd >= 0, "open");
}

static void mode_of_base(void)
{
	check(chmod("home/project/dir/deep/x", 0755) == 0, "chmod");
}

static void restore_base(void)
{
	check(chmod("home/project/dir/deep/x", 0644) == 0, "chmod");
}

static void delete_base(void)
{
	drop("home/project/gone");
}

static void delete_base_tree(void)
{
	drop("home/project/tree/one");
	drop("home/project/tree/sub/two");
	drop("home/project/tree/sub");
	drop("home/project/tree");
}

static void make_it_again(void)
{
	make("home/project/tree");
	put("home/project/tree/fresh", "fresh");
}

static void file_to_folder(void)
{
	drop("home/project/file");
	make("home/project/file");
	put("home/project/file/inside", "inside");
}

static void folder_to_file(void)
{
	drop("home/project/flat/leaf");
	drop("home/project/flat");
	put("home/project/flat", "flat");
}

static void move_in_project(void)
{
	make("home/project/built");
	put("home/project/built/out", "out");
	move("home/project/built", "home/project/dist");
	move("home/project/dir/same", "home/project/dist/same");
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
	{ "change a lower file", change_base, "content /home/project/file" },
	{ "change it again", append_again, "content /home/project/file" },
	{ "copy up only", copy_up_only, "" },
	{ "mode of a lower file", mode_of_base, "mode /home/project/dir/deep/x" },
	{ "mode restored", restore_base, "mode /home/project/dir/deep/x" },
	{ "delete a lower file", delete_base, "deleted /home/project/gone" },
	{ "delete a lower folder", delete_base_tree,
	  "deleted /home/project/tree|deleted /home/project/tree/one|deleted /home/project/tree/sub|"
	  "deleted /home/project/tree/sub/two" },
	{ "make it again", make_it_again,
	  "created /home/project/tree|created /home/project/tree/fresh" },
	{ "a file becomes a folder", file_to_folder,
	  "created /home/project/file/inside|type /home/project/file" },
	{ "a folder becomes a file", folder_to_file,
	  "deleted /home/project/flat/leaf|type /home/project/flat" },
	{ "rename in the project", move_in_project,
	  "created /home/project/dist|created /home/project/dist/out|created /home/project/dist/same|"
	  "deleted /home/project/dir/same" },
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

/* ---- what is told beside leaks ---- */

static struct fingerprint *begin_with(struct minicell *cell, bool watch, void (*deed)(void))
{
	struct fingerprint *f = begin(cell, watch);
	cleanup(delta_list_done) struct delta_list deltas = DELTA_LIST_NULL;
	minicell_do(deed);
	look(f, 0, &deltas);
	return f;
}

static void end(struct fingerprint *f, struct minicell *cell)
{
	fingerprint_free(f);
	minicell_done(cell);
}

/* Do it, look, and compare "what path" of all deltas of that kind. */
static void expect(struct fingerprint *f, void (*deed)(void), enum delta_kind kind,
		   const char *expected, const char *name)
{
	cleanup(delta_list_done) struct delta_list deltas = DELTA_LIST_NULL;
	cleanup(strv_done) struct strv lines = STRV_NULL;
	if (deed)
		minicell_do(deed);
	look(f, 1, &deltas);
	for (size_t i = 0; i < deltas.len; i++)
		if (deltas.at[i].kind == kind)
			strv_addf(&lines, "%s %s", deltas.at[i].what, deltas.at[i].key);
	sort(&lines);
	if (!tap_ok(is_expected(&lines, expected), "%s", name))
		show("seen", &lines);
}

static void rewrite_and_unlink(void)
{
	rewrite_equal();
	cleanup_close int fd = open("tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0644);
	check(fd >= 0 && write(fd, "t", 1) == 1, "O_TMPFILE");
	cleanup_close int held = open("tmp/held", O_CREAT | O_RDWR | O_CLOEXEC, 0644);
	drop("tmp/held");
	check(write(held, "t", 1) == 1, "write");
}

static void test_touches(void)
{
	struct minicell cell;
	struct fingerprint *f = begin_with(&cell, true, create);
	expect(f, rewrite_equal, DELTA_LEAK, "content /tmp/b", "a rewrite");
	expect(f, rewrite_and_unlink, DELTA_TOUCH, "created /tmp/held|touched /tmp/b",
	       "equal bytes are a touch, what never had a name is none");
	expect(f, come_and_go, DELTA_TOUCH,
	       "created /tmp/brief|created /tmp/briefdir|created /tmp/briefdir/f",
	       "what came and went is touched");
	expect(f, copy_up_only, DELTA_TOUCH, "", "copying up is no touch");
	expect(f, nothing, DELTA_TOUCH, "", "reading is no touch");
	end(f, &cell);
}

static void read_two(void)
{
	nothing();
	put("tmp/mine", "mine");
	cleanup_close int fd = open("tmp/mine", O_RDONLY | O_CLOEXEC);
	check(fd >= 0, "open");
	cleanup_close int folder = open("home", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	check(folder >= 0, "open");
}

static void test_met(void)
{
	struct minicell cell;
	struct fingerprint *f = begin_with(&cell, true, create);
	struct delta_list deltas = DELTA_LIST_NULL;
	struct met_list met = { 0 };
	struct err e = ERR_NULL;
	minicell_do(read_two);
	int r = fingerprint_look(f, 1, &deltas, &met, &e);
	tap_ok(!r && met.len == 1 && text_eq(met.at[0].key, "/tmp/b") && met.at[0].from == 0,
	       "test 1 met what test 0 left, not what it made itself");
	met_list_done(&met);
	r = fingerprint_look(f, 2, &deltas, &met, &e);
	tap_ok(!r && met.len == 0, "our own reads are nobody's");
	met_list_done(&met);
	delta_list_done(&deltas);
	end(f, &cell);
}

static void bring_back(void)
{
	put("home/project/gone", "gone");
}

static void test_digests(bool watch)
{
	struct minicell cell;
	struct fingerprint *f = begin(&cell, watch);
	struct digest first = fingerprint_digest(f, "files");
	expect(f, mode_of_base, DELTA_LEAK, "mode /home/project/dir/deep/x", "a mode changes");
	struct digest second = fingerprint_digest(f, "files");
	expect(f, delete_base, DELTA_LEAK, "deleted /home/project/gone", "a file goes");
	struct digest third = fingerprint_digest(f, "files");
	expect(f, restore_base, DELTA_LEAK, "mode /home/project/dir/deep/x", "the mode returns");
	expect(f, bring_back, DELTA_LEAK, "created /home/project/gone", "the file returns");
	tap_ok(digest_eq(first, fingerprint_digest(f, "files")) && !digest_eq(first, second) &&
		       !digest_eq(second, third) && !digest_eq(first, third),
	       "the digest is what it was before");
	end(f, &cell);
}

static void damage_some(void)
{
	drop("home/project/gone");
	drop("tmp/stood");
	drop("tmp/a");
}

static void test_damage(bool watch)
{
	struct minicell cell;
	make_base();
	minicell_make(&cell, watch);
	put("/tmp/stood", "stood");
	struct fingerprint *f = NULL;
	struct err e = ERR_NULL;
	cleanup(delta_list_done) struct delta_list none = DELTA_LIST_NULL;
	if (fingerprint_new(&cell.v, only_files, &f, &e) ||
	    fingerprint_look(f, DELTA_STOOD, &none, NULL, &e))
		tap_ok(false, "%s", e.text);
	minicell_do(create);
	look(f, 0, &none);
	cleanup(delta_list_done) struct delta_list deltas = DELTA_LIST_NULL;
	minicell_do(damage_some);
	look(f, 1, &deltas);
	size_t damage = 0;
	size_t ours = 0;
	for (size_t i = 0; i < deltas.len; i++) {
		damage += deltas.at[i].damage;
		ours += !deltas.at[i].damage && text_eq(deltas.at[i].key, "/tmp/a") &&
			deltas.at[i].owner == 0;
	}
	tap_ok(deltas.len == 3 && damage == 2 && ours == 1,
	       "deleting what stood is damage, deleting what a test left is not");
	end(f, &cell);
}

/* ---- writes that no event tells of ---- */

static int orders[2];
static int answers[2];

static void answer(void)
{
	check(write(answers[1], "", 1) == 1, "answer");
}

/* Lives from test to test, and does what it is told to. */
static void linger(void)
{
	close(orders[1]);
	close(answers[0]);
	put("tmp/m", "mapped");
	put("tmp/n", "named");
	volatile char *in_tmp = map("tmp/m");
	volatile char *in_project = map("home/project/file");
	in_tmp[0] = 'M'; /* only the first store to a page moves a time */
	in_project[0] = 'F';
	int spliced = open("home/project/dir/same", O_RDWR | O_CLOEXEC);
	int nameless = open("tmp/n", O_WRONLY | O_APPEND | O_CLOEXEC);
	int source = open("home/project/dir/deep/x", O_RDONLY | O_CLOEXEC);
	check(link("tmp/n", "tmp/other") == 0 && unlink("tmp/n") == 0, "rename by hand");
	answer();
	for (char order; read(orders[0], &order, 1) == 1; answer()) {
		switch (order) {
		case 't':
			in_tmp[0]++;
			break;
		case 'p':
			in_project[0]++;
			break;
		case 's':
			check(sendfile(spliced, source, NULL, 1) == 1, "sendfile");
			break;
		case 'n':
			check(write(nameless, "!", 1) == 1, "write");
			break;
		default:
			munmap((void *)in_tmp, 4096);
			munmap((void *)in_project, 4096);
			close(spliced);
			close(nameless);
			break;
		}
	}
}

static void tell_it(char order)
{
	char done;
	check(write(orders[1], &order, 1) == 1 && read(answers[0], &done, 1) == 1, "an order");
}

static pid_t begin_to_linger(void)
{
	char ready;
	check(pipe2(orders, O_CLOEXEC) == 0 && pipe2(answers, O_CLOEXEC) == 0, "pipe");
	pid_t pid = minicell_start(linger);
	close(orders[0]);
	close(answers[1]);
	check(read(answers[0], &ready, 1) == 1, "it lives");
	return pid;
}

static void end_lingering(pid_t pid)
{
	close(orders[1]);
	close(answers[0]);
	minicell_wait(pid);
}

static void test_held(bool watch)
{
	static const struct {
		char order;
		const char *leaks;
		const char *name;
	} rows[] = {
		{ 't', "content /tmp/m", "a store through a held mapping" },
		{ 'p', "content /home/project/file", "the same through an overlay" },
		{ 's', "content /home/project/dir/same", "sendfile into an overlay" },
		{ 'n', "content /tmp/other", "a write to what lost the name it was opened by" },
		{ 'e', "", "all is let go" },
	};
	struct minicell cell;
	struct fingerprint *f = begin(&cell, watch);
	pid_t pid = begin_to_linger();
	expect(f, NULL, DELTA_LEAK, "content /home/project/file|created /tmp/m|created /tmp/other",
	       "it begins");
	expect(f, NULL, DELTA_LEAK, "", "it does nothing");
	for (size_t i = 0; i < countof(rows); i++) {
		tell_it(rows[i].order);
		expect(f, NULL, DELTA_LEAK, rows[i].leaks, rows[i].name);
	}
	end_lingering(pid);
	end(f, &cell);
}

static void test_unattributed(bool watch)
{
	struct minicell cell;
	struct fingerprint *f = begin(&cell, watch);
	pid_t pid = begin_to_linger();
	int proc = cell.v.proc;
	cell.v.proc = -1; /* no one can be asked */
	expect(f, NULL, DELTA_LEAK, "content /home/project/file|created /tmp/m|created /tmp/other",
	       "it begins");
	usleep(50000); /* what a scan distrusts is read again */
	expect(f, NULL, DELTA_LEAK, "", "it does nothing");
	tell_it('t');
	expect(f, NULL, DELTA_LEAK, "", "nobody saw the store");
	struct delta_list deltas = DELTA_LIST_NULL;
	struct err e = ERR_NULL;
	int r = fingerprint_look_full(f, DELTA_STOOD, &deltas, &e);
	tap_ok(!r && deltas.len == 1 && text_eq(deltas.at[0].key, "/tmp/m"),
	       "but the last look reads everything again");
	delta_list_done(&deltas);
	cell.v.proc = proc;
	end_lingering(pid);
	end(f, &cell);
}

/* ---- many ---- */

#define MANY 20000 /* more than the 16384 events that the kernel keeps */

static void make_many(void)
{
	char path[32];
	for (int i = 0; i < MANY; i++) {
		snprintf(path, sizeof(path), "tmp/%d", i);
		put(path, path);
	}
}

static void make_many_folders(void)
{
	char path[32];
	for (int i = 0; i < MANY; i++) {
		snprintf(path, sizeof(path), "home/%d", i);
		make(path);
	}
}

static void change_one(void)
{
	add("tmp/777", "+");
}

static void test_overflow(void)
{
	struct minicell cell;
	struct fingerprint *f = begin(&cell, true);
	const char *why;
	expect(f, make_many, DELTA_LEAK, "+20000", "all of 20000 files are seen");
	const char *how = fingerprint_tracker(f, &why);
	tap_ok(text_eq(how, "fanotify") && why && strstr(why, "in 1 ") && strstr(why, "overflowed"),
	       "a scan took the place of lost events: %s", why);
	expect(f, change_one, DELTA_LEAK, "content /tmp/777", "then events go on");
	expect(f, make_many_folders, DELTA_LEAK, "+20000", "all of 20000 folders are seen");
	expect(f, change_one, DELTA_LEAK, "content /tmp/777", "and again events go on");
	struct delta_list deltas = DELTA_LIST_NULL;
	struct err e = ERR_NULL;
	tap_ok(!fingerprint_look_full(f, DELTA_STOOD, &deltas, &e) && deltas.len == 0,
	       "a full look of 40000 entries finds nothing");
	expect(f, change_one, DELTA_LEAK, "content /tmp/777", "events go on after it");
	fingerprint_tracker(f, &why);
	tap_ok(strstr(why, "in 2 "), "our own opens overflow nothing: %s", why);
	end(f, &cell);
}

/* Each move lengthens all paths below: one folder after the other around what is there. */
static void too_deep(void)
{
	char name[256];
	memset(name, 'd', 255);
	name[255] = '\0';
	check(chdir("tmp") == 0, "chdir");
	for (int i = 0; i < 70; i++) {
		make(name);
		check(chdir(name) == 0, "chdir");
	}
}

static void test_too_deep(bool watch)
{
	struct minicell cell;
	struct fingerprint *f = begin(&cell, watch);
	tap_ok(!fingerprint_blind(f, "files"), "all can be seen");
	expect(f, too_deep, DELTA_LEAK, "+63", "folders are seen down to 16384 bytes of path");
	tap_ok(fingerprint_blind(f, "files") != NULL, "and what is not is said: %s",
	       fingerprint_blind(f, "files"));
	end(f, &cell);
}

static int inside(void)
{
	test_same_leaks();
	test_touches();
	test_met();
	test_overflow();
	for (int watch = 0; watch <= 1; watch++) {
		test_digests(watch);
		test_damage(watch);
		test_held(watch);
		test_unattributed(watch);
		test_too_deep(watch);
	}
	return tap_done();
}

int main(void)
{
	return minicell_enter(inside);
}
