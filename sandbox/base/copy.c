#include "sandbox/base/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/dir.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fault.h"
#include "sandbox/base/map.h"
#include "sandbox/base/text.h"

#define SEND_LEN_MAX   (1UL << 30) /* bytes in one call */
#define XATTRS_LEN_MAX 65536       /* of all names, and of a value: the kernel's own bounds */

#define OPAQUE   "user.overlay.opaque"
#define WHITEOUT "user.overlay.whiteout"

struct copy {
	int from;
	int to;
	const struct copy_how *how;
	struct copy_result result;
	struct map links; /* "device:inode" of what has several names: its first path */
	struct strv folders;
};

static void copy_done(struct copy *c)
{
	map_done(&c->links);
	strv_done(&c->folders);
}

static int no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "copy: no memory");
}

/* ---- extended attributes ---- */

static bool is_mark(const char *name)
{
	return text_eq(name, OPAQUE) || text_eq(name, WHITEOUT);
}

/* What an upper layer says of itself is not true of a copy; what it hides is. */
static bool is_wanted(const struct copy *c, const char *name)
{
	if (c->how->layer && text_starts(name, "user.overlay."))
		return is_mark(name);
	return text_starts(name, "user.") || text_starts(name, "system.posix_acl_");
}

static int copy_xattr(int from, int to, const char *name, const char *path, struct err *e)
{
	cleanup_free char *value = malloc(XATTRS_LEN_MAX);
	if (!value)
		return no_memory(e);
	ssize_t len = fgetxattr(from, name, value, XATTRS_LEN_MAX);
	if (len >= 0 && fsetxattr(to, name, value, (size_t)len, 0) == 0)
		return 0;
	/* Where the new file system has none, or the ids in an ACL mean nothing; but a layer would not
	 * be what it was without its marks. */
	if (!is_mark(name) &&
	    (errno == ENODATA || errno == ENOTSUP || errno == EPERM || errno == EINVAL))
		return 0;
	return err_sys(e, "copy the attribute %s of %s", name, path);
}

static int copy_xattrs(const struct copy *c, int from, int to, const char *path, struct err *e)
{
	ssize_t len = flistxattr(from, NULL, 0);
	if (len <= 0)
		return 0;
	cleanup_free char *names = malloc(XATTRS_LEN_MAX);
	if (!names)
		return no_memory(e);
	len = flistxattr(from, names, XATTRS_LEN_MAX);
	int r = 0;
	for (const char *name = names; !r && name < names + len; name += strlen(name) + 1)
		if (is_wanted(c, name))
			r = copy_xattr(from, to, name, path, e);
	return r;
}

/* ---- owners, modes, times ---- */

static int give(const struct copy *c, const char *path, const struct stat *st, struct err *e)
{
	if (st->st_uid == geteuid() && st->st_gid == getegid())
		return 0;
	if (fchownat(c->to, path, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	/* An id that has no place here, or a caller who may not: it stays the caller's. */
	return errno == EPERM || errno == EINVAL ? 0 : err_sys(e, "give %s its owner", path);
}

/* After its contents, which would move its times. */
static int seal(const struct copy *c, const char *path, const struct stat *st, struct err *e)
{
	const struct timespec times[] = { st->st_atim, st->st_mtim };
	int r = give(c, path, st, e);
	if (r)
		return r;
	if (!S_ISLNK(st->st_mode) && fchmodat(c->to, path, st->st_mode & 07777, 0) < 0)
		return err_sys(e, "give %s its mode", path);
	if (utimensat(c->to, path, times, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "give %s its times", path);
	return 0;
}

/* ---- one of each type ---- */

static int send_piece(int from, int to, off_t at, off_t end)
{
	if (lseek(to, at, SEEK_SET) < 0)
		return -1;
	while (at < end) {
		size_t len = (size_t)(end - at);
		ssize_t n = sendfile(to, from, &at, len < SEND_LEN_MAX ? len : SEND_LEN_MAX);
		if (n < 0)
			return -1;
		if (n == 0) /* it became shorter meanwhile */
			return 0;
	}
	return 0;
}

int copy_content(int from, int to, off_t len)
{
	if (len == 0 || ioctl(to, FICLONE, from) == 0)
		return 0;
	off_t at = 0;
	while (at < len) {
		off_t data = lseek(from, at, SEEK_DATA);
		if (data < 0 && errno == ENXIO) /* a hole up to the end */
			break;
		off_t hole = data < 0 ? -1 : lseek(from, data, SEEK_HOLE);
		if (hole < 0 || send_piece(from, to, data, hole) < 0)
			return -1;
		at = hole;
	}
	return ftruncate(to, len);
}

static int copy_file(struct copy *c, const char *path, const struct stat *st, struct err *e)
{
	cleanup_close int from = openat(c->from, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (from < 0)
		return err_sys(e, "read %s", path);
	cleanup_close int to = openat(c->to, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (to < 0)
		return err_sys(e, "make %s", path);
	if (copy_content(from, to, st->st_size) < 0)
		return err_sys(e, "copy %s", path);
	c->result.bytes += (uint64_t)st->st_size;
	return copy_xattrs(c, from, to, path, e);
}

static int copy_link(const struct copy *c, const char *path, struct err *e)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(c->from, path, target, sizeof(target) - 1);
	if (len < 0)
		return err_sys(e, "read the link %s", path);
	target[len] = '\0';
	return symlinkat(target, c->to, path) < 0 ? err_sys(e, "make the link %s", path) : 0;
}

static int copy_folder(struct copy *c, const char *path, struct err *e)
{
	if (mkdirat(c->to, path, 0700) < 0)
		return err_sys(e, "make %s", path);
	return strv_add(&c->folders, path) ? no_memory(e) : 0;
}

/* On an overlay the device that means "nothing stands here" cannot be made; an empty file with a mark
 * means the same, in a folder that says that it has such. */
static int mark_whiteout(const struct copy *c, const char *path, struct err *e)
{
	char folder[PATH_MAX];
	const char *slash = strrchr(path, '/');
	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
	cleanup_close int in = openat(c->to, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_close int file = openat(c->to, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (in < 0 || file < 0 || fsetxattr(file, WHITEOUT, "y", 1, 0) < 0 ||
	    (fsetxattr(in, OPAQUE, "x", 1, XATTR_CREATE) < 0 && errno != EEXIST))
		return err_sys(e, "note that %s is gone", path);
	return 0;
}

static int copy_whiteout(const struct copy *c, const char *path, struct err *e)
{
	if (mknodat(c->to, path, S_IFCHR, makedev(0, 0)) == 0)
		return 0;
	return errno == EPERM ? mark_whiteout(c, path, e) : err_sys(e, "note that %s is gone", path);
}

/* 1: it was another name of what is there. */
static int link_again(struct copy *c, const char *path, const struct stat *st, struct err *e)
{
	if (st->st_nlink < 2)
		return 0;
	char key[64];
	snprintf(key, sizeof(key), "%ju:%ju", (uintmax_t)st->st_dev, (uintmax_t)st->st_ino);
	const char *first = map_get(&c->links, key);
	if (first)
		return linkat(c->to, first, c->to, path, 0) < 0 ? err_sys(e, "link %s", path) : 1;
	char *kept = strdup(path);
	return !kept || map_put(&c->links, key, kept) ? no_memory(e) : 0;
}

/* 1: it is whole already, or left out. */
static int make(struct copy *c, const char *path, const struct stat *st, struct err *e)
{
	int r = link_again(c, path, st, e);
	if (r)
		return r;
	switch (st->st_mode & S_IFMT) {
	case S_IFREG:
		return copy_file(c, path, st, e);
	case S_IFLNK:
		return copy_link(c, path, e);
	case S_IFIFO:
	case S_IFSOCK:
		return mknodat(c->to, path, st->st_mode & (S_IFMT | 0600), 0) < 0
			       ? err_sys(e, "make %s", path)
			       : 0;
	case S_IFCHR:
		if (c->how->layer && st->st_rdev == makedev(0, 0))
			r = copy_whiteout(c, path, e);
		return r ? r : 1;
	default:
		return 1;
	}
}

/* ---- walking ---- */

static int copy_entry(struct copy *c, const char *path, struct err *e)
{
	struct stat st;
	if (fstatat(c->from, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "look at %s", path);
	int r = c->how->wants ? c->how->wants(c->how->with, path, &st, e) : 1;
	if (r <= 0)
		return r;
	c->result.files++;
	fault_point("copy-file");
	if (S_ISDIR(st.st_mode))
		return copy_folder(c, path, e);
	r = make(c, path, &st, e);
	return r ? (r > 0 ? 0 : r) : seal(c, path, &st, e);
}

static int list(struct copy *c, const char *folder, struct err *e)
{
	cleanup_dir DIR *dir = dir_open(c->from, folder);
	if (!dir)
		return err_sys(e, "list %s", folder);
	bool top = text_eq(folder, ".");
	int r = 0;
	const struct dirent *entry;
	while (!r && (entry = dir_next(dir))) {
		char path[PATH_MAX];
		int len = snprintf(path, sizeof(path), "%s%s%s", top ? "" : folder, top ? "" : "/",
				   entry->d_name);
		r = len < PATH_MAX ? copy_entry(c, path, e)
				   : err_set(e, ENAMETOOLONG, "a path below %.64s… is over %d bytes",
					     folder, PATH_MAX - 1);
	}
	return r;
}

static int finish_folder(const struct copy *c, const char *path, struct err *e)
{
	struct stat st;
	cleanup_close int from = openat(c->from, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_close int to = openat(c->to, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (from < 0 || to < 0 || fstat(from, &st) < 0)
		return err_sys(e, "look at %s", path);
	int r = copy_xattrs(c, from, to, path, e);
	return r ? r : seal(c, path, &st, e);
}

int copy_tree(int from, int to, const struct copy_how *how, struct copy_result *ret, struct err *e)
{
	cleanup(copy_done) struct copy c = {
		.from = from, .to = to, .how = how, .links = MAP_NULL(free)
	};
	int r = list(&c, ".", e);
	for (size_t i = 0; !r && i < c.folders.len; i++)
		r = list(&c, c.folders.at[i], e);
	/* Those within first: what is done in a folder moves its times, and a mode may close it. */
	for (size_t i = c.folders.len; !r && i > 0; i--)
		r = finish_folder(&c, c.folders.at[i - 1], e);
	if (!r && ret)
		*ret = c.result;
	return r;
}
