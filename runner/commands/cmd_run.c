#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/adapter.h"
#include "runner/about.h"
#include "runner/command.h"
#include "runner/drive/layer.h"
#include "runner/drive/order.h"
#include "runner/drive/prepare.h"
#include "runner/hints.h"
#include "runner/judge/summary.h"
#include "runner/ledger.h"
#include "runner/no_hello.h"
#include "runner/printable.h"
#include "runner/progress.h"
#include "runner/report/report.h"
#include "runner/terminal.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/clock.h"
#include "sandbox/base/err.h"
#include "sandbox/env.h"

#define TAIL_LINES 20

static const struct order canonical = { .name = (char[]){ "canonical" },
					.view = VIEW_CANONICAL,
					.as_collected = true };

struct run {
	const struct config *config;
	const struct adapter *adapter;
	struct prepared prepared;
	struct layer layer;
	struct ledger ledger;
	struct order_result result;
};

static void run_done(struct run *run)
{
	ledger_done(&run->ledger);
	prepared_done(&run->prepared);
	layer_done(&run->layer);
}

static int choose_adapter(const struct config *c, const struct adapter **ret, struct err *e)
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
	err_hint(e, "say what to run: fumehood run -- CMD");
	return err_status(e, STATUS_USAGE);
}

/* ---- running ---- */

static int run_order(struct run *run, struct err *e)
{
	const struct config *c = run->config;
	struct terminal terminal = terminal_of(STDERR_FILENO, c->color, getenv);
	terminal.live &= !c->echo; /* a bar and the suite's output would spoil each other */
	struct progress progress;
	progress_begin(&progress, c->quiet ? NULL : stderr, &terminal, clock_ms);
	const struct order_setup setup = {
		.spec = &run->prepared.spec,
		.adapter = run->adapter,
		.zones = run->prepared.zones,
		.zones_len = run->prepared.zones_len,
		.sensors_off = (const char *const *)c->without.at,
		.show_values = c->show_values,
		.probes = run->prepared.probes,
		.probe_ms = run->prepared.probe_ms,
		.restore = c->restore,
		.keeps = &run->prepared.keeps,
		.echo = c->echo,
	};
	int r = order_run(&canonical, &setup, &run->ledger, &progress, &run->result, e);
	progress_done(&progress);
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

static struct hint_facts hint_facts(const struct run *run)
{
	const struct cell_spec *spec = &run->prepared.spec;
	return (struct hint_facts){
		.caller = (const char *const *)environ,
		.inside = spec->env,
		.home = spec->home,
		.network = spec->network == CELL_NETWORK_HOST,
		.on_disk = spec->scratch_dir,
		.copy = spec->project_copy || spec->top,
		.landlock = spec->top,
		.root = spec->uid == 0,
		.is_kept_away = is_kept_away,
		.with = &run->prepared,
	};
}

/* ---- when nothing spoke ---- */

static void show(const char *before, const char *text)
{
	cleanup_free char *shown = printable(text);
	fprintf(stderr, "%s%s\n", before, shown ? shown : "");
}

/* The end of what the command printed and what may lie behind it, to stderr: the error names the
 * cause, this shows it. */
static void show_tail(const struct run *run)
{
	cleanup_free char *tail = NULL;
	cleanup(strv_done) struct strv hints = STRV_NULL;
	if (ledger_log_tail(&run->ledger, canonical.name, TAIL_LINES, &tail, NULL) || !*tail)
		return;
	const struct hint_facts facts = hint_facts(run);
	hints_find(&facts, tail, &hints); /* without memory there are fewer */
	show("the end of its output, all of which is in logs/ of ", run->ledger.path);
	char *rest = tail;
	for (char *line; (line = strsep(&rest, "\n"));)
		show("  | ", line);
	for (size_t i = 0; i < hints.len; i++)
		show("likely cause: ", hints.at[i]);
}

static void show_path(const struct run *run)
{
	const struct strv *dropped = &run->prepared.visible.dropped;
	for (size_t i = 0; i < dropped->len; i++)
		show("left out of your PATH: ", dropped->at[i]);
}

static int explain_silence(const struct run *run, struct err *e)
{
	const struct cell_spec *spec = &run->prepared.spec;
	const struct no_hello silence = {
		.adapter = run->adapter->name,
		.command = spec->argv[0],
		.path = env_get(spec->env, "PATH"),
		.exec_failed = run->result.exec_failed,
		.exec_error = run->result.exec_error,
		.wait_status = run->result.wait_status,
	};
	show_tail(run);
	show_path(run);
	return no_hello_explain(&silence, e);
}

/* ---- reporting ---- */

static int find_hints(const struct run *run, const struct summary *s, struct strv *ret, struct err *e)
{
	const struct hint_facts facts = hint_facts(run);
	int r = 0;
	for (size_t i = 0; i < s->failures_len && !r; i++)
		if (s->failures[i].message)
			r = hints_find(&facts, s->failures[i].message, ret);
	return r ? err_set(e, ENOMEM, "look for likely causes: no memory") : 0;
}

/* A report as a file of the run folder. */
static int save_report(struct run *run, const char *name, const struct report_format *format,
		       const struct summary *s, const struct report_look *look, struct err *e)
{
	cleanup_free char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	if (!out)
		return err_sys(e, "write %s", name);
	int r = format->write(s, look, out, e);
	if (fclose(out) && !r)
		r = err_sys(e, "write %s", name);
	return r ? r : ledger_save(&run->ledger, name, text, len, e);
}

static int report(struct run *run, struct err *e)
{
	cleanup(summary_done) struct summary s = SUMMARY_NULL;
	cleanup(strv_done) struct strv hints = STRV_NULL;
	int r = summary_read(&run->ledger, &s, e);
	r = r ? r : find_hints(run, &s, &hints, e);
	if (r)
		return r;
	const struct config *c = run->config;
	if (s.facts.command && !s.failures_len && !c->quiet) /* no test says why it failed */
		show_tail(run);
	const struct terminal terminal = terminal_of(STDOUT_FILENO, c->color, getenv);
	const struct report_look file = { .hints = (const char *const *)hints.at };
	const struct report_look screen = {
		.terminal = &terminal, .quiet = c->quiet, .verbose = c->verbose, .hints = file.hints
	};
	r = save_report(run, "summary.txt", &report_text, &s, &file, e);
	r = r ? r : save_report(run, "findings.json", &report_json, &s, &file, e);
	r = r ? r : (c->json ? &report_json : &report_text)->write(&s, &screen, stdout, e);
	return r ? r : s.verdict.status;
}

/* They stand among what there is to know. */
static int note_kept(struct run *run, struct err *e)
{
	const struct keeps *keeps = &run->prepared.keeps;
	struct strv *notes = &run->prepared.notes;
	int r = 0;
	for (size_t i = 0; i < keeps->len && !r; i++)
		if (keeps->at[i].done)
			r = strv_addf(notes, "kept %s (files: %ju, bytes: %ju)", keeps->at[i].to,
				      (uintmax_t)keeps->at[i].files, (uintmax_t)keeps->at[i].bytes);
	for (size_t i = 0; i < keeps->left_out.len && !r; i++)
		r = strv_addf(notes, "not kept: %s", keeps->left_out.at[i]);
	if (!r && keeps->left_out_len > keeps->left_out.len)
		r = strv_addf(notes, "not kept: %ju more",
			      (uintmax_t)(keeps->left_out_len - keeps->left_out.len));
	if (!r && run->result.not_kept.code)
		r = strv_add(notes, run->result.not_kept.text);
	return r ? err_set(e, ENOMEM, "tell what was kept: no memory") : 0;
}

/* A suite that passed, and a result that could not be brought out, are no success. */
static int judge(struct run *run, int status, struct err *e)
{
	if (status || !run->result.not_kept.code)
		return status;
	*e = run->result.not_kept;
	return -e->code;
}

static int prepare_all(struct run *run, struct err *e)
{
	const struct config *c = run->config;
	const char *const *caller = (const char *const *)environ;
	int r = prepare(c, run->adapter, caller, &run->prepared, e);
	r = r ? r : layer_ready(c, caller, c->quiet ? NULL : stderr, &run->layer, e);
	if (r)
		return r;
	run->prepared.spec.layer = run->layer.path;
	if (run->layer.reused && !c->quiet)
		show("prepared earlier: ", run->layer.path);
	return 0;
}

static int run_suite(struct run *run, struct err *e)
{
	const struct config *c = run->config;
	int r = choose_adapter(c, &run->adapter, e);
	r = r ? r : prepare_all(run, e);
	r = r ? r : ledger_create(c->out, c->project.path, c->home, &run->ledger, e);
	if (r)
		return r;
	run->prepared.spec.name = strrchr(run->ledger.path, '/') + 1;
	struct about about = { .config = c,
			       .adapter = run->adapter,
			       .prepared = &run->prepared,
			       .layer = &run->layer,
			       .order = canonical.name };
	r = about_save(&about, &run->ledger, e);
	r = r ? r : run_order(run, e);
	if (r)
		return r;
	about.isolation = &run->result.isolation;
	r = note_kept(run, e);
	r = r ? r : about_save(&about, &run->ledger, e);
	if (r)
		return r;
	bool cut_short = run->result.interrupted || run->result.timed_out;
	return run->result.spoke || cut_short ? judge(run, report(run, e), e)
					      : explain_silence(run, e);
}

static int run(int argc, const char *const *argv, struct err *e)
{
	cleanup(config_done) struct config c = CONFIG_NULL;
	cleanup(run_done) struct run run = {
		.config = &c, .prepared = PREPARED_NULL, .layer = LAYER_NULL, .ledger = LEDGER_NULL
	};
	int r = config_load(&c, CONFIG_RUN, argc, argv, e);
	r = r ? r : run_suite(&run, e);
	if (r < 0 && c.bisect_exit)
		err_status(e, status_for_bisect(e->status ? e->status : STATUS_INTERNAL));
	return r;
}

const struct command cmd_run = {
	.name = "run",
	.args = "[OPTIONS] -- CMD...",
	.help = "run a test suite in a fresh cell and record what each test leaves behind",
	.options = CONFIG_RUN,
	.more = "Exit status, the first that applies:\n"
		"  64 usage, 65 a bad input file, 69 no cell can be made here or no test framework\n"
		"  spoke, 70 a fault of ours, 130 interrupted, 1 damage (or leaks, with --fail-on\n"
		"  leak; or writes, with --contain), 4 no tests, 124 the time limit passed, 3\n"
		"  evidence is incomplete, 2 tests failed, 0. All reasons stand in the JSON.\n\n"
		"Examples:\n"
		"  fumehood run -- pytest -q tests\n"
		"  fumehood run --network host --pass-env DATABASE_URL -- make test\n"
		"  fumehood run --json --fail-on leak -- pytest > findings.json\n",
	.run = run,
};
