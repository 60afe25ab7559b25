#include "sandbox/scratch_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/dir.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fault.h"
#include "sandbox/base/remove.h"
#include "sandbox/cell_spec.h"

/* Others may remove the folder of all cells between its making and ours in it, when it is empty. */
#define TRIES_MAX 64

static int refuse(const struct cell_spec *spec, const char *why, struct err *e)
{
	err_set(e, ENOTSUP, "the scratch folder %s %s", spec->scratch_dir, why);
	err_status(e, STATUS_USAGE);
	return err_hint(e, "name a folder on ext4, xfs, btrfs or a tmpfs, or leave --scratch out: the "
			   "scratch is in memory then");
}

/* What the kernel would refuse later with EINVAL alone. */
static int check_file_system(const struct cell_spec *spec, int dir, struct err *e)
{
	struct statfs fs;
	if (fstatfs(dir, &fs) < 0)
		return err_sys(e, "look at the file system of %s", spec->scratch_dir);
	if (fs.f_type == OVERLAYFS_SUPER_MAGIC)
		return refuse(spec, "lies on an overlay, which can hold no layers of another", e);
	if (fs.f_flags & ST_NOEXEC)
		return refuse(spec, "is mounted noexec, and nothing that is made there could run", e);
	if (fsetxattr(dir, "user.fumehood", "", 0, 0) < 0 && errno == ENOTSUP)
		return refuse(spec, "lies on a file system without extended attributes", e);
	return 0;
}

/* In a folder that all can write, somebody else may have been there first. */
static int open_own(const char *path, int *ret, struct err *e)
{
	struct stat st;
	cleanup_close int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 || fstat(dir, &st) < 0)
		return err_sys(e, "open %s", path);
	if (st.st_uid != geteuid() || st.st_mode & 077) {
		err_set(e, EPERM, "%s is not yours alone, so no scratch is put there", path);
		return err_status(e, STATUS_USAGE);
	}
	*ret = take_fd(&dir);
	return 0;
}

/* 1: another one lives in there. */
static int try_lock(int parent, const char *name, int *ret)
{
	cleanup_close int dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 || flock(dir, LOCK_EX | LOCK_NB) < 0)
		return 1;
	*ret = take_fd(&dir);
	return 0;
}

/* Room, not correctness: what cannot be removed stays. */
static void remove_leftovers(int parent)
{
	cleanup_dir DIR *dir = dir_open(parent, ".");
	const struct dirent *entry;
	while (dir && (entry = dir_next(dir))) {
		cleanup_close int lock = -1;
		if (try_lock(parent, entry->d_name, &lock) == 0)
			remove_tree(parent, entry->d_name, NULL);
	}
}

/* Made and locked. 1: another cell took it for a leftover before it was locked, or the folder around
 * it. */
static int make_locked(const char *template, int parent, struct scratch_disk *ret, struct err *e)
{
	cleanup_free char *path = strdup(template);
	if (!path)
		return err_sys(e, "make a scratch");
	if (!mkdtemp(path))
		return errno == ENOENT ? 1 : err_sys(e, "make %s", template);
	struct stat made;
	struct stat locked;
	cleanup_close int lock = -1;
	if (try_lock(parent, strrchr(path, '/') + 1, &lock) || fstat(lock, &locked) < 0 ||
	    lstat(path, &made) < 0 || made.st_ino != locked.st_ino)
		return 1;
	ret->path = take_ptr(&path);
	ret->lock = take_fd(&lock);
	return 0;
}

/* One attempt; 1: another one is due. */
static int make(const struct cell_spec *spec, const char *parent, const char *template,
		struct scratch_disk *ret, struct err *e)
{
	bool made = mkdir(parent, 0700) == 0;
	if (!made && errno != EEXIST)
		return err_sys(e, "make %s", parent);
	cleanup_close int dir = -1;
	struct err why = ERR_NULL;
	int r = open_own(parent, &dir, &why);
	if (r == -ENOENT)
		return 1;
	if (!r && spec->isolation == CELL_ISOLATION_FULL)
		r = check_file_system(spec, dir, &why);
	if (r < 0) {
		if (made)
			rmdir(parent);
		*e = why;
		return r;
	}
	remove_leftovers(dir);
	return make_locked(template, dir, ret, e);
}

int scratch_disk_new(const struct cell_spec *spec, struct scratch_disk *ret, struct err *e)
{
	struct scratch_disk disk = SCRATCH_DISK_NULL;
	cleanup_free char *parent = NULL;
	cleanup_free char *template = NULL;
	if (asprintf(&parent, "%s/fumehood-%u", spec->scratch_dir, geteuid()) < 0 ||
	    asprintf(&template, "%s/%s.XXXXXX", parent, spec->name ? spec->name : "cell") < 0)
		return err_set(e, ENOMEM, "make a scratch: no memory");
	int r = 1;
	for (int i = 0; r == 1 && i < TRIES_MAX; i++)
		r = make(spec, parent, template, &disk, e);
	if (r == 1)
		r = err_set(e, EAGAIN, "%s is removed as often as it is made", parent);
	if (r < 0 && !e->hint[0])
		err_hint(e, "name a folder on a disk, which you can write, with --scratch DIR");
	if (r < 0)
		return err_status(e, e->status ? e->status : STATUS_USAGE);
	disk.parent = take_ptr(&parent);
	*ret = disk;
	fault_point("scratch-made");
	return 0;
}

void scratch_disk_done(struct scratch_disk *disk)
{
	if (disk->path) {
		fault_point("scratch-remove");
		remove_tree(AT_FDCWD, disk->path, NULL);
		rmdir(disk->parent); /* unless others are at work in it */
	}
	free(disk->parent);
	free(disk->path);
	fd_close_at(&disk->lock);
	*disk = SCRATCH_DISK_NULL;
}
