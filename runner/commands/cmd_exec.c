#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/command.h"
#include "runner/drive/prepare.h"
#include "runner/drive/signals.h"
#include "runner/drive/solo.h"
#include "runner/no_hello.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/env.h"

struct exec {
	const struct config *config;
	struct prepared prepared;
	struct cell cell;
	struct cell_event end;
};

static void exec_done(struct exec *x)
{
	cell_done(&x->cell);
	prepared_done(&x->prepared);
}

/* A command that asked for a cell shall not run in less. */
static int refuse_reduced(const struct exec *x, struct err *e)
{
	const struct isolation *isolation = &x->cell.isolation;
	for (int i = 0; i < ISOLATION_N; i++) {
		const char *name = isolation_names[i];
		if (isolation->state[i] != ISOLATION_REDUCED ||
		    strv_has(&x->config->accept_reduced, name))
			continue;
		err_set(e, ENOTSUP, "the isolation is reduced, and the command was not run: %s: %s",
			name, isolation->why[i]);
		return err_hint(e, "to run it all the same: --accept-reduced %s", name);
	}
	return 0;
}

static int status_of(const struct cell_event *end)
{
	if (end->timed_out)
		return STATUS_TIMEOUT;
	int status = end->wait_status;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int explain_exec(const struct exec *x, struct err *e)
{
	const struct cell_spec *spec = &x->prepared.spec;
	int code = x->end.exec_error;
	no_exec_explain(spec->argv[0], env_get(spec->env, "PATH"), code, e);
	return err_status(e, code == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE);
}

/* What still lives goes before we do; of a cell with nobody in it the kernel needs no witness. */
static int let_go(struct exec *x, struct err *e)
{
	if (x->end.survivors_len)
		return 0; /* exec_done() waits */
	cell_view_done(&x->cell.view);
	int r = cell_release(&x->cell, e);
	x->cell = CELL_NULL;
	return r;
}

static int run_command(struct exec *x, const struct signals *signals, struct err *e)
{
	const struct solo solo = {
		.cell = &x->cell,
		.signals = signals,
		.mirror_stops = !x->config->timeout_ms,
	};
	int r = cell_start(&x->prepared.spec, &x->cell, e);
	r = r ? r : refuse_reduced(x, e);
	r = r ? r : solo_run(&solo, &x->end, e);
	if (r)
		return r;
	return x->end.exec_failed ? explain_exec(x, e) : let_go(x, e);
}

static int exec_command(struct exec *x, struct err *e)
{
	const struct config *c = x->config;
	if (!c->command[0]) {
		err_set(e, EINVAL, "there is no command to run");
		return err_hint(e, "say what to run: fumehood exec -- CMD");
	}
	int r = prepare(c, NULL, (const char *const *)environ, &x->prepared, e);
	if (r)
		return r;
	x->prepared.spec.stdin_fd = STDIN_FILENO;
	x->prepared.spec.stdout_fd = STDOUT_FILENO;
	x->prepared.spec.stderr_fd = STDERR_FILENO;
	cleanup(signals_done) struct signals signals = SIGNALS_NULL;
	r = signals_open(solo_signals, solo_signals_len, &signals, e);
	r = r ? r : run_command(x, &signals, e);
	return r ? r : status_of(&x->end);
}

static int run(int argc, const char *const *argv, struct err *e)
{
	cleanup(config_done) struct config c = CONFIG_NULL;
	cleanup(exec_done) struct exec x = { .config = &c,
					     .prepared = PREPARED_NULL,
					     .cell = CELL_NULL };
	signal(SIGPIPE, SIG_IGN); /* a reader of stderr that is gone shall not cost the status */
	int r = config_load(&c, CONFIG_EXEC, argc, argv, e);
	r = r ? r : exec_command(&x, e);
	if (r < 0 && e->status != STATUS_NOT_FOUND && e->status != STATUS_NOT_EXECUTABLE)
		err_status(e, STATUS_OURS);
	return r;
}

const struct command cmd_exec = {
	.name = "exec",
	.args = "[OPTIONS] -- CMD...",
	.help = "run a command in a fresh cell and tell what it changed",
	.options = CONFIG_EXEC,
	.more = "Exit status: that of CMD, 128 + n when signal n ended it, 124 when the time limit\n"
		"passed, 125 when fumehood failed, 126 when CMD cannot be executed, 127 when it is\n"
		"not found.\n\n"
		"Examples:\n"
		"  fumehood exec -- make install\n"
		"  fumehood exec --network host -- npm ci\n",
	.run = run,
};
