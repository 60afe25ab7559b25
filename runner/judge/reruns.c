#include <errno.h>
#include <stdlib.h>

#include "runner/judge/judging.h"
#include "sandbox/base/cleanup.h"

/*
 * Controls.
 *
 * A test that fails with the probability p, whatever ran before it, looks like one that depends on order:
 * it passes in some orders and fails in others. So before one is told to depend on order, what it did is
 * tried again: alone and in the canonical order until it did the same three times of three, in one more
 * order twice of two, and the search sees its set three times of three. It is told when nothing of that
 * says the contrary, and no other list of tests that ran more than once does. With q = 1 - p, and the
 * first run of the other order and of the set left out, which were chosen for what they showed, that is
 *
 *	(q^3 + p^3) canonical * q^3 alone * p the other order * p^2 the set       a victim
 *	      q^3              * p^3      * p                * q^2               a brittle one
 *	      p^3              * p^3      * q                * q^2               never hermetic
 *
 * at most 0.9 % in sum, at p = 0.4, should the sweep show it and a search find a set each time, which
 * they do not. Where no set is searched for, the other order takes its place: four times of four, which
 * comes to 0.8 % at p = 0.5.
 *
 * Runs of the suite are controls of all tests in them at once; so of other orders the fewest are taken
 * that have one for each test. That leaves two runs a test, of itself alone.
 */
#define ALONE              3
#define CANONICAL          3
#define OTHER              2
#define OTHER_NOT_SEARCHED 4

static unsigned runs_of(enum wait wait, bool searched)
{
	static const unsigned runs[WAIT_N] = {
		[WAIT_RED] = REPEATS,         [WAIT_GREEN] = GREENS, [WAIT_ALONE] = ALONE,
		[WAIT_CANONICAL] = CANONICAL, [WAIT_OTHER] = OTHER,
	};
	return wait == WAIT_OTHER && !searched ? OTHER_NOT_SEARCHED : runs[wait];
}

bool judging_green(const struct class_facts *f, const struct tally *t)
{
	return passes(f->canonical) ? t->canonical_repeats : t->passing > 1 || t->green_repeats;
}

/* ---- what makes a class final ---- */

static void find_open(const struct judging *j, struct judged *t, const struct tally *tally)
{
	const struct class_facts *f = &t->facts;
	bool doubtful = t->class == CLASS_NONDETERMINISTIC && !f->disagrees &&
			!(f->marks & MARK_UNREPEATED);
	if (t->class == CLASS_REPEAT_SENSITIVE && tally->again_runs < REPEATS)
		t->waits[WAIT_RED] = tally->again_order;
	if (t->class == CLASS_ENVIRONMENT_SENSITIVE && f->varied_differs &&
	    tally->varied_runs < REPEATS)
		t->waits[WAIT_RED] = tally->varied_order;
	if (!doubtful)
		return;
	if (!tally->repeats)
		t->waits[WAIT_RED] = tally->failing_order;
	if (!judging_green(f, tally))
		t->waits[WAIT_GREEN] = passes(f->canonical) ? j->canonical : tally->passing_order;
}

/* ---- controls ---- */

/* Which other orders are taken. */
struct choice {
	struct judging *j;
	const unsigned *have; /* runs, by group */
	uint32_t *tests;      /* that have none yet */
	size_t tests_len;
	bool *differs; /* beside them: some other order shows what the canonical one does not */
};

static bool wait_for(const struct choice *c, uint32_t test, enum wait wait, uint32_t order)
{
	const struct classes *classes = c->j->c;
	if (order == CLASSES_NONE ||
	    c->have[classes->groups[order]] >= runs_of(wait, c->j->c->searched))
		return false;
	classes->tests[test].waits[wait] = classes->groups[order];
	return true;
}

static bool is_other(const struct choice *c, size_t column)
{
	uint32_t order = c->j->c->columns[column];
	return is_plain(&order_at(c->j, order)->order) &&
	       !is_canonical(&order_at(c->j, order)->order);
}

/* A column that can be the other order of a test. */
static bool suits(const struct choice *c, uint32_t test, size_t column, bool differs)
{
	char letter = classes_vector(c->j->c, test)[column];
	bool ran = letter != VECTOR_NOT_IN && letter != outcome_letter(OUTCOME_ABSENT);
	bool other = vector_is_bad(letter) == passes(c->j->c->tests[test].facts.canonical);
	return ran && is_other(c, column) && (other || !differs);
}

/* The test wants another order; not so when one ran often enough. */
static void want_other(struct choice *c, uint32_t test)
{
	const struct classes *classes = c->j->c;
	bool differs = false;
	for (size_t i = 0; i < classes->columns_len && !differs; i++)
		differs = suits(c, test, i, true);
	for (size_t i = 0; i < classes->columns_len; i++)
		if (suits(c, test, i, differs) && c->have[classes->groups[classes->columns[i]]] >=
							  runs_of(WAIT_OTHER, c->j->c->searched))
			return;
	c->differs[c->tests_len] = differs;
	c->tests[c->tests_len++] = test;
}

/* The column that suits most tests; 0: none suits any. */
static size_t best_column(const struct choice *c, size_t *ret)
{
	size_t most = 0;
	for (size_t i = 0; i < c->j->c->columns_len; i++) {
		size_t n = 0;
		for (size_t k = 0; k < c->tests_len; k++)
			n += suits(c, c->tests[k], i, c->differs[k]);
		if (n > most)
			*ret = i;
		most = n > most ? n : most;
	}
	return most;
}

static void choose_others(struct choice *c)
{
	size_t column = 0;
	while (best_column(c, &column)) {
		size_t left = 0;
		for (size_t k = 0; k < c->tests_len; k++) {
			bool suited = suits(c, c->tests[k], column, c->differs[k]);
			if (suited)
				wait_for(c, c->tests[k], WAIT_OTHER, c->j->c->columns[column]);
			c->tests[left] = c->tests[k];
			c->differs[left] = c->differs[k];
			left += !suited;
		}
		c->tests_len = left;
	}
}

static unsigned *count_runs(const struct classes *c)
{
	unsigned *have = calloc(c->history->len + 1, sizeof(*have));
	for (size_t i = 0; have && i < c->history->len; i++)
		have[c->groups[i]] += tells(c, &c->history->orders[i]);
	return have;
}

int judging_waits(struct judging *j)
{
	struct classes *c = j->c;
	cleanup_free unsigned *have = count_runs(c);
	cleanup_free uint32_t *tests = calloc(c->len + 1, sizeof(*tests));
	cleanup_free bool *differs = calloc(c->len + 1, sizeof(*differs));
	struct choice choice = { .j = j, .have = have, .tests = tests, .differs = differs };
	if (!have || !tests || !differs)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->len; i++) {
		struct judged *t = &c->tests[i];
		if (!t->due)
			continue;
		find_open(j, t, &j->tallies[i]);
		if (order_class(&t->facts) == CLASS_N)
			continue;
		wait_for(&choice, i, WAIT_ALONE, j->tallies[i].alone_order);
		wait_for(&choice, i, WAIT_CANONICAL, j->canonical);
		want_other(&choice, i);
	}
	choose_others(&choice);
	return 0;
}

/* ---- what to run for it ---- */

struct waiting {
	unsigned tests, runs;
};

static int by_cost(const void *a, const void *b, void *with)
{
	const struct rerun *x = a;
	const struct rerun *y = b;
	const struct history *h = with;
	double cost_x = h->orders[x->order].seconds * (x->runs - x->have);
	double cost_y = h->orders[y->order].seconds * (y->runs - y->have);
	if (cost_x != cost_y)
		return cost_x < cost_y ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static void add_waiting(struct waiting *waiting, const struct judged *t, bool searched)
{
	for (int i = 0; i < WAIT_N; i++) {
		unsigned runs = runs_of((enum wait)i, searched);
		if (t->waits[i] == CLASSES_NONE)
			continue;
		struct waiting *w = &waiting[t->waits[i]];
		w->tests++;
		w->runs = runs > w->runs ? runs : w->runs;
	}
}

int classes_open(const struct classes *c, struct reruns *ret)
{
	size_t n = c->history->len;
	cleanup_free struct waiting *waiting = calloc(n + 1, sizeof(*waiting));
	cleanup_free struct rerun *at = calloc(n + 1, sizeof(*at));
	cleanup_free unsigned *have = count_runs(c);
	size_t len = 0;
	if (!waiting || !at || !have)
		return -ENOMEM;
	for (size_t i = 0; i < c->len; i++)
		add_waiting(waiting, &c->tests[i], c->searched);
	for (uint32_t i = 0; i < n; i++) {
		const struct waiting *w = &waiting[i];
		if (have[i] < w->runs)
			at[len++] = (struct rerun){
				.order = i, .runs = w->runs, .have = have[i], .tests = w->tests
			};
	}
	qsort_r(at, len, sizeof(*at), by_cost, (void *)c->history);
	*ret = (struct reruns){ take_ptr(&at), len };
	return 0;
}

void reruns_done(struct reruns *r)
{
	free(r->at);
	*r = (struct reruns){ 0 };
}
