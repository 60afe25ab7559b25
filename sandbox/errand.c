#include "sandbox/errand.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/clock.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "sandbox/base/text.h"
#include "sandbox/caps.h"
#include "sandbox/cell_spec.h"
#include "sandbox/command.h"
#include "sandbox/filter.h"
#include "sandbox/limits.h"
#include "sandbox/sync.h"

#define PIECE_LEN 16384
#define KILL_MS   10000 /* that the warden has to end one; then it is no more */

enum kind { RUN = 1, KILL, ENDED };

/* RUN comes with the descriptor that the output goes to. */
struct record {
	uint32_t kind;
	uint32_t number;
	int32_t wait_status;
};

/* ---- outside ---- */

struct run {
	int sock;
	int output; /* -1: it has ended */
	const struct errand_limits *within;
	struct buf *out;
	size_t len;
	int64_t until_ms;
	bool killed;
	bool ended;
	struct errand_result result;
};

static int start(struct run *run, size_t number, struct err *e)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC))
		return err_sys(e, "make a pipe");
	run->output = ends[0];
	cleanup_close int its = ends[1];
	if (fcntl(run->output, F_SETFL, O_NONBLOCK))
		return err_sys(e, "make a pipe");
	const struct record record = { .kind = RUN, .number = (uint32_t)number };
	return fd_send(run->sock, &record, sizeof(record), &its, 1) ? err_sys(e, "ask the warden")
								    : 0;
}

static int stop(struct run *run, struct err *e)
{
	const struct record record = { .kind = KILL };
	if (run->killed)
		return 0;
	run->killed = true;
	run->until_ms = clock_ms() + KILL_MS;
	return fd_send(run->sock, &record, sizeof(record), NULL, 0) ? err_sys(e, "ask the warden")
								    : 0;
}

/* All that is there. */
static int take_output(struct run *run, struct err *e)
{
	char piece[PIECE_LEN];
	while (run->output >= 0) {
		ssize_t n = read(run->output, piece, sizeof(piece));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : err_sys(e, "read its output");
		if (n == 0)
			fd_close_at(&run->output);
		run->len += (size_t)n;
		run->result.too_long |= run->len > run->within->len_max;
		if (run->result.too_long)
			return stop(run, e);
		if (buf_add(run->out, piece, (size_t)n))
			return err_set(e, ENOMEM, "no memory");
	}
	return 0;
}

static int take_record(struct run *run, struct err *e)
{
	struct record record;
	size_t fds_len;
	ssize_t n = fd_recv(run->sock, &record, sizeof(record), NULL, 0, &fds_len);
	if (n != sizeof(record) || record.kind != ENDED)
		return err_set(e, EPROTO, "the warden did not answer");
	run->result.wait_status = record.wait_status;
	run->ended = true;
	return 0;
}

static int step(struct run *run, struct err *e)
{
	struct pollfd fds[] = {
		/* What there is too much of stays where it is. */
		{ .fd = run->result.too_long ? -1 : run->output, .events = POLLIN },
		{ .fd = run->sock, .events = POLLIN },
	};
	int64_t left = run->until_ms - clock_ms();
	if (left <= 0 && run->killed)
		return err_set(e, ETIMEDOUT, "the warden did not end it");
	if (left <= 0) { /* though it may still print, a little at a time */
		run->result.timed_out = true;
		return stop(run, e);
	}
	int n = poll(fds, countof(fds), (int)left);
	if (n < 0)
		return errno == EINTR ? 0 : err_sys(e, "wait for it");
	int r = fds[0].revents ? take_output(run, e) : 0;
	return !r && fds[1].revents ? take_record(run, e) : r;
}

int errand_run(int sock, size_t number, const struct errand_limits *within, struct buf *out,
	       struct errand_result *ret, struct err *e)
{
	struct run run = { .sock = sock,
			   .output = -1,
			   .within = within,
			   .out = out,
			   .until_ms = clock_ms() + within->timeout_ms };
	int r = start(&run, number, e);
	while (!r && !run.ended)
		r = step(&run, e);
	if (!r && !run.killed)
		r = take_output(&run, e); /* what came last; who else holds the pipe is not waited for */
	fd_close_at(&run.output);
	if (!r)
		*ret = run.result;
	return r;
}

/* ---- the warden's side ---- */

int errands_open(const struct cell_spec *spec, struct errands *errands, int *ret, struct err *e)
{
	int ends[2];
	*ret = -1;
	if (!spec->errands_len)
		return 0;
	int r = sync_pair(ends, e);
	if (r)
		return r;
	*errands = (struct errands){ .spec = spec, .sock = ends[0] };
	*ret = ends[1];
	return 0;
}

static void answer(const struct errands *errands, int wait_status)
{
	const struct record record = { .kind = ENDED, .wait_status = wait_status };
	fd_send(errands->sock, &record, sizeof(record), NULL, 0);
}

static bool set_output(int output)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int moved = fcntl(output, F_DUPFD_CLOEXEC, 3); /* it may be one of the three itself */
	return null >= 0 && moved >= 0 && dup2(null, 0) == 0 && dup2(moved, 1) == 1 &&
	       dup2(null, 2) == 2;
}

/* The way to our adapter is the suite's alone. */
static const char **environment(const struct cell_spec *spec)
{
	size_t n = 0;
	while (spec->env[n])
		n++;
	const char **env = calloc(n + 1, sizeof(*env));
	for (size_t i = 0, to = 0; env && i < n; i++)
		if (!text_starts(spec->env[i], "FUMEHOOD_"))
			env[to++] = spec->env[i];
	return env;
}

static _Noreturn void errand_main(const struct cell_spec *spec, size_t number, int output)
{
	const char **env = environment(spec);
	sigset_t none;
	sigemptyset(&none);
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	if (!env || !set_output(output) || setsid() < 0 || chdir(spec->cwd) < 0 ||
	    limits_apply(NULL) || caps_drop(0, NULL) || filter_install(spec->allow_nested, NULL))
		_exit(126);
	umask(022);
	sigprocmask(SIG_SETMASK, &none, NULL);
	close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
	_exit(command_execute(spec->errands[number].argv, env) == ENOENT ? 127 : 126);
}

static void begin(struct errands *errands, size_t number, int output)
{
	bool refused = errands->running || number >= errands->spec->errands_len || output < 0;
	pid_t pid = refused ? -1 : fork();
	if (pid == 0)
		errand_main(errands->spec, number, output);
	if (pid < 0)
		answer(errands, 126 << 8);
	else
		errands->running = pid;
}

void errands_hear(struct errands *errands)
{
	struct record record = { 0 };
	cleanup_close int output = -1;
	size_t fds_len = 0;
	ssize_t n = fd_recv(errands->sock, &record, sizeof(record), &output, 1, &fds_len);
	if (n <= 0)
		fd_close_at(&errands->sock); /* nobody asks any more */
	else if (n == sizeof(record) && record.kind == RUN)
		begin(errands, record.number, output);
	if (errands->running && (n <= 0 || record.kind == KILL))
		kill(errands->running, SIGKILL);
}

/* While there is somebody left in its group, nobody else gets its number. */
void errands_ended(struct errands *errands, pid_t child, int wait_status)
{
	if (child != errands->running)
		return;
	kill(-child, SIGKILL);
	errands->running = 0;
	answer(errands, wait_status);
}
