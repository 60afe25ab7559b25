#include "sandbox/devices.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/mount.h"

static const struct {
	const char *host;
	const char *point; /* below the scratch */
} nodes_wanted[DEVICES_N] = {
	{ "/dev/null", "dev/null" },       { "/dev/zero", "dev/zero" },
	{ "/dev/full", "dev/full" },       { "/dev/random", "dev/random" },
	{ "/dev/urandom", "dev/urandom" }, { "/dev/tty", "dev/tty" },
};

static const struct {
	const char *name, *target;
} links[] = {
	{ "dev/fd", "/proc/self/fd" },       { "dev/stdin", "/proc/self/fd/0" },
	{ "dev/stdout", "/proc/self/fd/1" }, { "dev/stderr", "/proc/self/fd/2" },
	{ "dev/ptmx", "pts/ptmx" },
};

int devices_clone(int ret[DEVICES_N], struct err *e)
{
	for (size_t i = 0; i < DEVICES_N; i++) {
		ret[i] = -1;
		struct err why = ERR_NULL;
		int r = mount_clone(AT_FDCWD, nodes_wanted[i].host, 0, &ret[i], &why);
		if (r < 0 && r != -ENOENT) {
			*e = why;
			return r;
		}
	}
	return 0;
}

int devices_fill(int scratch, struct err *e)
{
	static const char *const folders[] = { "dev", "dev/pts", "dev/shm", "dev/mqueue" };
	for (size_t i = 0; i < countof(folders); i++)
		if (mkdirat(scratch, folders[i], 0755) < 0)
			return err_sys(e, "make %s", folders[i]);
	for (size_t i = 0; i < countof(links); i++)
		if (symlinkat(links[i].target, scratch, links[i].name) < 0)
			return err_sys(e, "make %s", links[i].name);
	for (size_t i = 0; i < DEVICES_N; i++)
		if (mknodat(scratch, nodes_wanted[i].point, S_IFREG | 0666, 0) < 0)
			return err_sys(e, "make %s", nodes_wanted[i].point);
	return 0;
}

static int mount_pts(struct err *e)
{
	/* Without gid=: the group tty need not be mapped, and its members write to no terminal here. */
	static const struct mount_option options[] = { { "ptmxmode", "0666" }, { "mode", "620" } };
	cleanup_close int pts = -1;
	int r = mount_new("devpts", options, countof(options),
			  MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, &pts, e);
	return r < 0 ? r : mount_at(pts, "/dev/pts", e);
}

int devices_mount(int scratch, const int nodes[DEVICES_N], struct err *e)
{
	cleanup_close int dev = -1;
	int r = mount_clone(scratch, "dev", 0, &dev, e);
	if (!r)
		r = mount_restrict(dev, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC,
				   0, e);
	if (!r)
		r = mount_at(dev, "/dev", e);
	for (size_t i = 0; !r && i < DEVICES_N; i++)
		if (nodes[i] >= 0)
			r = mount_at(nodes[i], nodes_wanted[i].host, e);
	return r < 0 ? r : mount_pts(e);
}
