#include "runner/drive/lineage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/fd.h"

#define DEPTH_MAX  1024 /* the chain is read while it may change */
#define PF_EXITING 0x4  /* include/linux/sched.h; set before the first descriptor is closed */

struct process {
	char state;
	pid_t parent;
	unsigned int flags;
	uint64_t since;
};

/* False: it is gone. */
static bool look(pid_t pid, struct process *ret)
{
	char path[32];
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	cleanup_free char *stat = NULL;
	if (fd_load(AT_FDCWD, path, 4096, &stat, NULL, NULL))
		return false;
	const char *at = strrchr(stat, ')'); /* the name may hold anything */
	unsigned long long since = 0;
	// NOLINTNEXTLINE(cert-err34-c): the kernel's numbers fit
	if (!at || sscanf(at,
			  ") %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
			  "%*d %llu",
			  &ret->state, &ret->parent, &ret->flags, &since) != 4)
		return false;
	ret->since = since;
	return true;
}

static bool has_spoken(const struct lineage *l, pid_t pid, uint64_t since)
{
	for (size_t i = 0; i < l->len; i++)
		if (l->spoke[i].pid == pid && l->spoke[i].since == since)
			return true;
	return false;
}

static bool is_end(pid_t parent, pid_t warden)
{
	return parent == warden || parent <= 1;
}

const char *lineage_refuse(const struct lineage *l, pid_t pid, pid_t warden)
{
	static const char orphan[] = "after the first session another may only come from the "
				     "command: this process comes from nobody that lives";
	struct process p;
	if (!l->len || (look(pid, &p) && has_spoken(l, pid, p.since)))
		return NULL;
	for (int depth = 0; depth < DEPTH_MAX; depth++) {
		if (!look(pid, &p))
			return orphan;
		if (has_spoken(l, pid, p.since))
			return "after the first session another may only come from the command: "
			       "this process comes from one that ran tests";
		if (pid == l->top)
			return NULL;
		if (is_end(p.parent, warden))
			return orphan;
		pid = p.parent;
	}
	return orphan;
}

static pid_t top_of(pid_t pid, pid_t warden)
{
	struct process p;
	for (int depth = 0; depth < DEPTH_MAX && look(pid, &p); depth++) {
		if (is_end(p.parent, warden))
			return pid;
		pid = p.parent;
	}
	return pid;
}

int lineage_add(struct lineage *l, pid_t pid, pid_t warden)
{
	struct process p = { 0 };
	look(pid, &p); /* who is gone already descends from nobody, and nobody from it */
	struct lineage_member *spoke = reallocarray(l->spoke, l->len + 1, sizeof(*spoke));
	if (!spoke)
		return -ENOMEM;
	if (!l->len)
		l->top = top_of(pid, warden);
	spoke[l->len++] = (struct lineage_member){ pid, p.since };
	l->spoke = spoke;
	return 0;
}

void lineage_done(struct lineage *l)
{
	free(l->spoke);
	*l = LINEAGE_NULL;
}

bool lineage_is_ending(pid_t pid)
{
	struct process p;
	return !look(pid, &p) || p.state == 'Z' || p.flags & PF_EXITING;
}
