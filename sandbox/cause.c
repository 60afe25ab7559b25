#include "sandbox/cause.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "sandbox/base/text.h"
#include "sandbox/landlock.h"
#include "sandbox/mountinfo.h"
#include "sandbox/userns.h"

/* ---- the caller's situation ---- */

/* The number in a sysctl, or -1 where the kernel has no such file. */
static long sysctl_read(const char *path)
{
	cleanup_free char *text = NULL;
	if (fd_load(AT_FDCWD, path, 64, &text, NULL, NULL) < 0)
		return -1;
	return strtol(text, NULL, 10);
}

static bool is_filtered(void)
{
	cleanup_free char *status = NULL;
	if (fd_load(AT_FDCWD, "/proc/self/status", 1 << 16, &status, NULL, NULL) < 0)
		return false;
	return strstr(status, "\nSeccomp:\t2") != NULL;
}

/* In a child: from outside of a root, ".." leads on until the root of the mount namespace. */
static _Noreturn void climb(void)
{
	struct stat before;
	struct stat after;
	int top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool climbed = top >= 0 && fstat(top, &before) == 0 && chroot("/proc") == 0 &&
		       fchdir(top) == 0 && chdir("..") == 0 && stat(".", &after) == 0 &&
		       (before.st_dev != after.st_dev || before.st_ino != after.st_ino);
	_exit(climbed);
}

static bool can_climb(void)
{
	int status = 0;
	pid_t pid = fork();
	if (pid == 0)
		climb();
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

/* Root can climb out of it and see; of a user's only one whose root is no mount shows. */
static bool is_chrooted(void)
{
	if (can_climb())
		return true;
	cleanup_free char *text = NULL;
	cleanup(strv_done) struct strv mounts = STRV_NULL;
	if (mountinfo_load(&text, NULL) < 0 || mountinfo_parse(text, &mounts, NULL) < 0)
		return false;
	return !strv_has(&mounts, "/");
}

static void first_line(const char *path, char *ret, size_t len)
{
	cleanup_free char *text = NULL;
	if (fd_load(AT_FDCWD, path, 4096, &text, NULL, NULL) == 0)
		snprintf(ret, len, "%.*s", (int)strcspn(text, "\n"), text);
}

static void look_modules(struct host *ret)
{
	struct stat st;
	ret->selinux = stat("/sys/fs/selinux/enforce", &st) == 0;
	if (ret->apparmor < 0 && stat("/proc/self/attr/apparmor", &st) < 0)
		return; /* attr/current would be another module's */
	first_line("/proc/self/attr/apparmor/current", ret->profile, sizeof(ret->profile));
	if (!ret->profile[0])
		first_line("/proc/self/attr/current", ret->profile, sizeof(ret->profile));
	if (text_starts(ret->profile, "unconfined"))
		ret->profile[0] = '\0';
}

static void look_container(char *ret, size_t len)
{
	static const struct {
		const char *path, *name;
	} signs[] = {
		{ "/.dockerenv", "docker" },
		{ "/run/.containerenv", "podman" },
		{ "/run/systemd/container", NULL }, /* holds the name */
		{ "/var/run/secrets/kubernetes.io", "kubernetes" },
		{ "/proc/sys/fs/binfmt_misc/WSLInterop", "wsl" },
	};
	for (size_t i = 0; i < countof(signs); i++) {
		struct stat st;
		if (stat(signs[i].path, &st) < 0)
			continue;
		if (signs[i].name)
			snprintf(ret, len, "%s", signs[i].name);
		else
			first_line(signs[i].path, ret, len);
		if (!ret[0])
			snprintf(ret, len, "unknown");
		return;
	}
}

void host_look(const char *path, struct host *ret)
{
	*ret = (struct host){ .filtered = is_filtered(), .chrooted = is_chrooted() };
	struct utsname u;
	if (uname(&u) == 0)
		sscanf(u.release, "%d.%d", &ret->major, &ret->minor); // NOLINT(cert-err34-c)
	for (size_t i = 0; i < NAMESPACES_N; i++) {
		char sysctl[64];
		snprintf(sysctl, sizeof(sysctl), "/proc/sys/user/max_%s_namespaces",
			 namespaces[i].name);
		ret->limits[i] = sysctl_read(sysctl);
	}
	ret->userns_clone = sysctl_read("/proc/sys/kernel/unprivileged_userns_clone");
	ret->apparmor = sysctl_read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
	look_modules(ret);
	struct stat st;
	ret->no_proc = stat("/proc/self", &st) < 0;
	struct statfs fs;
	ret->overlaid = path && statfs(path, &fs) == 0 && fs.f_type == OVERLAYFS_SUPER_MAGIC;
	look_container(ret->container, sizeof(ret->container));
}

/* ---- the table ---- */

struct refusal {
	const struct host *host;
	enum cause_at at;
	int code;
};

static bool is_spared(const struct refusal *r)
{
	return r->at >= CAUSE_AT_XATTRS;
}

static bool is_denied(const struct refusal *r)
{
	return (r->code == EPERM || r->code == EACCES) && !is_spared(r);
}

static bool is_older(const struct host *h, int major, int minor)
{
	return h->major < major || (h->major == major && h->minor < minor);
}

/* The first namespace whose limit is 0; NULL: none is. */
static const char *zero_limit(const struct host *h)
{
	for (size_t i = 0; i < NAMESPACES_N; i++)
		if (h->limits[i] == 0)
			return namespaces[i].name;
	return NULL;
}

static bool no_proc(const struct refusal *r)
{
	return r->host->no_proc;
}

static bool limit_is_zero(const struct refusal *r)
{
	return r->at == CAUSE_AT_CLONE && zero_limit(r->host) &&
	       (r->code == ENOSPC || r->code == EUSERS);
}

static bool limit_is_reached(const struct refusal *r)
{
	return r->at == CAUSE_AT_CLONE && (r->code == ENOSPC || r->code == EUSERS);
}

static bool clone_is_off(const struct refusal *r)
{
	return r->at == CAUSE_AT_CLONE && r->code == EPERM && r->host->userns_clone == 0;
}

static bool chroot_refuses(const struct refusal *r)
{
	return r->at == CAUSE_AT_CLONE && r->code == EPERM && r->host->chrooted;
}

static bool filter_refuses_clone(const struct refusal *r)
{
	return r->at == CAUSE_AT_CLONE && r->host->filtered && (is_denied(r) || r->code == ENOSYS);
}

static bool profile_refuses(const struct refusal *r)
{
	return is_denied(r) && r->host->profile[0];
}

static bool selinux_refuses(const struct refusal *r)
{
	return is_denied(r) && r->host->selinux;
}

static bool apparmor_refuses(const struct refusal *r)
{
	return is_denied(r) && r->host->apparmor == 1;
}

/* ECHILD: it was killed. */
static bool filter_refuses_work(const struct refusal *r)
{
	return r->host->filtered && r->at != CAUSE_AT_PROC && !is_spared(r) &&
	       (is_denied(r) || r->code == ENOSYS || r->code == ECHILD);
}

static bool proc_is_masked(const struct refusal *r)
{
	return r->at == CAUSE_AT_PROC && is_denied(r);
}

static bool kernel_is_old(const struct refusal *r)
{
	bool unknown = r->code == ENOSYS || (r->at == CAUSE_AT_CLONE && r->code == EINVAL);
	return unknown && !is_spared(r) && is_older(r->host, 5, 12);
}

static bool kernel_lacks_namespace(const struct refusal *r)
{
	return r->at == CAUSE_AT_CLONE && (r->code == EINVAL || r->code == ENOSYS);
}

static bool overlay_is_missing(const struct refusal *r)
{
	return r->at == CAUSE_AT_OVERLAY && r->code == ENODEV;
}

static bool overlay_is_stacked(const struct refusal *r)
{
	return r->at == CAUSE_AT_OVERLAY && r->code == EINVAL && r->host->overlaid;
}

static bool overlay_is_refused(const struct refusal *r)
{
	return r->at == CAUSE_AT_OVERLAY && (r->code == EINVAL || r->code == EOPNOTSUPP);
}

static bool memory_is_full(const struct refusal *r)
{
	return r->at == CAUSE_AT_SCRATCH && (r->code == ENOMEM || r->code == ENOSPC);
}

static bool groups_are_used_up(const struct refusal *r)
{
	return r->at == CAUSE_AT_WATCH && r->code == EMFILE;
}

static bool watch_is_not_allowed(const struct refusal *r)
{
	return r->at == CAUSE_AT_WATCH && is_older(r->host, 6, 16);
}

static bool xattrs_are_missing(const struct refusal *r)
{
	return r->at == CAUSE_AT_XATTRS && is_older(r->host, 6, 6);
}

static bool pid_max_is_shared(const struct refusal *r)
{
	return r->at == CAUSE_AT_PID_MAX && is_older(r->host, 6, 14);
}

static bool clone_is_denied(const struct refusal *r)
{
	return r->at == CAUSE_AT_CLONE && is_denied(r);
}

/* The first that holds. "{limit}" stands for the namespace whose limit is 0, "{profile}" for the
 * caller's. */
static const struct row {
	const char *name;
	bool (*holds)(const struct refusal *r);
	const char *why, *remedy;
} rows[] = {
	{ "no-proc", no_proc, "there is no /proc here", "mount -t proc proc /proc" },
	{ "limit", limit_is_zero, "user.max_{limit}_namespaces is 0 here",
	  "sysctl -w user.max_{limit}_namespaces=15000" },
	{ "limit", limit_is_reached,
	  "a limit on namespaces is reached, here or in a namespace around this one, or they are "
	  "nested too deep (32 levels)",
	  "see /proc/sys/user/max_*_namespaces, and end what holds namespaces" },
	{ "unprivileged_userns_clone", clone_is_off, "kernel.unprivileged_userns_clone is 0 here",
	  "sysctl -w kernel.unprivileged_userns_clone=1" },
	{ "chroot", chroot_refuses,
	  "this is a chroot, and from within one the kernel makes no user namespace",
	  "call fumehood outside of it, or enter the tree by pivot_root (bwrap, systemd-nspawn, a "
	  "container) and not by chroot" },
	{ "seccomp", filter_refuses_clone,
	  "a seccomp filter is on this process and refuses namespaces (Docker's default does)",
	  "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined "
	  "--security-opt systempaths=unconfined" },
	{ "apparmor-profile", profile_refuses,
	  "the AppArmor profile {profile} is on this process and refuses what a cell needs",
	  "docker run --security-opt apparmor=unconfined, or a profile with `userns,`, `mount,` and "
	  "`pivot_root,`" },
	{ "apparmor", apparmor_refuses,
	  "AppArmor lets no unprivileged program work in a user namespace here: it is made, but "
	  "without capabilities",
	  "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile for "
	  "fumehood with `userns,`" },
	{ "seccomp", filter_refuses_work,
	  "a seccomp filter is on this process: it lets namespaces be made, and little be done in "
	  "them",
	  "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined "
	  "--security-opt systempaths=unconfined" },
	{ "masked-proc", proc_is_masked,
	  "the kernel lets nobody mount a /proc who sees only parts of the one around (a container "
	  "masks it)",
	  "docker run --security-opt systempaths=unconfined, podman run --security-opt unmask=ALL" },
	{ "old-kernel", kernel_is_old, "this kernel is too old: a cell needs Linux 5.12",
	  "a newer kernel; --tracker fanotify needs 6.16" },
	{ "kernel-config", kernel_lacks_namespace,
	  "this kernel was built without one of the namespaces, or a filter hides its calls",
	  "a kernel with CONFIG_{USER,PID,NET,IPC,UTS,TIME}_NS and CONFIG_CGROUPS" },
	{ "no-overlayfs", overlay_is_missing, "this kernel has no overlayfs, or has not loaded it",
	  "modprobe overlay" },
	{ "overlay-on-overlay", overlay_is_stacked,
	  "the folder lies on an overlay over an overlay, and the kernel stacks no third",
	  "put the project on another file system: a volume of the container, or a tmpfs" },
	{ "overlay-lower", overlay_is_refused,
	  "the folder's file system can be no lower layer of an overlay (FUSE, folded case, no "
	  "xattrs), or there are mounts in it that /proc/self/mountinfo does not show",
	  "put the project on another file system, such as ext4, xfs, btrfs or tmpfs" },
	{ "memory", memory_is_full, "there is no memory for the scratch", "end what uses it" },
	{ "fanotify-groups", groups_are_used_up,
	  "all fanotify groups are in use: a user has fs.fanotify.max_user_groups (128) of them",
	  "sysctl -w fs.fanotify.max_user_groups=1024, or fewer cells at a time" },
	{ "old-kernel", watch_is_not_allowed,
	  "before Linux 6.16 nobody may watch files in a user namespace", "a newer kernel" },
	{ "old-kernel", xattrs_are_missing,
	  "before Linux 6.6 a tmpfs keeps no attributes of users: what stood in a folder of the "
	  "project shows again when the folder is deleted and made anew",
	  "a newer kernel" },
	{ "old-kernel", pid_max_is_shared,
	  "before Linux 6.14 kernel.pid_max is one for the whole machine: nothing bounds the "
	  "processes of a cell",
	  "a newer kernel" },
	{ "selinux", selinux_refuses, "SELinux is at work here, and most likely refuses it",
	  "ausearch -m avc -ts recent tells; podman run --security-opt label=disable" },
	{ "unknown", clone_is_denied,
	  "something on this host refuses user namespaces: a chroot, a security module, or a filter "
	  "of the container around us",
	  "ask who runs the host" },
	{ "unknown", is_denied,
	  "something on this host lets user namespaces be made, and refuses work in them: most "
	  "likely a security module",
	  "ask who runs the host; dmesg may tell" },
};

/* text, with what stands for "{limit}" and "{profile}". */
static void fill_in(const char *text, const struct host *host, char *ret, size_t len)
{
	const char *limit = zero_limit(host);
	const struct {
		const char *mark, *value;
	} marks[] = { { "{limit}", limit ? limit : "*" }, { "{profile}", host->profile } };
	size_t used = 0;
	while (*text && used + 1 < len) {
		size_t i = 0;
		while (i < countof(marks) && !text_starts(text, marks[i].mark))
			i++;
		if (i == countof(marks)) {
			ret[used++] = *text++;
			continue;
		}
		used += (size_t)snprintf(ret + used, len - used, "%s", marks[i].value);
		text += strlen(marks[i].mark);
	}
	ret[used < len ? used : len - 1] = '\0';
}

bool cause_find(const struct host *host, enum cause_at at, int code, struct cause *ret)
{
	const struct refusal refusal = { host, at, code };
	for (size_t i = 0; i < countof(rows); i++) {
		if (!rows[i].holds(&refusal))
			continue;
		ret->name = rows[i].name;
		fill_in(rows[i].why, host, ret->why, sizeof(ret->why));
		fill_in(rows[i].remedy, host, ret->remedy, sizeof(ret->remedy));
		return true;
	}
	return false;
}

int cause_explain(enum cause_at at, const char *path, struct err *e)
{
	if (!e)
		return -EIO;
	bool told = e->hint[0] || (e->status && e->status != STATUS_HOST);
	if (told)
		return -e->code;
	struct host host;
	struct cause cause;
	host_look(path, &host);
	if (!cause_find(&host, at, e->code, &cause))
		return -e->code;
	bool spared = at != CAUSE_AT_SCRATCH && !host.no_proc && landlock_abi() > 0;
	err_hint(e, "%s: %s%s", cause.why, cause.remedy,
		 spared ? "; or, with less isolation: --isolation landlock" : "");
	return err_status(e, STATUS_HOST);
}
