#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/command.h"
#include "runner/drive/changes.h"
#include "runner/drive/layer.h"
#include "runner/drive/prepare.h"
#include "runner/drive/signals.h"
#include "runner/drive/solo.h"
#include "runner/drive/tty.h"
#include "runner/no_hello.h"
#include "runner/report/effects.h"
#include "runner/terminal.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/clock.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "sandbox/env.h"

struct exec {
	const struct config *config;
	struct prepared prepared;
	struct layer layer;
	int report; /* of --report; -1: stderr */
	struct cell cell;
	struct changes_base *base; /* NULL: nobody wants to know */
	struct cell_event end;
	double seconds;
	struct changes changes;
};

static void exec_done(struct exec *x)
{
	changes_done(&x->changes);
	changes_base_free(x->base);
	cell_done(&x->cell);
	fd_close_at(&x->report);
	prepared_done(&x->prepared);
	layer_done(&x->layer);
}

/* A command that asked for a cell shall not run in less. */
static int refuse_reduced(const struct exec *x, struct err *e)
{
	const struct isolation *isolation = &x->cell.isolation;
	char names[256] = "";
	size_t len = 0;
	for (int i = 0; i < ISOLATION_N; i++) {
		const char *name = isolation_names[i];
		if (isolation->state[i] != ISOLATION_REDUCED ||
		    strv_has(&x->config->accept_reduced, name))
			continue;
		if (!len)
			err_set(e, ENOTSUP,
				"the isolation is reduced, and the command was not run: %s: %s",
				name, isolation->why[i]);
		len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s", len ? "," : "",
					name);
	}
	return len ? err_hint(e, "to run it all the same: --accept-reduced %s", names) : 0;
}

/* ---- its end ---- */

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

/* What still lives goes before we do, and a scratch on disk; of a cell in memory with nobody in it
 * the kernel needs no witness. */
static int let_go(struct exec *x, struct err *e)
{
	if (x->end.survivors_len || x->cell.disk.parent || x->cell.forwarder || x->cell.bare)
		return 0; /* exec_done() waits */
	cell_view_done(&x->cell.view);
	int r = cell_release(&x->cell, e);
	x->cell = CELL_NULL;
	return r;
}

/* ---- the report ---- */

static int write_report(const struct exec *x, FILE *out, const struct terminal *terminal,
			struct err *e)
{
	const struct config *c = x->config;
	const struct cell_spec *spec = &x->prepared.spec;
	const struct effects effects = {
		.command = spec->argv,
		.project = spec->project,
		.cwd = spec->cwd,
		.notes = (const char *const *)x->prepared.notes.at,
		.isolation = &x->cell.isolation,
		.end = &x->end,
		.status = status_of(&x->end),
		.seconds = x->seconds,
		.changes = &x->changes,
		.keeps = &x->prepared.keeps,
	};
	const struct effects_look look = { .terminal = terminal, .verbose = c->verbose };
	return c->json ? effects_write_json(&effects, out, e)
		       : effects_write_text(&effects, &look, out, e);
}

static int open_report(struct exec *x, struct err *e)
{
	const char *path = x->config->report;
	if (!path)
		return 0;
	if (text_eq(path, "-"))
		x->report = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	else
		x->report = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	return x->report < 0 ? err_sys(e, "--report: open %s", path) : 0;
}

/* In one piece, since stderr may be shared; that its reader is gone is the reader's affair. A file that
 * was asked for is our duty. */
static int tell(const struct exec *x, struct err *e)
{
	const char *path = x->config->report;
	int fd = path ? x->report : STDERR_FILENO;
	const struct terminal terminal = terminal_of(fd, x->config->color, getenv);
	cleanup_free char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	if (!out)
		return err_sys(e, "write the report");
	int r = write_report(x, out, &terminal, e);
	if (fclose(out) && !r)
		r = err_sys(e, "write the report");
	if (r)
		return r;
	struct stat st;
	bool old = path && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && !text_eq(path, "-");
	if (((old && ftruncate(fd, 0)) || fd_write_full(fd, text, len)) && path)
		return err_sys(e, "write the report to %s", path);
	return 0;
}

/* ---- the command ---- */

static bool is_asked_to_tell(const struct config *c)
{
	return !c->quiet || c->report;
}

/* Of a command that failed there may be nothing to bring out: its own status says more. */
static int bring_out(struct exec *x, struct err *e)
{
	struct err why = ERR_NULL;
	int r = keeps_bring(&x->prepared.keeps, &x->cell, &why);
	if (r && status_of(&x->end))
		return strv_add(&x->prepared.notes, why.text) ? err_set(e, ENOMEM, "no memory") : 0;
	if (r)
		*e = why;
	return r;
}

static int after(struct exec *x, struct err *e)
{
	if (x->end.exec_failed)
		return explain_exec(x, e);
	bool looks = x->base || x->prepared.keeps.len; /* and nobody may be at work meanwhile */
	int r = looks && x->end.survivors_len ? cell_end_survivors(&x->cell, e) : 0;
	if (!r && x->base)
		r = changes_look(x->base, &x->cell, &x->changes, e);
	struct err why = ERR_NULL;
	int kept = r ? 0 : bring_out(x, &why);
	if (!r && x->base) /* also when not all could be kept: then it matters most */
		r = tell(x, e);
	if (!r && kept) {
		*e = why;
		return kept;
	}
	return r ? r : let_go(x, e);
}

static int run_command(struct exec *x, const struct signals *signals, struct err *e)
{
	const struct prepared *p = &x->prepared;
	struct tty tty = TTY_NULL;
	const struct solo solo = {
		.cell = &x->cell,
		.signals = signals,
		.tty = &tty,
		.mirror_stops = !x->config->timeout_ms,
	};
	int r = cell_start(&p->spec, &x->cell, e);
	r = r ? r : refuse_reduced(x, e);
	if (!r && is_asked_to_tell(x->config))
		r = changes_begin(&x->cell, p->zones, p->zones_len, &x->base, e);
	if (r)
		return r;
	x->seconds = -clock_seconds();
	tty_begin(&tty, x->cell.tty);
	r = solo_run(&solo, &x->end, e);
	tty_end(&tty);
	x->seconds += clock_seconds();
	return r;
}

static int exec_command(struct exec *x, struct err *e)
{
	const struct config *c = x->config;
	if (!c->command[0]) {
		err_set(e, EINVAL, "there is no command to run");
		return err_hint(e, "say what to run: fumehood exec -- CMD");
	}
	int r = open_report(x, e);
	r = r ? r : prepare(c, NULL, (const char *const *)environ, &x->prepared, e);
	r = r ? r
	      : layer_ready(c, (const char *const *)environ, c->quiet ? NULL : stderr, &x->layer, e);
	if (r)
		return r;
	x->prepared.spec.layer = x->layer.path;
	x->prepared.spec.tty = c->tty;
	x->prepared.spec.stdin_fd = STDIN_FILENO;
	x->prepared.spec.stdout_fd = STDOUT_FILENO;
	x->prepared.spec.stderr_fd = STDERR_FILENO;
	struct signals signals = SIGNALS_NULL;
	r = signals_open(solo_signals, solo_signals_len, &signals, e);
	r = r ? r : run_command(x, &signals, e);
	signals_done(&signals); /* the command has ended: from here on they are ours */
	r = r ? r : after(x, e);
	return r ? r : status_of(&x->end);
}

static int run(int argc, const char *const *argv, struct err *e)
{
	cleanup(config_done) struct config c = CONFIG_NULL;
	cleanup(exec_done) struct exec x = { .config = &c,
					     .prepared = PREPARED_NULL,
					     .layer = LAYER_NULL,
					     .report = -1,
					     .cell = CELL_NULL,
					     .changes = CHANGES_NULL };
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
		"  fumehood exec -q --json --report effects.json -- ./configure\n"
		"  fumehood exec --network host --keep dist -- npm run build\n",
	.run = run,
};
