#include "tests/lib/deeds.h"

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
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/fd.h"

void check(bool ok, const char *what)
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

void put(const char *path, const char *text)
{
	put_at(path, O_CREAT | O_TRUNC, text);
}

void add(const char *path, const char *text)
{
	put_at(path, O_APPEND, text);
}

void make(const char *path)
{
	check(mkdir(path, 0755) == 0, path);
}

void drop(const char *path)
{
	check(remove(path) == 0, path);
}

void move(const char *from, const char *to)
{
	check(rename(from, to) == 0, from);
}

char *map(const char *path)
{
	cleanup_close int fd = open(path, O_RDWR | O_CLOEXEC);
	char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	check(at != MAP_FAILED, path);
	return at;
}

/* ---- deeds ---- */

void deed_create(void)
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

void deed_rewrite_equal(void)
{
	put("tmp/b", "TWO");
}

void deed_come_and_go(void)
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

static void make_name_for_a_while(void)
{
	check(link("tmp/a", "tmp/third") == 0, "link");
	check(unlink("tmp/third") == 0, "unlink");
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
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
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

void deed_copy_up_only(void)
{
	cleanup_close int fd = open("home/project/dir/same", O_RDWR | O_CLOEXEC);
	check(fd >= 0, "open");
}

void deed_mode_of_base(void)
{
	check(chmod("home/project/dir/deep/x", 0755) == 0, "chmod");
}

void deed_restore_base(void)
{
	check(chmod("home/project/dir/deep/x", 0644) == 0, "chmod");
}

void deed_delete_base(void)
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

void deed_read(void)
{
	cleanup_close int fd = open("tmp/b", O_RDONLY | O_CLOEXEC);
	check(fd >= 0, "open");
}

const struct deed deeds[] = {
	{ "create", deed_create, "created /home/h|created /tmp/a|created /tmp/b" },
	{ "nothing", deed_read, "" },
	{ "append", append, "content /tmp/a" },
	{ "rewrite with the same size and time", rewrite_in_disguise, "content /tmp/b" },
	{ "rewrite with the same bytes", deed_rewrite_equal, "" },
	{ "create and delete", deed_come_and_go, "" },
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
	{ "hard link", make_hard_link, "created /tmp/hard|links /tmp/a" },
	{ "write through a hard link", write_through_hard_link, "content /tmp/a|content /tmp/hard" },
	{ "truncate", truncate_one, "content /tmp/a|content /tmp/hard" },
	{ "fallocate", allocate, "content /tmp/a|content /tmp/hard" },
	{ "a terabyte", punch, "created /tmp/hole" },
	{ "one name more, and less", make_name_for_a_while, "" },
	{ "xattr", set_xattr, "xattrs /tmp/a|xattrs /tmp/hard" },
	{ "another xattr", change_xattr, "xattrs /tmp/a|xattrs /tmp/hard" },
	{ "O_TMPFILE", link_nameless, "created /tmp/linked" },
	{ "change a lower file", change_base, "content /home/project/file" },
	{ "change it again", append_again, "content /home/project/file" },
	{ "copy up only", deed_copy_up_only, "" },
	{ "mode of a lower file", deed_mode_of_base, "mode /home/project/dir/deep/x" },
	{ "mode restored", deed_restore_base, "mode /home/project/dir/deep/x" },
	{ "delete a lower file", deed_delete_base, "deleted /home/project/gone" },
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

const size_t deeds_len = countof(deeds);

void deeds_base(const char *folder)
{
	check(chdir(folder) == 0, folder);
	make("dir");
	make("dir/deep");
	make("tree");
	make("tree/sub");
	make("flat");
	put("file", "file");
	put("gone", "gone");
	put("dir/same", "same");
	put("dir/deep/x", "x");
	put("tree/one", "1");
	put("tree/sub/two", "2");
	put("flat/leaf", "leaf");
	check(chdir("/") == 0, "/");
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void tell_one(const struct delta *d, bool whole, const char *home, struct strv *ret)
{
	const char *key = d->key + (text_starts(d->key, home) ? strlen(home) : 0);
	if (whole)
		strv_addf(ret, "%s %s %s %s -> %s", d->what, key, d->zone, d->before, d->after);
	else
		strv_addf(ret, "%s %s", d->what, key);
}

void deeds_tell(const struct delta_list *deltas, enum delta_kind kind, bool whole, const char *home,
		struct buf *ret)
{
	struct strv lines = STRV_NULL;
	for (size_t i = 0; i < deltas->len; i++)
		if (deltas->at[i].kind == kind)
			tell_one(&deltas->at[i], whole, home, &lines);
	if (lines.len)
		qsort(lines.at, lines.len, sizeof(char *), by_text);
	buf_puts(ret, "");
	for (size_t i = 0; i < lines.len; i++)
		buf_printf(ret, "%s%s", i ? "|" : "", lines.at[i]);
	strv_done(&lines);
}

static void note(const struct delta_list *deltas, const char *home, struct buf *seen)
{
	deeds_tell(deltas, DELTA_LEAK, false, home, seen);
	buf_add(seen, "", 1);
	deeds_tell(deltas, DELTA_LEAK, true, home, seen);
	buf_add(seen, "", 1);
}

int deeds_run(struct fingerprint *f, void (*act)(void *with, size_t n), void *with,
	      const char *home, struct buf *seen, struct err *e)
{
	int r = 0;
	for (size_t n = 0; !r && n <= deeds_len; n++) {
		struct delta_list deltas = DELTA_LIST_NULL;
		if (n < deeds_len) {
			act(with, n);
			r = fingerprint_look(f, (int)n, &deltas, NULL, e);
		} else {
			r = fingerprint_look_full(f, DELTA_STOOD, &deltas, e);
		}
		note(&deltas, home, seen);
		delta_list_done(&deltas);
	}
	return r;
}

const char *deeds_seen(const struct buf *seen, size_t n, bool whole)
{
	const char *at = seen->at;
	for (size_t skip = 2 * n + whole; at && skip; skip--) {
		at += strlen(at) + 1;
		if (at >= seen->at + seen->len)
			return "(nothing was told)";
	}
	return at ? at : "(nothing was told)";
}

bool deeds_match(const char *leaks, const char *seen)
{
	if (leaks[0] != '+')
		return text_eq(seen, leaks);
	size_t len = seen[0] != '\0';
	for (; *seen; seen++)
		len += *seen == '|';
	return len == strtoul(leaks + 1, NULL, 10);
}
