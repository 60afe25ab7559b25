#include "sandbox/closed.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/dir.h"
#include "sandbox/base/err.h"

/* How many folders down; what is not named: DEPTH_ELSEWHERE. A cell has its own of some, and of others
 * the kernel's or the distribution's. */
static const struct {
	const char *path;
	int depth;
} depths[] = {
	{ "/etc", 16 }, { "/var", 3 }, { "/var/tmp", 0 }, { "/usr", 0 },
	{ "/boot", 0 }, { "/dev", 0 }, { "/home", 0 },    { "/proc", 0 },
	{ "/run", 0 },  { "/sys", 1 }, { "/tmp", 0 },     { "/sys/kernel", 1 },
};
#define DEPTH_ELSEWHERE 1

struct walk {
	const struct closed_ask *ask;
	struct strv *found;
};

static int depth_of(const char *path, int depth)
{
	for (size_t i = 0; i < countof(depths); i++)
		if (strcmp(depths[i].path, path) == 0)
			return depths[i].depth;
	return depth;
}

static bool is_closed(const struct walk *w, const struct stat *st)
{
	const struct closed_ask *ask = w->ask;
	bool empty = S_ISREG(st->st_mode) && st->st_size == 0; /* a lock, mostly */
	bool open = S_ISDIR(st->st_mode) ? st->st_mode & S_IXOTH : empty || st->st_mode & S_IROTH;
	return !open && (st->st_uid == 0 || st->st_gid == 0 || st->st_uid == ask->uid ||
			 st->st_gid == ask->gid);
}

/* -1: somebody else cares for it; 1: for something in it. */
static int relation_to_known(const struct walk *w, const char *path)
{
	int relation = 0;
	for (size_t i = 0; i < w->ask->known->len; i++) {
		const char *known = w->ask->known->at[i];
		if (path_below(path, known))
			return -1;
		relation |= path_below(known, path);
	}
	return relation;
}

/* What goes meanwhile, and a file system that is out of order, the suite cannot look at either. */
static int cannot_look(void)
{
	return errno == ENOMEM || errno == EMFILE || errno == ENFILE ? -errno : 0;
}

static int walk(const struct walk *w, int dir_fd, const char *path, int depth, bool closed);

static int look(const struct walk *w, int dir_fd, const char *name, const char *path, int depth,
		bool closed)
{
	struct stat st;
	int relation = relation_to_known(w, path);
	if (relation < 0)
		return 0;
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
		return cannot_look();
	closed |= is_closed(w, &st);
	if (closed && !relation)
		return strv_add(w->found, path);
	return S_ISDIR(st.st_mode) && depth > 0 ? walk(w, dir_fd, path, depth, closed) : 0;
}

/* closed: nobody but root comes here, so all of it is. */
// NOLINTNEXTLINE(misc-no-recursion): as deep as its argument says
static int walk(const struct walk *w, int dir_fd, const char *path, int depth, bool closed)
{
	const char *name = strrchr(path, '/') + 1;
	cleanup_dir DIR *dir = dir_open(dir_fd, *name ? name : ".");
	const struct dirent *entry;
	if (!dir)
		return cannot_look();
	for (errno = 0; (entry = dir_next(dir)); errno = 0) {
		char child[PATH_MAX];
		if (entry->d_type == DT_LNK || snprintf(child, sizeof(child), "%s/%s",
							*name ? path : "", entry->d_name) >= PATH_MAX)
			continue;
		int r = look(w, dirfd(dir), entry->d_name, child, depth_of(child, depth - 1), closed);
		if (r < 0)
			return r;
	}
	return cannot_look();
}

int closed_find(const struct closed_ask *ask, struct strv *ret, struct err *e)
{
	cleanup(strv_done) struct strv found = STRV_NULL;
	const struct walk w = { ask, &found };
	int r = walk(&w, ask->root, "/", DEPTH_ELSEWHERE + 1, false);
	if (r < 0)
		return err_set(e, -r, "look for what is closed: %s", strerrordesc_np(-r));
	*ret = take(&found, STRV_NULL);
	return 0;
}
