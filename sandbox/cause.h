#pragma once
/*
 * cause: why a host refuses a cell, and what can be done about it. One table,
 * for the errors of cell_start() and for doctor.
 *
 * cause_find() is pure; host_look() reads /proc and a few signs of containers,
 * and forks a child that tries whether this is a chroot.
 */
#include <stdbool.h>
#include <stddef.h>

#include "sandbox/sync.h"

struct err;

/* Where in the making of a cell something was refused. */
enum cause_at {
	CAUSE_AT_CLONE,  /* the namespaces themselves */
	CAUSE_AT_INSIDE, /* what needs a capability in them */
	CAUSE_AT_SCRATCH,
	CAUSE_AT_PROC,
	CAUSE_AT_OVERLAY,
	/* What a cell can be without. */
	CAUSE_AT_XATTRS,
	CAUSE_AT_WATCH,
	CAUSE_AT_PID_MAX,
};

/* The caller's situation. Of numbers -1 means that the kernel has no such file. */
struct host {
	int major, minor;
	long limits[NAMESPACES_N]; /* user.max_*_namespaces, in the order of namespaces[] */
	long userns_clone;         /* kernel.unprivileged_userns_clone */
	long apparmor;             /* kernel.apparmor_restrict_unprivileged_userns */
	bool filtered;             /* a seccomp filter is on the caller itself */
	bool chrooted;
	bool no_proc;       /* there is no /proc to read any of this from */
	bool overlaid;      /* `path` of host_look() lies on an overlay */
	char profile[64];   /* of AppArmor, on the caller itself; "": none, or unconfined */
	bool selinux;       /* it is at work here */
	char container[32]; /* "docker"; "": no sign of one */
};
/* path: what an overlay was to be made over; NULL. */
void host_look(const char *path, struct host *ret);

struct cause {
	const char *name; /* for programs: "seccomp" */
	char why[256];
	char remedy[256];
};

/* False: nothing in the table holds. code: an errno. */
bool cause_find(const struct host *host, enum cause_at at, int code, struct cause *ret);

/* e may tell of something that a host refuses: when it does, add why, the remedy, and STATUS_HOST. A
 * hint that stands stays. Returns the negative code in e. */
int cause_explain(enum cause_at at, const char *path, struct err *e);
