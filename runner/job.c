#include "runner/job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/adapter.h"
#include "runner/config.h"
#include "runner/hints.h"
#include "runner/no_hello.h"
#include "runner/printable.h"
#include "runner/progress.h"
#include "runner/terminal.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/clock.h"
#include "sandbox/base/err.h"
#include "sandbox/env.h"

#define TAIL_LINES 20

void job_done(struct job *job)
{
	ledger_done(&job->ledger);
	prepared_done(&job->prepared);
	layer_done(&job->layer);
	*job = JOB_NULL;
}

static void show(const char *before, const char *text)
{
	cleanup_free char *shown = printable(text);
	fprintf(stderr, "%s%s\n", before, shown ? shown : "");
}

/* ---- before anything runs ---- */

static int choose_adapter(const struct config *c, const char *command, const struct adapter **ret,
			  struct err *e)
{
	cleanup_close int project = open(c->project.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (project < 0)
		return err_sys(e, "open %s", c->project.path);
	*ret = c->adapter ? c->adapter : adapter_detect(project);
	if (!*ret && c->command[0])
		*ret = adapters[0]; /* the command knows; when nothing speaks, that is told */
	if (*ret)
		return 0;
	err_set(e, ENOENT, "no command was given, and no framework is known by the files of %s",
		c->project.path);
	err_hint(e, "say what to run: fumehood %s -- CMD", command);
	return err_status(e, STATUS_USAGE);
}

int job_prepare(struct job *job, const struct config *c, const char *command, struct err *e)
{
	const char *const *caller = (const char *const *)environ;
	job->config = c;
	int r = choose_adapter(c, command, &job->adapter, e);
	r = r ? r : prepare(c, job->adapter, caller, &job->prepared, e);
	r = r ? r : layer_ready(c, caller, c->quiet ? NULL : stderr, &job->layer, e);
	if (r)
		return r;
	job->prepared.spec.layer = job->layer.path;
	if (job->layer.reused && !c->quiet)
		show("prepared earlier: ", job->layer.path);
	return 0;
}

int job_save_about(struct job *job, struct err *e)
{
	return about_save(&job->about, &job->ledger, e);
}

static void describe(struct job *job, enum config_command command)
{
	job->prepared.spec.name = strrchr(job->ledger.path, '/') + 1;
	job->about = (struct about){ .config = job->config,
				     .command = command,
				     .adapter = job->adapter,
				     .prepared = &job->prepared,
				     .layer = &job->layer };
}

int job_begin(struct job *job, enum config_command command, const char *const *plan, struct err *e)
{
	const struct config *c = job->config;
	int r = ledger_create(c->out, c->project.path, c->home, &job->ledger, e);
	if (r)
		return r;
	describe(job, command);
	job->about.plan = plan;
	return job_save_about(job, e);
}

int job_continue(struct job *job, enum config_command command, const char *path,
		 const cJSON *earlier, struct err *e)
{
	int r = ledger_continue(path, &job->ledger, e);
	if (r)
		return r;
	describe(job, command);
	job->about.earlier = earlier;
	return 0;
}

void job_limit(struct job *job, double canonical_seconds)
{
	uint32_t *timeout_ms = &job->prepared.spec.timeout_ms;
	double ms = JOB_HANG_MS + canonical_seconds * 1000 * JOB_HANG_TIMES;
	if (!*timeout_ms)
		*timeout_ms = ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX;
}

struct order_setup job_order_setup(struct job *job)
{
	const struct config *c = job->config;
	return (struct order_setup){
		.config = c,
		.spec = &job->prepared.spec,
		.adapter = job->adapter,
		.zones = job->prepared.zones,
		.zones_len = job->prepared.zones_len,
		.sensors_off = (const char *const *)c->without.at,
		.show_values = c->show_values,
		.probes = job->prepared.probes,
		.probe_ms = job->prepared.probe_ms,
		.restore = c->restore,
		.keeps = &job->prepared.keeps,
		.echo = c->echo,
	};
}

int job_run(struct job *job, const struct lanes_source *source, const struct roster *roster,
	    struct progress *progress, struct lanes_result *ret, struct err *e)
{
	const struct config *c = job->config;
	struct terminal terminal = terminal_of(STDERR_FILENO, c->color, getenv);
	terminal.live &= !c->echo; /* a bar and the suite's output would spoil each other */
	progress_begin(progress, c->quiet ? NULL : stderr, &terminal, clock_ms);
	struct order_setup order = job_order_setup(job);
	order.keeps = NULL; /* one order's would replace another's */
	const struct lanes_setup lanes = {
		.order = &order,
		.lanes = c->echo    ? 1
			 : c->lanes ? c->lanes
				    : lanes_default(),
		.ledger = &job->ledger,
		.roster = roster,
		.progress = progress,
	};
	int r = lanes_run(&lanes, source, ret, e);
	progress_done(progress);
	return r;
}

/* ---- likely causes ---- */

static bool is_kept_away(const void *with, const char *path)
{
	const struct prepared *p = with;
	if (access(path, F_OK) || path_below(path, p->spec.project))
		return false;
	for (size_t i = 0; i < p->spec.binds_len; i++)
		if (path_below(path, p->spec.binds[i].target))
			return false;
	return true;
}

int job_hints(const struct job *job, const char *text, struct strv *ret)
{
	const struct cell_spec *spec = &job->prepared.spec;
	const struct hint_facts facts = {
		.caller = (const char *const *)environ,
		.inside = spec->env,
		.home = spec->home,
		.network = spec->network == CELL_NETWORK_HOST,
		.on_disk = spec->scratch_dir,
		.copy = spec->project_copy || spec->top,
		.landlock = spec->top,
		.root = spec->uid == 0,
		.setid = spec->caps == CELL_CAPS_SETID,
		.is_kept_away = is_kept_away,
		.with = &job->prepared,
	};
	return hints_find(&facts, text, ret);
}

/* ---- when nothing spoke ---- */

/* The error names the cause, this shows it. */
void job_show_tail(const struct job *job, const char *order)
{
	cleanup_free char *tail = NULL;
	cleanup(strv_done) struct strv hints = STRV_NULL;
	if (ledger_log_tail(&job->ledger, order, TAIL_LINES, &tail, NULL) || !*tail)
		return;
	job_hints(job, tail, &hints); /* without memory there are fewer */
	show("the end of its output, all of which is in logs/ of ", job->ledger.path);
	char *rest = tail;
	for (char *line; (line = strsep(&rest, "\n"));)
		show("  | ", line);
	for (size_t i = 0; i < hints.len; i++)
		show("likely cause: ", hints.at[i]);
}

static void show_path(const struct job *job)
{
	const struct strv *dropped = &job->prepared.visible.dropped;
	for (size_t i = 0; i < dropped->len; i++)
		show("left out of your PATH: ", dropped->at[i]);
}

int job_explain_silence(const struct job *job, const char *order, const struct order_result *result,
			struct err *e)
{
	const struct cell_spec *spec = &job->prepared.spec;
	const struct no_hello silence = {
		.adapter = job->adapter->name,
		.command = spec->argv[0],
		.path = env_get(spec->env, "PATH"),
		.exec_failed = result->exec_failed,
		.exec_error = result->exec_error,
		.wait_status = result->wait_status,
	};
	job_show_tail(job, order);
	show_path(job);
	return no_hello_explain(&silence, e);
}
