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
#include "sandbox/base/cleanup.h"
#include "sandbox/base/clock.h"
#include "sandbox/base/err.h"

#define DIFFERENT_MAX 20 /* tests that came out otherwise and are told one by one */

/* One order that is run again, and how it is to come out. */
struct part {
	struct order order; /* without a name */
	uint32_t test;      /* which test is looked at; ROSTER_NONE: all, as they were then */
	bool passes;        /* that test is to pass, else not to */
	uint32_t then; /* order of the history; CLASSES_NONE: it ran in none as it stands here */
	unsigned hits;
};

struct replay {
	const struct config *config;
	struct job job;
	const struct earlier *earlier;
	struct campaign_setup setup;
	struct campaign campaign; /* what the run knows; it runs nothing */
	struct findings findings;
	const char *what; /* as it was asked for */

	struct part parts[2]; /* of a brittle test: alone, and with what it needs */
	size_t parts_len;
	struct order *orders; /* parts_len * times, with their names */
	size_t orders_len, next;
	size_t done;
	bool silent;
	struct order_result result; /* of an order in which nobody spoke */
	struct lanes_result lanes;
	struct strv notes;
};

static void replay_done(struct replay *r)
{
	for (size_t i = 0; i < r->parts_len; i++)
		order_done(&r->parts[i].order);
	for (size_t i = 0; i < r->orders_len; i++)
		order_done(&r->orders[i]);
	free(r->orders);
	findings_done(&r->findings);
	campaign_done(&r->campaign);
	job_done(&r->job);
	strv_done(&r->notes);
}

static int no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "replay: no memory");
}

static const char *id_of(const struct replay *r, uint32_t test)
{
	return r->campaign.history.roster.ids.at[test];
}

/* Until the next line of a ledger is read. */
static const struct played *then(const struct replay *r, const struct part *part)
{
	return &r->campaign.history.orders[part->then];
}

static unsigned times(const struct replay *r)
{
	return r->config->times ? r->config->times : 1;
}

/* ---- what is run again ---- */

static int copy_order(const struct order *from, const uint32_t *tests, size_t len,
		      struct order *ret, struct err *e)
{
	cleanup(order_done) struct order o = { .view = from->view,
					       .role = ROLE_REPLAY,
					       .shuffle = from->shuffle,
					       .seed = from->seed,
					       .seeded = from->seeded,
					       .as_collected = from->as_collected };
	o.tests = calloc(len + 1, sizeof(*o.tests));
	if (!o.tests)
		return no_memory(e);
	if (len)
		memcpy(o.tests, tests, len * sizeof(*tests));
	o.tests_len = len;
	for (size_t i = 0; i < from->vary.len; i++)
		if (strv_add(&o.vary, from->vary.at[i]))
			return no_memory(e);
	*ret = take(&o, ORDER_NULL);
	return 0;
}

static int whole_order(struct replay *r, const struct played *p, uint32_t test, struct err *e)
{
	struct part *part = &r->parts[r->parts_len];
	int err = copy_order(&p->order, p->asked, p->asked_len, &part->order, e);
	if (err)
		return err;
	part->test = test;
	part->then = (uint32_t)(p - r->campaign.history.orders);
	r->parts_len++;
	return 0;
}

/* Tests before one test, in a cell of their own. */
static int set_order(struct replay *r, const struct search_set *set, uint32_t test, bool passes,
		     struct err *e)
{
	static const struct order plain = { .view = VIEW_SHUFFLED };
	cleanup_free uint32_t *tests = calloc(set->len + 1, sizeof(*tests));
	if (!tests)
		return no_memory(e);
	for (size_t i = 0; i < set->len; i++)
		tests[i] = set->tests[i];
	tests[set->len] = test;
	struct part *part = &r->parts[r->parts_len];
	int err = copy_order(&plain, tests, set->len + 1, &part->order, e);
	if (err)
		return err;
	part->test = test;
	part->passes = passes;
	part->then = CLASSES_NONE;
	r->parts_len++;
	return 0;
}

static int finding_parts(struct replay *r, const struct finding *f, struct err *e)
{
	static const struct search_set none = { NULL, 0 };
	bool setters = f->search.kind == SEARCH_SETTERS;
	if (f->search.any && setters) {
		int err = set_order(r, &none, f->test, false, e);
		return err ? err : set_order(r, &f->search.set, f->test, true, e);
	}
	if (f->search.any || (f->searched && f->search.end == SEARCH_NEVER_HERMETIC))
		return set_order(r, &f->search.set, f->test, false, e);
	if (f->order != CLASSES_NONE)
		return whole_order(r, &r->campaign.history.orders[f->order], f->test, e);
	err_set(e, ENOENT, "%s stands in no order that could be run again", f->id);
	return err_status(e, STATUS_USAGE);
}

static int unknown(const struct replay *r, struct err *e)
{
	const struct history *h = &r->campaign.history;
	cleanup(strv_done) struct strv names = STRV_NULL;
	if (history_find(h, r->what)) {
		err_set(e, ENOENT, "order %s was cut short: there is nothing to hold it against",
			r->what);
		err_status(e, STATUS_USAGE);
		return err_hint(e, "fumehood check --resume RUN runs it to its end");
	}
	int err = 0;
	for (size_t i = 0; i < r->findings.len && !err; i++)
		err = strv_add(&names, r->findings.at[i].id);
	for (size_t i = 0; i < h->len && !err; i++)
		err = strv_add(&names, h->orders[i].order.name);
	if (err)
		return no_memory(e);
	err_set(e, ENOENT, "the run has neither an order nor a finding %s", r->what);
	err_status(e, STATUS_USAGE);
	const char *near = text_nearest(r->what, (const char *const *)names.at, names.len);
	if (near)
		return err_hint(e, "did you mean %s?", near);
	if (text_starts(r->what, "FH1"))
		return err_hint(e, "what a test leaves behind shows in an order: replay canonical");
	return names.len ? err_hint(e, "it has: %s%s%s%s%s", names.at[0], names.len > 1 ? ", " : "",
				    names.len > 1 ? names.at[1] : "", names.len > 2 ? ", " : "",
				    names.len > 2 ? names.at[2] : "")
			 : err_hint(e, "nothing of it was run");
}

static int find_parts(struct replay *r, struct err *e)
{
	const struct finding *f = findings_find(&r->findings, r->what);
	if (f)
		return finding_parts(r, f, e);
	const struct played *p = history_find(&r->campaign.history, r->what);
	return p && p->ended ? whole_order(r, p, ROSTER_NONE, e) : unknown(r, e);
}

/* Every replay of a run has a name of its own. */
static size_t replays_so_far(const struct history *h)
{
	size_t n = 0;
	for (size_t i = 0; i < h->len; i++)
		n += h->orders[i].order.role == ROLE_REPLAY;
	return n;
}

static int name_orders(struct replay *r, struct err *e)
{
	size_t n = replays_so_far(&r->campaign.history);
	r->orders = calloc(r->parts_len * times(r) + 1, sizeof(*r->orders));
	if (!r->orders)
		return no_memory(e);
	for (unsigned i = 0; i < times(r); i++) {
		for (size_t k = 0; k < r->parts_len; k++) {
			const struct order *from = &r->parts[k].order;
			struct order *o = &r->orders[r->orders_len];
			int err = copy_order(from, from->tests, from->tests_len, o, e);
			if (err)
				return err;
			r->orders_len++;
			if (asprintf(&o->name, "replay-%zu", ++n) < 0)
				return no_memory(e);
		}
	}
	return 0;
}

/* ---- running ---- */

static int next(void *with, const struct order **ret, struct err *e)
{
	(void)e;
	struct replay *r = with;
	if (r->next == r->orders_len || r->silent)
		return 0;
	*ret = &r->orders[r->next++];
	return 1;
}

static int line(void *with, const char *kind, const cJSON *text, struct err *e)
{
	struct replay *r = with;
	return history_line(&r->campaign.history, kind, text, e);
}

static int ended(void *with, const struct order *order, const struct order_result *result,
		 struct err *e)
{
	(void)order;
	(void)e;
	struct replay *r = with;
	if (!result->spoke && !result->interrupted && !result->timed_out) {
		r->silent = true;
		r->result = *result;
	}
	return 0;
}

static int run_orders(struct replay *r, struct err *e)
{
	const struct lanes_source source = { .next = next, .line = line, .ended = ended, .with = r };
	struct progress progress;
	return job_run(&r->job, &source, &r->campaign.history.roster, &progress, &r->lanes, e);
}

/* ---- how it came out ---- */

static bool is_pass(enum outcome outcome)
{
	return outcome == OUTCOME_PASSED || outcome == OUTCOME_XFAILED;
}

/* Tests that came out otherwise than then; told one by one up to a bound. */
static size_t differences(const struct replay *r, const struct part *part, const struct played *now,
			  FILE *out)
{
	const struct played *p = then(r, part);
	size_t n = 0;
	for (size_t i = 0; i < p->order.tests_len; i++) {
		uint32_t test = p->order.tests[i];
		enum outcome was = (enum outcome)p->outcomes[i];
		enum outcome is = p->again[i] ? played_again(now, test) : played_outcome(now, test);
		if (was == is)
			continue;
		if (n++ >= DIFFERENT_MAX || !out)
			continue;
		cleanup_free char *id = quoted(id_of(r, test));
		fprintf(out, "  %s: %s then, %s now\n", id ? id : "?", outcome_name(was),
			is == OUTCOME_N ? "not there" : outcome_name(is));
	}
	if (out && n > DIFFERENT_MAX)
		fprintf(out, "  … and %zu more\n", n - DIFFERENT_MAX);
	return n;
}

static bool came_out(const struct replay *r, const struct part *part, const struct played *now)
{
	if (!now || !now->ended || now->interrupted)
		return false;
	if (part->test == ROSTER_NONE)
		return differences(r, part, now, NULL) == 0;
	enum outcome outcome = played_outcome(now, part->test);
	return outcome != OUTCOME_N && outcome != OUTCOME_ABSENT && is_pass(outcome) == part->passes;
}

static const struct played *nth(const struct replay *r, size_t order)
{
	return history_find(&r->campaign.history, r->orders[order].name);
}

static void count(struct replay *r)
{
	for (size_t i = 0; i < r->orders_len; i++) {
		struct part *part = &r->parts[i % r->parts_len];
		const struct played *now = nth(r, i);
		r->done += now && now->ended && !now->interrupted;
		part->hits += came_out(r, part, now);
	}
}

static bool is_same(const struct replay *r)
{
	for (size_t k = 0; k < r->parts_len; k++)
		if (r->parts[k].hits != times(r))
			return false;
	return true;
}

/* ---- the report ---- */

static void tell_tests(const struct replay *r, const struct part *part, FILE *out)
{
	const struct order *o = &part->order;
	size_t before = o->tests_len - 1; /* the test itself comes last */
	if (part->then != CLASSES_NONE) {
		fprintf(out, "  in the order %s", then(r, part)->order.name);
	} else {
		fputs(before ? "  after" : "  alone", out);
		for (size_t i = 0; i < before && i < 5; i++) {
			cleanup_free char *id = quoted(id_of(r, o->tests[i]));
			fprintf(out, "%s%s", i ? ", then " : " ", id ? id : "?");
		}
		if (before > 5)
			fprintf(out, ", then %zu more", before - 5);
	}
	fputs(":", out);
}

static void tell_part(const struct replay *r, size_t k, FILE *out)
{
	const struct part *part = &r->parts[k];
	if (part->test == ROSTER_NONE) {
		fprintf(out, "  came out as it did then: %u of %u\n", part->hits, times(r));
		for (size_t i = k; i < r->orders_len; i += r->parts_len) {
			const struct played *now = nth(r, i);
			if (now && now->ended && !came_out(r, part, now)) {
				differences(r, part, now, out);
				break;
			}
		}
		return;
	}
	tell_tests(r, part, out);
	fprintf(out, " %s %u of %u\n", part->passes ? "passes" : "fails", part->hits, times(r));
}

static void write_text(const struct replay *r, FILE *out)
{
	const struct part *first = &r->parts[0];
	for (size_t i = 0; i < r->notes.len; i++) {
		cleanup_free char *note = printable(r->notes.at[i]);
		fprintf(out, "%s\n", note ? note : "");
	}
	if (first->test == ROSTER_NONE) {
		size_t n = then(r, first)->order.tests_len;
		fprintf(out, "%s, %zu test%s\n", r->what, n, n == 1 ? "" : "s");
	} else {
		cleanup_free char *id = quoted(id_of(r, first->test));
		fprintf(out, "%s %s\n", r->what, id ? id : "?");
	}
	for (size_t k = 0; k < r->parts_len && !r->config->quiet; k++)
		tell_part(r, k, out);
	if (r->done < r->orders_len)
		fprintf(out, "interrupted: %zu of %zu orders ended\n", r->done, r->orders_len);
	else
		fprintf(out, "%s\n",
			is_same(r) ? "It came out the same." : "It did not come out the same.");
	if (!r->config->quiet) {
		cleanup_free char *path = quoted(r->job.ledger.path);
		fprintf(out, "output: logs/%s.log in %s\n",
			r->orders_len ? r->orders[r->orders_len - 1].name : "", path ? path : "");
	}
}

static int write_json(const struct replay *r, FILE *out, struct err *e)
{
	cleanup_json cJSON *tree = cJSON_CreateObject();
	bool ok = tree && cJSON_AddNumberToObject(tree, "version", 1) &&
		  !json_add_name(tree, "run", r->job.ledger.path) &&
		  !json_add_name(tree, "what", r->what) &&
		  cJSON_AddBoolToObject(tree, "same", is_same(r)) &&
		  json_add(tree, "notes", json_texts((const char *const *)r->notes.at));
	cJSON *parts = ok ? cJSON_AddArrayToObject(tree, "parts") : NULL;
	for (size_t k = 0; k < r->parts_len && ok; k++) {
		const struct part *part = &r->parts[k];
		cJSON *row = cJSON_CreateObject();
		ok = row && cJSON_AddItemToArray(parts, row) &&
		     !json_add_name(row, "order",
				    part->then == CLASSES_NONE ? NULL : then(r, part)->order.name) &&
		     !json_add_name(row, "test",
				    part->test == ROSTER_NONE ? NULL : id_of(r, part->test)) &&
		     cJSON_AddNumberToObject(row, "tests", (double)part->order.tests_len) &&
		     cJSON_AddNumberToObject(row, "hits", part->hits) &&
		     cJSON_AddNumberToObject(row, "of", times(r));
	}
	cleanup_free char *text = ok ? cJSON_Print(tree) : NULL;
	if (!text)
		return no_memory(e);
	fprintf(out, "%s\n", text);
	return 0;
}

/* ---- the command ---- */

/* Another kernel or another variable may be why something comes out otherwise. */
static int compare_world(struct replay *r, struct err *e)
{
	cleanup_json cJSON *now = about_environment(&r->job.prepared);
	const cJSON *then = cJSON_GetObjectItemCaseSensitive(r->earlier->about, "environment");
	if (!now)
		return no_memory(e);
	const cJSON *item;
	cJSON_ArrayForEach(item, now)
	{
		const cJSON *was = cJSON_GetObjectItemCaseSensitive(then, item->string);
		if (!was || cJSON_Compare(was, item, true))
			continue;
		cleanup_free char *a = cJSON_PrintUnformatted(was);
		cleanup_free char *b = cJSON_PrintUnformatted(item);
		bool told = !text_eq(item->string, "env"); /* a digest says nothing to people */
		int err = told ? strv_addf(&r->notes, "another environment: %s was %s, and is %s",
					   item->string, a ? a : "?", b ? b : "?")
			       : strv_add(&r->notes, "another environment: variables have other "
						     "values, or there are others");
		if (err)
			return no_memory(e);
	}
	return 0;
}

static int run_replay(struct replay *r, struct err *e)
{
	const struct config *c = r->config;
	int err = job_prepare(&r->job, c, "replay", e);
	err = err ? err
		  : job_continue(&r->job, CONFIG_REPLAY, r->earlier->path, r->earlier->about, e);
	if (err)
		return err;
	r->setup = (struct campaign_setup){
		.ask = &c->plan, .facts = { .lanes = 1 }, .shrink = true, .now_ms = clock_ms
	};
	campaign_init(&r->campaign, &r->setup);
	err = ledger_each(&r->job.ledger, campaign_line, &r->campaign, e);
	err = err ? err : campaign_recall(&r->campaign, e);
	if (!err && findings_make(&r->campaign.classes, r->campaign.shrink, &r->findings))
		err = no_memory(e);
	job_limit(&r->job, campaign_seconds(&r->campaign));
	err = err ? err : find_parts(r, e);
	err = err ? err : name_orders(r, e);
	err = err ? err : compare_world(r, e);
	err = err ? err : run_orders(r, e);
	if (err)
		return err;
	if (r->silent)
		return job_explain_silence(&r->job, r->orders[0].name, &r->result, e);
	count(r);
	if (c->json)
		err = write_json(r, stdout, e);
	else
		write_text(r, stdout);
	if (err)
		return err;
	return r->lanes.interrupted ? STATUS_INTERRUPTED : is_same(r) ? 0 : STATUS_FAILED;
}

static int run(int argc, const char *const *argv, struct err *e)
{
	cleanup(earlier_done) struct earlier earlier = EARLIER_NULL;
	cleanup(replay_done) struct replay replay = { .earlier = &earlier, .job = JOB_NULL };
	int r = earlier_find(&earlier, CONFIG_REPLAY, "replay", argc, argv, e);
	if (r)
		return r;
	if (earlier.words.words.len < 2) {
		err_set(e, EINVAL, "replay needs an order or a finding of that run");
		err_hint(e, "such as canonical, reverse, or the id of a finding");
		return err_status(e, STATUS_USAGE);
	}
	replay.config = &earlier.config;
	replay.what = earlier.words.words.at[1];
	return run_replay(&replay, e);
}

const struct command cmd_replay = {
	.name = "replay",
	.args = "[OPTIONS] RUN ORDER|FINDING [-- CMD...]",
	.help = "run an order of an earlier run again, or what shows a finding of it",
	.options = CONFIG_REPLAY,
	.more = "RUN is the folder of a run, its name, or latest. Of a finding only the tests are run\n"
		"that make it; of a brittle test, it alone and then with what it needs. The run folder\n"
		"has to be your own: it says what is run.\n\n"
		"Exit status: 0 it came out as it did then, 2 it did not, 130 interrupted, 64 usage,\n"
		"65 a bad run folder, 69 no cell can be made here or no test framework spoke, 70 a\n"
		"fault of ours.\n\n"
		"Examples:\n"
		"  fumehood replay latest FH201-1a2b3c4d --times 3\n"
		"  fumehood replay latest reverse --echo\n",
	.run = run,
};
