#include "runner/drive/order.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/drive/keep.h"
#include "runner/drive/looker.h"
#include "runner/drive/session.h"
#include "runner/drive/signals.h"
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

#define LOG_LEN_MAX  (256U << 20) /* of the suite's output that is kept */
#define LOG_PIPE_LEN (1 << 20)
#define CALM_MS      20 /* lines and output are read in handfuls: each wake costs the suite time */

struct run {
	const struct order *order;
	const struct order_setup *setup;
	struct ledger *ledger;
	struct progress *progress;
	struct order_result *result;
	struct cell cell;
	struct looker looker;
	struct buf lines; /* from the looker, not yet whole */
	struct signals signals;
	int output; /* read end of the suite's output; -1: it ended */
	int log;
	uint64_t log_len;
	int interrupts;
	bool ready;  /* the looker has looked round */
	bool exited; /* the command has ended */
	bool ended;  /* the ledger has its last line */
	bool over;   /* the looker has written its last line */
	int64_t began_ms;
};

/* ---- what the looker says ---- */

static int take_line(struct run *run, const char *text, size_t len, struct err *e)
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
	run->result->tests_len += text_eq(kind, "test");
	run->result->spoke |= text_eq(kind, "session");
	run->ended |= text_eq(kind, "end");
	progress_see(run->progress, line);
	return ledger_append(run->ledger, text, len, e);
}

/* All whole lines that are there. */
static int take_lines(struct run *run, struct err *e)
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

static int no_log(const struct run *run, struct err *e)
{
	err_sys(e, "write the log of order %s", run->order->name);
	err_hint(e, "free some room there, or name another folder with --out DIR; or see ulimit -f");
	return err_status(e, STATUS_HOST);
}

static int keep_output(struct run *run, const char *bytes, size_t len, struct err *e)
{
	if (run->setup->echo) {
		progress_hide(run->progress);
		fd_write_full(STDERR_FILENO, bytes, len); /* a closed terminal loses only the copy */
	}
	if (run->log_len == LOG_LEN_MAX)
		return 0;
	size_t room = LOG_LEN_MAX - run->log_len;
	size_t part = len < room ? len : room;
	if (fd_write_full(run->log, bytes, part))
		return no_log(run, e);
	run->log_len += part;
	if (run->log_len < LOG_LEN_MAX)
		return 0;
	static const char cut[] = "\nfumehood: the log ends here: its limit of 256 MiB is reached\n";
	return fd_write_full(run->log, cut, sizeof(cut) - 1) ? no_log(run, e) : 0;
}

static int take_output(struct run *run, struct err *e)
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
static int cut_short(struct run *run, struct err *e)
{
	int status = run->result->wait_status;
	kill(run->looker.pid, SIGKILL);
	run->over = true;
	if (run->ended)
		return 0;
	cleanup_json cJSON *line = cJSON_CreateObject();
	cJSON_AddNumberToObject(line, "v", LEDGER_VERSION);
	cJSON_AddStringToObject(line, "kind", "end");
	json_add_name(line, "order", run->order->name);
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
	cleanup_free char *text =
		cJSON_AddArrayToObject(line, "unattributed") ? json_line(line) : NULL;
	return text ? ledger_append(run->ledger, text, strlen(text), e)
		    : err_set(e, ENOMEM, "end the ledger: no memory");
}

static int interrupt(struct run *run, struct err *e)
{
	run->result->interrupted = true;
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

static const int heard[] = { SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT };

static int take_signal(struct run *run, struct err *e)
{
	switch (signals_take(&run->signals)) {
	case 0:
	case SIGCONT:
		return 0;
	case SIGTSTP:
		return signals_pause(&run->cell, !run->exited, e);
	default:
		return interrupt(run, e);
	}
}

/* ---- what the warden says ---- */

static int take_event(struct run *run, struct err *e)
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
	struct order_result *result = run->result;
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

/* ---- the loop ---- */

static int drive(struct run *run, struct err *e)
{
	int64_t calm_until = 0;
	int r = 0;
	while (!r && !run->over) {
		int64_t calm = run->ready && !run->exited ? calm_until - clock_ms() : 0;
		enum { CONTROL, SIGNALS, LOOKER, OUTPUT, N };
		struct pollfd polls[N] = {
			[CONTROL] = { run->exited ? -1 : run->cell.control, POLLIN, 0 },
			[SIGNALS] = { run->signals.fd, POLLIN, 0 },
			[LOOKER] = { calm > 0 ? -1 : run->looker.channel, POLLIN, 0 },
			[OUTPUT] = { calm > 0 ? -1 : run->output, POLLIN, 0 },
		};
		int wait = progress_due_ms(run->progress);
		if (calm > 0 && (wait < 0 || calm < wait))
			wait = (int)calm;
		int n = poll(polls, N, wait);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, "wait for the cell");
		progress_tick(run->progress);
		if (polls[SIGNALS].revents)
			r = take_signal(run, e);
		if (!r && (polls[LOOKER].revents || polls[OUTPUT].revents)) {
			calm_until = clock_ms() + CALM_MS;
			bool was_ready = run->ready;
			r = take_lines(run, e);
			if (!r)
				r = take_output(run, e);
			if (!r && run->ready && !was_ready)
				r = cell_go(&run->cell, e);
		}
		if (!r && polls[CONTROL].revents)
			r = take_event(run, e);
	}
	return r ? r : take_output(run, e);
}

static bool has_keeps(const struct order_setup *setup)
{
	return setup->keeps && setup->keeps->len;
}

/* When nobody is at work in the cell any more. */
static int bring_out(struct run *run, struct err *e)
{
	int r = cell_end_survivors(&run->cell, e);
	if (!r)
		keeps_bring(run->setup->keeps, &run->cell, &run->result->not_kept);
	return r;
}

/* The suite writes into a pipe of ours, never into a file of the host. */
static int start(struct run *run, struct err *e)
{
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

	struct cell_spec spec = *run->setup->spec;
	spec.stdin_fd = null;
	spec.stdout_fd = spec.stderr_fd = suites;
	int r = cell_start(&spec, &run->cell, e);
	if (r)
		return r;
	run->result->isolation = run->cell.isolation;
	int on = 1; /* before anyone in the cell can connect */
	if (setsockopt(run->cell.view.listener, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)))
		return err_sys(e, "ask for senders' numbers");
	r = looker_start(run->order, run->setup, &run->cell, &run->looker, e);
	if (!has_keeps(run->setup))
		cell_view_done(&run->cell.view); /* the looker has it */
	return r;
}

int order_run(const struct order *order, const struct order_setup *setup, struct ledger *ledger,
	      struct progress *progress, struct order_result *ret, struct err *e)
{
	struct order_result result = { 0 };
	struct run run = { .order = order,
			   .setup = setup,
			   .ledger = ledger,
			   .progress = progress,
			   .result = &result,
			   .cell = CELL_NULL,
			   .looker = LOOKER_NULL,
			   .signals = SIGNALS_NULL,
			   .output = -1,
			   .log = -1,
			   .began_ms = clock_ms() };
	int r = signals_open(heard, countof(heard), &run.signals, e);
	if (!r)
		r = ledger_open_log(ledger, order->name, &run.log, e);
	if (!r)
		r = start(&run, e);
	if (!r)
		r = drive(&run, e);
	if (!r && has_keeps(setup)) {
		signals_done(&run.signals); /* the ledger is whole: ctrl-C may end us now */
		r = bring_out(&run, e);
	}
	if (!r)
		r = cell_release(&run.cell, e);
	if (r)
		err_in(e, "order %s", order->name);
	/* The cell goes first: what the looker holds of it keeps nothing alive. */
	cell_done(&run.cell);
	looker_done(&run.looker);
	buf_done(&run.lines);
	fd_close_at(&run.output);
	fd_close_at(&run.log);
	signals_done(&run.signals);
	if (!r)
		*ret = result;
	return r;
}
