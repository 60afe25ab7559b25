#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runner/judge/classes.h"
#include "runner/judge/history.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/digest.h"
#include "sandbox/base/text.h"

#define REPEATS 3 /* a failure counts when it happened as often, of as many */
#define GREENS  2 /* ... and a pass repeats when it did */

/* ---- what of an order counts ---- */

enum dimension {              /* what an order varies */
		 ORDER_ALONE, /* the order of tests, and nothing else */
		 SOMETHING_ELSE,
		 WORKERS,
};

static enum dimension dimension_of(const struct order *o)
{
	if (o->view == VIEW_PARALLEL)
		return WORKERS;
	return o->vary.len ? SOMETHING_ELSE : ORDER_ALONE;
}

static bool tells(const struct played *p)
{
	return p->ended && !p->interrupted && !played_collects(p) &&
	       (p->order.role == ROLE_SWEEP || p->order.role == ROLE_CONFIRM);
}

/* What the runs of one test in one order came to, over all times that order ran. */
struct runs {
	bool touched;
	uint32_t passed, failed, untold;
	uint32_t again_passed, again_bad; /* the second runs of view repeated */
};

/* What all distinct orders say of one test. */
struct tally {
	uint32_t passing, failing; /* orders that always do */
	uint32_t passing_order;    /* the first of them; CLASSES_NONE */
	uint32_t failing_order;
	bool repeats;       /* one of the failing ones did three times */
	bool green_repeats; /* one of the passing ones did twice */
	bool canonical_repeats;
	uint32_t again_order; /* the one behind again_red, and how often it ran */
	uint32_t again_runs;
	uint32_t varied_order;
	uint32_t varied_runs;
};

/* An order, and the first one that was the same. */
struct place {
	struct digest digest;
	uint32_t order;
	uint32_t group;
};

struct judging {
	struct classes *c;
	const struct marks *marks;
	struct tally *tallies; /* by test */
	struct runs *runs;     /* by test; zero between groups */
	uint32_t *touched;     /* tests of the group at hand */
	uint32_t *seen;        /* by test: the last order that told of it, + 1 */
	struct place *places;  /* by order; sorted by group once groups are known */
	size_t touched_len, places_len;
	uint32_t canonical; /* the first such order */
};

static void judging_done(struct judging *j)
{
	free(j->tallies);
	free(j->runs);
	free(j->touched);
	free(j->seen);
	free(j->places);
}

static const struct played *order_at(const struct judging *j, size_t i)
{
	return &j->c->history->orders[i];
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

/* The tests that the order was to run: *ret_len of them; NULL: all there are. */
static const uint32_t *due(const struct judging *j, const struct played *p, size_t *ret_len)
{
	*ret_len = p->order.as_collected ? j->c->len : p->asked_len;
	return p->order.as_collected ? NULL : p->asked;
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

/* ---- which orders are the same ---- */

static int by_digest(const void *a, const void *b)
{
	const struct place *x = a;
	const struct place *y = b;
	int r = memcmp(&x->digest, &y->digest, sizeof(x->digest));
	return r ? r : (x->order > y->order) - (x->order < y->order);
}

static int by_group(const void *a, const void *b)
{
	const struct place *x = a;
	const struct place *y = b;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* Two orders are the same when the same tests ran in the same sequence, with the same varied. */
static struct digest digest_of(const struct played *p)
{
	const struct order *o = &p->order;
	struct digest parts[2] = {
		digest_bytes(o->tests, o->tests_len * sizeof(*o->tests)),
		{ o->view == VIEW_REPEATED, (uint64_t)dimension_of(o) },
	};
	for (size_t i = 0; i < o->vary.len; i++)
		parts[1] = digest_add(parts[1], digest_bytes(o->vary.at[i], strlen(o->vary.at[i])));
	return digest_bytes(parts, sizeof(parts));
}

/* The order of which this one is to be a repetition: "s17" of "s17+2". */
static uint32_t repeated_order(const struct judging *j, const struct order *o)
{
	const char *plus = strrchr(o->name, '+');
	cleanup_free char *name = plus ? strndup(o->name, (size_t)(plus - o->name)) : NULL;
	const struct played *p = name ? history_find(j->c->history, name) : NULL;
	return p ? (uint32_t)(p - j->c->history->orders) : CLASSES_NONE;
}

/* The suite as it stands is one order, however it was collected. */
static bool is_canonical(const struct order *o)
{
	return o->view == VIEW_CANONICAL && dimension_of(o) == ORDER_ALONE;
}

static void join_by_name(struct judging *j)
{
	j->canonical = CLASSES_NONE;
	for (uint32_t i = 0; i < j->c->history->len; i++) {
		const struct order *o = &order_at(j, i)->order;
		uint32_t first = o->role == ROLE_CONFIRM ? repeated_order(j, o) : CLASSES_NONE;
		if (is_canonical(o) && tells(order_at(j, i))) {
			j->canonical = j->canonical == CLASSES_NONE ? i : j->canonical;
			first = j->canonical;
		}
		if (first != CLASSES_NONE && first < i)
			j->c->groups[i] = j->c->groups[first];
	}
}

static void group_orders(struct judging *j)
{
	const struct history *h = j->c->history;
	for (uint32_t i = 0; i < h->len; i++) {
		j->c->groups[i] = i;
		if (tells(&h->orders[i]))
			j->places[j->places_len++] =
				(struct place){ .digest = digest_of(&h->orders[i]), .order = i };
	}
	qsort(j->places, j->places_len, sizeof(*j->places), by_digest);
	for (size_t i = 1; i < j->places_len; i++)
		if (digest_eq(j->places[i].digest, j->places[i - 1].digest))
			j->c->groups[j->places[i].order] = j->c->groups[j->places[i - 1].order];
	join_by_name(j);
	for (size_t i = 0; i < j->places_len; i++)
		j->places[i].group = j->c->groups[j->places[i].order];
	qsort(j->places, j->places_len, sizeof(*j->places), by_group);
}

/* ---- what each distinct order says ---- */

static void add_run(struct runs *r, enum outcome outcome, bool again)
{
	if (again) {
		r->again_passed += passes(outcome);
		r->again_bad += !passes(outcome);
		return;
	}
	r->passed += passes(outcome);
	r->failed += outcome_failed(outcome);
	r->untold += !passes(outcome) && !outcome_failed(outcome);
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
		add_run(r, (enum outcome)p->outcomes[i], p->again[i]);
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
	f->disagrees |= (r->passed > 0) + (r->failed > 0) + (r->untold > 0) > 1;
	if (!bad) {
		t->passing_order = t->passing++ ? t->passing_order : order;
		t->green_repeats |= r->passed >= GREENS;
		t->canonical_repeats |=
			r->passed >= GREENS && is_canonical(&order_at(j, order)->order);
	} else if (!r->passed) {
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
	f->disagrees |= (r->passed > 0) + (r->failed > 0) + (r->untold > 0) > 1;
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
static void find_landmarks(struct judging *j, const struct played *p)
{
	const struct order *o = &p->order;
	if (dimension_of(o) != ORDER_ALONE)
		return;
	for (size_t i = 0; i < o->tests_len; i++) {
		struct class_facts *f = &j->c->tests[o->tests[i]].facts;
		if (p->outcomes[i] == OUTCOME_ABSENT)
			continue;
		if (o->view == VIEW_CANONICAL && !known(f->canonical))
			f->canonical = (enum outcome)p->outcomes[i];
		if (o->view == VIEW_ISOLATED && o->tests_len == 1 && !known(f->alone))
			f->alone = (enum outcome)p->outcomes[i];
	}
}

/* ---- the vectors ---- */

static bool is_column(const struct played *p)
{
	return tells(p) && p->order.role == ROLE_SWEEP && p->order.view != VIEW_ISOLATED;
}

static bool counts(const struct order *o)
{
	return (o->view == VIEW_CANONICAL || o->view == VIEW_SHUFFLED) &&
	       dimension_of(o) == ORDER_ALONE;
}

static void note_bad(struct judged *t, const struct played *p, uint32_t order, size_t i)
{
	if (p->outcomes[i] == OUTCOME_ABSENT || passes((enum outcome)p->outcomes[i]))
		return;
	if (t->first_bad == CLASSES_NONE) {
		t->first_bad = order;
		t->phase = phase_name((enum phase)p->phases[i]);
	}
	if (t->first_red == CLASSES_NONE && p->order.seeded)
		t->first_red = order;
}

static void fill_column(struct judging *j, size_t column)
{
	struct classes *c = j->c;
	const struct played *p = order_at(j, c->columns[column]);
	bool scored = counts(&p->order);
	bool random = scored && p->order.seeded;
	size_t n;
	const uint32_t *asked = due(j, p, &n);
	for (size_t i = 0; i < n; i++)
		c->vectors[(asked ? asked[i] : i) * c->columns_len + column] =
			outcome_letter(OUTCOME_ABSENT);
	for (size_t i = 0; i < p->order.tests_len; i++) {
		struct judged *t = &c->tests[p->order.tests[i]];
		char *letter = &c->vectors[p->order.tests[i] * c->columns_len + column];
		bool bad = p->outcomes[i] != OUTCOME_ABSENT && !passes((enum outcome)p->outcomes[i]);
		/* of two runs, the one that did not pass */
		if ((!p->again[i] || bad) && !vector_is_bad(*letter))
			*letter = outcome_letter((enum outcome)p->outcomes[i]);
		if (p->outcomes[i] == OUTCOME_ABSENT || p->again[i])
			continue;
		t->ran += scored;
		t->bad += scored && bad;
		t->random_ran += random;
		t->random_bad += random && bad;
	}
}

/* Where each test did not pass first: in an order that varies nothing else, if there is one. */
static void find_first(struct judging *j)
{
	for (int pass = 0; pass < 3; pass++) {
		for (uint32_t i = 0; i < j->c->history->len; i++) {
			const struct played *p = order_at(j, i);
			bool column = is_column(p);
			bool mine = pass == 0   ? column && counts(&p->order)
				    : pass == 1 ? column && !counts(&p->order)
						: tells(p) && p->order.view == VIEW_ISOLATED;
			for (size_t k = 0; k < p->order.tests_len && mine; k++)
				note_bad(&j->c->tests[p->order.tests[k]], p, i, k);
		}
	}
}

/* ---- what reruns would settle ---- */

/* Does its pass repeat? In the canonical order, or where it does not pass in that, in others. */
static bool is_green(const struct class_facts *f, const struct tally *t)
{
	return passes(f->canonical) ? t->canonical_repeats : t->passing > 1 || t->green_repeats;
}

static void find_reruns(const struct judging *j, struct judged *t, const struct tally *tally)
{
	const struct class_facts *f = &t->facts;
	bool doubtful = t->class == CLASS_NONDETERMINISTIC && !f->disagrees &&
			!(f->marks & MARK_UNREPEATED);
	if (t->class == CLASS_REPEAT_SENSITIVE && tally->again_runs < REPEATS)
		t->rerun = tally->again_order;
	if (t->class == CLASS_ENVIRONMENT_SENSITIVE && f->varied_differs &&
	    tally->varied_runs < REPEATS)
		t->rerun = tally->varied_order;
	if (!doubtful)
		return;
	if (!tally->repeats)
		t->rerun = tally->failing_order;
	if (!is_green(f, tally))
		t->rerun_green = passes(f->canonical) ? j->canonical : tally->passing_order;
}

struct waiting {
	unsigned red, green; /* tests that wait for it to repeat */
	unsigned have;
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

int classes_open(const struct classes *c, struct reruns *ret)
{
	size_t n = c->history->len;
	cleanup_free struct waiting *waiting = calloc(n + 1, sizeof(*waiting));
	cleanup_free struct rerun *at = calloc(n + 1, sizeof(*at));
	if (!waiting || !at)
		return -ENOMEM;
	for (size_t i = 0; i < c->len; i++) {
		if (c->tests[i].rerun != CLASSES_NONE)
			waiting[c->tests[i].rerun].red++;
		if (c->tests[i].rerun_green != CLASSES_NONE)
			waiting[c->tests[i].rerun_green].green++;
	}
	for (size_t i = 0; i < n; i++)
		if (tells(&c->history->orders[i]))
			waiting[c->groups[i]].have++;
	size_t len = 0;
	for (uint32_t i = 0; i < n; i++) {
		unsigned runs = waiting[i].red ? REPEATS : GREENS;
		if ((waiting[i].red || waiting[i].green) && waiting[i].have < runs)
			at[len++] = (struct rerun){ .order = i,
						    .runs = runs,
						    .have = waiting[i].have,
						    .tests = waiting[i].red + waiting[i].green };
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
		if (is_column(&c->history->orders[i]))
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
		t->rerun = t->rerun_green = CLASSES_NONE;
	}
}

/* Those that a collection alone told of were not selected. */
static void find_due(struct judging *j)
{
	for (size_t i = 0; i < j->c->history->len; i++) {
		const struct played *p = order_at(j, i);
		for (size_t k = 0; k < p->collected_len && !played_collects(p); k++)
			j->c->tests[p->collected[k]].due = true;
		for (size_t k = 0; k < p->order.tests_len && !played_collects(p); k++)
			j->c->tests[p->order.tests[k]].due = true;
		for (size_t k = 0; k < p->asked_len; k++)
			j->c->tests[p->asked[k]].due = true;
	}
}

static void tell_orders(struct judging *j)
{
	for (size_t i = 0; i < j->c->history->len; i++) {
		const struct played *p = order_at(j, i);
		if (!tells(p))
			continue;
		find_landmarks(j, p);
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
		f->firm = tally->failing > 1 || (tally->repeats && is_green(f, tally));
		t->class = t->due ? class_of(f) : CLASS_N;
		if (!t->due)
			continue;
		j->c->due_len++;
		t->eligible = t->class == CLASS_STABLE_PASS && !t->absent;
		find_reruns(j, t, tally);
		j->c->counts[t->class]++;
	}
}

int classes_judge(const struct history *h, const struct marks *marks, struct classes *ret)
{
	cleanup(classes_done) struct classes c = { .history = h };
	cleanup(judging_done) struct judging j = { .c = &c, .marks = marks };
	if (make_room(&j))
		return -ENOMEM;
	begin_tests(&j);
	find_due(&j);
	group_orders(&j);
	tell_orders(&j);
	for (size_t i = 0; i < c.columns_len; i++)
		fill_column(&j, i);
	find_first(&j);
	settle(&j);
	*ret = take(&c, CLASSES_NULL);
	return 0;
}
