#include "sandbox/base/remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

/* Folders in folders are moved to the top before they are emptied, so that neither a stack nor a
 * path grows with their depth, which is for whoever made them to choose. */

struct removal {
	int top;
	uint64_t moved; /* each gets a number for a name */
};

static void closedir_at(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static int open_folder(int dir_fd, const char *name, DIR **ret)
{
	/* Nobody but its owner could be kept out by the mode, and that is us. */
	fchmodat(dir_fd, name, 0700, AT_SYMLINK_NOFOLLOW);
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret = fdopendir(fd);
	if (*ret)
		return 0;
	int code = errno;
	close(fd);
	return -code;
}

static bool is_folder(int dir_fd, const char *name)
{
	struct stat st;
	return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
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

/* The next name that is none of the two every folder has; NULL at the end. */
static const struct dirent *next_of(DIR *dir)
{
	const struct dirent *entry;
	do
		entry = readdir(dir);
	while (entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
	return entry;
}

/* Empties a folder at the top. */
static int empty(struct removal *removal, const char *name)
{
	cleanup(closedir_at) DIR *dir = NULL;
	int r = open_folder(removal->top, name, &dir);
	const struct dirent *entry;
	while (!r && (entry = next_of(dir))) {
		if (is_folder(dirfd(dir), entry->d_name))
			r = move_up(removal, dirfd(dir), entry->d_name);
		else if (unlinkat(dirfd(dir), entry->d_name, 0) < 0 && errno != ENOENT)
			r = -errno;
	}
	return r;
}

static int remove_at(struct removal *removal, const char *name)
{
	if (!is_folder(removal->top, name))
		return unlinkat(removal->top, name, 0) < 0 && errno != ENOENT ? -errno : 0;
	int r = empty(removal, name);
	return r ? r : unlinkat(removal->top, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

/* What is moved up may or may not be met by the listing that is under way: so again, until a whole
 * one finds nothing. */
static int empty_top(struct removal *removal)
{
	for (bool any = true; any;) {
		cleanup(closedir_at) DIR *dir = NULL;
		int r = open_folder(removal->top, ".", &dir);
		const struct dirent *entry;
		any = false;
		while (!r && (entry = next_of(dir))) {
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
	cleanup(closedir_at) DIR *dir = NULL;
	int r = open_folder(dir_fd, name, &dir);
	if (r == -ENOENT)
		return 0;
	if (!r)
		r = empty_top(&(struct removal){ .top = dirfd(dir) });
	if (!r && unlinkat(dir_fd, name, AT_REMOVEDIR) < 0)
		r = -errno;
	return r ? err_set(e, -r, "remove %s: %s", name, strerrordesc_np(-r)) : 0;
}
