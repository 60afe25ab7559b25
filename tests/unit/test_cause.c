#include <errno.h>
#include <string.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"
#include "sandbox/cause.h"
#include "tests/lib/tap.h"

/* A host that refuses nothing; each case changes what it is about. */
static struct host plain(void)
{
	struct host h = { .major = 6, .minor = 18, .userns_clone = -1, .apparmor = -1 };
	for (size_t i = 0; i < NAMESPACES_N; i++)
		h.limits[i] = 15000;
	return h;
}

static const struct {
	const char *of, *name;
	enum cause_at at;
	int code;
	int major, minor;         /* 0: 6.18 */
	long apparmor, clone_off; /* 1: on */
	const char *why;          /* NULL: any */
	const char *profile;
	bool filtered, chrooted, overlaid, no_proc, selinux;
} cases[] = {
	{ "Docker, clone3 hidden", "seccomp", CAUSE_AT_CLONE, ENOSYS, .filtered = true },
	{ "Docker, clone refused", "seccomp", CAUSE_AT_CLONE, EPERM, .filtered = true },
	{ "Docker on Ubuntu", "seccomp", CAUSE_AT_CLONE, EPERM, .filtered = true, .apparmor = 1 },
	{ "Ubuntu 24.04", "apparmor", CAUSE_AT_INSIDE, EPERM, .apparmor = 1 },
	{ "Ubuntu 24.04, a mount", "apparmor", CAUSE_AT_SCRATCH, EACCES, .apparmor = 1 },
	{ "Ubuntu 24.04, /proc", "apparmor", CAUSE_AT_PROC, EPERM, .apparmor = 1 },
	{ "a filter that lets clone through", "seccomp", CAUSE_AT_INSIDE, EPERM, .filtered = true },
	{ "a filter that kills", "seccomp", CAUSE_AT_INSIDE, ECHILD, .filtered = true },
	{ "a warden that died", NULL, CAUSE_AT_INSIDE, ECHILD },
	{ "an old Debian", "unprivileged_userns_clone", CAUSE_AT_CLONE, EPERM, .clone_off = 1 },
	{ "a chroot", "chroot", CAUSE_AT_CLONE, EPERM, .chrooted = true },
	{ "a chroot under a filter", "chroot", CAUSE_AT_CLONE, EPERM, .chrooted = true,
	  .filtered = true },
	{ "a limit", "limit", CAUSE_AT_CLONE, ENOSPC, .why = "a limit on namespaces is reached" },
	{ "nested too deep", "limit", CAUSE_AT_CLONE, EUSERS },
	{ "a masked /proc", "masked-proc", CAUSE_AT_PROC, EPERM },
	{ "Docker that lifts its filter alone", "masked-proc", CAUSE_AT_PROC, EPERM,
	  .filtered = true },
	{ "no /proc at all", "no-proc", CAUSE_AT_INSIDE, ENOENT, .no_proc = true },
	{ "Linux 5.10", "old-kernel", CAUSE_AT_INSIDE, ENOSYS, 5, 10 },
	{ "Linux 5.4", "old-kernel", CAUSE_AT_CLONE, EINVAL, 5, 4 },
	{ "no time namespace", "kernel-config", CAUSE_AT_CLONE, EINVAL },
	{ "no overlayfs", "no-overlayfs", CAUSE_AT_OVERLAY, ENODEV },
	{ "a third overlay", "overlay-on-overlay", CAUSE_AT_OVERLAY, EINVAL, .overlaid = true },
	{ "an overlay over FUSE", "overlay-lower", CAUSE_AT_OVERLAY, EINVAL },
	{ "no memory", "memory", CAUSE_AT_SCRATCH, ENOMEM },
	{ "128 groups", "fanotify-groups", CAUSE_AT_WATCH, EMFILE },
	{ "no watching before 6.16", "old-kernel", CAUSE_AT_WATCH, EPERM, 6, 15 },
	{ "Docker's profile", "apparmor-profile", CAUSE_AT_SCRATCH, EACCES, .apparmor = 1,
	  .profile = "docker-default (enforce)",
	  .why = "the AppArmor profile docker-default (enforce) is on" },
	{ "SELinux", "selinux", CAUSE_AT_SCRATCH, EACCES, .selinux = true },
	{ "who knows", "unknown", CAUSE_AT_CLONE, EPERM },
	{ "who knows, inside", "unknown", CAUSE_AT_SCRATCH, EACCES },
	{ "a full disk", NULL, CAUSE_AT_INSIDE, EIO },
	{ "watching refused on a new kernel", NULL, CAUSE_AT_WATCH, EPERM },
};

static void test_table(void)
{
	for (size_t i = 0; i < countof(cases); i++) {
		struct host h = plain();
		if (cases[i].major) {
			h.major = cases[i].major;
			h.minor = cases[i].minor;
		}
		h.filtered = cases[i].filtered;
		h.chrooted = cases[i].chrooted;
		h.overlaid = cases[i].overlaid;
		h.no_proc = cases[i].no_proc;
		if (cases[i].apparmor)
			h.apparmor = 1;
		if (cases[i].profile)
			snprintf(h.profile, sizeof(h.profile), "%s", cases[i].profile);
		h.selinux = cases[i].selinux;
		if (cases[i].clone_off)
			h.userns_clone = 0;
		struct cause cause = { 0 };
		bool found = cause_find(&h, cases[i].at, cases[i].code, &cause);
		tap_ok(found == (cases[i].name != NULL) && text_eq(cause.name, cases[i].name) &&
			       (!found || (cause.why[0] && cause.remedy[0])) &&
			       (!cases[i].why || text_starts(cause.why, cases[i].why)),
		       "%s: %s", cases[i].of, found ? cause.name : "nothing known");
	}
}

static void test_limits(void)
{
	static const char *const names[NAMESPACES_N] = { "user", "mnt", "pid",    "net",
							 "ipc",  "uts", "cgroup", "time" };
	for (size_t i = 0; i < NAMESPACES_N; i++) {
		struct host h = plain();
		struct cause cause = { 0 };
		char why[64];
		char remedy[64];
		h.limits[i] = 0;
		snprintf(why, sizeof(why), "user.max_%s_namespaces is 0 here", names[i]);
		snprintf(remedy, sizeof(remedy), "sysctl -w user.max_%s_namespaces=15000", names[i]);
		tap_ok(cause_find(&h, CAUSE_AT_CLONE, ENOSPC, &cause) && text_eq(cause.why, why) &&
			       text_eq(cause.remedy, remedy),
		       "%s", cause.why);
	}
}

static void test_explain(void)
{
	struct err e = ERR_NULL;
	err_set(&e, EPERM, "make namespaces");
	tap_ok(cause_explain(CAUSE_AT_CLONE, NULL, &e) == -EPERM && e.status == STATUS_HOST &&
		       e.hint[0],
	       "a refusal has a hint: %s", e.hint);
	err_set(&e, EPERM, "mount a proc");
	err_hint(&e, "mine");
	tap_ok(cause_explain(CAUSE_AT_PROC, NULL, &e) == -EPERM && text_eq(e.hint, "mine"),
	       "a hint that stands stays");
	e = ERR_NULL;
	err_set(&e, EIO, "read");
	tap_ok(cause_explain(CAUSE_AT_INSIDE, NULL, &e) == -EIO && !e.hint[0] && !e.status,
	       "what no host refuses is left alone");
}

int main(void)
{
	test_table();
	test_limits();
	test_explain();
	return tap_done();
}
