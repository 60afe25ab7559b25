#include "sandbox/mount.h"

#include <fcntl.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fault.h"

int mount_new(const char *type, const struct mount_option *options, size_t n, uint64_t attr,
	      int *ret, struct err *e)
{
	cleanup_close int fs = fsopen(type, FSOPEN_CLOEXEC);
	if (fs < 0)
		return err_sys(e, "open the filesystem %s", type);
	for (size_t i = 0; i < n; i++) {
		const struct mount_option *o = &options[i];
		unsigned int kind = o->value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG;
		if (fsconfig(fs, kind, o->key, o->value, 0) < 0)
			return err_sys(e, "%s: option %s", type, o->key);
	}
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return err_sys(e, "make a %s", type);
	fault_point("mount-new");
	int mount = fsmount(fs, FSMOUNT_CLOEXEC, (unsigned int)attr);
	if (mount < 0)
		return err_sys(e, "mount a %s", type);
	*ret = mount;
	return 0;
}

int mount_clone(int dir_fd, const char *path, unsigned int flags, int *ret, struct err *e)
{
	fault_point("mount-clone");
	int mount = open_tree(dir_fd, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | flags);
	if (mount < 0)
		return err_sys(e, "clone the mount of %s", *path ? path : "a descriptor");
	*ret = mount;
	return 0;
}

int mount_restrict(int mount, uint64_t attr, unsigned int flags, struct err *e)
{
	struct mount_attr set = { .attr_set = attr,
				  .propagation = barrier("private") ? MS_PRIVATE : 0 };
	if (mount_setattr(mount, "", AT_EMPTY_PATH | flags, &set, sizeof(set)) < 0)
		return err_sys(e, "restrict a mount");
	return 0;
}

int mount_at(int mount, const char *path, struct err *e)
{
	fault_point("mount-at");
	if (move_mount(mount, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_SYMLINKS) < 0)
		return err_sys(e, "mount %s", path);
	return 0;
}
