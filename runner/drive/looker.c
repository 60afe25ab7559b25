#include "runner/drive/looker.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe/adapter.h"
#include "probe/fingerprint.h"
#include "probe/sensor.h"
#include "probe/sensors/sensors.h"
#include "probe/vantage.h"
#include "runner/drive/session.h"
#include "runner/ledger.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fault.h"
#include "sandbox/base/fd.h"
#include "sandbox/base/json.h"
#include "sandbox/errand.h"

#define SENSORS_MAX      16
#define PROBE_OUTPUT_MAX (1 << 20) /* bytes that a probe may print */

/* Close all but what the looker needs; 0, 1 and 2 become /dev/null. */
static int close_others(const struct looker_task *task, const struct cell *cell, int channel,
			struct err *e)
{
	int keep[CELL_TREES_MAX + 32 + LOOKER_FDS_MAX] = { 0,
							   1,
							   2,
							   cell->pidfd,
							   channel,
							   fault_fd(),
							   cell->view.root,
							   cell->view.proc,
							   cell->view.scratch,
							   cell->view.fanotify,
							   cell->view.listener,
							   cell->view.userns,
							   cell->view.errands };
	size_t n = 13;
	for (size_t i = 0; i < CELL_SOURCE_N; i++)
		keep[n++] = cell->view.sources[i];
	for (size_t i = 0; i < cell->view.places_len; i++)
		keep[n++] = cell->view.places[i].base;
	for (size_t i = 0; i < task->fds_len; i++)
		keep[n++] = task->fds[i];
	assert(n <= countof(keep));
	int r = fd_null_standard(e);
	return r < 0 ? r : fd_close_others(keep, n, e);
}

/* Into the cell's user namespace: a file of mode 000 and another process's memory can be read from
 * there, and nothing of the host that could not be read before. */
static int join(const struct cell *cell, pid_t runner, struct err *e)
{
	if (!cell->bare && setns(cell->view.userns, CLONE_NEWUSER))
		return err_sys(e, "join the cell's user namespace");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return err_sys(e, "give up new privileges");
	/* Joining cleared the signal that a parent's death sends. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != runner)
		return err_set(e, EPIPE, "the runner is gone");
	return 0;
}

static bool is_off(const struct order_setup *setup, const char *domain)
{
	for (const char *const *off = setup->sensors_off; off && *off; off++)
		if (text_eq(*off, domain))
			return true;
	return false;
}

void looker_vantage(const struct cell_view *view, struct vantage_place *places, struct vantage *ret)
{
	for (size_t i = 0; i < view->places_len; i++)
		places[i] = (struct vantage_place){ .dir = view->places[i].dir,
						    .path = view->places[i].path,
						    .base = view->places[i].base,
						    .copied = view->places[i].copied };
	*ret = (struct vantage){
		.root = view->root,
		.proc = view->proc,
		.scratch = view->scratch,
		.warden = view->warden,
		.fanotify = view->fanotify,
		.sysvipc = { [VANTAGE_SHM] = view->sources[CELL_SOURCE_SHM],
			     [VANTAGE_SEM] = view->sources[CELL_SOURCE_SEM],
			     [VANTAGE_MSG] = view->sources[CELL_SOURCE_MSG] },
		.queues = view->sources[CELL_SOURCE_QUEUES],
		.sockets = view->sources[CELL_SOURCE_SOCKETS],
		.places = places,
		.places_len = view->places_len,
		.own_dir = &CELL_RUN_DIR[1],
	};
}

/* ---- probes of the user's own ---- */

struct ask {
	int errands;
	const struct order_setup *setup;
};

static int run_probe(const void *with, size_t number, struct buf *out, char why[VANTAGE_WHY_LEN],
		     struct err *e)
{
	const struct ask *ask = with;
	const struct errand_limits within = { ask->setup->probe_ms[number], PROBE_OUTPUT_MAX };
	struct errand_result result = { 0 };
	int r = errand_run(ask->errands, number, &within, out, &result, e);
	if (r)
		return err_in(e, "probe %s", ask->setup->probes[number]);
	int status = result.wait_status;
	if (result.timed_out)
		snprintf(why, VANTAGE_WHY_LEN, "it took over %u ms", within.timeout_ms);
	else if (result.too_long)
		snprintf(why, VANTAGE_WHY_LEN, "it printed over %zu bytes", within.len_max);
	else if (WIFSIGNALED(status))
		snprintf(why, VANTAGE_WHY_LEN, "it was ended by signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status))
		snprintf(why, VANTAGE_WHY_LEN, "it ended with status %d", WEXITSTATUS(status));
	return why[0] != '\0';
}

/* ---- the suite ---- */

static int look_at_suite(const void *with, const struct cell *cell, int channel, struct err *e)
{
	const struct order_ask *order = with;
	const struct order_setup *setup = order->setup;
	const struct cell_view *view = &cell->view;
	struct vantage_place places[LOOKER_PLACES_MAX];
	struct vantage vantage;
	looker_vantage(view, places, &vantage);
	vantage.why_scan = setup->spec->no_watch ? NULL : view->why_no_fanotify;
	vantage.zones = setup->zones;
	vantage.zones_len = setup->zones_len;
	vantage.sockets_shared = setup->spec->network == CELL_NETWORK_HOST ||
				 setup->spec->isolation == CELL_ISOLATION_LANDLOCK;
	vantage.show_values = setup->show_values;
	vantage.env_ignored = setup->adapter->env_ignored;
	const struct ask ask = { view->errands, setup };
	vantage.probes = setup->probes;
	vantage.run_probe = run_probe;
	vantage.run_with = &ask;
	const struct sensor *sensors[SENSORS_MAX + 1] = { NULL };
	size_t n = 0;
	for (const struct sensor *const *s = fingerprint_sensors; *s; s++) {
		bool without = (*s == &sensor_custom && !setup->spec->errands_len) ||
			       order->order->view == VIEW_PARALLEL; /* whose would it be? */
		if (without || is_off(setup, (*s)->domain))
			continue;
		assert(n < SENSORS_MAX);
		sensors[n++] = *s;
	}
	struct session_setup session = { .order = order->order,
					 .roster = order->roster,
					 .lane = order->lane,
					 .project = setup->spec->project_seen,
					 .vantage = &vantage,
					 .sensors = sensors,
					 .restore = setup->restore,
					 .warden = cell->pid,
					 .listener = view->listener,
					 .channel = channel };
	return session_run(&session, e);
}

/* The runner raises it as its own. */
static void send_err(int channel, const struct err *e)
{
	cleanup_json cJSON *line = cJSON_CreateObject();
	cJSON_AddStringToObject(line, "kind", "err");
	cJSON_AddNumberToObject(line, "code", e->code);
	cJSON_AddNumberToObject(line, "status", e->status);
	json_add_name(line, "text", e->text);
	json_add_name(line, "hint", e->hint);
	cleanup_free char *text = json_line(line);
	if (text && !fd_write_full(channel, text, strlen(text)))
		fd_write_full(channel, "\n", 1);
}

static _Noreturn void looker(const struct looker_task *task, const struct cell *cell, int channel,
			     pid_t runner)
{
	struct err e = ERR_NULL;
	setpgid(0, 0); /* ctrl-C is the runner's to hear */
	signal(SIGPIPE, SIG_IGN);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	int r = close_others(task, cell, channel, &e);
	if (!r)
		r = join(cell, runner, &e);
	fault_point("looker-joined");
	if (!r)
		r = task->look(task->with, cell, channel, &e);
	if (r)
		send_err(channel, &e);
	_exit(r ? 1 : 0);
}

int looker_say(int channel, const cJSON *line, struct err *e)
{
	cleanup_free char *text = json_line(line);
	if (!text)
		return err_set(e, ENOMEM, "write to the runner: no memory");
	if (fd_write_full(channel, text, strlen(text)) || fd_write_full(channel, "\n", 1))
		return err_sys(e, "write to the runner");
	return 0;
}

static void file_close_at(FILE **file)
{
	if (*file)
		fclose(*file);
}

/* 1: a line; 0: there is none. */
static int read_line(FILE *lines, struct buf *ret, struct err *e)
{
	char part[4096];
	buf_clear(ret);
	while (fgets(part, sizeof(part), lines)) {
		if (buf_puts(ret, part))
			return err_set(e, ENOMEM, "read from the looker");
		if (ret->len > LEDGER_LINE_MAX)
			return err_set(e, EFBIG, "a line of the looker is over %d bytes",
				       LEDGER_LINE_MAX);
		if (strchr(part, '\n'))
			return 1;
	}
	return 0;
}

int looker_ask(const struct looker_task *task, const struct cell *cell,
	       int (*take_line)(void *with, cJSON *line, const char *kind, struct err *e),
	       void *with, struct err *e)
{
	cleanup(looker_done) struct looker looker = LOOKER_NULL;
	int r = looker_fork(task, cell, &looker, e);
	if (r)
		return r;
	cleanup(file_close_at) FILE *lines = fdopen(looker.channel, "r");
	if (!lines)
		return err_sys(e, "read from the looker");
	looker.channel = -1;
	cleanup(buf_done) struct buf text = BUF_NULL;
	while (!r && (r = read_line(lines, &text, e)) > 0) {
		cleanup_json cJSON *line = cJSON_Parse(text.at);
		const char *kind = json_text(line, "kind");
		if (!kind)
			return err_set(e, EPROTO, "the looker sent a line that is none of ours");
		r = text_eq(kind, "err") ? looker_raise(line, e) : take_line(with, line, kind, e);
	}
	if (!r)
		return err_set(e, EPIPE, "the looker ended before its time");
	return r < 0 ? r : 0;
}

int looker_raise(const cJSON *line, struct err *e)
{
	err_set(e, (int)json_number(line, "code", EIO), "%s", json_text(line, "text"));
	err_status(e, (int)json_number(line, "status", 0));
	const char *hint = json_text(line, "hint");
	return hint && *hint ? err_hint(e, "%s", hint) : -e->code;
}

int looker_fork(const struct looker_task *task, const struct cell *cell, struct looker *ret,
		struct err *e)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return err_sys(e, "make a channel to the looker");
	cleanup_close int mine = ends[0];
	cleanup_close int its = ends[1];
	pid_t runner = getpid();
	pid_t pid = fork();
	if (pid < 0)
		return err_sys(e, "fork the looker");
	if (pid == 0)
		looker(task, cell, its, runner);
	*ret = (struct looker){ .pid = pid, .pidfd = pidfd_open(pid, 0), .channel = take_fd(&mine) };
	return ret->pidfd < 0 ? err_sys(e, "hold on to the looker") : 0;
}

int looker_start(const struct order_ask *ask, const struct cell *cell, struct looker *ret,
		 struct err *e)
{
	const struct looker_task task = { .look = look_at_suite, .with = ask };
	return looker_fork(&task, cell, ret, e);
}

void looker_done(struct looker *looker)
{
	fd_close_at(&looker->channel); /* it ends when it sees that */
	if (looker->pid > 0)
		while (waitpid(looker->pid, NULL, 0) < 0 && errno == EINTR)
			;
	fd_close_at(&looker->pidfd);
	*looker = LOOKER_NULL;
}
