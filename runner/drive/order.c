#include "runner/drive/order.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/drive/keep.h"
#include "runner/drive/looker.h"
#include "runner/drive/prepare.h"
#include "runner/drive/session.h"
#include "runner/drive/vary.h"
#include "runner/ledger.h"
#include "runner/progress.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/clock.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fault.h"
#include "sandbox/base/fd.h"
#include "sandbox/base/json.h"
#include "sandbox/base/text.h"

#define LOG_PIPE_LEN (1 << 20)
#define CALM_MS      20 /* lines and output are read in handfuls: each wake costs the suite time */

struct order_run {
	struct order_ask ask;
	struct order_setup setup; /* the ask's, or with what is prepared for this order alone */
	struct prepared own;
	struct order_result result;
	struct cell cell;
	struct looker looker;
	struct buf lines; /* from the looker, not yet whole */
	int output;       /* read end of the suite's output; -1: it ended */
	struct ledger_log log;
	int interrupts;
	bool ready;   /* the looker has looked round */
	bool exited;  /* the command has ended */
	bool ended;   /* the ledger has its last line */
	bool over;    /* the looker has written its last line */
	bool leaving; /* the cell was let go */
	bool cell_gone, looker_gone;
	int64_t began_ms;
	int64_t calm_until;
};

/* ---- ledger lines ---- */

static cJSON *line_new(const struct order_run *run, const char *kind)
{
	cJSON *line = cJSON_CreateObject();
	cJSON_AddNumberToObject(line, "v", LEDGER_VERSION);
	cJSON_AddStringToObject(line, "kind", kind);
	json_add_name(line, "order", run->ask.order->name);
	return line;
}

/* One of our own, whole but for its last member, which stands for all: cJSON tells no lack of memory
 * in between. Frees it. */
static int say(struct order_run *run, cJSON *tree, const cJSON *last, struct err *e)
{
	cleanup_json cJSON *line = tree;
	cleanup_free char *text = last ? json_line(line) : NULL;
	if (!text)
		return err_set(e, ENOMEM, "write a ledger line: no memory");
	return run->ask.line(run->ask.with, line, text, strlen(text), e);
}

static cJSON *asked_tests(const struct order_ask *ask)
{
	if (ask->order->as_collected)
		return cJSON_CreateNull();
	cJSON *ids = cJSON_CreateArray();
	for (size_t i = 0; ids && i < ask->order->tests_len; i++)
		cJSON_AddItemToArray(ids,
				     cJSON_CreateString(ask->roster->ids.at[ask->order->tests[i]]));
	return ids;
}

/* What there was of an order of this name before counts no more. */
static int say_begin(struct order_run *run, struct err *e)
{
	const struct order *order = run->ask.order;
	cJSON *line = line_new(run, "begin");
	cJSON_AddStringToObject(line, "view", view_names[order->view]);
	cJSON_AddStringToObject(line, "role", role_names[order->role]);
	order_add_shuffle(order, line);
	cJSON_AddNumberToObject(line, "lane", run->ask.lane);
	json_add(line, "tests", asked_tests(&run->ask));
	cJSON *vary = json_texts((const char *const *)order->vary.at);
	return say(run, line, json_add(line, "vary", vary) ? vary : NULL, e);
}

/* ---- what the looker says ---- */

static int take_line(struct order_run *run, const char *text, size_t len, struct err *e)
{
	cleanup_json cJSON *line = cJSON_ParseWithLength(text, len);
	const char *kind = json_text(line, "kind");
	if (!kind)
		return err_set(e, EPROTO, "the looker sent a line that is none of ours");
	if (text_eq(kind, "ready"))
		run->ready = true;
	else if (text_eq(kind, "over"))
		run->over = true;
	else if (text_eq(kind, "err"))
		return looker_raise(line, e) ? err_in(e, "looker") : 0;
	if (run->over || text_eq(kind, "ready"))
		return 0;
	run->result.tests_len += text_eq(kind, "test");
	run->result.spoke |= text_eq(kind, "session");
	run->ended |= text_eq(kind, "end");
	return run->ask.line(run->ask.with, line, text, len, e);
}

/* All whole lines that are there. */
static int take_lines(struct order_run *run, struct err *e)
{
	for (;;) {
		if (buf_reserve(&run->lines, 65536))
			return err_set(e, ENOMEM, "read from the looker");
		ssize_t n = recv(run->looker.channel, run->lines.at + run->lines.len, 65536,
				 MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0)
			return err_sys(e, "read from the looker");
		if (n == 0)
			return run->over ? 0 : err_set(e, EPIPE, "the looker ended before its time");
		run->lines.len += (size_t)n;
		size_t from = 0;
		for (;;) {
			char *at = run->lines.at + from;
			char *end = memchr(at, '\n', run->lines.len - from);
			if (!end)
				break;
			int r = take_line(run, at, (size_t)(end - at), e);
			if (r)
				return r;
			from += (size_t)(end - at) + 1;
		}
		memmove(run->lines.at, run->lines.at + from, run->lines.len - from);
		run->lines.len -= from;
		if (run->lines.len > LEDGER_LINE_MAX)
			return err_set(e, EFBIG, "a ledger line is over %d bytes", LEDGER_LINE_MAX);
	}
}

/* ---- the suite's output ---- */

static int no_log(const struct order_run *run, struct err *e)
{
	err_sys(e, "write the log of order %s", run->ask.order->name);
	err_hint(e, "free some room there, or name another folder with --out DIR; or see ulimit -f");
	return err_status(e, STATUS_HOST);
}

static int keep_output(struct order_run *run, const char *bytes, size_t len, struct err *e)
{
	if (run->ask.setup->echo) {
		progress_hide(run->ask.progress);
		fd_write_full(STDERR_FILENO, bytes, len); /* a closed terminal loses only the copy */
	}
	return ledger_log(run->ask.ledger, &run->log, bytes, len) ? no_log(run, e) : 0;
}

static int take_output(struct order_run *run, struct err *e)
{
	char bytes[65536];
	for (int rounds = 0; run->output >= 0 && rounds < 64; rounds++) {
		ssize_t n = read(run->output, bytes, sizeof(bytes));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0)
			return err_sys(e, "read the suite's output");
		if (n == 0)
			fd_close_at(&run->output);
		int r = n ? keep_output(run, bytes, (size_t)n, e) : 0;
		if (r)
			return r;
	}
	return 0;
}

/* ---- signals ---- */

/* The looker is at its last look, which may take long, and somebody does not want to wait for it: the
 * ledger ends here. */
static int cut_short(struct order_run *run, struct err *e)
{
	int status = run->result.wait_status;
	kill(run->looker.pid, SIGKILL);
	run->over = true;
	if (run->ended)
		return 0;
	cJSON *line = line_new(run, "end");
	cJSON_AddStringToObject(line, "outcome", "interrupted");
	cJSON_AddNumberToObject(line, "exit",
				WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	cJSON_AddNumberToObject(line, "seconds", (double)(clock_ms() - run->began_ms) / 1000);
	cJSON_AddNullToObject(line, "tracker");
	cJSON_AddNullToObject(line, "tracker_why");
	cJSON_AddNumberToObject(line, "refused", 0);
	cJSON *blind = cJSON_AddObjectToObject(line, "blind");
	cJSON_AddStringToObject(blind, "files", "the last look was interrupted");
	cJSON_AddArrayToObject(line, "survivors");
	return say(run, line, cJSON_AddArrayToObject(line, "unattributed"), e);
}

int order_interrupt(struct order_run *run, struct err *e)
{
	run->result.interrupted = true;
	if (run->exited)
		return cut_short(run, e);
	if (run->interrupts++)
		return cell_kill(&run->cell, e);
	/* The looker first: what the test that is cut short says of itself is no evidence. */
	if (fd_write_full(run->looker.channel, &(struct session_news){ .interrupted = true },
			  sizeof(struct session_news)))
		return err_sys(e, "tell the looker of the interruption");
	return cell_stop(&run->cell, SIGINT, e);
}

int order_signal(struct order_run *run, int signal, struct err *e)
{
	return run->exited ? 0 : cell_signal(&run->cell, signal, e);
}

/* ---- what the warden says ---- */

static int take_event(struct order_run *run, struct err *e)
{
	struct cell_event event;
	int r = cell_read(&run->cell, &event, e);
	if (r)
		return r;
	if (event.kind == CELL_STOPPED) /* a test stopped its own process: the time limit is for that */
		return 0;
	if (event.kind == CELL_GONE)
		return err_set(e, ECHILD,
			       "the cell ended before its command did: its process 1 was killed");
	struct order_result *result = &run->result;
	run->exited = true;
	result->wait_status = event.wait_status;
	result->timed_out = event.timed_out;
	result->exec_failed = event.exec_failed;
	result->exec_error = event.exec_error;
	struct session_news end = { .ended = true,
				    .wait_status = event.wait_status,
				    .timed_out = event.timed_out,
				    .interrupted = result->interrupted };
	if (fd_write_full(run->looker.channel, &end, sizeof(end)))
		return err_sys(e, "tell the looker that the command ended");
	return 0;
}

/* ---- the loop's side ---- */

enum { CONTROL, LOOKER, OUTPUT };

/* Lines and output may wait a little: each wake costs the suite time. */
static bool is_calm(const struct order_run *run)
{
	return run->ready && !run->exited && run->calm_until > clock_ms();
}

void order_polls(const struct order_run *run, struct pollfd polls[ORDER_POLLS])
{
	bool calm = is_calm(run);
	int fds[ORDER_POLLS] = {
		[CONTROL] = run->exited ? -1 : run->cell.control,
		[LOOKER] = calm ? -1 : run->looker.channel,
		[OUTPUT] = calm ? -1 : run->output,
	};
	if (run->leaving) {
		fds[CONTROL] = run->cell_gone ? -1 : run->cell.pidfd;
		fds[LOOKER] = run->looker_gone ? -1 : run->looker.pidfd;
		fds[OUTPUT] = -1;
	}
	for (size_t i = 0; i < ORDER_POLLS; i++)
		polls[i] = (struct pollfd){ fds[i], POLLIN, 0 };
}

int64_t order_due_ms(const struct order_run *run)
{
	return !run->leaving && is_calm(run) ? run->calm_until : INT64_MAX;
}

static int take_lines_and_output(struct order_run *run, struct err *e)
{
	bool was_ready = run->ready;
	run->calm_until = clock_ms() + CALM_MS;
	int r = take_lines(run, e);
	r = r ? r : take_output(run, e);
	return !r && run->ready && !was_ready ? cell_go(&run->cell, e) : r;
}

static int step_away(struct order_run *run, const struct pollfd polls[ORDER_POLLS])
{
	run->cell_gone |= polls[CONTROL].revents != 0;
	run->looker_gone |= polls[LOOKER].revents != 0;
	return run->cell_gone && run->looker_gone;
}

int order_step(struct order_run *run, const struct pollfd polls[ORDER_POLLS], struct err *e)
{
	if (run->leaving)
		return step_away(run, polls);
	int r = 0;
	if (polls[LOOKER].revents || polls[OUTPUT].revents)
		r = take_lines_and_output(run, e);
	if (!r && polls[CONTROL].revents)
		r = take_event(run, e);
	if (!r && run->over)
		r = take_output(run, e);
	return r ? r : run->over;
}

/* ---- from its start to its end ---- */

/* The notes of it were told when the first was prepared, and nothing is kept of one order of many. */
static int prepare_own(struct order_run *run, struct err *e)
{
	const struct order_setup *shared = run->ask.setup;
	if (!shared->config || !shared->spec->top)
		return 0;
	struct prepared *own = &run->own;
	int r = prepare(shared->config, shared->adapter, (const char *const *)environ, own, e);
	own->spec.layer = shared->spec->layer;
	own->spec.name = shared->spec->name;
	run->setup.spec = &own->spec;
	run->setup.zones = own->zones;
	run->setup.zones_len = own->zones_len;
	run->setup.keeps = NULL;
	return r;
}

static bool has_keeps(const struct order_setup *setup)
{
	return setup->keeps && setup->keeps->len;
}

/* The suite writes into a pipe of ours, never into a file of the host. */
static int start_cell(struct order_run *run, struct err *e)
{
	const struct order_setup *setup = run->ask.setup;
	int ends[2];
	if (pipe2(ends, O_CLOEXEC))
		return err_sys(e, "make a pipe for the suite's output");
	run->output = ends[0];
	cleanup_close int suites = ends[1];
	fcntl(run->output, F_SETPIPE_SZ, LOG_PIPE_LEN); /* a user's quota may refuse: smaller works */
	if (fcntl(run->output, F_SETFL, O_NONBLOCK))
		return err_sys(e, "make a pipe for the suite's output");
	cleanup_close int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null < 0)
		return err_sys(e, "open /dev/null");

	struct cell_spec spec = *setup->spec;
	spec.stdin_fd = null;
	spec.stdout_fd = spec.stderr_fd = suites;
	cleanup(strv_done) struct strv env = STRV_NULL;
	int r = vary_apply(run->ask.order, &spec, &env, e);
	r = r ? r : cell_start(&spec, &run->cell, e);
	if (r)
		return r;
	run->result.isolation = run->cell.isolation;
	int on = 1; /* before anyone in the cell can connect */
	if (setsockopt(run->cell.view.listener, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)))
		return err_sys(e, "ask for senders' numbers");
	r = looker_start(&run->ask, &run->cell, &run->looker, e);
	if (!has_keeps(setup))
		cell_view_done(&run->cell.view); /* the looker has it */
	return r;
}

int order_start(const struct order_ask *ask, struct order_run **ret, struct err *e)
{
	struct order_run *run = calloc(1, sizeof(*run));
	if (!run)
		return err_set(e, ENOMEM, "start an order: no memory");
	*run = (struct order_run){ .ask = *ask,
				   .setup = *ask->setup,
				   .own = PREPARED_NULL,
				   .cell = CELL_NULL,
				   .looker = LOOKER_NULL,
				   .output = -1,
				   .log = LEDGER_LOG_NULL,
				   .began_ms = clock_ms() };
	int r = prepare_own(run, e);
	run->ask.setup = &run->setup;
	r = r ? r : ledger_open_log(ask->ledger, ask->order->name, &run->log.fd, e);
	r = r ? r : say_begin(run, e);
	r = r ? r : start_cell(run, e);
	if (r) {
		order_free(run);
		return r;
	}
	*ret = run;
	return 0;
}

/* When nobody is at work in the cell any more. */
static int bring_out(struct order_run *run, struct err *e)
{
	int r = cell_end_survivors(&run->cell, e);
	if (!r)
		keeps_bring(run->ask.setup->keeps, &run->cell, &run->result.not_kept);
	return r;
}

int order_leave(struct order_run *run, struct order_result *ret, struct err *e)
{
	assert(run->over && !run->leaving);
	int r = has_keeps(run->ask.setup) ? bring_out(run, e) : 0;
	r = r ? r : cell_release(&run->cell, e);
	if (r)
		return r;
	cell_view_done(&run->cell.view);
	fd_close_at(&run->looker.channel);
	fd_close_at(&run->output);
	fd_close_at(&run->log.fd);
	run->leaving = true;
	*ret = run->result;
	return 0;
}

void order_free(struct order_run *run)
{
	if (!run)
		return;
	/* The cell goes first: what the looker holds of it keeps nothing alive. */
	cell_done(&run->cell);
	looker_done(&run->looker);
	prepared_done(&run->own);
	buf_done(&run->lines);
	fd_close_at(&run->output);
	fd_close_at(&run->log.fd);
	free(run);
}
