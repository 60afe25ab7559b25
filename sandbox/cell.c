#include "sandbox/cell.h"

/*
 * The stages of a cell, in order. R: the runner; W: the warden; C: the process that becomes the
 * command.
 *
 *  1 R  cell_spec_check: refuses what no cell can be made of
 *  2 R  makes the folder of a scratch on disk; clone3: W exists in all its namespaces, a fork of R
 *       without exec
 *  3 W  alone: dies with R, keeps its own descriptors, waits
 *  4 R  maps the ids; W may now make files
 *  5 W  host name; a scratch and a /proc, attached nowhere yet; forks C
 *  6 W  the host's tree, read-only and private; pivots into it
 *    R  meanwhile decides which places are writable: layout
 *    C  meanwhile makes folders and files on the scratch, lowers quotas
 *  7 W  clones what will be covered; W and C make overlays; W covers: private places, /dev, /proc,
 *       binds, the project; the adapters' socket; makes the rest read-only
 *    C  meanwhile fills the scratch, loopback, sockets of forwarded ports; own session, limits, no
 *       capabilities, filter
 *  8 C  tries every property of the cell, tells R
 *    W  meanwhile lets the old root go, gives up what it will not need again, marks the scratch,
 *       wipes the runner's arguments, tells R that all stands
 *  9 R  has heard both; forks who forwards ports; cell_start returns; cell_go: C executes
 * 10 W  C ended: names those still alive, waits
 * 11 R  cell_release: W exits, and with it all that is left; cell_done removes a scratch on disk
 *
 * Without namespaces (bare.h) W is a plain fork, 4 to 7 are a folder that is filled and a socket, C is
 * held by Landlock, and at the end W kills what is left and removes the folder.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/bare.h"
#include "sandbox/base/barrier.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fault.h"
#include "sandbox/base/fd.h"
#include "sandbox/caps.h"
#include "sandbox/cause.h"
#include "sandbox/forward.h"
#include "sandbox/isolation.h"
#include "sandbox/layout.h"
#include "sandbox/mountinfo.h"
#include "sandbox/sync.h"
#include "sandbox/userns.h"
#include "sandbox/warden.h"

/* A warden that does not hear has failed, and its last words say why. */
static void tell(const struct cell *cell, enum sync_kind kind)
{
	sync_tell(cell->control, kind, 0, NULL);
}

/* clone3 alone has CLONE_NEWTIME. Where a filter hides it (ENOSYS), the older clone would not be let
 * through with these flags either. */
static long fork_warden(const struct cell_spec *spec, int *ret_pidfd)
{
	if (spec->isolation == CELL_ISOLATION_LANDLOCK)
		return syscall(SYS_clone, CLONE_PIDFD | SIGCHLD, NULL, ret_pidfd, NULL, NULL);
	struct clone_args args = {
		.flags = namespaces_flags(spec) | CLONE_PIDFD,
		.pidfd = (uintptr_t)ret_pidfd,
		.exit_signal = SIGCHLD,
	};
	return syscall(SYS_clone3, &args, sizeof(args));
}

static int start_warden(const struct warden_setup *setup, struct cell *cell, struct err *e)
{
	/* Blocked from before its birth: no handler of the runner may run in the warden. */
	sigset_t all;
	sigset_t before;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	long pid = fork_warden(setup->spec, &cell->pidfd);
	if (pid == 0)
		warden_main(setup);
	int code = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = code;
	if (pid < 0) {
		err_sys(e, "make namespaces");
		cause_explain(CAUSE_AT_CLONE, NULL, e);
		return err_status(e, STATUS_HOST);
	}
	cell->pid = (pid_t)pid;
	return 0;
}

/* ---- what the warden made ---- */

static void close_all(int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fd_close_at(&fds[i]);
}

static int take_places(struct layout *layout, uint64_t made, int *fds, size_t fds_len,
		       struct cell_view *view, struct err *e)
{
	size_t used = 0;
	for (size_t i = 0; i < layout->len; i++) {
		if (!(made >> i & 1))
			continue;
		struct layout_place *from = &layout->places[i];
		struct cell_place *place = &view->places[view->places_len];
		*place = (struct cell_place){ .dir = strdup(from->dir), .base = -1 };
		if (!place->dir)
			return err_set(e, ENOMEM, "out of memory");
		place->path = take_ptr(&from->path);
		view->places_len++;
		if (!from->overlay && !from->copy)
			continue;
		place->copied = from->copy;
		if (used == fds_len)
			return err_set(e, EPROTO, "the warden sent too few descriptors");
		place->base = take_fd(&fds[used++]);
	}
	return 0;
}

static int take_view(struct layout *layout, const struct sync_record *record, int *fds,
		     size_t fds_len, struct cell_view *view, struct err *e)
{
	int *const all[SYNC_FD_N] = {
		[SYNC_FD_ROOT] = &view->root,         [SYNC_FD_PROC] = &view->proc,
		[SYNC_FD_SCRATCH] = &view->scratch,   [SYNC_FD_USERNS] = &view->userns,
		[SYNC_FD_LISTENER] = &view->listener, [SYNC_FD_FANOTIFY] = &view->fanotify,
		[SYNC_FD_ERRANDS] = &view->errands,
	};
	size_t used = 0;
	for (size_t i = 0; i < countof(all); i++) {
		if (!(record->ready.came >> i & 1) && i >= SYNC_FD_FANOTIFY)
			continue;
		if (used == fds_len)
			return err_set(e, EPROTO, "the warden sent too few descriptors");
		int *to = all[i] ? all[i] : &view->sources[i - SYNC_FD_SOURCES];
		*to = take_fd(&fds[used++]);
	}
	memcpy(view->why_no_fanotify, record->ready.why_no_fanotify, sizeof(view->why_no_fanotify));
	return take_places(layout, record->ready.made, fds + used, fds_len - used, view, e);
}

/* Where a host lets a namespace be made and nothing be done in it. */
static int explain(const struct cell *cell, struct err *e)
{
	return cell->bare ? -e->code : cause_explain(CAUSE_AT_INSIDE, NULL, e);
}

/* Wait for a record; SYNC_ERR becomes our own error. */
static int expect(const struct cell *cell, int sock, enum sync_kind kind, struct sync_record *ret,
		  int *fds, size_t *ret_fds_len, struct err *e)
{
	int r = sync_recv(sock, ret, fds, fds ? FD_SEND_MAX : 0, ret_fds_len, e);
	if (r == 0) {
		err_set(e, ECHILD, "the warden died while it built the cell");
		return explain(cell, e);
	}
	if (r < 0)
		return r;
	if (ret->kind == SYNC_ERR) {
		*e = ret->err;
		return explain(cell, e);
	}
	if (ret->kind != kind)
		return err_set(e, EPROTO, "the cell said %u where %u was due", ret->kind, kind);
	return 0;
}

static int expect_ready(struct layout *layout, struct cell *cell, uint64_t inside[NAMESPACES_N],
			struct err *e)
{
	struct sync_record record;
	int fds[FD_SEND_MAX];
	size_t fds_len = 0;
	int r = expect(cell, cell->control, SYNC_READY, &record, fds, &fds_len, e);
	if (!r)
		r = take_view(layout, &record, fds, fds_len, &cell->view, e);
	if (!r)
		memcpy(inside, record.ready.namespaces, sizeof(record.ready.namespaces));
	close_all(fds, fds_len);
	return r;
}

/* The command's process has tried the cell; the sockets that are forwarded come with its word. */
static int expect_observed(const struct cell_spec *spec, struct cell *cell, struct err *e)
{
	struct sync_record record;
	int fds[FD_SEND_MAX];
	size_t fds_len = 0;
	int r = expect(cell, cell->gate, SYNC_OBSERVED, &record, fds, &fds_len, e);
	if (!r)
		cell->isolation = record.isolation;
	if (!r && spec->tty) {
		if (!fds_len)
			r = err_set(e, EPROTO, "the command sent no terminal");
		else
			cell->tty = take_fd(&fds[--fds_len]);
	}
	if (!r && fds_len)
		r = forward_start(fds, fds_len, cell->pidfd, &cell->forwarder, e);
	close_all(fds, fds_len);
	return r;
}

/* Both the warden and the command's process have to say that all is well. */
static int expect_both(const struct cell_spec *spec, struct layout *layout, struct cell *cell,
		       struct err *e)
{
	cleanup_close int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	uint64_t outside[NAMESPACES_N];
	uint64_t inside[NAMESPACES_N];
	namespaces_look(proc, outside);
	int r = expect_ready(layout, cell, inside, e);
	if (!r)
		r = expect_observed(spec, cell, e);
	if (r < 0)
		return r;
	cell->view.warden = cell->bare ? cell->pid : 0;
	isolation_compare(spec, inside, outside, &cell->isolation);
	return 0;
}

/* The trials of the command's process were seen as well. */
static void forget_trials(int fanotify)
{
	char events[4096];
	while (fanotify >= 0 && read(fanotify, events, sizeof(events)) > 0)
		continue;
}

static int start_in(const struct cell_spec *spec, const struct layout *board, struct cell *cell,
		    struct err *e)
{
	int control[2];
	int gate[2];
	int r = sync_pair(control, e);
	if (r < 0)
		return r;
	cell->control = control[0];
	cleanup_close int their_control = control[1];
	r = sync_pair(gate, e);
	if (r < 0)
		return r;
	cell->gate = gate[0];
	cleanup_close int their_gate = gate[1];
	struct caps caps;
	r = caps_wanted(spec, &caps, e);
	if (r < 0)
		return r;
	const struct warden_setup setup = { spec,      &cell->disk,   board,
					    caps.held, their_control, their_gate };
	r = start_warden(&setup, cell, e);
	/* Here and now, so that its death shows as the end of the sockets. */
	fd_close_at(&their_control);
	fd_close_at(&their_gate);
	if (r < 0)
		return r;
	fault_point("cell-clone");
	r = cell->bare || !barrier("user") ? 0 : userns_map(cell->pid, spec, &caps, e);
	if (r < 0) {
		cause_explain(CAUSE_AT_INSIDE, NULL, e);
		return err_status(e, STATUS_HOST);
	}
	tell(cell, SYNC_MAPPED);
	return 0;
}

static int plan(const struct cell_spec *spec, const char *hidden, struct layout *ret, struct err *e)
{
	cleanup_free char *mountinfo = NULL;
	int r = mountinfo_load(&mountinfo, e);
	return r < 0 ? r : layout_make(spec, mountinfo, hidden, ret, e);
}

static void board_done(struct layout **board)
{
	layout_board_free(*board);
}

static int start_bare(const struct cell_spec *spec, struct cell *cell, struct err *e)
{
	cleanup(layout_done) struct layout layout = LAYOUT_NULL;
	cell->bare = true;
	int r = bare_check(e);
	if (!r)
		r = bare_layout(spec, &layout, e);
	if (!r)
		r = start_in(spec, &layout, cell, e);
	return r < 0 ? r : expect_both(spec, &layout, cell, e);
}

/* What the runner has to do beside mapping, it does while the warden is at work. */
static int start(const struct cell_spec *spec, struct cell *cell, struct err *e)
{
	cleanup(board_done) struct layout *board = layout_board_new();
	if (!board)
		return err_sys(e, "share memory with the warden");
	int r = spec->scratch_dir ? scratch_disk_new(spec, &cell->disk, e) : 0;
	if (!r)
		r = start_in(spec, board, cell, e);
	if (r < 0)
		return r;
	cleanup(layout_done) struct layout layout = LAYOUT_NULL;
	r = plan(spec, cell->disk.parent, &layout, e);
	if (r < 0)
		return r;
	layout_post(&layout, board);
	tell(cell, SYNC_PLANNED);
	r = expect_both(spec, &layout, cell, e);
	if (!r)
		forget_trials(cell->view.fanotify);
	return r;
}

int cell_start(const struct cell_spec *spec, struct cell *ret, struct err *e)
{
	int r = cell_spec_check(spec, e);
	if (r < 0)
		return err_in(e, "cell");
	cleanup(cell_done) struct cell cell = CELL_NULL;
	r = spec->isolation == CELL_ISOLATION_LANDLOCK ? start_bare(spec, &cell, e)
						       : start(spec, &cell, e);
	if (r < 0)
		return err_in(e, "cell");
	*ret = take(&cell, CELL_NULL);
	return 0;
}

/* ---- while it runs ---- */

int cell_go(struct cell *cell, struct err *e)
{
	int r = sync_tell(cell->gate, SYNC_GO, 0, e); /* first, since it is in a hurry */
	fd_close_at(&cell->gate);
	return r < 0 ? r : sync_tell(cell->control, SYNC_GO, 0, e);
}

int cell_read(struct cell *cell, struct cell_event *ret, struct err *e)
{
	struct sync_record record;
	int r = sync_recv(cell->control, &record, NULL, 0, NULL, e);
	if (r < 0)
		return err_in(e, "cell");
	if (r == 0) {
		*ret = (struct cell_event){ .kind = CELL_GONE };
		return 0;
	}
	if (record.kind == SYNC_STOPPED) {
		*ret = (struct cell_event){ .kind = CELL_STOPPED };
		return 0;
	}
	if (record.kind != SYNC_EXITED)
		return err_set(e, EPROTO, "cell: the warden said %u in a running cell", record.kind);
	*ret = record.event;
	return 0;
}

int cell_stop(struct cell *cell, int signal, struct err *e)
{
	return sync_tell(cell->control, SYNC_STOP, signal, e);
}

int cell_kill(struct cell *cell, struct err *e)
{
	return sync_tell(cell->control, SYNC_KILL, 0, e);
}

int cell_end_survivors(struct cell *cell, struct err *e)
{
	struct cell_event killed = { 0 };
	int r = cell_kill(cell, e);
	r = r ? r : cell_read(cell, &killed, e);
	if (!r && killed.survivors_len)
		r = err_set(e, EBUSY,
			    "%u processes of the cell do not die: what it wrote is left alone",
			    killed.survivors_len);
	return r;
}

int cell_signal(struct cell *cell, int signal, struct err *e)
{
	return sync_tell(cell->control, SYNC_SIGNAL, signal, e);
}

int cell_release(struct cell *cell, struct err *e)
{
	fault_point("cell-release");
	return sync_tell(cell->control, SYNC_RELEASE, 0, e);
}

void cell_view_done(struct cell_view *view)
{
	int *fds[] = { &view->root,     &view->proc,     &view->scratch, &view->userns,
		       &view->fanotify, &view->listener, &view->errands };
	for (size_t i = 0; i < countof(fds); i++)
		fd_close_at(fds[i]);
	for (size_t i = 0; i < countof(view->sources); i++)
		fd_close_at(&view->sources[i]);
	for (size_t i = 0; i < view->places_len; i++) {
		free(view->places[i].dir);
		free(view->places[i].path);
		fd_close_at(&view->places[i].base);
	}
	view->places_len = 0;
}

static void reap(idtype_t how, id_t id)
{
	siginfo_t info;
	while (waitid(how, id, &info, WEXITED) < 0 && errno == EINTR)
		continue;
}

void cell_done(struct cell *cell)
{
	cell_view_done(&cell->view);
	fd_close_at(&cell->control);
	fd_close_at(&cell->gate);
	fd_close_at(&cell->tty);
	if (cell->pidfd >= 0) {
		if (!cell->bare)
			pidfd_send_signal(cell->pidfd, SIGKILL, NULL, 0);
		reap((idtype_t)P_PIDFD, (id_t)cell->pidfd);
	}
	if (cell->forwarder > 0) { /* it ends when it sees that the warden is gone */
		reap(P_PID, (id_t)cell->forwarder);
		cell->forwarder = 0;
	}
	scratch_disk_done(&cell->disk);
	fd_close_at(&cell->pidfd);
}
