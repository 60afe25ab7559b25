#include "sandbox/warden.h"

#include <dirent.h>
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
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fault.h"
#include "sandbox/base/fd.h"
#include "sandbox/command.h"
#include "sandbox/mounts.h"
#include "sandbox/net.h"
#include "sandbox/sync.h"
#include "sandbox/userns.h"
#include "sandbox/watch.h"

/* Processes that are dying when the command ends (a helper that saw its pipe close) get this long
 * before they count as left behind. Nobody waits when nobody is left. */
#define SETTLE_MS 50

enum phase { PHASE_READY, PHASE_RUNNING, PHASE_SETTLING, PHASE_EXITED };

struct warden {
	const struct cell_spec *spec;
	const struct layout *layout;
	uint64_t caps;
	int control;
	int signals;
	int command_sock;
	pid_t command;
	struct mounts mounts;
	int mount_ns; /* kept for forks that will need mounts of their own */
	int userns;
	int listener;
	int fanotify; /* the last one to close it pays milliseconds; let that be us, dying */
	bool limited;

	enum phase phase;
	int64_t kill_at_ms; /* -1: never */
	int64_t stop_at_ms;
	int64_t settled_at_ms;
	struct cell_event event;
};

static int64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- standing alone ---- */

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Close every descriptor of the runner but those given. */
static int close_others(int *keep, size_t n, struct err *e)
{
	qsort(keep, n, sizeof(*keep), by_number);
	int from = 0;
	for (size_t i = 0; i < n; i++) {
		if (keep[i] > from &&
		    close_range((unsigned int)from, (unsigned int)keep[i] - 1, 0) < 0)
			return err_sys(e, "close the runner's descriptors");
		if (keep[i] >= from)
			from = keep[i] + 1;
	}
	if (close_range((unsigned int)from, ~0U, 0) < 0)
		return err_sys(e, "close the runner's descriptors");
	return 0;
}

/* 0, 1 and 2 become the command's; everything else of the runner is closed. */
static int keep_own_descriptors(struct warden *w, struct err *e)
{
	int own[5] = { -1, -1, -1, -1, fault_fd() };
	const int wanted[4] = { w->control, w->spec->stdin_fd, w->spec->stdout_fd,
				w->spec->stderr_fd };
	for (size_t i = 0; i < countof(wanted); i++) {
		own[i] = fcntl(wanted[i], F_DUPFD_CLOEXEC, 3);
		if (own[i] < 0)
			return err_sys(e, "keep descriptor %d", wanted[i]);
	}
	w->control = own[0];
	for (int i = 0; i < 3; i++)
		if (dup2(own[i + 1], i) < 0)
			return err_sys(e, "make descriptor %d the command's", i);
	int keep[] = { 0, 1, 2, own[0], own[4] };
	return close_others(keep, countof(keep), e);
}

/* The runner's arguments and environment are secrets to the suite, which can read
 * /proc/1/cmdline. They lie in one piece of the stack, from argv[0] to AT_EXECFN. */
static void wipe_arguments(void)
{
	char *from = program_invocation_name;
	char *to = (char *)getauxval(AT_EXECFN); // NOLINT(performance-no-int-to-ptr)
	if (from && to > from)
		memset(from, 0, (size_t)(to - from));
}

/* CLONE_CLEAR_SIGHAND would leave those alone that the caller ignores; with SIGCHLD among them
 * nothing could be waited for. The command inherits the defaults. */
static void reset_signals(void)
{
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
}

static int stand_alone(struct warden *w, struct err *e)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "warden");
	int r = keep_own_descriptors(w, e);
	if (r < 0)
		return r;
	umask(0);
	reset_signals();
	sigset_t child;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	w->signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (w->signals < 0)
		return err_sys(e, "make a signalfd");
	/* A runner that died before PDEATHSIG was set is seen here: its end of the socket is gone. */
	struct sync_record record;
	r = sync_recv(w->control, &record, NULL, 0, NULL, e);
	if (r < 0)
		return r;
	if (r == 0 || record.kind != SYNC_MAPPED)
		_exit(1);
	fault_point("warden-mapped");
	/* Only now: a user could not have opened our uid_map otherwise. */
	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		return err_sys(e, "close our memory to others");
	return 0;
}

/* ---- building ---- */

static int sysctl_write(int proc, const char *name, uint64_t value, struct err *e)
{
	cleanup_close int fd = openat(proc, name, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "open /proc/%s", name);
	char text[32];
	int len = snprintf(text, sizeof(text), "%ju", (uintmax_t)value);
	if (fd_write_full(fd, text, (size_t)len) < 0)
		return err_sys(e, "write /proc/%s", name);
	return 0;
}

/* kernel.pid_max is the pid namespace's own since 6.14; before that it is the host's. */
static bool has_own_pid_max(void)
{
	struct utsname u;
	int major = 0;
	int minor = 0;
	if (uname(&u) < 0 || sscanf(u.release, "%d.%d", &major, &minor) != 2) // NOLINT(cert-err34-c)
		return false;
	return major > 6 || (major == 6 && minor >= 14);
}

/* What the suite takes of these counts against the caller outside, too. */
static int lower_quotas(struct warden *w, struct err *e)
{
	static const struct {
		const char *name;
		uint64_t value;
	} quotas[] = {
		{ "sys/user/max_user_namespaces", 64 },
		{ "sys/user/max_fanotify_groups", 8 },
		{ "sys/user/max_inotify_instances", 64 },
	};
	for (size_t i = 0; i < countof(quotas); i++) {
		int r = sysctl_write(w->mounts.proc, quotas[i].name, quotas[i].value, e);
		if (r < 0)
			return r;
	}
	w->limited = has_own_pid_max();
	return w->limited ? sysctl_write(w->mounts.proc, "sys/kernel/pid_max", w->spec->pid_max, e)
			  : 0;
}

/* The warden mounts for forks and maps their ids later; of the rest it needs nothing. It never
 * executes, so that the bounding set, which costs a call for each capability, is no matter. */
static int confine(struct err *e)
{
	uint32_t keep = 1U << CAP_SYS_ADMIN | 1U << CAP_SETUID | 1U << CAP_SETGID;
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {
		{ .effective = keep, .permitted = keep },
	};
	if (syscall(SYS_capset, &header, sets) < 0)
		return err_sys(e, "give up the warden's capabilities");
	return 0;
}

static int open_namespace(const char *path, int *ret, struct err *e)
{
	*ret = open(path, O_RDONLY | O_CLOEXEC);
	return *ret < 0 ? err_sys(e, "open %s", path) : 0;
}

static int build(struct warden *w, struct err *e)
{
	if (sethostname(CELL_HOSTNAME, strlen(CELL_HOSTNAME)) < 0)
		return err_sys(e, "set the host name");
	int r = w->spec->network == CELL_NETWORK_NONE ? net_loopback_up(e) : 0;
	if (!r)
		r = mounts_make(w->spec, w->layout, &w->mounts, e);
	if (!r)
		r = lower_quotas(w, e);
	if (!r)
		r = net_listen(&w->listener, e);
	if (!r)
		r = mounts_seal(w->spec, &w->mounts, e);
	if (!r)
		r = open_namespace("/proc/self/ns/mnt", &w->mount_ns, e);
	if (!r)
		r = open_namespace("/proc/self/ns/user", &w->userns, e);
	if (!r && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(e, "set no_new_privs");
	return r;
}

/* ---- the command ---- */

static int start_command(struct warden *w, struct sync_record *ret, struct err *e)
{
	const struct isolation_scene scene = {
		.spec = w->spec,
		.layout = w->layout,
		.places_made = w->mounts.made,
		.scratch = w->mounts.scratch,
		.caps = w->caps,
		.limited = w->limited,
	};
	int r = command_fork(&scene, &w->command, &w->command_sock, e);
	if (r < 0)
		return r;
	close_range(0, 2, 0); /* or whoever reads the command's output would wait for us */
	r = sync_recv(w->command_sock, ret, NULL, 0, NULL, e);
	if (r == 0)
		return err_set(e, ECHILD, "the command's process died before it was ready");
	if (r > 0 && ret->kind == SYNC_ERR) {
		*e = ret->err;
		return -e->code;
	}
	return r < 0 ? r : 0;
}

static int report_ready(struct warden *w, struct sync_record *record, struct err *e)
{
	record->kind = SYNC_READY;
	namespaces_look(record->ready.namespaces);
	record->ready.places_made = w->mounts.made;
	int fds[FD_SEND_MAX] = {
		[SYNC_FD_ROOT] = w->mounts.root,       [SYNC_FD_PROC] = w->mounts.proc,
		[SYNC_FD_SCRATCH] = w->mounts.scratch, [SYNC_FD_USERNS] = w->userns,
		[SYNC_FD_LISTENER] = w->listener,
	};
	size_t n = SYNC_FD_FANOTIFY;
	if (w->fanotify >= 0)
		fds[n++] = w->fanotify;
	for (size_t i = 0; i < w->layout->len; i++)
		if (w->mounts.made >> i & 1 && w->mounts.bases[i] >= 0)
			fds[n++] = w->mounts.bases[i];
	return sync_send(w->control, record, fds, n, e);
}

static int make_ready(struct warden *w, struct err *e)
{
	struct sync_record record;
	int r = build(w, e);
	if (!r)
		r = start_command(w, &record, e);
	if (!r)
		r = confine(e);
	if (r < 0)
		return r;
	if (w->spec->no_watch)
		snprintf(record.ready.why_no_fanotify, sizeof(record.ready.why_no_fanotify),
			 "not asked for");
	else
		w->fanotify = watch_open(w->mounts.scratch, record.ready.why_no_fanotify,
					 sizeof(record.ready.why_no_fanotify));
	wipe_arguments();
	return report_ready(w, &record, e);
}

static void signal_command(const struct warden *w, int signal)
{
	if (w->phase != PHASE_RUNNING)
		return;
	/* The command leads its session and group; before its setsid() nothing runs of it. */
	kill(-w->command, signal);
}

static void stop_command(struct warden *w, int signal)
{
	signal_command(w, signal);
	if (signal != SIGKILL && w->kill_at_ms < 0)
		w->kill_at_ms = now_ms() + w->spec->grace_ms;
}

static void go(struct warden *w)
{
	if (w->phase != PHASE_READY)
		return;
	sync_tell(w->command_sock, SYNC_GO, 0, NULL);
	w->phase = PHASE_RUNNING;
	if (w->spec->timeout_ms)
		w->stop_at_ms = now_ms() + w->spec->timeout_ms;
}

/* ---- those left behind ---- */

static bool read_survivor(int proc, const char *name, struct cell_survivor *ret)
{
	char path[64];
	char stat[512];
	snprintf(path, sizeof(path), "%s/stat", name);
	cleanup_close int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, stat, sizeof(stat) - 1);
	if (len <= 0)
		return false;
	stat[len] = '\0';
	const char *open = strchr(stat, '(');
	const char *close = strrchr(stat, ')');
	if (!open || !close || close < open || strlen(close) < 3 || close[2] == 'Z' || close[2] == 'X')
		return false;
	*ret = (struct cell_survivor){ .pid = (pid_t)strtol(name, NULL, 10) };
	size_t comm_len = (size_t)(close - open - 1);
	if (comm_len >= sizeof(ret->comm))
		comm_len = sizeof(ret->comm) - 1;
	memcpy(ret->comm, open + 1, comm_len);
	return true;
}

static void list_survivors(struct warden *w)
{
	w->event.survivors_len = 0;
	int fd = openat(w->mounts.proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		fd_close_at(&fd);
		return;
	}
	const struct dirent *entry;
	while ((entry = readdir(dir))) {
		struct cell_survivor s;
		if (entry->d_name[0] < '0' || entry->d_name[0] > '9' ||
		    strcmp(entry->d_name, "1") == 0 ||
		    !read_survivor(w->mounts.proc, entry->d_name, &s))
			continue;
		if (w->event.survivors_len < CELL_SURVIVORS_MAX)
			w->event.survivors[w->event.survivors_len] = s;
		w->event.survivors_len++;
	}
	closedir(dir);
}

static void settle(struct warden *w)
{
	if (w->phase != PHASE_SETTLING)
		return;
	list_survivors(w);
	if (w->event.survivors_len && now_ms() < w->settled_at_ms)
		return;
	w->phase = PHASE_EXITED;
	w->event.kind = CELL_EXITED;
	struct sync_record record = { .kind = SYNC_EXITED, .event = w->event };
	sync_send(w->control, &record, NULL, 0, NULL);
	fault_point("warden-exited");
}

static void reap(struct warden *w)
{
	struct signalfd_siginfo info;
	while (read(w->signals, &info, sizeof(info)) > 0)
		continue;
	int status;
	for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
		if (pid != w->command)
			continue;
		struct sync_record record;
		if (sync_recv(w->command_sock, &record, NULL, 0, NULL, NULL) > 0 &&
		    record.kind == SYNC_EXEC_FAILED) {
			w->event.exec_failed = true;
			w->event.exec_error = record.err.code;
		}
		w->event.wait_status = status;
		w->phase = PHASE_SETTLING;
		w->settled_at_ms = now_ms() + SETTLE_MS;
		w->stop_at_ms = w->kill_at_ms = -1;
	}
	settle(w);
}

/* ---- the loop ---- */

static void obey(struct warden *w)
{
	struct sync_record record;
	if (sync_recv(w->control, &record, NULL, 0, NULL, NULL) <= 0)
		_exit(0); /* the runner is gone; the kernel ends everybody else here with us */
	switch ((enum sync_kind)record.kind) {
	case SYNC_GO:
		go(w);
		return;
	case SYNC_STOP:
		w->event.asked = true;
		stop_command(w, record.signal);
		return;
	case SYNC_KILL:
		w->event.asked = true;
		signal_command(w, SIGKILL);
		return;
	case SYNC_SIGNAL:
		signal_command(w, record.signal);
		return;
	case SYNC_RELEASE:
		_exit(0);
	case SYNC_MAPPED:
	case SYNC_ERR:
	case SYNC_READY:
	case SYNC_EXEC_FAILED:
	case SYNC_EXITED:
		break;
	}
	_exit(1); /* not for us: better no cell than a confused one */
}

static void keep_time(struct warden *w)
{
	int64_t now = now_ms();
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
	int64_t left = next - now_ms();
	return left > 0 ? (int)left : 0;
}

static _Noreturn void serve(struct warden *w)
{
	for (;;) {
		struct pollfd fds[] = {
			{ .fd = w->control, .events = POLLIN },
			{ .fd = w->signals, .events = POLLIN },
		};
		poll(fds, countof(fds), wait_ms(w));
		if (fds[1].revents)
			reap(w);
		if (fds[0].revents)
			obey(w);
		keep_time(w);
	}
}

_Noreturn void warden_main(const struct warden_setup *setup)
{
	struct warden w = {
		.spec = setup->spec,
		.layout = setup->layout,
		.caps = setup->caps,
		.control = setup->control,
		.kill_at_ms = -1,
		.stop_at_ms = -1,
		.signals = -1,
		.command_sock = -1,
		.mount_ns = -1,
		.userns = -1,
		.listener = -1,
		.fanotify = -1,
	};
	mounts_init(&w.mounts);
	struct sync_record failed = { .kind = SYNC_ERR };
	if (stand_alone(&w, &failed.err) < 0 || make_ready(&w, &failed.err) < 0) {
		sync_send(w.control, &failed, NULL, 0, NULL);
		_exit(1);
	}
	fault_point("warden-ready");
	serve(&w);
}
