#include "sandbox/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/clock.h"
#include "sandbox/base/err.h"
#include "sandbox/caps.h"
#include "sandbox/filter.h"
#include "sandbox/layout.h"
#include "sandbox/mountinfo.h"
#include "sandbox/mounts.h"
#include "sandbox/net.h"
#include "sandbox/quotas.h"
#include "sandbox/scratch.h"
#include "sandbox/userns.h"
#include "sandbox/watch.h"

#define STEP_MS_MAX 10000 /* a step that takes longer hangs */

const char *const doctor_states[] = {
	[DOCTOR_OK] = "ok",
	[DOCTOR_REDUCED] = "reduced",
	[DOCTOR_FAILED] = "failed",
	[DOCTOR_SKIPPED] = "skipped",
};

/* ---- the steps, in the trial's process ---- */

struct trial {
	const struct cell_spec *spec;
	struct layout layout;
	struct mounts mounts;
	bool limited;
};

/* Also where a scratch on disk is asked for: that is a folder of the host, and no question of rights. */
static const struct scratch_disk in_memory = SCRATCH_DISK_NULL;

static int try_host_name(struct trial *t, struct err *e)
{
	(void)t;
	return sethostname(CELL_HOSTNAME, strlen(CELL_HOSTNAME)) < 0
		       ? err_sys(e, "set the host name")
		       : 0;
}

static int try_scratch(struct trial *t, struct err *e)
{
	return mounts_begin(t->spec, &in_memory, &t->mounts, e);
}

static int try_proc(struct trial *t, struct err *e)
{
	return mounts_proc(&t->mounts, e);
}

static int try_tree(struct trial *t, struct err *e)
{
	cleanup_free char *mountinfo = NULL;
	int r = mountinfo_load(&mountinfo, e);
	if (!r)
		r = layout_make(t->spec, mountinfo, NULL, &t->layout, e);
	return r < 0 ? r : mounts_enter(&t->mounts, e);
}

static int try_overlay(struct trial *t, struct err *e)
{
	struct mounts_help help;
	int r = scratch_lay_out(t->spec, t->mounts.scratch, e);
	if (!r)
		r = mounts_prepare(t->spec, &t->layout, &t->mounts, e);
	return r < 0 ? r : mounts_help(&t->layout, &t->mounts, &help, e);
}

static int try_quotas(struct trial *t, struct err *e)
{
	return quotas_lower(t->spec, t->mounts.proc_mount, &t->limited, e);
}

static int try_places(struct trial *t, struct err *e)
{
	cleanup_close int listener = -1;
	int r = scratch_fill(t->spec, t->mounts.scratch, e);
	if (!r)
		r = mounts_cover(t->spec, &in_memory, &t->layout, &t->mounts, e);
	if (!r)
		r = net_listen(CELL_SOCKET, &listener, e);
	if (!r)
		r = mounts_seal(t->spec, &t->mounts, e);
	return r < 0 ? r : mounts_leave(&t->mounts, e);
}

static int try_loopback(struct trial *t, struct err *e)
{
	return t->spec->network == CELL_NETWORK_NONE ? net_loopback_up(e) : 0;
}

/* The layers keep in them what was deleted. */
static int try_xattrs(struct trial *t, struct err *e)
{
	cleanup_close int file =
		openat(t->mounts.scratch, "tmp/xattr", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (file < 0)
		return err_sys(e, "make a file on the scratch");
	int r = fsetxattr(file, "user.fumehood", "y", 1, 0) < 0 ? err_sys(e, "set an attribute") : 0;
	unlinkat(t->mounts.scratch, "tmp/xattr", 0);
	return r;
}

static int try_watch(struct trial *t, struct err *e)
{
	char why[96];
	int group = watch_open(t->mounts.scratch, why, sizeof(why));
	if (group < 0)
		return err_set(e, -group, "%s; changed files are found by a scan", why);
	close(group);
	return 0;
}

static int try_pid_max(struct trial *t, struct err *e)
{
	return t->limited ? 0 : err_set(e, ENOSYS, "kernel.pid_max is the host's");
}

static int try_filter(struct trial *t, struct err *e)
{
	int r = caps_drop(0, e);
	if (!r && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		r = err_sys(e, "set no_new_privs");
	return r < 0 ? r : filter_install(t->spec->allow_nested, e);
}

/* The first two are done from outside, the last is a cell of cell_start(). */
static const struct row {
	const char *name, *what;
	int (*act)(struct trial *t, struct err *e);
	enum cause_at at;
	bool spared; /* a cell can be without it */
} rows[] = {
	{ "namespaces", "new user, mount, pid, net, ipc, uts, cgroup and time namespaces", NULL,
	  CAUSE_AT_CLONE },
	{ "ids", "the caller's ids mapped into them", NULL, CAUSE_AT_INSIDE },
	{ "capabilities", "work in them: the host name", try_host_name, CAUSE_AT_INSIDE },
	{ "scratch", "a tmpfs for all that is written", try_scratch, CAUSE_AT_SCRATCH },
	{ "proc", "a /proc of the cell's own", try_proc, CAUSE_AT_PROC },
	{ "tree", "the host's tree, read-only, as the root", try_tree, CAUSE_AT_INSIDE },
	{ "overlay", "an overlay over the project", try_overlay, CAUSE_AT_OVERLAY },
	{ "quotas", "limits of namespaces, lowered", try_quotas, CAUSE_AT_INSIDE },
	{ "places", "private folders, devices, what is visible", try_places, CAUSE_AT_INSIDE },
	{ "loopback", "a network of its own", try_loopback, CAUSE_AT_INSIDE },
	{ "xattrs", "attributes on the scratch", try_xattrs, CAUSE_AT_XATTRS, true },
	{ "fanotify", "changed files told by the kernel", try_watch, CAUSE_AT_WATCH, true },
	{ "pid_max", "a bound on processes", try_pid_max, CAUSE_AT_PID_MAX, true },
	{ "filter", "no capabilities, and a filter of system calls", try_filter, CAUSE_AT_INSIDE },
	{ "cell", "a whole cell, looked at from inside", NULL, CAUSE_AT_INSIDE },
};
enum { STEP_NAMESPACES, STEP_IDS, STEP_INSIDE, STEP_CELL = countof(rows) - 1 };
_Static_assert(countof(rows) <= DOCTOR_STEPS_MAX, "a step for each row");

/* A step ended: its number stands in `signal`. */
static void tell_step(int sock, size_t step, const struct err *e)
{
	struct sync_record record = { .kind = SYNC_ERR, .signal = (int)step, .err = *e };
	sync_send(sock, &record, NULL, 0, NULL);
}

static _Noreturn void trial_main(const struct cell_spec *spec, int sock)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	struct trial trial = { .spec = spec };
	struct sync_record record;
	mounts_init(&trial.mounts);
	if (sync_recv(sock, &record, NULL, 0, NULL, NULL) <= 0)
		_exit(1);
	umask(0);
	for (size_t i = STEP_INSIDE; i < STEP_CELL; i++) {
		struct err e = ERR_NULL;
		int r = rows[i].act(&trial, &e);
		tell_step(sock, i,
			  r < 0 ? &e : &ERR_NULL); /* a deed may have met an error and mended it */
		if (r < 0 && !rows[i].spared)
			break;
	}
	_exit(0);
}

static _Noreturn void cell_main(const struct cell_spec *spec, int sock)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	cleanup(cell_done) struct cell cell = CELL_NULL;
	struct sync_record record = { .kind = SYNC_OBSERVED };
	struct err e = ERR_NULL;
	if (cell_start(spec, &cell, &e) < 0)
		tell_step(sock, STEP_CELL, &e);
	record.isolation = cell.isolation;
	if (!e.code)
		sync_send(sock, &record, NULL, 0, NULL);
	cell_done(&cell);
	_exit(0);
}

/* ---- from outside ---- */

static pid_t fork_into(uint64_t flags, int *ret_pidfd)
{
	int pidfd = -1;
	struct clone_args args = {
		.flags = flags | CLONE_PIDFD,
		.pidfd = (uintptr_t)&pidfd,
		.exit_signal = SIGCHLD,
	};
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	*ret_pidfd = pidfd;
	return pid;
}

static void end(pid_t pid, int pidfd)
{
	pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		continue;
}

static void passed(struct doctor *d, size_t step, const struct err *e)
{
	struct doctor_step *s = &d->steps[step];
	s->state = !e->code ? DOCTOR_OK : rows[step].spared ? DOCTOR_REDUCED : DOCTOR_FAILED;
	if (!e->code)
		return;
	snprintf(s->text, sizeof(s->text), "%.255s", e->text);
	s->explained = cause_find(&d->host, rows[step].at, e->code, &s->cause);
}

/* The first step from `from` that nothing was heard of. */
static size_t open_step(const struct doctor *d, size_t from)
{
	while (from < STEP_CELL && d->steps[from].state != DOCTOR_SKIPPED)
		from++;
	return from;
}

/* A record within the time of a step. 0: the other side is gone; -ETIMEDOUT. */
static int hear(int sock, struct sync_record *ret, struct err *e)
{
	int64_t until = clock_ms() + STEP_MS_MAX;
	struct pollfd come = { .fd = sock, .events = POLLIN };
	int n;
	do {
		int64_t left = until - clock_ms();
		n = poll(&come, 1, left > 0 ? (int)left : 0);
	} while (n < 0 && errno == EINTR);
	if (n == 0)
		return err_set(e, ETIMEDOUT, "no answer within %d seconds", STEP_MS_MAX / 1000);
	return sync_recv(sock, ret, NULL, 0, NULL, e);
}

static bool has_failed(const struct doctor *d)
{
	for (size_t i = 0; i < d->steps_len; i++)
		if (d->steps[i].state == DOCTOR_FAILED)
			return true;
	return false;
}

/* Nothing more will be heard; `from` was the first step that was to be heard of. */
static void heard_all(struct doctor *d, size_t from, struct err *e)
{
	size_t step = open_step(d, from);
	bool died = !e->code && !has_failed(d) && d->steps[step].state == DOCTOR_SKIPPED &&
		    (step < STEP_CELL || from == STEP_CELL);
	if (died)
		err_set(e, ECHILD, "the process that tried it died");
	if (e->code)
		passed(d, step, e);
}

static void hear_steps(struct doctor *d, int sock, size_t from)
{
	struct sync_record record = { .kind = 0 };
	struct err e = ERR_NULL;
	while (hear(sock, &record, &e) > 0) {
		if (record.kind == SYNC_OBSERVED) {
			d->made = true;
			d->isolation = record.isolation;
			passed(d, STEP_CELL, &ERR_NULL);
		} else if (record.signal >= (int)from && record.signal <= STEP_CELL) {
			passed(d, (size_t)record.signal, &record.err);
		}
	}
	heard_all(d, from, &e);
}

/* Which namespaces cannot be made; each with a user namespace, as a user has to. */
static void name_refused(struct doctor_step *s)
{
	const char *before = " (";
	for (size_t i = 0; i < NAMESPACES_N; i++) {
		int pidfd = -1;
		pid_t pid = fork_into(CLONE_NEWUSER | namespaces[i].flag, &pidfd);
		if (pid == 0)
			_exit(0);
		size_t len = strlen(s->text);
		if (pid < 0) {
			snprintf(s->text + len, sizeof(s->text) - len, "%s%s", before,
				 namespaces[i].name);
			before = ", ";
			continue;
		}
		end(pid, pidfd);
		close(pidfd);
	}
	size_t len = strlen(s->text);
	if (before[0] == ',')
		snprintf(s->text + len, sizeof(s->text) - len, ")");
}

static void try_steps(const struct cell_spec *spec, struct doctor *d, int mine, int its)
{
	struct err e = ERR_NULL;
	cleanup_close int pidfd = -1;
	pid_t pid = fork_into(namespaces_flags(spec), &pidfd);
	if (pid == 0) {
		close(mine); /* or it would never see the end of it */
		trial_main(spec, its);
	}
	close(its);
	if (pid < 0)
		err_sys(&e, "make namespaces");
	passed(d, STEP_NAMESPACES, &e);
	if (pid < 0) {
		name_refused(&d->steps[STEP_NAMESPACES]);
		return;
	}
	struct caps caps;
	if (!caps_wanted(spec, &caps, &e))
		userns_map(pid, spec, &caps, &e);
	passed(d, STEP_IDS, &e);
	if (!e.code && sync_tell(mine, SYNC_MAPPED, 0, NULL) == 0)
		hear_steps(d, mine, STEP_INSIDE);
	end(pid, pidfd);
}

static void try_cell(const struct cell_spec *spec, struct doctor *d, int mine, int its)
{
	struct err e = ERR_NULL;
	pid_t pid = fork();
	if (pid == 0) {
		close(mine);
		cell_main(spec, its);
	}
	close(its);
	if (pid < 0) {
		err_sys(&e, "fork");
		passed(d, STEP_CELL, &e);
		return;
	}
	hear_steps(d, mine, STEP_CELL);
	kill(pid, SIGKILL); /* it is ours and not yet waited for, so the number is its own */
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		continue;
}

static bool with_sockets(const struct cell_spec *spec, struct doctor *d, size_t step,
			 void (*try)(const struct cell_spec *spec, struct doctor *d, int mine,
				     int its))
{
	int ends[2];
	struct err e = ERR_NULL;
	if (sync_pair(ends, &e) < 0) {
		passed(d, step, &e);
		return false;
	}
	try(spec, d, ends[0], ends[1]);
	close(ends[0]);
	return true;
}

static bool all_stand(const struct doctor *d)
{
	for (size_t i = 0; i < STEP_CELL; i++)
		if (d->steps[i].state == DOCTOR_FAILED || d->steps[i].state == DOCTOR_SKIPPED)
			return false;
	return true;
}

void doctor_examine(const struct cell_spec *spec, struct doctor *ret)
{
	*ret = (struct doctor){ .steps_len = countof(rows) };
	host_look(spec->project, &ret->host);
	for (size_t i = 0; i < countof(rows); i++)
		ret->steps[i] = (struct doctor_step){ .name = rows[i].name,
						      .what = rows[i].what,
						      .state = DOCTOR_SKIPPED };
	if (with_sockets(spec, ret, STEP_NAMESPACES, try_steps) && all_stand(ret))
		with_sockets(spec, ret, STEP_CELL, try_cell);
}
