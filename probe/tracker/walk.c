#include "probe/tracker/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"

#define LIST_LEN (32 * 1024) /* names are read in pieces of this size */

static int open_beneath(int root, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC | O_NOFOLLOW),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};
	return (int)syscall(SYS_openat2, root, path[0] ? path : ".", &how, sizeof(how));
}

/* Up to where the kernel takes path at once: before a '/', at most PATH_MAX - 1 bytes. */
static size_t piece_len(const char *path)
{
	size_t len = PATH_MAX - 1;
	while (len && path[len] != '/')
		len--;
	return len;
}

int walk_open(int root, const char *path, int flags)
{
	cleanup_close int folder = -1;
	while (strlen(path) >= PATH_MAX) {
		char piece[PATH_MAX];
		size_t len = piece_len(path);
		memcpy(piece, path, len);
		piece[len] = '\0';
		int next = open_beneath(folder < 0 ? root : folder, piece, O_PATH | O_DIRECTORY);
		if (next < 0)
			return -1;
		fd_close_at(&folder);
		folder = next;
		path += len + 1;
	}
	return open_beneath(folder < 0 ? root : folder, path, flags);
}

bool walk_absent(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ELOOP || error == EXDEV ||
	       error == EACCES;
}

static int list(int fd, int (*each)(void *with, const struct walk_name *name), void *with,
		struct err *e)
{
	cleanup_free char *room = malloc(LIST_LEN);
	if (!room)
		return err_sys(e, "list a folder");
	for (;;) {
		ssize_t n = getdents64(fd, room, LIST_LEN);
		if (n < 0 && errno != ENOENT) /* ENOENT: it was removed meanwhile */
			return err_sys(e, "list a folder");
		if (n <= 0)
			return 0;
		const struct dirent64 *entry;
		for (char *at = room; at < room + n; at += entry->d_reclen) {
			entry = (const struct dirent64 *)at;
			if (text_eq(entry->d_name, ".") || text_eq(entry->d_name, ".."))
				continue;
			int r = each(with, &(struct walk_name){ .name = entry->d_name,
								.type = entry->d_type,
								.ino = entry->d_ino });
			if (r)
				return r;
		}
	}
}

int walk_list(int root, const char *path, int (*each)(void *with, const struct walk_name *name),
	      void *with, struct err *e)
{
	cleanup_close int fd = walk_open(root, path, O_RDONLY | O_DIRECTORY);
	if (fd >= 0)
		return list(fd, each, with, e);
	return walk_absent(errno) ? 0 : err_sys(e, "open a folder to list it");
}

struct walk {
	const char *skip;
	const struct walk_ops *ops;
	void *with;
	struct buf path; /* of the folder that is listed, and the name in it */
	size_t folder_len;
	struct strv folders; /* still to be listed */
};

static void walk_done(struct walk *w)
{
	buf_done(&w->path);
	strv_done(&w->folders);
}

static int meet(void *with, const struct walk_name *name)
{
	struct walk *w = with;
	w->path.len = w->folder_len;
	int r = w->folder_len ? buf_puts(&w->path, "/") : 0;
	if (!r)
		r = buf_puts(&w->path, name->name);
	if (r || (w->skip && text_eq(w->path.at, w->skip)))
		return r;
	r = w->ops->each(w->with, w->path.at, name);
	if (!r && name->type == DT_DIR && w->path.len < WALK_PATH_MAX)
		r = strv_add(&w->folders, w->path.at);
	return r;
}

/* The last folder first: few of them wait at any time, and no descriptor is held. */
static int list_next(int root, struct walk *w, struct err *e)
{
	cleanup_free char *folder = w->folders.at[--w->folders.len];
	w->folders.at[w->folders.len] = NULL;
	buf_clear(&w->path);
	int r = buf_puts(&w->path, folder);
	w->folder_len = w->path.len;
	if (!r && w->ops->list)
		r = w->ops->list(w->with);
	return r ? r : walk_list(root, folder, meet, w, e);
}

int walk_all(int root, const char *top, const char *skip, const struct walk_ops *ops, void *with,
	     struct err *e)
{
	cleanup(walk_done) struct walk w = { .skip = skip, .ops = ops, .with = with };
	int r = strv_add(&w.folders, top);
	while (!r && w.folders.len)
		r = list_next(root, &w, e);
	return r;
}
