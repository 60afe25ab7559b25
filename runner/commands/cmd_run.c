#include <errno.h>
#include <stdlib.h>

#include "runner/command.h"
#include "runner/drive/lanes.h"
#include "runner/job.h"
#include "runner/judge/summary.h"
#include "runner/progress.h"
#include "runner/report/report.h"
#include "runner/terminal.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/clock.h"
#include "sandbox/base/err.h"

static const struct order canonical = { .name = (char[]){ "canonical" },
					.view = VIEW_CANONICAL,
					.as_collected = true };

struct run {
	const struct config *config;
	struct job job;
	int began;
	struct order_result result;
};

static void run_done(struct run *run)
{
	job_done(&run->job);
}

/* ---- a source of one order ---- */

static int next(void *with, const struct order **ret, struct err *e)
{
	(void)e;
	struct run *run = with;
	*ret = &canonical;
	return !run->began++;
}

static int ended(void *with, const struct order *order, const struct order_result *result,
		 struct err *e)
{
	(void)order;
	(void)e;
	struct run *run = with;
	run->result = *result;
	return 0;
}

static int run_order(struct run *run, struct err *e)
{
	const struct config *c = run->config;
	struct terminal terminal = terminal_of(STDERR_FILENO, c->color, getenv);
	terminal.live &= !c->echo; /* a bar and the suite's output would spoil each other */
	struct progress progress;
	progress_begin(&progress, c->quiet ? NULL : stderr, &terminal, clock_ms);
	struct order_setup setup = job_order_setup(&run->job);
	setup.config = NULL; /* there is one order */
	const struct lanes_setup lanes = {
		.order = &setup, .lanes = 1, .ledger = &run->job.ledger, .progress = &progress
	};
	const struct lanes_source source = { .next = next, .ended = ended, .with = run };
	struct lanes_result result;
	int r = lanes_run(&lanes, &source, &result, e);
	progress_done(&progress);
	return r;
}

/* ---- reporting ---- */

static int find_hints(const struct run *run, const struct summary *s, struct strv *ret, struct err *e)
{
	int r = 0;
	for (size_t i = 0; i < s->failures_len && !r; i++)
		if (s->failures[i].message)
			r = job_hints(&run->job, s->failures[i].message, ret);
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
	return r ? r : ledger_save(&run->job.ledger, name, text, len, e);
}

static int report(struct run *run, struct err *e)
{
	cleanup(summary_done) struct summary s = SUMMARY_NULL;
	cleanup(strv_done) struct strv hints = STRV_NULL;
	int r = summary_read(&run->job.ledger, &s, e);
	r = r ? r : find_hints(run, &s, &hints, e);
	if (r)
		return r;
	const struct config *c = run->config;
	if (s.facts.command && !s.failures_len && !c->quiet) /* no test says why it failed */
		job_show_tail(&run->job, canonical.name);
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
	const struct keeps *keeps = &run->job.prepared.keeps;
	struct strv *notes = &run->job.prepared.notes;
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

static int run_suite(struct run *run, struct err *e)
{
	static const char *const plan[] = { "canonical", NULL };
	struct job *job = &run->job;
	int r = job_prepare(job, run->config, "run", e);
	r = r ? r : job_begin(job, CONFIG_RUN, plan, e);
	r = r ? r : run_order(run, e);
	if (r)
		return r;
	job->about.isolation = &run->result.isolation;
	r = note_kept(run, e);
	r = r ? r : job_save_about(job, e);
	if (r)
		return r;
	bool cut_short = run->result.interrupted || run->result.timed_out;
	return run->result.spoke || cut_short
		       ? judge(run, report(run, e), e)
		       : job_explain_silence(job, canonical.name, &run->result, e);
}

static int run(int argc, const char *const *argv, struct err *e)
{
	cleanup(config_done) struct config c = CONFIG_NULL;
	cleanup(run_done) struct run run = { .config = &c, .job = JOB_NULL };
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
