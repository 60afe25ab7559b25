#include "sandbox/base/remove.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/dir.h"
#include "sandbox/base/err.h"

/* Folders in folders are moved to the top before they are emptied, so that neither a stack nor a
 * path grows with their depth, which is for whoever made them to choose. */

struct removal {
	int top;
	uint64_t moved; /* each gets a number for a name */
};

/* Nobody but its owner could be kept out by the mode, and that is us. */
static DIR *open_folder(int dir_fd, const char *name)
{
	fchmodat(dir_fd, name, 0700, AT_SYMLINK_NOFOLLOW);
	return dir_open(dir_fd, name);
}

static int move_up(struct removal *removal, int dir_fd, const char *name)
{
	for (;;) {
		char number[32];
		snprintf(number, sizeof(number), "%ju", (uintmax_t)removal->moved++);
		fchmodat(dir_fd, name, 0700, AT_SYMLINK_NOFOLLOW); /* its .. changes */
		if (renameat2(dir_fd, name, removal->top, number, RENAME_NOREPLACE) == 0)
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
}

/* Empties a folder at the top. */
static int empty(struct removal *removal, const char *name)
{
	cleanup_dir DIR *dir = open_folder(removal->top, name);
	if (!dir)
		return -errno;
	int r = 0;
	const struct dirent *entry;
	while (!r && (entry = dir_next(dir))) {
		if (dir_is_folder(dirfd(dir), entry->d_name))
			r = move_up(removal, dirfd(dir), entry->d_name);
		else if (unlinkat(dirfd(dir), entry->d_name, 0) < 0 && errno != ENOENT)
			r = -errno;
	}
	return r;
}

static int remove_at(struct removal *removal, const char *name)
{
	if (!dir_is_folder(removal->top, name))
		return unlinkat(removal->top, name, 0) < 0 && errno != ENOENT ? -errno : 0;
	int r = empty(removal, name);
	return r ? r : unlinkat(removal->top, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

/* What is moved up may or may not be met by the listing that is under way: so again, until a whole
 * one finds nothing. */
static int empty_top(struct removal *removal)
{
	for (bool any = true; any;) {
		cleanup_dir DIR *dir = dir_open(removal->top, ".");
		int r = dir ? 0 : -errno;
		const struct dirent *entry;
		any = false;
		while (!r && (entry = dir_next(dir))) {
			any = true;
			r = remove_at(removal, entry->d_name);
		}
		if (r)
			return r;
	}
	return 0;
}

int remove_tree(int dir_fd, const char *name, struct err *e)
{
	cleanup_dir DIR *dir = open_folder(dir_fd, name);
	if (!dir && errno == ENOENT)
		return 0;
	if (!dir)
		return err_sys(e, "remove %s", name);
	int r = empty_top(&(struct removal){ .top = dirfd(dir) });
	if (!r && unlinkat(dir_fd, name, AT_REMOVEDIR) < 0)
		r = -errno;
	return r ? err_set(e, -r, "remove %s: %s", name, strerrordesc_np(-r)) : 0;
}
