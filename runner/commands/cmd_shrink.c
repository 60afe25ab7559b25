#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runner/campaign.h"
#include "runner/command.h"
#include "runner/earlier.h"
#include "runner/job.h"
#include "runner/judge/findings.h"
#include "runner/printable.h"
#include "runner/progress.h"
#include "runner/report/shrink.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/clock.h"
#include "sandbox/base/err.h"

#define NEAR_MAX 5 /* ids that are shown for one that is not there */

static const struct plan_ask no_plan = PLAN_ASK_NULL;

struct shrinking {
	struct earlier earlier;
	struct job job;
	struct campaign_setup setup;
	struct campaign campaign;
	struct lanes_source campaign_source;
	struct lanes_result lanes;
	struct progress progress;
	bool silent; /* nobody spoke in `order`, whose end is `result` */
	char *order;
	struct order_result result;
	size_t told; /* tests that were to be searched for when the cost was told last */
};

static void shrinking_done(struct shrinking *s)
{
	campaign_done(&s->campaign);
	job_done(&s->job);
	earlier_done(&s->earlier);
	free(s->order);
}

static int no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "shrink: no memory");
}

/* ---- which tests ---- */

/* "test_x[1]" of "tests/test_a.py::test_x[1]". */
static const char *name_in(const char *id)
{
	const char *name = id + roster_class_len(id);
	return text_starts(name, "::") ? name + 2 : id;
}

/* Ids whose name is that, or that hold it: at most NEAR_MAX. */
static int list_like(const struct roster *roster, const char *name, struct buf *ret)
{
	size_t n = 0;
	for (size_t i = 0; i < roster->ids.len && n < NEAR_MAX; i++) {
		const char *id = roster->ids.at[i];
		if (!text_eq(name_in(id), name) && !strstr(id, name))
			continue;
		cleanup_free char *word = quoted(id);
		if (!word || buf_printf(ret, "%s%s", n++ ? ", " : "", word))
			return -ENOMEM;
	}
	return 0;
}

static int unknown(const struct roster *roster, const char *id, struct err *e)
{
	cleanup(buf_done) struct buf like = BUF_NULL;
	cleanup_free const char **names = calloc(roster->ids.len + 1, sizeof(*names));
	cleanup_free char *asked = printable(id);
	if (!names || !asked || list_like(roster, name_in(id), &like))
		return no_memory(e);
	for (size_t i = 0; i < roster->ids.len; i++)
		names[i] = name_in(roster->ids.at[i]);
	const char *near = text_nearest(name_in(id), names, roster->ids.len);
	if (!like.len && near && list_like(roster, near, &like))
		return no_memory(e);
	err_set(e, ENOENT, "the run has no test %s", asked);
	err_status(e, STATUS_USAGE);
	return like.len ? err_hint(e, "did you mean %s?", like.at)
			: err_hint(e, "its tests stand in the ledger.jsonl of the run");
}

/* A test, or that of a finding. */
static uint32_t test_of(const struct shrinking *s, const struct findings *findings, const char *word)
{
	uint32_t test = roster_find(&s->campaign.history.roster, word);
	const struct finding *f = findings_find(findings, word);
	return test == ROSTER_NONE && f ? f->test : test;
}

static int add_asked(struct shrinking *s, struct shrink *shrink, struct err *e)
{
	const struct history *h = &s->campaign.history;
	const struct strv *words = &s->earlier.words.words;
	cleanup(findings_done) struct findings findings = FINDINGS_NULL;
	int r = campaign_judge(&s->campaign, e);
	if (r)
		return r;
	if (findings_make(&s->campaign.classes, NULL, &findings))
		return no_memory(e);
	for (size_t i = 1; i < words->len; i++) {
		uint32_t test = test_of(s, &findings, words->at[i]);
		if (test == ROSTER_NONE)
			return unknown(&h->roster, words->at[i], e);
		if (shrink_add(shrink, h, test, SEARCH_EITHER))
			return no_memory(e);
	}
	return 0;
}

static int add_all(struct shrinking *s, struct shrink *shrink, struct err *e)
{
	const struct campaign *k = &s->campaign;
	int r = campaign_judge(&s->campaign, e);
	for (size_t i = 0; i < k->classes.len && !r; i++)
		if (order_class(&k->classes.tests[i].facts) != CLASS_N &&
		    shrink_add(shrink, &k->history, (uint32_t)i, SEARCH_EITHER))
			r = no_memory(e);
	return r;
}

static int choose(struct shrinking *s, struct err *e)
{
	const struct config *c = &s->earlier.config;
	struct shrink *shrink = shrink_new(&(struct shrink_setup){ .confirm = c->confirm });
	if (!shrink)
		return no_memory(e);
	campaign_adopt_searches(&s->campaign, shrink);
	return c->all ? add_all(s, shrink, e) : add_asked(s, shrink, e);
}

/* ---- running ---- */

/* Stated ahead, and again whenever a search has ended. */
static void searching(void *with, const struct shrink_cost *cost)
{
	struct shrinking *s = with;
	if (s->earlier.config.quiet || cost->tests == s->told)
		return;
	s->told = cost->tests;
	progress_hide(&s->progress);
	shrink_tell_cost(cost, &s->campaign.history, stderr);
}

static int next(void *with, const struct order **ret, struct err *e)
{
	struct shrinking *s = with;
	return s->silent ? 0 : s->campaign_source.next(&s->campaign, ret, e);
}

static void left(void *with, struct progress_left *ret)
{
	const struct shrinking *s = with;
	s->campaign_source.left(s->campaign_source.with, ret);
}

static int line(void *with, const char *kind, const cJSON *text, struct err *e)
{
	struct shrinking *s = with;
	return campaign_line(&s->campaign, kind, text, e);
}

static int ended(void *with, const struct order *order, const struct order_result *result,
		 struct err *e)
{
	struct shrinking *s = with;
	if (!s->silent && !result->spoke && !result->interrupted && !result->timed_out) {
		s->silent = true;
		s->result = *result;
		s->order = strdup(order->name);
		if (!s->order)
			return no_memory(e);
	}
	return s->campaign_source.ended(&s->campaign, order, result, e);
}

static int run_orders(struct shrinking *s, struct err *e)
{
	const struct lanes_source source = {
		.next = next, .line = line, .ended = ended, .left = left, .with = s
	};
	s->campaign_source = campaign_source(&s->campaign);
	job_limit(&s->job, campaign_seconds(&s->campaign));
	return job_run(&s->job, &source, &s->campaign.history.roster, &s->progress, &s->lanes, e);
}

/* ---- reporting ---- */

/* Ids that the run had and the project has no more: then an answer says nothing. */
static bool has_changed(const struct shrinking *s)
{
	const struct history *h = &s->campaign.history;
	for (size_t i = 0; i < h->len; i++) {
		const struct played *p = &h->orders[i];
		if (p->order.role == ROLE_SHRINK && p->complete && p->missing_len)
			return true;
	}
	return false;
}

static int report(struct shrinking *s, struct err *e)
{
	const struct config *c = &s->earlier.config;
	const struct shrink_report report = {
		.history = &s->campaign.history,
		.shrink = s->campaign.shrink,
		.run = s->earlier.words.words.at[0],
		.interrupted = s->lanes.interrupted,
		.quiet = c->quiet,
		.verbose = c->verbose,
	};
	if (has_changed(s)) {
		err_set(e, ESTALE, "tests of the run are not in the project any more");
		err_hint(e, "run fumehood check again");
		return err_status(e, STATUS_DATA);
	}
	int r = campaign_save_sets(&s->campaign, &s->job.ledger, e);
	r = r ? r : (c->json ? shrink_write_json : shrink_write_text)(&report, stdout, e);
	return r ? r : shrink_status(&report);
}

/* ---- the command ---- */

static int check_words(const struct shrinking *s, struct err *e)
{
	size_t tests = s->earlier.words.words.len - 1;
	bool all = s->earlier.config.all;
	if (tests > 0 && !all)
		return 0;
	if (!tests && all)
		return 0;
	err_set(e, EINVAL, all ? "shrink takes --all or tests, not both" : "shrink needs a test");
	err_status(e, STATUS_USAGE);
	return err_hint(e,
			"fumehood shrink RUN TEST|FINDING..., or --all for those that depend on order");
}

static int run_searches(struct shrinking *s, struct err *e)
{
	const struct config *c = &s->earlier.config;
	int r = job_prepare(&s->job, c, "shrink", e);
	r = r ? r : job_continue(&s->job, CONFIG_SHRINK, s->earlier.path, s->earlier.about, e);
	if (r)
		return r;
	s->setup = (struct campaign_setup){
		.ask = &no_plan, .shrink = true, .now_ms = clock_ms, .searching = searching, .with = s
	};
	campaign_init(&s->campaign, &s->setup);
	r = ledger_each(&s->job.ledger, campaign_line, &s->campaign, e);
	r = r ? r : choose(s, e);
	r = r ? r : run_orders(s, e);
	if (r)
		return r;
	return s->silent ? job_explain_silence(&s->job, s->order, &s->result, e) : report(s, e);
}

static int run(int argc, const char *const *argv, struct err *e)
{
	cleanup(shrinking_done) struct shrinking s = { .earlier = EARLIER_NULL, .job = JOB_NULL };
	int r = earlier_find(&s.earlier, CONFIG_SHRINK, "shrink", argc, argv, e);
	r = r ? r : check_words(&s, e);
	return r ? r : run_searches(&s, e);
}

const struct command cmd_shrink = {
	.name = "shrink",
	.args = "[OPTIONS] RUN TEST|FINDING...|--all [-- CMD...]",
	.help = "search for the smallest set of tests that makes a test fail, or pass",
	.options = CONFIG_SHRINK,
	.more = "RUN is the folder of a run, its name, or latest: what it has seen of a test is where\n"
		"the search begins, and what is run is added to it. A finding stands for its test.\n"
		"A set is told when it repeats three times of three in fresh cells, and does not when\n"
		"any one of it is left out.\n"
		"Ctrl-C tells the best so far; the same command goes on from there.\n\n"
		"Exit status: 0 every search has an answer, 2 a test is flaky, 3 a search has none,\n"
		"130 interrupted, 64 usage, or a test that the run does not have, 65 a bad run\n"
		"folder, 69 no cell can be made here or no test framework spoke, 70 a fault of ours.\n\n"
		"Examples:\n"
		"  fumehood shrink latest tests/test_a.py::test_x\n"
		"  fumehood shrink latest --all --confirm 5\n",
	.run = run,
};
