#include <errno.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/copy.h"
#include "sandbox/base/err.h"
#include "sandbox/base/remove.h"
#include "sandbox/base/text.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/folder.h"
#include "tests/lib/tap.h"

#define HOLE_LEN (8 << 20)

static int open_dir(const struct folder *f, const char *name)
{
	return open(folder_path(f, name), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int copy(const struct folder *f, const struct copy_how *how, struct copy_result *ret,
		struct err *e)
{
	folder_put(f, "new", NULL);
	cleanup_close int from = open_dir(f, "old");
	cleanup_close int to = open_dir(f, "new");
	return copy_tree(from, to, how, ret, e);
}

static void make_holes(const char *path)
{
	cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (pwrite(fd, "end", 3, HOLE_LEN) != 3 || pwrite(fd, "start", 5, 0) != 5)
		abort();
}

static void make_old(const struct folder *f)
{
	static const struct timespec then[] = { { 1000, 5 }, { 2000, 7 } };
	folder_put(f, "old/run.sh", "#!/bin/sh\n");
	folder_put(f, "old/closed/secret", "kept");
	folder_put(f, "old/one", "twice");
	folder_put(f, "old/empty", NULL);
	folder_put(f, "old/sub/node_modules/x", "x");
	make_holes(folder_path(f, "old/holes"));
	if (link(folder_path(f, "old/one"), folder_path(f, "old/sub/two")) ||
	    symlink("run.sh", folder_path(f, "old/link")) ||
	    symlink("/nowhere/\n", folder_path(f, "old/dangling")) ||
	    mkfifo(folder_path(f, "old/pipe"), 0620) ||
	    setxattr(folder_path(f, "old/one"), "user.note", "ab", 2, 0) ||
	    chmod(folder_path(f, "old/run.sh"), 0755) ||
	    chmod(folder_path(f, "old/closed/secret"), 0400) ||
	    utimensat(AT_FDCWD, folder_path(f, "old/run.sh"), then, 0) ||
	    utimensat(AT_FDCWD, folder_path(f, "old/closed"), then, 0) ||
	    chmod(folder_path(f, "old/closed"), 01555))
		abort();
}

static struct stat look(const struct folder *f, const char *name)
{
	struct stat st = { 0 };
	if (lstat(folder_path(f, name), &st) < 0)
		st.st_size = -1;
	return st;
}

static bool same_times(const struct stat *a, const struct stat *b)
{
	return a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static void test_copy(const struct folder *f)
{
	static const char *const names[] = { "run.sh", "closed", "closed/secret", "one",  "sub/two",
					     "empty",  "link",   "dangling",      "pipe", "holes" };
	struct copy_result result;
	struct err e = ERR_NULL;
	if (!tap_ok(copy(f, &(struct copy_how){ 0 }, &result, &e) == 0, "a tree is copied %s", e.text))
		return;
	tap_ok(result.files == 13 && result.bytes == 10 + 4 + 5 + 1 + HOLE_LEN + 3,
	       "counted: %ju, %ju bytes", (uintmax_t)result.files, (uintmax_t)result.bytes);
	for (size_t i = 0; i < countof(names); i++) {
		char old[64];
		char new[64];
		snprintf(old, sizeof(old), "old/%s", names[i]);
		snprintf(new, sizeof(new), "new/%s", names[i]);
		struct stat a = look(f, old);
		struct stat b = look(f, new);
		tap_ok(a.st_mode == b.st_mode && (S_ISDIR(a.st_mode) || a.st_size == b.st_size) &&
			       same_times(&a, &b),
		       "%s: %o, %ju bytes, the same times", names[i], b.st_mode,
		       (uintmax_t)b.st_size);
	}
	tap_ok(look(f, "new/one").st_ino == look(f, "new/sub/two").st_ino, "one file with two names");
	tap_ok(look(f, "new/holes").st_blocks * 512 < HOLE_LEN, "holes are none of its blocks");
	char value[8] = "";
	char target[32] = "";
	cleanup_close int holes = open(folder_path(f, "new/holes"), O_RDONLY | O_CLOEXEC);
	tap_ok(pread(holes, value, 3, HOLE_LEN) == 3 && text_eq(value, "end"),
	       "what lies behind one");
	tap_ok(getxattr(folder_path(f, "new/sub/two"), "user.note", value, 8) == 2 &&
		       readlink(folder_path(f, "new/dangling"), target, 31) == 10 &&
		       text_eq(target, "/nowhere/\n"),
	       "attributes and links");
}

static int no_modules(void *with, const char *path, const struct stat *st, struct err *e)
{
	(void)st;
	++*(int *)with;
	if (text_eq(path, "closed"))
		return err_set(e, EUSERS, "enough");
	return !text_eq(path, "sub/node_modules");
}

static void test_wants(const struct folder *f)
{
	int asked = 0;
	struct err e = ERR_NULL;
	chmod(folder_path(f, "old/closed"), 0700);
	if (rename(folder_path(f, "old/closed"), folder_path(f, "open")))
		abort();
	int r = copy(f, &(struct copy_how){ .wants = no_modules, .with = &asked }, NULL, &e);
	tap_ok(r == 0 && look(f, "new/sub/two").st_size == 5 &&
		       look(f, "new/sub/node_modules").st_size == -1,
	       "what is not wanted is left out %s", e.text);
	tap_ok(asked == 10, "... unasked for what lies below: %d", asked);
	if (rename(folder_path(f, "open"), folder_path(f, "old/closed")))
		abort();
	folder_put(f, "again", NULL);
	cleanup_close int from = open_dir(f, "old");
	cleanup_close int to = open_dir(f, "again");
	r = copy_tree(from, to, &(struct copy_how){ .wants = no_modules, .with = &asked }, NULL, &e);
	tap_ok(r == -EUSERS && text_eq(e.text, "enough"), "whoever is asked can end it");
}

static ssize_t mark(const struct folder *f, const char *name, const char *attribute, char value[8])
{
	ssize_t len = getxattr(folder_path(f, name), attribute, value, 7);
	value[len > 0 ? len : 0] = '\0';
	return len;
}

static void test_layer(const struct folder *f)
{
	folder_put(f, "old/a/b", "changed");
	folder_put(f, "old/replaced/c", "c");
	if (mknod(folder_path(f, "old/a/gone"), S_IFCHR, makedev(0, 0)) ||
	    setxattr(folder_path(f, "old/replaced"), "user.overlay.opaque", "y", 1, 0) ||
	    setxattr(folder_path(f, "old/a"), "user.overlay.impure", "y", 1, 0) ||
	    setxattr(folder_path(f, "old/a/b"), "user.overlay.origin", "?", 1, 0) ||
	    setxattr(folder_path(f, "old/a/b"), "user.note", "n", 1, 0))
		abort();
	struct err e = ERR_NULL;
	int r = copy(f, &(struct copy_how){ .layer = true }, NULL, &e);
	char value[8];
	struct stat gone = look(f, "new/a/gone");
	tap_ok(r == 0 && S_ISCHR(gone.st_mode) && gone.st_rdev == 0, "a whiteout is one %s", e.text);
	tap_ok(mark(f, "new/replaced", "user.overlay.opaque", value) == 1 && text_eq(value, "y"),
	       "an opaque folder is one");
	tap_ok(mark(f, "new/a", "user.overlay.impure", value) < 0 &&
		       mark(f, "new/a/b", "user.overlay.origin", value) < 0 &&
		       mark(f, "new/a/b", "user.note", value) == 1,
	       "what is true of the upper layer alone stays behind");
	remove_tree(AT_FDCWD, folder_path(f, "new"), NULL);
	r = copy(f, &(struct copy_how){ 0 }, NULL, &e);
	tap_ok(r == 0 && look(f, "new/a/gone").st_size == -1, "without a layer a device is left out");
}

static void make_deep(const struct folder *f, int levels)
{
	folder_put(f, "deep", NULL);
	cleanup_close int dir = open_dir(f, "deep");
	for (int i = 0; i < levels; i++) {
		if (mkdirat(dir, "0", 0700))
			abort();
		int next = openat(dir, "0", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		cleanup_close int file = openat(dir, "1", O_WRONLY | O_CREAT | O_CLOEXEC, 0);
		if (next < 0 || file < 0 || symlinkat("/", dir, "2"))
			abort();
		if (i % 2)
			fchmod(dir, 0);
		close(dir);
		dir = next;
	}
}

static void test_remove(const struct folder *f)
{
	struct err e = ERR_NULL;
	make_deep(f, 3000);
	folder_put(f, "beside", "x");
	int r = remove_tree(AT_FDCWD, folder_path(f, "deep"), &e);
	tap_ok(r == 0 && look(f, "deep").st_size == -1, "3000 levels, half of them closed %s",
	       e.text);
	tap_ok(look(f, "beside").st_size == 1, "... and nothing else");
	tap_ok(remove_tree(AT_FDCWD, folder_path(f, "deep"), &e) == 0,
	       "what is not there is removed");
	tap_ok(remove_tree(AT_FDCWD, folder_path(f, "beside"), &e) == -ENOTDIR,
	       "a file is no folder");
	folder_put(f, "kept/x", "x");
	if (symlink("kept", folder_path(f, "link")) || chmod(folder_path(f, "kept"), 0750))
		abort();
	tap_ok(remove_tree(AT_FDCWD, folder_path(f, "link"), &e) < 0 &&
		       look(f, "kept/x").st_size == 1 && look(f, "kept").st_mode == (S_IFDIR | 0750),
	       "a link is not followed");
}

static void test_faults(const struct folder *f)
{
	int wrong = 0;
	folder_put(f, "few/one", "1");
	folder_put(f, "few/sub/two", "2");
	if (link(folder_path(f, "few/one"), folder_path(f, "few/sub/three")) ||
	    setxattr(folder_path(f, "few/one"), "user.note", "n", 1, 0))
		abort();
	cleanup_close int from = open_dir(f, "few");
	for (int n = 1; n < 1000; n++) {
		folder_put(f, "new", NULL);
		cleanup_close int to = open_dir(f, "new");
		struct err e = ERR_NULL;
		bool on = fault_walk_on(n);
		int r = on ? copy_tree(from, to, &(struct copy_how){ 0 }, NULL, &e) : 0;
		bool failed = fault_walk_hit();
		wrong += r < 0 ? !failed || e.code != -r : failed;
		remove_tree(AT_FDCWD, folder_path(f, "new"), NULL);
		if (!on)
			break;
	}
	tap_ok(wrong == 0, "each call may fail");
}

int main(void)
{
	struct folder f;
	folder_make(&f);
	make_old(&f);
	test_copy(&f);
	remove_tree(AT_FDCWD, folder_path(&f, "new"), NULL);
	test_wants(&f);
	remove_tree(AT_FDCWD, folder_path(&f, "new"), NULL);
	test_layer(&f);
	test_remove(&f);
	test_faults(&f);
	folder_done(&f);
	return tap_done();
}
