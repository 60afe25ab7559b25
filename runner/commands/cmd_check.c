#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runner/campaign.h"
#include "runner/command.h"
#include "runner/conclusion.h"
#include "runner/drive/touched.h"
#include "runner/job.h"
#include "runner/judge/accepted.h"
#include "runner/plan/given.h"
#include "runner/progress.h"
#include "runner/report/check.h"
#include "runner/report/matrix.h"
#include "runner/report/report.h"
#include "runner/report/shrink.h"
#include "runner/terminal.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/clock.h"
#include "sandbox/base/err.h"

struct check {
	const struct config *config;
	struct job job;
	struct accepted accepted;
	struct campaign_setup setup;
	struct campaign campaign;
	struct lanes_result lanes;
	struct progress progress;
	bool cost_told;
	cJSON *earlier; /* run.json of the run that goes on; NULL: it is a new one */
	struct strv plan;
	struct given given;  /* with --order */
	struct strv touched; /* with --select: files that were changed */
};

static void check_done(struct check *check)
{
	campaign_done(&check->campaign);
	job_done(&check->job);
	accepted_done(&check->accepted);
	cJSON_Delete(check->earlier);
	strv_done(&check->plan);
	given_done(&check->given);
	strv_done(&check->touched);
}

/* ---- running ---- */

static int measured(void *with, double seconds, struct err *e)
{
	struct check *check = with;
	job_limit(&check->job, seconds);
	if (!check->campaign.fresh)
		return 0;
	check->job.about.isolation = &check->campaign.first.isolation; /* after a kill it is wanted */
	return job_save_about(&check->job, e);
}

static void searching(void *with, const struct shrink_cost *cost)
{
	struct check *check = with;
	if (check->cost_told || check->config->quiet)
		return;
	check->cost_told = true;
	progress_hide(&check->progress);
	shrink_tell_cost(cost, &check->campaign.history, stderr);
}

static int run_orders(struct check *check, struct err *e)
{
	const struct lanes_source source = campaign_source(&check->campaign);
	return job_run(&check->job, &source, &check->campaign.history.roster, &check->progress,
		       &check->lanes, e);
}

static int name_orders(struct strv *names, const struct plan *plan)
{
	int r = 0;
	for (size_t i = 0; i < plan->len && !r; i++)
		if (!strv_has(names, plan->orders[i].name))
			r = strv_add(names, plan->orders[i].name);
	return r;
}

/* What was planned, and what the cells were. */
static int tell_about(struct check *check, struct err *e)
{
	struct campaign *k = &check->campaign;
	struct strv *plan = &check->plan;
	if (strv_add(plan, "canonical") || name_orders(plan, &k->plan) ||
	    name_orders(plan, &k->more) || name_orders(plan, &k->isolated) ||
	    name_orders(plan, &k->wave_isolated))
		return err_set(e, ENOMEM, "write run.json: no memory");
	check->job.about.plan = (const char *const *)plan->at;
	if (k->fresh)
		check->job.about.isolation = &k->first.isolation;
	return job_save_about(&check->job, e);
}

/* ---- reporting ---- */

static int find_hints(const struct check *check, const struct summary *s, struct strv *ret,
		      struct err *e)
{
	int r = 0;
	for (size_t i = 0; i < s->failures_len && !r; i++)
		if (s->failures[i].message)
			r = job_hints(&check->job, s->failures[i].message, ret);
	return r ? err_set(e, ENOMEM, "look for likely causes: no memory") : 0;
}

static int write_matrix(const struct check_report *c, const struct report_look *look, FILE *out,
			struct err *e)
{
	(void)look;
	return matrix_write(c->classes, out, e);
}

static int save(struct check *check, const char *name,
		int (*write)(const struct check_report *c, const struct report_look *look,
			     FILE *out, struct err *e),
		const struct check_report *c, const struct report_look *look, struct err *e)
{
	cleanup_free char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	if (!out)
		return err_sys(e, "write %s", name);
	int r = write(c, look, out, e);
	if (fclose(out) && !r)
		r = err_sys(e, "write %s", name);
	return r ? r : ledger_save(&check->job.ledger, name, text, len, e);
}

static int tell(struct check *check, const struct check_report *report, const struct strv *hints,
		struct err *e)
{
	const struct config *c = check->config;
	const struct terminal terminal = terminal_of(STDOUT_FILENO, c->color, getenv);
	const struct report_look file = { .hints = (const char *const *)hints->at };
	const struct report_look screen = {
		.terminal = &terminal, .quiet = c->quiet, .verbose = c->verbose, .hints = file.hints
	};
	int r = save(check, "summary.txt", check_write_text, report, &file, e);
	r = r ? r : save(check, "matrix.json", write_matrix, report, &file, e);
	r = r ? r : save(check, "findings.json", check_write_json, report, &file, e);
	r = r ? r : (c->json ? check_write_json : check_write_text)(report, &screen, stdout, e);
	return r;
}

/* As short as replay understands it: a name, where it is one of the project's runs. */
static const char *name_of_run(const struct check *check)
{
	const char *path = check->job.ledger.path;
	const char *name = strrchr(path, '/') + 1;
	const struct config *c = check->config;
	cleanup_free char *found = NULL;
	bool known =
		!c->project_asked && ledger_find(name, c->project.path, c->home, &found, NULL) == 0;
	return known && text_eq(found, path) ? name : path;
}

static int report(struct check *check, struct err *e)
{
	cleanup(conclusion_done) struct conclusion c = CONCLUSION_NULL;
	cleanup(strv_done) struct strv hints = STRV_NULL;
	struct campaign *k = &check->campaign;
	int r = conclusion_draw(k, &check->job.ledger, check->lanes.interrupted, &c, e);
	r = r ? r : find_hints(check, &c.summary, &hints, e);
	r = r ? r : campaign_save_sets(k, &check->job.ledger, e);
	if (r)
		return r;
	if (c.summary.facts.command && !c.summary.failures_len && !check->config->quiet)
		job_show_tail(&check->job, "canonical"); /* no test says why it failed */
	const struct check_report report = {
		.summary = &c.summary,
		.history = &k->history,
		.classes = &k->classes,
		.findings = &c.findings,
		.run = name_of_run(check),
		.skipped = &c.skipped,
		.searched = check->config->shrink,
	};
	r = tell(check, &report, &hints, e);
	return r ? r : c.summary.verdict.status;
}

/* ---- the command ---- */

/* By the rules that the run began with. */
static int read_accepted(struct check *check, struct err *e)
{
	cleanup_json cJSON *about = NULL;
	int r = ledger_load(&check->job.ledger, "run.json", &about, e);
	if (!r && accepted_read(about, &check->accepted))
		r = err_set(e, ENOMEM, "read what is accepted: no memory");
	return r;
}

/* What an earlier part of the run told. */
static int read_back(struct check *check, struct err *e)
{
	int r = ledger_each(&check->job.ledger, campaign_line, &check->campaign, e);
	return r ? err_in(e, "resume") : 0;
}

static int find_touched(struct check *check, struct err *e)
{
	const char *select = check->config->plan.select;
	const char *base = select ? strchr(select, ':') : NULL;
	check->setup.facts.touched = &check->touched;
	return select ? touched_files(&check->job.prepared.spec, base ? base + 1 : NULL,
				      &check->touched, e)
		      : 0;
}

static int run_check(struct check *check, const char *resume, struct err *e)
{
	static const char *const plan[] = { "canonical", NULL };
	const struct config *c = check->config;
	struct job *job = &check->job;
	int r = c->plan.order ? given_load(c->plan.order, &check->given, e) : 0;
	r = r ? r : job_prepare(job, c, "check", e);
	if (r)
		return r;
	check->setup = (struct campaign_setup){
		.ask = &c->plan,
		.facts = { .lanes = c->lanes ? c->lanes : lanes_default(),
			   .given = c->plan.order ? &check->given : NULL },
		.accepted = &check->accepted,
		.shrink = c->shrink,
		.confirm = c->confirm,
		.now_ms = clock_ms,
		.measured = measured,
		.searching = searching,
		.with = check,
	};
	r = find_touched(check, e);
	if (r)
		return r;
	campaign_init(&check->campaign, &check->setup);
	r = resume ? job_continue(job, CONFIG_CHECK, resume, check->earlier, e)
		   : job_begin(job, CONFIG_CHECK, plan, e);
	job->about.plan = plan;
	r = r ? r : read_accepted(check, e);
	if (!r && resume)
		r = read_back(check, e);
	r = r ? r : run_orders(check, e);
	r = r ? r : tell_about(check, e);
	if (r)
		return r;
	const struct campaign *k = &check->campaign;
	bool cut_short = check->lanes.interrupted || k->budget_spent || k->first.timed_out;
	return k->spoke || cut_short ? report(check, e)
				     : job_explain_silence(job, "canonical", &k->first, e);
}

/* The earlier call, and this one on top. */
static int load_again(struct config *c, int argc, const char *const *argv, struct check *check,
		      char **ret_path, struct err *e)
{
	cleanup(ledger_done) struct ledger ledger = LEDGER_NULL;
	int r = ledger_find(c->resume, c->project.path, c->home, ret_path, e);
	r = r ? r : ledger_open_own(*ret_path, &ledger, e);
	r = r ? r : ledger_load(&ledger, "run.json", &check->earlier, e);
	if (r)
		return r;
	config_done(c);
	return config_load_again(c, CONFIG_CHECK, check->earlier, argc, argv, e);
}

static int run(int argc, const char *const *argv, struct err *e)
{
	cleanup(config_done) struct config c = CONFIG_NULL;
	cleanup(check_done) struct check check = {
		.config = &c, .job = JOB_NULL, .accepted = ACCEPTED_NULL, .given = GIVEN_NULL
	};
	cleanup_free char *path = NULL;
	int r = config_load(&c, CONFIG_CHECK, argc, argv, e);
	if (!r && c.resume)
		r = load_again(&c, argc, argv, &check, &path, e);
	r = r ? r : run_check(&check, path, e);
	if (r < 0 && c.bisect_exit)
		err_status(e, status_for_bisect(e->status ? e->status : STATUS_INTERNAL));
	return r;
}

const struct command cmd_check = {
	.name = "check",
	.args = "[OPTIONS] [-- CMD...]",
	.help = "run a test suite in many orders and tell which tests depend on order, and on what",
	.options = CONFIG_CHECK,
	.more = "The suite runs as it stands, twice, in reverse, in random orders and each test\n"
		"alone, every time in a fresh cell. What does not always pass is run again until it\n"
		"is known whether order is why, and then the smallest set of tests is searched for\n"
		"that makes it fail, or pass. Tests that passed everywhere then run right behind\n"
		"those sets, since others may have cleaned up before them: at most 300 short orders.\n\n"
		"Exit status, the first that applies:\n"
		"  64 usage, 65 a bad input file, 69 no cell can be made here or no test framework\n"
		"  spoke, 70 a fault of ours, 130 interrupted, 1 tests depend on order, or damage\n"
		"  (or leaks, with --fail-on leak; or writes, with --contain), 4 no tests, 124 the\n"
		"  budget was spent before all was run, 3 evidence is incomplete, 2 tests fail, or\n"
		"  now and then, or none does and the command fails, 0. All reasons stand in the\n"
		"  JSON.\n\n"
		"Examples:\n"
		"  fumehood check -- pytest -q tests\n"
		"  fumehood check --resume latest\n",
	.run = run,
};
