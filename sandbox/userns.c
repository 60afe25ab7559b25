#include "sandbox/userns.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "sandbox/cell_spec.h"

const struct namespace namespaces[NAMESPACES_N] = {
	{ CLONE_NEWUSER, "user", ISOLATION_USER },       { CLONE_NEWNS, "mnt", ISOLATION_MOUNT },
	{ CLONE_NEWPID, "pid", ISOLATION_PID },          { CLONE_NEWNET, "net", ISOLATION_NET },
	{ CLONE_NEWIPC, "ipc", ISOLATION_IPC },          { CLONE_NEWUTS, "uts", ISOLATION_UTS },
	{ CLONE_NEWCGROUP, "cgroup", ISOLATION_CGROUP }, { CLONE_NEWTIME, "time", ISOLATION_TIME },
};

uint64_t namespaces_flags(const struct cell_spec *spec)
{
	uint64_t flags = 0;
	for (size_t i = 0; i < countof(namespaces); i++)
		flags |= namespaces[i].flag;
	if (spec->network == CELL_NETWORK_HOST)
		flags &= ~(uint64_t)CLONE_NEWNET;
	return flags;
}

void namespaces_look(int proc, uint64_t ret[NAMESPACES_N])
{
	for (size_t i = 0; i < countof(namespaces); i++) {
		char path[32];
		struct stat st;
		snprintf(path, sizeof(path), "self/ns/%s", namespaces[i].name);
		ret[i] = fstatat(proc, path, &st, 0) < 0 ? 0 : st.st_ino;
	}
}

static int write_file(pid_t pid, const char *name, const char *text, struct err *e)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	cleanup_close int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "open %s", path);
	if (fd_write_full(fd, text, strlen(text)) < 0)
		return err_sys(e, "write %s", path);
	return 0;
}

int userns_map(pid_t pid, uid_t uid, gid_t gid, struct err *e)
{
	char users[64] = "0 0 4294967295\n";
	char groups[64] = "0 0 4294967295\n";
	if (uid != 0) {
		int r = write_file(pid, "setgroups", "deny", e);
		if (r < 0)
			return r;
		snprintf(users, sizeof(users), "%u %u 1\n", uid, uid);
		snprintf(groups, sizeof(groups), "%u %u 1\n", gid, gid);
	}
	int r = write_file(pid, "gid_map", groups, e);
	return r < 0 ? r : write_file(pid, "uid_map", users, e);
}

/* The number in a sysctl, or -1 where the kernel has no such file. */
static long sysctl_read(const char *path)
{
	cleanup_free char *text = NULL;
	if (fd_load(AT_FDCWD, path, 64, &text, NULL, NULL) < 0)
		return -1;
	return strtol(text, NULL, 10);
}

/* Is a seccomp filter on the caller itself? */
static bool filtered(void)
{
	cleanup_free char *status = NULL;
	if (fd_load(AT_FDCWD, "/proc/self/status", 1 << 16, &status, NULL, NULL) < 0)
		return false;
	return strstr(status, "\nSeccomp:\t2") != NULL;
}

static int explain(struct err *e)
{
	if (sysctl_read("/proc/sys/user/max_user_namespaces") == 0)
		return err_hint(e, "user.max_user_namespaces is 0 here; raise it: "
				   "sysctl -w user.max_user_namespaces=15000");
	if (e->code == ENOSPC || e->code == EUSERS)
		return err_hint(e, "a limit on namespaces is reached, or they are nested too deep "
				   "(32 levels): see /proc/sys/user/max_*_namespaces");
	if (sysctl_read("/proc/sys/kernel/unprivileged_userns_clone") == 0)
		return err_hint(e, "kernel.unprivileged_userns_clone is 0 here; set it: "
				   "sysctl -w kernel.unprivileged_userns_clone=1");
	if (sysctl_read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1)
		return err_hint(e, "AppArmor lets no unprivileged program work in a user namespace "
				   "here: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, "
				   "or an AppArmor profile for fumehood with `userns,`");
	if (filtered())
		return err_hint(e, "a seccomp filter is on this process and refuses namespaces "
				   "(Docker's default does): docker run --security-opt "
				   "seccomp=unconfined --security-opt apparmor=unconfined");
	if (e->code == EPERM || e->code == EACCES)
		return err_hint(e, "something on this host refuses user namespaces: a chroot, a "
				   "security module, or a filter of the container around us");
	return -e->code;
}

int userns_explain(struct err *e)
{
	if (!e)
		return -EIO;
	err_status(e, STATUS_HOST);
	return explain(e);
}
