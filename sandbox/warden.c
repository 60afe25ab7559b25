#include "sandbox/warden.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/bare.h"
#include "sandbox/base/barrier.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/clock.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fault.h"
#include "sandbox/base/fd.h"
#include "sandbox/caps.h"
#include "sandbox/command.h"
#include "sandbox/errand.h"
#include "sandbox/mounts.h"
#include "sandbox/net.h"
#include "sandbox/sources.h"
#include "sandbox/survivors.h"
#include "sandbox/sync.h"
#include "sandbox/userns.h"
#include "sandbox/watch.h"

/* Processes that are dying when the command ends (a helper that saw its pipe close) get this long
 * before they count as left behind. Nobody waits when nobody is left. */
#define SETTLE_MS 50
#define KILL_MS   10000 /* for survivors to die of SIGKILL */

enum phase { PHASE_READY, PHASE_RUNNING, PHASE_SETTLING, PHASE_EXITED };

struct warden {
	const struct cell_spec *spec;
	const struct scratch_disk *disk;
	const struct layout *layout;
	uint64_t caps;
	int control;
	int gate; /* the command's, until it is forked */
	int signals;
	int command_sock;
	pid_t command;
	struct mounts mounts;
	int mount_ns; /* kept for forks that will need mounts of their own */
	int userns;
	int listener;
	struct errands errands;
	int fanotify; /* the last one to close it pays milliseconds; let that be us, dying */

	enum phase phase;
	bool paused;        /* the runner stopped the command, and knows */
	int64_t kill_at_ms; /* -1: never */
	int64_t stop_at_ms;
	int64_t settled_at_ms;
	struct cell_event event;
};

static bool is_bare(const struct warden *w)
{
	return w->spec->isolation == CELL_ISOLATION_LANDLOCK;
}

/* The kernel ends everybody else in a pid namespace with us; where there is none, we do. */
static _Noreturn void leave(const struct warden *w, int code)
{
	if (is_bare(w))
		bare_end(w->spec, w->mounts.proc);
	_exit(code);
}

/* ---- standing alone ---- */

/* 0, 1 and 2 become the command's; everything else of the runner is closed. */
static int keep_own_descriptors(struct warden *w, struct err *e)
{
	int *const own[] = { &w->control, &w->gate };
	const int standard[] = { w->spec->stdin_fd, w->spec->stdout_fd, w->spec->stderr_fd };
	int moved[countof(standard)];
	for (size_t i = 0; i < countof(own); i++) {
		*own[i] = fcntl(*own[i], F_DUPFD_CLOEXEC, 3);
		if (*own[i] < 0)
			return err_sys(e, "keep our sockets");
	}
	for (size_t i = 0; i < countof(standard); i++) {
		moved[i] = fcntl(standard[i], F_DUPFD_CLOEXEC, 3);
		if (moved[i] < 0)
			return err_sys(e, "keep descriptor %d", standard[i]);
	}
	for (int i = 0; i < (int)countof(moved); i++)
		if (dup2(moved[i], i) < 0)
			return err_sys(e, "make descriptor %d the command's", i);
	int keep[] = { 0, 1, 2, w->control, w->gate, fault_fd() };
	return barrier("descriptors") ? fd_close_others(keep, countof(keep), e) : 0;
}

/* The runner's arguments and environment are secrets to the suite, which can read
 * /proc/1/cmdline. They lie in one piece of the stack, from argv[0] to AT_EXECFN. */
static void wipe_arguments(void)
{
	char *from = program_invocation_name;
	char *to = (char *)getauxval(AT_EXECFN); // NOLINT(performance-no-int-to-ptr)
	if (from && to > from && barrier("wipe"))
		memset(from, 0, (size_t)(to - from));
}

static int wait_runner(const struct warden *w, enum sync_kind kind, struct err *e)
{
	struct sync_record record;
	int r = sync_recv(w->control, &record, NULL, 0, NULL, e);
	if (r == 0 || (r > 0 && record.kind != kind))
		leave(w, 1);
	return r < 0 ? r : 0;
}

static int stand_alone(struct warden *w, struct err *e)
{
	/* It goes by the thread that forked us, and the runner has one. Nothing clears it, since we
	 * change no id. Without a pid namespace there is something to do first: leave(). */
	if (!is_bare(w))
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "warden");
	int r = keep_own_descriptors(w, e);
	if (r < 0)
		return r;
	umask(0);
	signal(SIGCHLD, SIG_DFL); /* ignored, as a caller may have it, nothing could be waited for */
	sigset_t child;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	w->signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (w->signals < 0)
		return err_sys(e, "make a signalfd");
	/* A runner that died before PDEATHSIG was set is seen here: its end of the socket is gone. */
	r = wait_runner(w, SYNC_MAPPED, e);
	if (r < 0)
		return r;
	fault_point("warden-mapped");
	/* Only now: a user could not have opened our uid_map otherwise. */
	if (barrier("dumpable") && prctl(PR_SET_DUMPABLE, 0) < 0)
		return err_sys(e, "close our memory to others");
	return 0;
}

/* ---- building ---- */

/* The warden mounts for forks and maps their ids later, and lets the bounding set of an errand go; of
 * the rest it needs nothing. It never executes itself, so that its own bounding set, which costs a call
 * for each capability, is no matter. */
static int confine(const struct warden *w, struct err *e)
{
	uint64_t keep = is_bare(w) ? 0 : 1U << CAP_SYS_ADMIN | 1U << CAP_SETUID | 1U << CAP_SETGID;
	if (w->spec->errands_len)
		keep |= 1U << CAP_SETPCAP;
	return caps_hold(keep, e);
}

static int open_namespace(const char *path, int *ret, struct err *e)
{
	*ret = open(path, O_RDONLY | O_CLOEXEC);
	return *ret < 0 ? err_sys(e, "open %s", path) : 0;
}

static int start_command(struct warden *w, struct err *e)
{
	if (barrier("no_new_privs") && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(e, "set no_new_privs");
	const struct command_setup setup = {
		.spec = w->spec,
		.layout = w->layout,
		.caps = w->caps,
		.mounts = &w->mounts,
		.gate = w->gate,
	};
	int r = command_fork(&setup, &w->command, &w->command_sock, e);
	fd_close_at(&w->gate);
	close_range(0, 2, 0); /* or whoever reads the command's output would wait for us */
	return r;
}

static int wait_laid_out(struct warden *w, struct err *e)
{
	struct sync_record record;
	struct mounts_help help;
	int r = sync_recv(w->command_sock, &record, help.fds, FD_SEND_MAX, &help.fds_len, e);
	if (r == 0)
		return err_set(e, ECHILD, "the command's process died before it was ready");
	if (r > 0 && record.kind == SYNC_ERR) {
		*e = record.err;
		return -e->code;
	}
	if (r < 0)
		return r;
	help.made = record.made;
	return mounts_helped(w->layout, &w->mounts, &help, e);
}

/* Until the tree stands. */
static int build(struct warden *w, struct err *e)
{
	if (barrier("uts") && sethostname(CELL_HOSTNAME, strlen(CELL_HOSTNAME)) < 0)
		return err_sys(e, "set the host name");
	int r = mounts_begin(w->spec, w->disk, &w->mounts, e);
	if (!r)
		r = mounts_proc(&w->mounts, e);
	if (!r)
		r = start_command(w, e);
	if (!r)
		r = mounts_enter(&w->mounts, e);
	if (!r)
		r = wait_runner(w, SYNC_PLANNED, e);
	if (!r)
		r = sync_tell(w->command_sock, SYNC_PLANNED, 0, e);
	if (!r)
		r = mounts_prepare(w->spec, w->layout, &w->mounts, e);
	if (!r)
		r = wait_laid_out(w, e);
	if (!r)
		r = mounts_cover(w->spec, w->disk, w->layout, &w->mounts, e);
	if (!r)
		r = net_listen(CELL_SOCKET, &w->listener, e);
	return r < 0 ? r : mounts_seal(w->spec, &w->mounts, e);
}

static int build_bare(struct warden *w, struct err *e)
{
	int r = bare_build(w->spec, w->layout, &w->mounts, &w->listener, e);
	return r < 0 ? r : start_command(w, e);
}

/* What need not be done when the command looks around. */
static int settle_down(struct warden *w, struct sync_record *record, struct err *e)
{
	int r = is_bare(w) ? 0 : mounts_leave(&w->mounts, e);
	if (!r)
		r = open_namespace("/proc/self/ns/mnt", &w->mount_ns, e);
	if (!r)
		r = open_namespace("/proc/self/ns/user", &w->userns, e);
	if (!r)
		r = confine(w, e);
	if (r < 0)
		return r;
	if (w->spec->no_watch)
		snprintf(record->ready.why_no_fanotify, sizeof(record->ready.why_no_fanotify),
			 "not asked for");
	else if (is_bare(w) || w->spec->scratch_dir)
		snprintf(record->ready.why_no_fanotify, sizeof(record->ready.why_no_fanotify),
			 "the scratch is on a disk, which the kernel lets nobody watch whole");
	else
		w->fanotify = watch_open(w->mounts.scratch, record->ready.why_no_fanotify,
					 sizeof(record->ready.why_no_fanotify));
	namespaces_look(w->mounts.proc, record->ready.namespaces);
	wipe_arguments();
	return 0;
}

static int report_ready(struct warden *w, struct sync_record *record, struct err *e)
{
	int all[SYNC_FD_N] = {
		[SYNC_FD_ROOT] = w->mounts.root,       [SYNC_FD_PROC] = w->mounts.proc,
		[SYNC_FD_SCRATCH] = w->mounts.scratch, [SYNC_FD_USERNS] = w->userns,
		[SYNC_FD_LISTENER] = w->listener,      [SYNC_FD_FANOTIFY] = w->fanotify,
	};
	sources_open(w->spec, &all[SYNC_FD_SOURCES]);
	int r = errands_open(w->spec, &w->errands, &all[SYNC_FD_ERRANDS], e);
	if (r < 0)
		return r;
	record->ready.made = w->mounts.made;
	int fds[FD_SEND_MAX];
	size_t n = 0;
	for (size_t i = 0; i < countof(all); i++) {
		if (all[i] < 0)
			continue;
		record->ready.came |= UINT32_C(1) << i;
		fds[n++] = all[i];
	}
	for (size_t i = 0; i < w->layout->len; i++)
		if (w->mounts.made >> i & 1 && w->mounts.bases[i] >= 0)
			fds[n++] = w->mounts.bases[i];
	r = sync_send(w->control, record, fds, n, e);
	for (size_t i = SYNC_FD_SOURCES; i < countof(all); i++)
		fd_close_at(&all[i]);
	return r;
}

static int make_ready(struct warden *w, struct err *e)
{
	int r = is_bare(w) ? build_bare(w, e) : build(w, e);
	if (r < 0)
		return r;
	struct sync_record record = { .kind = SYNC_MADE, .made = w->mounts.made };
	/* When the command's process is gone, it told the runner why. */
	sync_send(w->command_sock, &record, NULL, 0, NULL);
	record = (struct sync_record){ .kind = SYNC_READY };
	r = settle_down(w, &record, e);
	return r < 0 ? r : report_ready(w, &record, e);
}

/* ---- the command ---- */

static void signal_command(const struct warden *w, int signal)
{
	/* A command that waits to be let go takes what asks it to end along: blocked until then. */
	if (w->phase != PHASE_RUNNING && (w->phase != PHASE_READY || signal == SIGKILL))
		return;
	/* The command leads its session and group; before its setsid() nothing runs of it. */
	kill(-w->command, signal);
}

static void stop_command(struct warden *w, int signal)
{
	signal_command(w, signal);
	if (signal != SIGKILL && w->kill_at_ms < 0)
		w->kill_at_ms = clock_ms() + w->spec->grace_ms;
}

static void go(struct warden *w)
{
	if (w->phase != PHASE_READY)
		return;
	w->phase = PHASE_RUNNING;
	if (w->spec->timeout_ms)
		w->stop_at_ms = clock_ms() + w->spec->timeout_ms;
}

/* ---- its end ---- */

static void settle(struct warden *w)
{
	if (w->phase != PHASE_SETTLING)
		return;
	/* Whoever lives is a child of ours, or of one who is. */
	if (waitid(P_ALL, 0, &(siginfo_t){ 0 }, WEXITED | WNOHANG | WNOWAIT) == 0)
		survivors_list(w->mounts.proc, is_bare(w) ? getpid() : 0, &w->event);
	else
		w->event.survivors_len = 0;
	if (w->event.survivors_len && clock_ms() < w->settled_at_ms)
		return;
	w->phase = PHASE_EXITED;
	w->event.kind = CELL_EXITED;
	struct sync_record record = { .kind = SYNC_EXITED, .event = w->event };
	sync_send(w->control, &record, NULL, 0, NULL);
	fault_point("warden-exited");
}

static void kill_survivors(struct warden *w)
{
	if (is_bare(w))
		survivors_signal(w->mounts.proc, getpid(), SIGKILL);
	else
		kill(-1, SIGKILL); /* all but us */
	w->phase = PHASE_SETTLING;
	w->settled_at_ms = clock_ms() + KILL_MS;
	settle(w);
}

static void tell_stopped(const struct warden *w)
{
	if (!w->paused)
		sync_tell(w->control, SYNC_STOPPED, 0, NULL);
}

static void reap(struct warden *w)
{
	struct signalfd_siginfo info;
	while (read(w->signals, &info, sizeof(info)) > 0)
		continue;
	int status;
	for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
		if (pid == w->command && WIFSTOPPED(status))
			tell_stopped(w);
		if (!WIFSTOPPED(status))
			errands_ended(&w->errands, pid, status);
		if (pid != w->command || WIFSTOPPED(status))
			continue;
		struct sync_record record;
		if (sync_recv(w->command_sock, &record, NULL, 0, NULL, NULL) > 0 &&
		    record.kind == SYNC_EXEC_FAILED) {
			w->event.exec_failed = true;
			w->event.exec_error = record.err.code;
		}
		w->event.wait_status = status;
		w->phase = PHASE_SETTLING;
		w->settled_at_ms = clock_ms() + SETTLE_MS;
		w->stop_at_ms = w->kill_at_ms = -1;
	}
	settle(w);
}

/* ---- the loop ---- */

static void obey(struct warden *w)
{
	struct sync_record record;
	if (sync_recv(w->control, &record, NULL, 0, NULL, NULL) <= 0)
		leave(w, 0); /* the runner is gone */
	switch ((enum sync_kind)record.kind) {
	case SYNC_GO:
		go(w);
		return;
	case SYNC_STOP:
		w->event.asked = true;
		stop_command(w, record.signal);
		return;
	case SYNC_KILL:
		if (w->phase == PHASE_EXITED) {
			kill_survivors(w);
			return;
		}
		w->event.asked = true;
		signal_command(w, SIGKILL);
		return;
	case SYNC_SIGNAL:
		w->paused = record.signal == SIGSTOP || (w->paused && record.signal != SIGCONT);
		signal_command(w, record.signal);
		return;
	case SYNC_RELEASE:
		leave(w, 0);
	case SYNC_MAPPED:
	case SYNC_PLANNED:
	case SYNC_LAID_OUT:
	case SYNC_MADE:
	case SYNC_EXEC_FAILED:
	case SYNC_OBSERVED:
	case SYNC_READY:
	case SYNC_EXITED:
	case SYNC_STOPPED:
	case SYNC_ERR:
		break;
	}
	leave(w, 1); /* not for us: better no cell than a confused one */
}

static void keep_time(struct warden *w)
{
	int64_t now = clock_ms();
	if (w->stop_at_ms >= 0 && now >= w->stop_at_ms) {
		w->stop_at_ms = -1;
		w->event.timed_out = true;
		stop_command(w, SIGTERM);
	}
	if (w->kill_at_ms >= 0 && now >= w->kill_at_ms) {
		w->kill_at_ms = -1;
		signal_command(w, SIGKILL);
	}
	settle(w);
}

static int wait_ms(const struct warden *w)
{
	int64_t at[] = { w->stop_at_ms, w->kill_at_ms,
			 w->phase == PHASE_SETTLING ? w->settled_at_ms : -1 };
	int64_t next = -1;
	for (size_t i = 0; i < countof(at); i++)
		if (at[i] >= 0 && (next < 0 || at[i] < next))
			next = at[i];
	if (next < 0)
		return -1;
	int64_t left = next - clock_ms();
	return left > 0 ? (int)left : 0;
}

static _Noreturn void serve(struct warden *w)
{
	for (;;) {
		struct pollfd fds[] = {
			{ .fd = w->control, .events = POLLIN },
			{ .fd = w->signals, .events = POLLIN },
			{ .fd = w->errands.sock, .events = POLLIN },
		};
		poll(fds, countof(fds), wait_ms(w));
		if (fds[1].revents)
			reap(w);
		if (fds[0].revents)
			obey(w);
		if (fds[2].revents)
			errands_hear(&w->errands);
		keep_time(w);
	}
}

_Noreturn void warden_main(const struct warden_setup *setup)
{
	struct warden w = {
		.spec = setup->spec,
		.disk = setup->disk,
		.layout = setup->layout,
		.caps = setup->caps,
		.control = setup->control,
		.gate = setup->gate,
		.kill_at_ms = -1,
		.stop_at_ms = -1,
		.signals = -1,
		.command_sock = -1,
		.mount_ns = -1,
		.userns = -1,
		.listener = -1,
		.errands = ERRANDS_NULL,
		.fanotify = -1,
	};
	mounts_init(&w.mounts);
	struct sync_record failed = { .kind = SYNC_ERR };
	if (stand_alone(&w, &failed.err) < 0 || make_ready(&w, &failed.err) < 0) {
		sync_send(w.control, &failed, NULL, 0, NULL);
		leave(&w, 1);
	}
	fault_point("warden-ready");
	serve(&w);
}
