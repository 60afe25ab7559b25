#include "runner/campaign.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/drive/vary.h"
#include "runner/judge/findings.h"
#include "runner/ledger.h"
#include "runner/plan/given.h"
#include "runner/progress.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"

#define FIRST   "canonical"
#define COLLECT "collect" /* with a selection of tests: canonical is one of the selected, too */

#define WAVE_MAX      300 /* orders of the wave: as many as tests are run alone */
#define WAVE_LONG_MAX 20  /* ... where the plan is short */

static int no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "choose what to run: no memory");
}

/* ---- rounds ---- */

static void round_done(struct campaign_round *r)
{
	for (size_t i = 0; i < r->own_len; i++)
		order_done(&r->own[i]);
	free(r->own);
	free(r->todo);
	*r = (struct campaign_round){ 0 };
}

/* Did it end, by itself? What was interrupted is run again, and all of it where nobody spoke. */
static bool is_done(const struct campaign *c, const char *name)
{
	const struct played *p = history_find(&c->history, name);
	return c->spoke && p && p->ended && !p->interrupted;
}

/* Those of a plan that are still to be run. */
static int round_of(struct campaign *c, const struct order *orders, size_t len, struct err *e)
{
	struct campaign_round *r = &c->round;
	r->orders = orders;
	r->todo = calloc(len + 1, sizeof(*r->todo));
	if (!r->todo)
		return no_memory(e);
	for (size_t i = 0; i < len; i++)
		if (!is_done(c, orders[i].name))
			r->todo[r->len++] = (uint32_t)i;
	return 0;
}

/* Room for orders of the round's own, which round_of() is given once they are made. */
static int round_own(struct campaign *c, size_t len, struct err *e)
{
	c->round.own = calloc(len + 1, sizeof(*c->round.own));
	return c->round.own ? 0 : no_memory(e);
}

/* ---- what is asked in each step ---- */

static int judge_by(struct campaign *c,
		    int (*by)(const struct history *h, const struct marks *marks, bool searched,
			      struct classes *ret),
		    struct err *e)
{
	classes_done(&c->classes);
	return by(&c->history, &c->marks, c->setup->shrink, &c->classes) ? no_memory(e) : 0;
}

/* What the wave told has no part in what is decided before it: it stands in the history when a run
 * goes on. */
static int judge(struct campaign *c, struct err *e)
{
	return judge_by(c, c->step <= CAMPAIGN_WAVE ? classes_judge_first : classes_judge, e);
}

/* What searches found out of a test beside its outcomes. */
static int mark_found(struct campaign *c, const struct search_result *r)
{
	int err = r->end == SEARCH_FLAKY ? marks_set(&c->marks, r->test, MARK_UNREPEATED) : 0;
	for (size_t i = 0; i < r->set.len && !err; i++)
		if (r->any && r->kind == SEARCH_POLLUTERS)
			err = marks_set(&c->marks, r->set.tests[i], MARK_HARMS);
	return err;
}

int campaign_judge(struct campaign *c, struct err *e)
{
	for (size_t i = 0; c->shrink && i < shrink_len(c->shrink); i++) {
		const struct search_result r = shrink_result(c->shrink, i);
		if (mark_found(c, &r))
			return no_memory(e);
	}
	return judge_by(c, classes_judge, e);
}

static const struct played *first_order(const struct campaign *c)
{
	return history_find(&c->history, c->setup->ask->select ? COLLECT : FIRST);
}

double campaign_seconds(const struct campaign *c)
{
	const struct played *p = history_find(&c->history, FIRST);
	return p && p->ended ? p->seconds : 0;
}

static int ask_first(struct campaign *c, struct err *e)
{
	int r = round_own(c, 1, e);
	if (r)
		return r;
	bool select = c->setup->ask->select;
	struct order *first = &c->round.own[c->round.own_len++];
	*first = (struct order){ .name = strdup(select ? COLLECT : FIRST),
				 .view = VIEW_CANONICAL,
				 .role = ROLE_SWEEP,
				 .as_collected = !select };
	return first->name ? round_of(c, first, 1, e) : no_memory(e);
}

static struct plan_facts facts(const struct campaign *c, double **ret_seconds)
{
	const struct played *first = first_order(c);
	struct plan_facts facts = c->setup->facts;
	facts.tests = first->collected;
	facts.tests_len = first->collected_len;
	facts.parallel_known = strv_has(&c->history.can, "parallel");
	facts.native_known = strv_has(&c->history.can, "native");
	facts.can_vary = vary_exists;
	facts.seconds = c->setup->ask->select ? 0 : first->seconds;
	double *seconds = calloc(first->collected_len + 1, sizeof(*seconds));
	for (size_t i = 0; seconds && i < first->collected_len; i++)
		if (first->collected[i] < c->test_seconds_len)
			seconds[i] = c->test_seconds[first->collected[i]];
	facts.test_seconds = *ret_seconds = seconds; /* NULL: no memory */
	return facts;
}

static int ask_plan(struct campaign *c, struct err *e)
{
	if (c->plan.len)
		return 0;
	const struct played *first = first_order(c);
	if (!first || !first->collected_len)
		return 0;
	int r = c->setup->measured ? c->setup->measured(c->setup->with, first->seconds, e) : 0;
	if (r)
		return r;
	cleanup_free double *seconds = NULL;
	const struct plan_facts known = facts(c, &seconds);
	r = seconds ? plan_make(c->setup->ask, &known, &c->history.roster, &c->plan, e)
		    : no_memory(e);
	return r ? r : round_of(c, c->plan.orders, c->plan.len, e);
}

/* Does any test do other than pass everywhere? */
static bool shows(const struct classes *classes)
{
	for (size_t i = 0; i < classes->len; i++)
		if (classes->tests[i].facts.passed &&
		    (classes->tests[i].bad || classes->tests[i].facts.failed))
			return true;
	return false;
}

static int ask_more(struct campaign *c, struct err *e)
{
	if (!c->plan.more_len || c->more.len)
		return 0;
	int r = judge(c, e);
	if (r || !shows(&c->classes))
		return r;
	cleanup_free double *seconds = NULL;
	const struct plan_facts known = facts(c, &seconds);
	r = seconds ? plan_more(c->setup->ask, &known, &c->history.roster, &c->more, e)
		    : no_memory(e);
	return r ? r : round_of(c, c->more.orders, c->more.len, e);
}

static bool has(const uint32_t *tests, size_t len, uint32_t test)
{
	for (size_t i = 0; i < len; i++)
		if (tests[i] == test)
			return true;
	return false;
}

/* What varied, and behind it, who is suspected of what others are charged with: a check that is cut short
 * knows the first at least. */
static int wanted_alone(const struct campaign *c, uint32_t **ret, size_t *ret_len)
{
	cleanup_free uint32_t *varied = NULL;
	cleanup_free uint32_t *suspected = NULL;
	size_t len = 0;
	size_t suspected_len = 0;
	if (classes_isolates(&c->classes, false, &varied, &len) ||
	    suspicions_open(&c->suspicions, &c->classes, &suspected, &suspected_len))
		return -ENOMEM;
	uint32_t *both = reallocarray(varied, len + suspected_len + 1, sizeof(*both));
	if (!both)
		return -ENOMEM;
	varied = NULL;
	for (size_t i = 0, varied_len = len; i < suspected_len; i++)
		if (!has(both, varied_len, suspected[i]))
			both[len++] = suspected[i];
	*ret = both;
	*ret_len = len;
	return 0;
}

static int ask_alone(struct campaign *c, struct plan *plan, struct err *e)
{
	if (!c->plan.isolate_later || plan->len)
		return 0;
	cleanup_free double *seconds = NULL;
	cleanup_free uint32_t *tests = NULL;
	size_t len = 0;
	int r = judge(c, e);
	if (!r && wanted_alone(c, &tests, &len))
		r = no_memory(e);
	const struct plan_facts known = facts(c, &seconds);
	if (!r && !seconds)
		r = no_memory(e);
	if (!r && len)
		r = plan_isolated(c->setup->ask, &known, &c->history.roster, tests, len, plan, e);
	return r ? r : round_of(c, plan->orders, plan->len, e);
}

static int ask_isolated(struct campaign *c, struct err *e)
{
	return ask_alone(c, &c->isolated, e);
}

/* An order that ran, again: "s17+2". */
static int again(const struct played *p, unsigned nth, struct order *ret, struct err *e)
{
	*ret = (struct order){ .view = p->order.view,
			       .role = p->order.role == ROLE_WAVE ? ROLE_WAVE : ROLE_CONFIRM,
			       .shuffle = p->order.shuffle,
			       .seed = p->order.seed,
			       .seeded = p->order.seeded,
			       .as_collected = p->order.as_collected };
	int r = asprintf(&ret->name, "%s+%u", p->order.name, nth) < 0;
	for (size_t i = 0; i < p->order.vary.len && !r; i++)
		r = strv_add(&ret->vary, p->order.vary.at[i]);
	ret->tests = calloc(p->asked_len + 1, sizeof(*ret->tests));
	if (r || !ret->tests)
		return no_memory(e);
	if (p->asked_len)
		memcpy(ret->tests, p->asked, p->asked_len * sizeof(*ret->tests));
	ret->tests_len = p->asked_len;
	return 0;
}

static bool ran_again(const struct campaign *c, const struct played *p, unsigned nth)
{
	char name[NAME_MAX];
	snprintf(name, sizeof(name), "%s+%u", p->order.name, nth);
	return is_done(c, name);
}

/* Of the runs that an order is to have those that are still to come: of two side by side, the first may
 * have been lost. */
static int ask_again(struct campaign *c, const struct rerun *rerun, struct err *e)
{
	const struct played *p = &c->history.orders[rerun->order];
	unsigned first = rerun->runs + 1;
	for (unsigned left = rerun->runs - rerun->have; left && first > 2; first--)
		left -= !ran_again(c, p, first - 1);
	int r = 0;
	for (unsigned n = first; n <= rerun->runs && !r; n++)
		if (!ran_again(c, p, n))
			r = again(p, n, &c->round.own[c->round.own_len++], e);
	return r;
}

/* Rounds of this step end when no class waits, or what one waits for cannot be had. */
static int ask_confirm(struct campaign *c, struct err *e)
{
	cleanup(reruns_done) struct reruns open = { 0 };
	if (c->recalls)
		return 0; /* searches may have gone on without, in an earlier run */
	int r = judge(c, e);
	if (!r && classes_open(&c->classes, &open))
		r = no_memory(e);
	size_t runs = 0;
	for (size_t i = 0; i < open.len; i++)
		runs += open.at[i].runs - open.at[i].have;
	r = r ? r : round_own(c, runs, e);
	for (size_t i = 0; i < open.len && !r; i++)
		r = ask_again(c, &open.at[i], e);
	return r ? r : round_of(c, c->round.own, c->round.own_len, e);
}

static bool is_searched(const struct shrink *s, uint32_t test)
{
	for (size_t i = 0; i < shrink_len(s); i++)
		if (shrink_result(s, i).test == test)
			return true;
	return false;
}

/* Of all tests that depend on order and are not searched for yet. */
static int begin_searches(struct campaign *c, struct err *e)
{
	static const enum search_kind kinds[CLASS_N] = {
		[CLASS_VICTIM] = SEARCH_POLLUTERS,
		[CLASS_BRITTLE] = SEARCH_SETTERS,
		[CLASS_ORDER_SENSITIVE] = SEARCH_EITHER,
	};
	int r = judge(c, e);
	if (!r && !c->shrink)
		c->shrink = shrink_new(&(struct shrink_setup){ .confirm = c->setup->confirm });
	if (!r && !c->shrink)
		r = no_memory(e);
	for (size_t i = 0; i < c->classes.len && !r; i++) {
		enum class class = order_class(&c->classes.tests[i].facts);
		if (class != CLASS_N && !is_searched(c->shrink, (uint32_t)i) &&
		    shrink_add(c->shrink, &c->history, (uint32_t)i, kinds[class]))
			r = no_memory(e);
	}
	return r;
}

/* The outcome of each ask, from the order that answers it. */
static void tell_searches(struct campaign *c)
{
	for (size_t i = 0; i < c->asks_len; i++) {
		const struct played *p = history_find(&c->history, c->round.own[i].name);
		enum outcome outcome = p ? played_outcome(p, c->asks[i].test) : OUTCOME_N;
		shrink_tell(c->shrink, i, outcome == OUTCOME_N ? OUTCOME_ABSENT : outcome);
	}
	c->asks_len = 0;
}

static void tell_cost(const struct campaign *c)
{
	const struct shrink_cost cost = shrink_cost(c->shrink);
	if (c->setup->searching)
		c->setup->searching(c->setup->with, &cost);
}

/* A round that the history answers whole needs no cell. */
static int search(struct campaign *c, struct err *e)
{
	int r = 0;
	while (!r && !c->round.len) {
		tell_searches(c);
		round_done(&c->round);
		if (shrink_round(c->shrink, &c->asks, &c->asks_len))
			return no_memory(e);
		if (!c->asks_len)
			return 0;
		r = round_own(c, c->asks_len, e);
		for (size_t i = 0; i < c->asks_len && !r; i++)
			if (shrink_order(&c->asks[i], &c->history, &c->round.own[c->round.own_len++]))
				r = no_memory(e);
		r = r ? r : round_of(c, c->round.own, c->round.own_len, e);
	}
	if (!r && c->round.len)
		tell_cost(c);
	return r;
}

static int ask_shrink(struct campaign *c, struct err *e)
{
	if (!c->setup->shrink)
		return 0;
	int r = c->shrink ? 0 : begin_searches(c, e);
	return r ? r : search(c, e);
}

/* ---- the wave ---- */

/* It passed wherever it ran. */
static bool is_open(const struct campaign *c, uint32_t test)
{
	const struct judged *t = &c->classes.tests[test];
	const struct class_facts *f = &t->facts;
	const struct serials *serials = &c->setup->ask->serial;
	bool serial = serials_find(serials, c->history.roster.ids.at[test]) < serials->len;
	return t->due && f->passed && !f->failed && !f->untold && !serial;
}

/* The sets that make a test fail; how many. */
static size_t found_sets(const struct campaign *c, struct search_result *ret)
{
	size_t len = 0;
	for (size_t i = 0; i < shrink_len(c->shrink); i++) {
		const struct search_result r = shrink_result(c->shrink, i);
		if (r.end == SEARCH_FOUND && r.kind == SEARCH_POLLUTERS)
			ret[len++] = r;
	}
	return len;
}

static int begin_wave(struct campaign *c, struct err *e)
{
	int r = judge(c, e);
	cleanup_free struct search_result *found = calloc(shrink_len(c->shrink) + 1, sizeof(*found));
	cleanup_free uint32_t *tests = calloc(c->classes.len + 1, sizeof(*tests));
	if (r || !found || !tests)
		return r ? r : no_memory(e);
	struct wave_setup setup = { .history = &c->history, .found = found, .tests = tests };
	setup.found_len = found_sets(c, found);
	for (uint32_t i = 0; i < c->classes.len; i++)
		if (is_open(c, i))
			tests[setup.tests_len++] = i;
	bool lasts = campaign_seconds(c) > PLAN_LONG_SECONDS && !c->setup->ask->budget_ms;
	setup.orders_max = lasts ? WAVE_LONG_MAX : WAVE_MAX;
	if (!setup.found_len)
		return 0;
	c->wave = wave_new(&setup);
	return c->wave ? 0 : no_memory(e);
}

static int ask_wave(struct campaign *c, struct err *e)
{
	if (!c->shrink || c->adopted || c->setup->ask->order)
		return 0;
	int r = c->wave ? 0 : begin_wave(c, e);
	const struct order *orders;
	for (size_t len = 1; !r && c->wave && len && !c->round.len;) {
		round_done(&c->round);
		if (wave_round(c->wave, &orders, &len))
			return no_memory(e);
		r = round_of(c, orders, len, e);
	}
	if (c->recalls) /* what an earlier run has of it counts */
		round_done(&c->round);
	return r;
}

static int ask_wave_isolated(struct campaign *c, struct err *e)
{
	int r = c->wave ? ask_alone(c, &c->wave_isolated, e) : 0;
	for (size_t i = 0; i < c->wave_isolated.len; i++)
		c->wave_isolated.orders[i].role = ROLE_WAVE;
	return r;
}

static int ask_wave_confirm(struct campaign *c, struct err *e)
{
	return c->wave ? ask_confirm(c, e) : 0;
}

static int ask_wave_shrink(struct campaign *c, struct err *e)
{
	int r = c->wave && !c->wave_searched ? begin_searches(c, e) : 0;
	c->wave_searched = true;
	return r || !c->wave ? r : search(c, e);
}

static int (*const steps[CAMPAIGN_OVER])(struct campaign *c, struct err *e) = {
	[CAMPAIGN_FIRST] = ask_first,
	[CAMPAIGN_PLAN] = ask_plan,
	[CAMPAIGN_MORE] = ask_more,
	[CAMPAIGN_ISOLATED] = ask_isolated,
	[CAMPAIGN_CONFIRM] = ask_confirm,
	[CAMPAIGN_SHRINK] = ask_shrink,
	[CAMPAIGN_WAVE] = ask_wave,
	[CAMPAIGN_WAVE_ISOLATED] = ask_wave_isolated,
	[CAMPAIGN_WAVE_CONFIRM] = ask_wave_confirm,
	[CAMPAIGN_WAVE_SHRINK] = ask_wave_shrink,
};

static bool searches(const struct campaign *c)
{
	return c->shrink && (c->step == CAMPAIGN_SHRINK || c->step == CAMPAIGN_WAVE_SHRINK);
}

/* ---- source of the lanes ---- */

static bool fits(const struct campaign *c)
{
	return c->deadline_ms == INT64_MAX || c->setup->now_ms() < c->deadline_ms;
}

/* The next step that has something to run; asks of a search are told before their round goes. */
static int advance(struct campaign *c, struct err *e)
{
	int r = 0;
	bool first_ran = c->step == CAMPAIGN_FIRST && c->round.todo;
	if (searches(c))
		tell_searches(c);
	round_done(&c->round);
	c->step += first_ran;
	if (c->step > CAMPAIGN_FIRST && !c->spoke)
		c->step = CAMPAIGN_OVER;
	while (c->step < CAMPAIGN_OVER) {
		r = steps[c->step](c, e);
		if (r || c->round.len)
			return r;
		round_done(&c->round);
		c->step++;
	}
	return r;
}

static int next(void *with, const struct order **ret, struct err *e)
{
	struct campaign *c = with;
	int r = 0;
	while (!r && c->step < CAMPAIGN_OVER) {
		if (c->round.next < c->round.len && !fits(c)) {
			c->budget_spent = true;
			c->step = CAMPAIGN_OVER; /* what a part of a round told is no base for more */
			return 0;
		}
		if (c->round.next < c->round.len) {
			*ret = &c->round.orders[c->round.todo[c->round.next++]];
			c->running++;
			return 1;
		}
		if (c->running)
			return 0;
		r = advance(c, e);
	}
	return r;
}

int campaign_recall(struct campaign *c, struct err *e)
{
	const struct order *none;
	c->deadline_ms = INT64_MIN;
	c->recalls = true;
	int r = next(c, &none, e);
	return r ? r : campaign_judge(c, e);
}

static int ended(void *with, const struct order *order, const struct order_result *result,
		 struct err *e)
{
	(void)order;
	(void)e;
	struct campaign *c = with;
	c->running--;
	if (!c->fresh)
		c->first = *result;
	c->fresh = true;
	return 0;
}

/* A new process, and its tests as long as they took in the canonical order. */
static double estimate(const struct campaign *c, const struct order *o)
{
	const struct played *first = first_order(c);
	double seconds = first ? first->seconds : 0;
	for (size_t i = 0; i < c->test_seconds_len && !o->as_collected; i++)
		seconds -= c->test_seconds[i];
	for (size_t i = 0; i < o->tests_len; i++)
		if (o->tests[i] < c->test_seconds_len)
			seconds += c->test_seconds[o->tests[i]];
	return seconds > 0 ? seconds : 0;
}

static void left(void *with, struct progress_left *ret)
{
	const struct campaign *c = with;
	*ret = (struct progress_left){ .more = c->step < CAMPAIGN_OVER };
	for (size_t i = c->round.next; i < c->round.len; i++) {
		ret->seconds += estimate(c, &c->round.orders[c->round.todo[i]]);
		ret->orders++;
	}
	if (!searches(c) || !ret->orders)
		return;
	size_t runs = shrink_cost(c->shrink).runs;
	if (runs > ret->orders) {
		ret->seconds *= (double)runs / (double)ret->orders;
		ret->orders = runs;
	}
}

/* How long a test took in the canonical order. */
static int keep_seconds(struct campaign *c, const cJSON *line, struct err *e)
{
	const cJSON *us = cJSON_GetObjectItemCaseSensitive(line, "us");
	cleanup_free char *id = NULL;
	if (!us || !text_eq(json_text(line, "order"), FIRST))
		return 0;
	if (json_get_name(line, "test", &id) == -ENOMEM)
		return no_memory(e);
	uint32_t test = id ? roster_find(&c->history.roster, id) : ROSTER_NONE;
	if (test == ROSTER_NONE)
		return 0;
	if (test >= c->test_seconds_len) {
		size_t len = (size_t)test * 2 + 64;
		double *more = reallocarray(c->test_seconds, len, sizeof(*more));
		if (!more)
			return no_memory(e);
		memset(more + c->test_seconds_len, 0, (len - c->test_seconds_len) * sizeof(*more));
		c->test_seconds = more;
		c->test_seconds_len = len;
	}
	c->test_seconds[test] = (json_number(us, "setup", 0) + json_number(us, "call", 0) +
				 json_number(us, "teardown", 0)) /
				1e6;
	return 0;
}

int campaign_line(void *with, const char *kind, const cJSON *line, struct err *e)
{
	struct campaign *c = with;
	int r = history_line(&c->history, kind, line, e);
	r = r ? r : marks_line(&c->marks, &c->history, kind, line, e);
	r = r ? r : suspicions_line(&c->suspicions, &c->history, kind, line, e);
	c->spoke |= text_eq(kind, "session") && (text_eq(json_text(line, "order"), FIRST) ||
						 text_eq(json_text(line, "order"), COLLECT));
	return r || !text_eq(kind, "test") ? r : keep_seconds(c, line, e);
}

struct lanes_source campaign_source(struct campaign *c)
{
	return (struct lanes_source){
		.next = next, .line = campaign_line, .ended = ended, .left = left, .with = c
	};
}

void campaign_init(struct campaign *c, const struct campaign_setup *setup)
{
	uint32_t budget_ms = setup->ask->budget_ms;
	*c = (struct campaign){ .setup = setup,
				.history = HISTORY_NULL,
				.marks = { .accepted = setup->accepted },
				.suspicions = SUSPICIONS_NULL,
				.classes = CLASSES_NULL,
				.deadline_ms = budget_ms ? setup->now_ms() + budget_ms : INT64_MAX };
}

void campaign_adopt_searches(struct campaign *c, struct shrink *shrink)
{
	c->shrink = shrink;
	c->adopted = true;
	c->spoke = true;
	c->step = CAMPAIGN_SHRINK;
}

int campaign_save_sets(const struct campaign *c, struct ledger *l, struct err *e)
{
	int r = 0;
	for (size_t i = 0; c->shrink && i < shrink_len(c->shrink) && !r; i++) {
		const struct search_result result = shrink_result(c->shrink, i);
		cleanup(order_done) struct order o = ORDER_NULL;
		if (!result.any)
			continue;
		if (shrink_order_found(&result, &c->history, &o))
			return no_memory(e);
		cleanup_free char *file = shrink_file(&o);
		cleanup_free char *text = given_write(&c->history.roster, o.tests, o.tests_len);
		if (!file || !text)
			return no_memory(e);
		r = ledger_save(l, file, text, strlen(text), e);
	}
	return r;
}

void campaign_done(struct campaign *c)
{
	round_done(&c->round);
	shrink_free(c->shrink);
	wave_free(c->wave);
	plan_done(&c->plan);
	plan_done(&c->more);
	plan_done(&c->isolated);
	plan_done(&c->wave_isolated);
	classes_done(&c->classes);
	marks_done(&c->marks);
	suspicions_done(&c->suspicions);
	history_done(&c->history);
	free(c->test_seconds);
}
