#pragma once
/*
 * mount: the new mount interface of the kernel (fsopen, open_tree, move_mount,
 * mount_setattr), one deed a call.
 *
 * What these return is a detached mount held by a descriptor, which the caller
 * closes; a mount that was never attached is gone with it.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/mount.h>

#include "sandbox/base/barrier.h"

struct err;

struct mount_option {
	const char *key;
	const char *value; /* NULL: a flag; at most 255 bytes, says the kernel */
};

/* A new filesystem; attr is MOUNT_ATTR_… */
int mount_new(const char *type, const struct mount_option *options, size_t n, uint64_t attr,
	      int *ret, struct err *e);
/* A clone of what stands at path below dir_fd; flags: AT_RECURSIVE, AT_EMPTY_PATH. */
int mount_clone(int dir_fd, const char *path, unsigned int flags, int *ret, struct err *e);
int mount_restrict(int mount, uint64_t attr, unsigned int flags, struct err *e);
/* Attach at an absolute path that stands. */
int mount_at(int mount, const char *path, struct err *e);

/* Attributes of every mount that files of others can stand on. */
static inline uint64_t mount_tame(void)
{
	return (barrier("nosuid") ? MOUNT_ATTR_NOSUID : 0) |
	       (barrier("nodev") ? MOUNT_ATTR_NODEV : 0);
}
