#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runner/judge/judging.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/text.h"

static void judging_done(struct judging *j)
{
	free(j->tallies);
	free(j->runs);
	free(j->touched);
	free(j->seen);
	free(j->places);
}

/* ---- who was absent, and why ---- */

/* The test whose end was the end of its session, and so of the tests behind it. */
static uint32_t last_crash(const struct played *p)
{
	for (size_t i = p->order.tests_len; i--;)
		if (p->outcomes[i] == OUTCOME_CRASHED || p->outcomes[i] == OUTCOME_TIMEOUT)
			return p->order.tests[i];
	return CLASSES_NONE;
}

/* The row of the module that the order could not collect. */
static uint32_t broken_module(const struct judging *j, size_t order, uint32_t test)
{
	const struct roster *roster = &j->c->history->roster;
	const char *id = roster->ids.at[test];
	cleanup_free char *module = strndup(id, roster_module_len(id));
	uint32_t row = module ? roster_find(roster, module) : ROSTER_NONE;
	return row != ROSTER_NONE && row != test && j->seen[row] == order + 1 ? row : CLASSES_NONE;
}

static void add_absence(struct judging *j, size_t order, uint32_t test)
{
	struct judged *t = &j->c->tests[test];
	uint32_t after = last_crash(order_at(j, order));
	if (after == CLASSES_NONE)
		after = broken_module(j, order, test);
	t->absent++;
	if (after == CLASSES_NONE)
		t->facts.absent++;
	else if (t->absent_after == CLASSES_NONE)
		t->absent_after = after;
}

static void find_absent(struct judging *j, size_t order)
{
	const struct played *p = order_at(j, order);
	size_t n;
	const uint32_t *asked = due(j, p, &n);
	for (size_t i = 0; i < p->order.tests_len; i++)
		if (p->outcomes[i] != OUTCOME_ABSENT)
			j->seen[p->order.tests[i]] = (uint32_t)order + 1;
	for (size_t i = 0; i < n; i++) {
		uint32_t test = asked ? asked[i] : (uint32_t)i;
		if (j->seen[test] != order + 1)
			add_absence(j, order, test);
	}
}

/* ---- what each distinct order says ---- */

enum side {
	SIDE_PASSED = 1 << 0,
	SIDE_FAILED = 1 << 1,
	SIDE_UNTOLD = 1 << 2,
};

static enum side side_of(enum outcome outcome)
{
	return passes(outcome) ? SIDE_PASSED : outcome_failed(outcome) ? SIDE_FAILED : SIDE_UNTOLD;
}

static void add_run(struct runs *r, enum outcome outcome, bool again, bool counts)
{
	enum side side = side_of(outcome);
	if (again) {
		r->again_passed += side == SIDE_PASSED;
		r->again_bad += side != SIDE_PASSED;
		return;
	}
	r->sides |= side;
	r->passed += counts && side == SIDE_PASSED;
	r->failed += counts && side == SIDE_FAILED;
	r->untold += counts && side == SIDE_UNTOLD;
}

static bool disagrees(const struct runs *r)
{
	return (r->sides & (r->sides - 1)) != 0;
}

static void add_order(struct judging *j, const struct played *p)
{
	for (size_t i = 0; i < p->order.tests_len; i++) {
		uint32_t test = p->order.tests[i];
		struct runs *r = &j->runs[test];
		if (p->outcomes[i] == OUTCOME_ABSENT)
			continue;
		if (!r->touched)
			j->touched[j->touched_len++] = test;
		r->touched = true;
		add_run(r, (enum outcome)p->outcomes[i], p->again[i], tells(j->c, p));
	}
}

static void tell_plain(struct judging *j, uint32_t order, uint32_t test)
{
	const struct runs *r = &j->runs[test];
	struct class_facts *f = &j->c->tests[test].facts;
	struct tally *t = &j->tallies[test];
	uint32_t bad = r->failed + r->untold;
	f->passed += r->passed;
	f->failed += r->failed;
	f->untold += r->untold;
	f->disagrees |= disagrees(r);
	if (!bad && r->passed) {
		t->passing_order = t->passing++ ? t->passing_order : order;
		t->green_repeats |= r->passed >= GREENS;
		t->canonical_repeats |=
			r->passed >= GREENS && is_canonical(&order_at(j, order)->order);
	} else if (bad && !r->passed) {
		t->failing_order = t->failing++ ? t->failing_order : order;
		t->repeats |= bad >= REPEATS;
	}
	if (!r->again_bad)
		return;
	f->disagrees |= r->again_passed > 0;
	f->again_red |= r->passed && !r->again_passed;
	t->again_order = order;
	t->again_runs = r->again_bad;
}

static void tell_varied(struct judging *j, uint32_t order, uint32_t test)
{
	const struct runs *r = &j->runs[test];
	struct class_facts *f = &j->c->tests[test].facts;
	struct tally *t = &j->tallies[test];
	uint32_t bad = r->failed + r->untold;
	f->disagrees |= disagrees(r);
	if (!known(f->canonical) || (bad > 0) != passes(f->canonical) || (bad && r->passed))
		return;
	f->varied_differs = true;
	t->varied_order = order;
	t->varied_runs = bad + r->passed;
}

static void tell_group(struct judging *j, uint32_t order)
{
	enum dimension dimension = dimension_of(&order_at(j, order)->order);
	for (size_t i = 0; i < j->touched_len; i++) {
		uint32_t test = j->touched[i];
		const struct runs *r = &j->runs[test];
		if (dimension == ORDER_ALONE)
			tell_plain(j, order, test);
		else if (dimension == SOMETHING_ELSE)
			tell_varied(j, order, test);
		else
			j->c->tests[test].facts.parallel_red |= r->failed || r->untold;
		j->runs[test] = (struct runs){ 0 };
	}
	j->touched_len = 0;
}

/* How the test fares with no other, and with all as they stand: as it was seen first. */
static void find_landmarks(struct judging *j, uint32_t order)
{
	const struct played *p = order_at(j, order);
	const struct order *o = &p->order;
	if (dimension_of(o) != ORDER_ALONE)
		return;
	for (size_t i = 0; i < o->tests_len; i++) {
		struct class_facts *f = &j->c->tests[o->tests[i]].facts;
		if (p->outcomes[i] == OUTCOME_ABSENT)
			continue;
		if (o->view == VIEW_CANONICAL && !known(f->canonical))
			f->canonical = (enum outcome)p->outcomes[i];
		if (o->view == VIEW_ISOLATED && o->tests_len == 1 && !known(f->alone)) {
			f->alone = (enum outcome)p->outcomes[i];
			j->tallies[o->tests[i]].alone_order = order;
		}
	}
}

/* ---- all of it ---- */

static int make_room(struct judging *j)
{
	struct classes *c = j->c;
	size_t orders = c->history->len;
	c->len = c->history->roster.ids.len;
	c->tests = calloc(c->len + 1, sizeof(*c->tests));
	c->columns = calloc(orders + 1, sizeof(*c->columns));
	c->groups = calloc(orders + 1, sizeof(*c->groups));
	j->tallies = calloc(c->len + 1, sizeof(*j->tallies));
	j->runs = calloc(c->len + 1, sizeof(*j->runs));
	j->touched = calloc(c->len + 1, sizeof(*j->touched));
	j->seen = calloc(c->len + 1, sizeof(*j->seen));
	j->places = calloc(orders + 1, sizeof(*j->places));
	if (!c->tests || !c->columns || !c->groups || !j->tallies || !j->runs || !j->touched ||
	    !j->seen || !j->places)
		return -ENOMEM;
	for (uint32_t i = 0; i < orders; i++)
		if (is_column(c, &c->history->orders[i]))
			c->columns[c->columns_len++] = i;
	c->vectors = malloc(c->len * c->columns_len + 1);
	if (!c->vectors)
		return -ENOMEM;
	memset(c->vectors, VECTOR_NOT_IN, c->len * c->columns_len);
	return 0;
}

static void begin_tests(struct judging *j)
{
	for (uint32_t i = 0; i < j->c->len; i++) {
		struct judged *t = &j->c->tests[i];
		t->facts.alone = t->facts.canonical = OUTCOME_N;
		t->facts.marks = j->marks ? marks_of(j->marks, i) : 0;
		t->absent_after = t->first_bad = t->first_red = CLASSES_NONE;
		j->tallies[i].alone_order = CLASSES_NONE;
		for (int k = 0; k < WAIT_N; k++)
			t->waits[k] = CLASSES_NONE;
	}
}

/* Those that a collection alone told of were not selected. */
static void find_due(struct judging *j)
{
	bool whole = j->c->history->len && j->c->history->orders[0].order.as_collected;
	for (size_t i = 0; i < j->c->history->len; i++) {
		const struct played *p = order_at(j, i);
		for (size_t k = 0; k < p->collected_len && !played_collects(p); k++)
			j->c->tests[p->collected[k]].due = true;
		for (size_t k = 0; k < p->order.tests_len && !played_collects(p); k++)
			j->c->tests[p->order.tests[k]].due = true;
		for (size_t k = 0; k < p->asked_len; k++)
			j->c->tests[p->asked[k]].due = true;
		for (size_t k = 0; k < p->others_len && whole; k++)
			j->c->tests[p->others[k]].due = true;
	}
}

static void tell_orders(struct judging *j)
{
	for (uint32_t i = 0; i < j->c->history->len; i++) {
		const struct played *p = order_at(j, i);
		if (!tells(j->c, p))
			continue;
		find_landmarks(j, i);
		if (dimension_of(&p->order) == ORDER_ALONE)
			find_absent(j, i);
	}
	for (size_t i = 0; i < j->places_len; i++) {
		add_order(j, order_at(j, j->places[i].order));
		if (i + 1 == j->places_len || j->places[i].group != j->places[i + 1].group)
			tell_group(j, j->places[i].group);
	}
}

static void settle(struct judging *j)
{
	for (size_t i = 0; i < j->c->len; i++) {
		struct judged *t = &j->c->tests[i];
		const struct tally *tally = &j->tallies[i];
		struct class_facts *f = &t->facts;
		f->firm = tally->failing > 1 || (tally->repeats && judging_green(f, tally));
		t->class = t->due ? class_of(f) : CLASS_N;
		if (!t->due)
			continue;
		j->c->due_len++;
		t->eligible = t->class == CLASS_STABLE_PASS && !t->absent;
		j->c->counts[t->class]++;
	}
}

static int judge(const struct classes *how, const struct marks *marks, struct classes *ret)
{
	cleanup(classes_done) struct classes c = *how;
	cleanup(judging_done) struct judging j = { .c = &c, .marks = marks };
	if (make_room(&j))
		return -ENOMEM;
	begin_tests(&j);
	find_due(&j);
	judging_group(&j);
	tell_orders(&j);
	judging_columns(&j);
	settle(&j);
	if (judging_waits(&j))
		return -ENOMEM;
	*ret = take(&c, CLASSES_NULL);
	return 0;
}

int classes_judge(const struct history *h, const struct marks *marks, bool searched,
		  struct classes *ret)
{
	return judge(&(struct classes){ .history = h, .searched = searched }, marks, ret);
}

int classes_judge_first(const struct history *h, const struct marks *marks, bool searched,
			struct classes *ret)
{
	return judge(&(struct classes){ .history = h, .searched = searched, .first = true }, marks,
		     ret);
}
