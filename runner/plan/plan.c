#include "runner/plan/plan.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/plan/bound.h"
#include "runner/plan/given.h"
#include "runner/plan/pairs.h"
#include "runner/plan/shuffle.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

#define FIRST_LEN   3            /* orders that are run before canonical is run again */
#define NUMBERS_MAX (24UL << 20) /* tests of all orders together: 96 MiB */

static const struct {
	unsigned seeds;
	unsigned seeds_later; /* in all, when something shows in the first ones; 0: no more */
	enum plan_isolated isolated;
} profiles[PLAN_PROFILE_N] = {
	[PLAN_DEFAULT] = { 20, 0, PLAN_ISOLATED_AUTO },
	[PLAN_PR] = { 3, 20, PLAN_ISOLATED_VARIED },
	[PLAN_NIGHTLY] = { 20, 0, PLAN_ISOLATED_ALL },
	[PLAN_RELEASE] = { 100, 0, PLAN_ISOLATED_AUTO },
	[PLAN_CRITICAL] = { 300, 0, PLAN_ISOLATED_AUTO },
};

static const struct {
	const char *prefix; /* of the names of its orders; NULL: it takes no seeds */
	bool narrow;        /* not every order can come of it */
} shuffles[PLAN_SHUFFLE_N] = {
	[PLAN_SHUFFLE_AUTO] = { "s" },
	[PLAN_SHUFFLE] = { "s" },
	[PLAN_SHUFFLE_PYTHON] = { "py" },
	[PLAN_SHUFFLE_NATIVE] = { "native", true },
	[PLAN_SHUFFLE_MODULES] = { "mod", true },
	[PLAN_SHUFFLE_CLASSES] = { "cls", true },
};

/* What stands for a dimension: values that are likely to tell, and need nothing installed where one
 * of them does. */
static const char *const varied[PLAN_VARY_N][2] = {
	[PLAN_VARY_HASHSEED] = { "1", "2" },
	[PLAN_VARY_TZ] = { "EST5EDT", "Pacific/Kiritimati" },
	[PLAN_VARY_LOCALE] = { "C", "tr_TR.UTF-8" },
	[PLAN_VARY_UMASK] = { "077", "002" },
};

struct amounts {
	size_t seeds;
	size_t rows;  /* of pairs */
	size_t later; /* seeds, when something shows */
};

struct making {
	const struct plan_ask *ask;
	const struct plan_facts *facts;
	const struct roster *roster;
	struct plan plan;
	size_t cap;
	size_t numbers;       /* tests of all orders */
	uint32_t *tests;      /* that are to run, in canonical order */
	double *test_seconds; /* beside tests; NULL: not known */
	size_t tests_len;
	struct units units;
	struct amounts amounts;
	uint32_t *laid;       /* an order that is being made */
	uint32_t *order;      /* of units */
	double start_seconds; /* of an order without tests */
	bool asked;           /* how many seeds is the user's own word */
	bool brief;
};
#define MAKING_NULL ((struct making){ 0 })

static void making_done(struct making *m)
{
	plan_done(&m->plan);
	units_done(&m->units);
	free(m->tests);
	free(m->test_seconds);
	free(m->laid);
	free(m->order);
}

void plan_done(struct plan *p)
{
	for (size_t i = 0; i < p->len; i++)
		order_done(&p->orders[i]);
	free(p->orders);
	free(p->seconds);
	strv_done(&p->notes);
	*p = PLAN_NULL;
}

static int no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "plan: no memory");
}

/* ---- what cannot be ---- */

static int refuse(struct err *e, const char *what, const char *hint)
{
	err_set(e, EINVAL, "%s", what);
	err_hint(e, "%s", hint);
	return err_status(e, STATUS_USAGE);
}

static int refuse_seeds(const struct plan_ask *ask, struct err *e)
{
	bool seeds = ask->seeds || ask->named.len || ask->bound > 0;
	if (ask->shuffle == PLAN_SHUFFLE_PAIRS && (ask->named.len || ask->bound > 0))
		return refuse(e,
			      "the orders of pairs are not random: they have no seeds and no bound",
			      "--seeds N takes the first N of them");
	if (seeds && ask->shuffle != PLAN_SHUFFLE_PAIRS && !shuffles[ask->shuffle].prefix) {
		err_set(e, EINVAL, "there is one order of %s: it takes no seeds and no bound",
			plan_shuffle_names[ask->shuffle]);
		return err_status(e, STATUS_USAGE);
	}
	if (ask->bound > 0 && bound_orders(ask->bound) > PLAN_SEEDS_MAX) {
		err_set(e, EINVAL, "a bound of %.3g %% takes %zu orders; there can be %d",
			100 * ask->bound, bound_orders(ask->bound), PLAN_SEEDS_MAX);
		return err_status(e, STATUS_USAGE);
	}
	return 0;
}

/* A BASE that begins with a dash would be an option of git. */
static bool is_selection(const char *select)
{
	return text_eq(select, "touched") ||
	       (text_starts(select, "touched:") && select[8] && select[8] != '-');
}

int plan_check(const struct plan_ask *ask, struct err *e)
{
	int asked = (ask->seeds > 0) + (ask->named.len > 0) + (ask->bound > 0);
	if (asked > 1)
		return refuse(e, "--seeds, --seed and --bound exclude each other",
			      "each of them says which random orders there are");
	if (ask->order && (asked || ask->shuffle || ask->profile))
		return refuse(e, "--order excludes --seeds, --seed, --bound, --shuffle and --profile",
			      "it says which order is run, beside the canonical one");
	if (ask->select && ask->order)
		return refuse(e, "--select and --order exclude each other",
			      "the order file says which tests there are");
	if (ask->select && ask->shuffle == PLAN_SHUFFLE_NATIVE)
		return refuse(e, "--select and --shuffle native exclude each other",
			      "the framework shuffles all of its tests");
	return ask->select && !is_selection(ask->select)
		       ? refuse(e, "--select is one of touched, touched:BASE",
				"BASE is a branch, a tag or a commit")
		       : refuse_seeds(ask, e);
}

/* ---- adding ---- */

struct draft {
	enum view view;
	const char *shuffle; /* NULL: none */
	uint64_t seed;
	bool seeded;
	bool as_collected;
	const uint32_t *tests; /* borrowed */
	size_t tests_len;
	const char *vary; /* NULL: nothing */
	double seconds;
};

static int grow(struct making *m)
{
	struct plan *p = &m->plan;
	if (p->len < m->cap)
		return 0;
	size_t cap = m->cap ? 2 * m->cap : 64;
	struct order *orders = reallocarray(p->orders, cap, sizeof(*orders));
	if (!orders)
		return -ENOMEM;
	p->orders = orders;
	double *seconds = reallocarray(p->seconds, cap, sizeof(*seconds));
	if (!seconds)
		return -ENOMEM;
	p->seconds = seconds;
	m->cap = cap;
	return 0;
}

static int fill(struct order *o, const struct draft *d)
{
	*o = (struct order){ .name = o->name,
			     .view = d->view,
			     .role = ROLE_SWEEP,
			     .shuffle = d->shuffle,
			     .seed = d->seed,
			     .seeded = d->seeded,
			     .as_collected = d->as_collected };
	if (d->vary && strv_add(&o->vary, d->vary))
		return -ENOMEM;
	if (d->as_collected || !d->tests_len)
		return 0;
	o->tests = malloc(d->tests_len * sizeof(*o->tests));
	if (!o->tests)
		return -ENOMEM;
	memcpy(o->tests, d->tests, d->tests_len * sizeof(*o->tests));
	o->tests_len = d->tests_len;
	return 0;
}

static int __attribute__((format(printf, 4, 5)))
add(struct making *m, const struct draft *d, struct err *e, const char *name, ...)
{
	cleanup(order_done) struct order o = ORDER_NULL;
	va_list args;
	va_start(args, name);
	int len = vasprintf(&o.name, name, args);
	va_end(args);
	if (len < 0)
		o.name = NULL;
	if (len < 0 || grow(m) || fill(&o, d))
		return no_memory(e);
	m->numbers += o.tests_len;
	if (m->numbers > NUMBERS_MAX) {
		err_set(e, E2BIG, "the plan is too large: there is room for %lu orders of %zu tests",
			NUMBERS_MAX / m->tests_len, m->tests_len);
		err_hint(e, "ask for fewer with --seeds, or for some tests with --select");
		return err_status(e, STATUS_USAGE);
	}
	m->plan.seconds[m->plan.len] = d->seconds;
	m->plan.orders[m->plan.len++] = take(&o, ORDER_NULL);
	m->plan.random_len += d->seeded;
	return 0;
}

static int __attribute__((format(printf, 3, 4)))
note(struct making *m, struct err *e, const char *fmt, ...)
{
	char *text = NULL;
	va_list args;
	va_start(args, fmt);
	int len = vasprintf(&text, fmt, args);
	va_end(args);
	return len < 0 || strv_adopt(&m->plan.notes, text) ? no_memory(e) : 0;
}

/* All that is to run, in canonical order. */
static struct draft canonical_draft(const struct making *m, enum view view)
{
	return (struct draft){ .view = view,
			       .as_collected = !m->ask->select,
			       .tests = m->tests,
			       .tests_len = m->tests_len,
			       .seconds = m->facts->seconds };
}

/* ---- which tests ---- */

static bool is_touched(const struct strv *touched, const char *id)
{
	size_t len = roster_module_len(id);
	for (size_t i = 0; i < touched->len; i++)
		if (strlen(touched->at[i]) == len && !memcmp(touched->at[i], id, len))
			return true;
	return false;
}

static void choose_tests(struct making *m)
{
	const struct plan_facts *facts = m->facts;
	double sum = 0;
	for (size_t i = 0; i < facts->tests_len; i++) {
		sum += facts->test_seconds ? facts->test_seconds[i] : 0;
		if (m->ask->select && !is_touched(facts->touched, m->roster->ids.at[facts->tests[i]]))
			continue;
		if (m->test_seconds)
			m->test_seconds[m->tests_len] = facts->test_seconds[i];
		m->tests[m->tests_len++] = facts->tests[i];
	}
	m->start_seconds = m->test_seconds && facts->seconds > sum ? facts->seconds - sum : 0;
}

static int note_selected(struct making *m, struct err *e)
{
	if (!m->ask->select)
		return 0;
	if (!m->tests_len)
		return note(m, e, "--select %s: no test lies in a file that was changed",
			    m->ask->select);
	return note(m, e, "--select %s: %zu of %zu tests, those in changed files", m->ask->select,
		    m->tests_len, m->facts->tests_len);
}

static int note_serial(struct making *m, struct err *e)
{
	int r = 0;
	for (size_t i = 0; i < m->ask->serial.len && !r; i++) {
		const struct serial *block = &m->ask->serial.at[i];
		const struct unit *unit = NULL;
		for (size_t j = 0; j < m->units.len && !unit; j++)
			if (m->units.at[j].names[UNIT_SELF].text == block->tests)
				unit = &m->units.at[j];
		r = unit ? note(m, e, "serial: %u tests stay together in every order (%s): %s",
				unit->len, block->tests, block->reason)
			 : note(m, e, "serial: no test is matched by \"%s\"", block->tests);
	}
	return r;
}

/* ---- the others: shuffled, pairs, reverse, given ---- */

static struct draft laid_draft(struct making *m, const char *shuffle)
{
	units_lay(&m->units, m->order, m->laid);
	return (struct draft){ .view = VIEW_SHUFFLED,
			       .shuffle = shuffle,
			       .tests = m->laid,
			       .tests_len = m->tests_len,
			       .seconds = m->facts->seconds };
}

/* A suite of few tests has few orders: one that stands in the plan is not run again. */
static bool is_planned(const struct making *m)
{
	size_t size = m->tests_len * sizeof(*m->laid);
	if (!memcmp(m->tests, m->laid, size))
		return true;
	for (size_t i = 0; i < m->plan.len; i++)
		if (m->plan.orders[i].tests_len == m->tests_len && !m->plan.orders[i].vary.len &&
		    !memcmp(m->plan.orders[i].tests, m->laid, size))
			return true;
	return false;
}

static int shuffle(struct making *m, uint64_t seed)
{
	switch ((enum plan_shuffle)m->ask->shuffle) {
	case PLAN_SHUFFLE_PYTHON:
		return shuffle_python(&m->units, seed, m->order);
	case PLAN_SHUFFLE_MODULES:
		return shuffle_by_seed(&m->units, SHUFFLE_MODULES, seed, m->order);
	case PLAN_SHUFFLE_CLASSES:
		return shuffle_by_seed(&m->units, SHUFFLE_CLASSES, seed, m->order);
	case PLAN_SHUFFLE_AUTO:
	case PLAN_SHUFFLE:
	case PLAN_SHUFFLE_NATIVE:
	case PLAN_SHUFFLE_PAIRS:
	case PLAN_SHUFFLE_REVERSE:
	case PLAN_SHUFFLE_CANONICAL:
	case PLAN_SHUFFLE_N:
		break;
	}
	return shuffle_by_seed(&m->units, SHUFFLE_UNITS, seed, m->order);
}

static int add_seed(struct making *m, uint64_t seed, struct err *e)
{
	enum plan_shuffle by = m->ask->shuffle ? (enum plan_shuffle)m->ask->shuffle : PLAN_SHUFFLE;
	struct draft d;
	if (by == PLAN_SHUFFLE_NATIVE) {
		d = canonical_draft(m, VIEW_SHUFFLED);
		d.shuffle = plan_shuffle_names[by];
	} else {
		if (shuffle(m, seed))
			return no_memory(e);
		d = laid_draft(m, plan_shuffle_names[by]);
		if (!m->asked && is_planned(m))
			return 0;
	}
	d.seed = seed;
	d.seeded = true;
	return add(m, &d, e, "%s%ju", shuffles[by].prefix, (uintmax_t)seed);
}

/* Seeds by count, from the one behind `from` up to `to`; or those named, by their place. */
static int add_seeds(struct making *m, size_t from, size_t to, struct err *e)
{
	int r = 0;
	for (size_t i = from; i < to && !r; i++)
		r = add_seed(m, m->ask->named.len ? strtoull(m->ask->named.at[i], NULL, 10) : i + 1,
			     e);
	return r;
}

static int add_pairs(struct making *m, size_t rows, struct err *e)
{
	int r = 0;
	for (size_t row = 0; row < rows && !r; row++) {
		pairs_row(m->units.len, row, m->order);
		const struct draft d = laid_draft(m, plan_shuffle_names[PLAN_SHUFFLE_PAIRS]);
		if (m->asked || !is_planned(m))
			r = add(m, &d, e, "pairs-%zu", row + 1);
	}
	return r;
}

static int add_reverse(struct making *m, struct err *e)
{
	shuffle_reverse(&m->units, m->order);
	const struct draft d = laid_draft(m, plan_shuffle_names[PLAN_SHUFFLE_REVERSE]);
	return is_planned(m) ? 0 : add(m, &d, e, "reverse");
}

static int add_given(struct making *m, struct err *e)
{
	cleanup_free uint32_t *tests = NULL;
	size_t len = 0;
	assert(m->facts->given);
	int r = given_tests(m->facts->given, m->roster, &tests, &len, e);
	const struct draft d = { .view = VIEW_SHUFFLED,
				 .shuffle = "given",
				 .tests = tests,
				 .tests_len = len,
				 .seconds = m->facts->seconds };
	r = r ? r : add(m, &d, e, "given");
	if (!r && len < m->facts->tests_len)
		r = note(m, e, "%s holds %zu of %zu tests", m->ask->order, len, m->facts->tests_len);
	return r;
}

/* ---- how many ---- */

/* Pairs take the place of seeds where there are few tests. */
static struct amounts amounts_by_default(const struct making *m)
{
	unsigned later = profiles[m->ask->profile].seeds_later;
	struct amounts a = { .seeds = m->brief ? FIRST_LEN : profiles[m->ask->profile].seeds };
	if (m->ask->shuffle == PLAN_SHUFFLE_AUTO && m->tests_len < PLAN_FEW_TESTS && !m->brief) {
		a.rows = pairs_rows(m->units.len);
		a.seeds = a.seeds > a.rows + FIRST_LEN ? a.seeds - a.rows : FIRST_LEN;
	}
	a.later = later > a.seeds ? later - a.seeds : 0;
	return a;
}

static struct amounts amounts_of(const struct making *m)
{
	const struct plan_ask *ask = m->ask;
	if (ask->order || ask->shuffle == PLAN_SHUFFLE_CANONICAL ||
	    ask->shuffle == PLAN_SHUFFLE_REVERSE || m->units.len < 2)
		return (struct amounts){ 0 };
	if (ask->shuffle == PLAN_SHUFFLE_PAIRS) {
		size_t rows = pairs_rows(m->units.len);
		return (struct amounts){ .rows = ask->seeds && ask->seeds < rows ? ask->seeds : rows };
	}
	if (ask->seeds)
		return (struct amounts){ .seeds = ask->seeds };
	if (ask->named.len)
		return (struct amounts){ .seeds = ask->named.len };
	if (ask->bound > 0)
		return (struct amounts){ .seeds = bound_orders(ask->bound) };
	return amounts_by_default(m);
}

static int begin(struct making *m, const struct plan_ask *ask, const struct plan_facts *facts,
		 const struct roster *roster, struct err *e)
{
	size_t n = facts->tests_len + !facts->tests_len;
	*m = (struct making){ .ask = ask, .facts = facts, .roster = roster };
	m->asked = ask->seeds || ask->named.len || ask->bound > 0;
	m->tests = calloc(n, sizeof(*m->tests));
	m->laid = calloc(n, sizeof(*m->laid));
	m->order = calloc(n, sizeof(*m->order));
	m->test_seconds = facts->test_seconds ? calloc(n, sizeof(*m->test_seconds)) : NULL;
	if (!m->tests || !m->laid || !m->order || (facts->test_seconds && !m->test_seconds))
		return no_memory(e);
	choose_tests(m);
	if (units_make(roster, m->tests, m->tests_len, &ask->serial, &m->units))
		return no_memory(e);
	m->brief = ask->profile == PLAN_DEFAULT && !m->asked && !ask->budget_ms && !ask->order &&
		   facts->seconds > PLAN_LONG_SECONDS;
	m->amounts = amounts_of(m);
	return 0;
}

/* ---- views and dimensions ---- */

static int add_views(struct making *m, struct err *e)
{
	struct draft d = canonical_draft(m, VIEW_REPEATED);
	d.seconds = 2 * d.seconds;
	int r = m->ask->repeated ? add(m, &d, e, "repeated") : 0;
	d = canonical_draft(m, VIEW_PARALLEL);
	if (!r && m->ask->parallel)
		r = m->facts->parallel_known
			    ? add(m, &d, e, "parallel")
			    : note(m, e, "parallel is left out: the suite does not use pytest-xdist");
	return r;
}

/* A name of an order is that of a file. */
static int add_vary(struct making *m, const char *dimension, const char *value, struct err *e)
{
	char vary[64];
	char name[64];
	snprintf(vary, sizeof(vary), "%s=%s", dimension, value);
	snprintf(name, sizeof(name), "vary-%s-%s", dimension, value);
	for (char *slash; (slash = strchr(name, '/'));)
		*slash = '-';
	if (m->facts->can_vary && !m->facts->can_vary(vary))
		return note(m, e, "--vary %s: %s is not there, and left out", dimension, value);
	struct draft d = canonical_draft(m, VIEW_CANONICAL);
	d.vary = vary;
	return add(m, &d, e, "%s", name);
}

static int add_varied(struct making *m, struct err *e)
{
	int r = 0;
	for (size_t i = 0; i < PLAN_VARY_N; i++)
		for (size_t j = 0; j < countof(varied[i]) && !r; j++)
			if (strv_has(&m->ask->vary, plan_vary_names[i]))
				r = add_vary(m, plan_vary_names[i], varied[i][j], e);
	return r;
}

/* ---- alone ---- */

static enum plan_isolated isolated_of(const struct making *m)
{
	const struct plan_ask *ask = m->ask;
	enum plan_isolated asked =
		ask->isolated ? (enum plan_isolated)ask->isolated : profiles[ask->profile].isolated;
	if (asked != PLAN_ISOLATED_AUTO)
		return asked;
	bool whole = !m->brief && !ask->order && ask->shuffle != PLAN_SHUFFLE_CANONICAL &&
		     ask->shuffle != PLAN_SHUFFLE_REVERSE;
	return whole && m->tests_len <= PLAN_ISOLATED_MAX ? PLAN_ISOLATED_ALL : PLAN_ISOLATED_VARIED;
}

static double seconds_alone(const struct making *m, uint32_t test)
{
	for (size_t i = 0; m->test_seconds && i < m->tests_len; i++)
		if (m->tests[i] == test)
			return m->start_seconds + m->test_seconds[i];
	return 0;
}

static bool is_serial(const struct making *m, uint32_t test)
{
	const struct serials *serials = &m->ask->serial;
	return serials_find(serials, m->roster->ids.at[test]) < serials->len;
}

static int add_isolated(struct making *m, const uint32_t *tests, size_t n, struct err *e)
{
	size_t serial = 0;
	int r = 0;
	for (size_t i = 0; i < n && !r; i++) {
		if (is_serial(m, tests[i])) {
			serial++;
			continue;
		}
		const struct draft d = { .view = VIEW_ISOLATED,
					 .tests = &tests[i],
					 .tests_len = 1,
					 .seconds = seconds_alone(m, tests[i]) };
		r = add(m, &d, e, "alone-%u", tests[i]);
	}
	if (!r && serial)
		r = note(m, e, "serial tests are not run alone: %zu", serial);
	return r;
}

static int isolate(struct making *m, struct err *e)
{
	enum plan_isolated isolated = isolated_of(m);
	if (isolated == PLAN_ISOLATED_ALL)
		return add_isolated(m, m->tests, m->tests_len, e);
	m->plan.isolate_later = isolated == PLAN_ISOLATED_VARIED;
	if (m->plan.isolate_later && m->tests_len > PLAN_ISOLATED_MAX && !m->brief)
		return note(m, e,
			    "of %zu tests only those that vary, or are suspected of a leak, are run "
			    "alone; --isolated all runs each",
			    m->tests_len);
	return 0;
}

/* ---- the whole ---- */

static int note_amounts(struct making *m, struct err *e)
{
	const struct amounts *a = &m->amounts;
	enum plan_shuffle by = m->ask->shuffle;
	size_t units = m->units.len;
	int r = 0;
	if (m->brief)
		r = note(m, e,
			 "one canonical run takes %.0f s, so the plan is short: canonical again, %u random "
			 "orders and each test alone are left out. --profile nightly runs all, "
			 "--budget 20m the best of it",
			 m->facts->seconds, profiles[PLAN_DEFAULT].seeds - FIRST_LEN);
	if (!r && a->rows && a->rows < pairs_rows(units))
		r = note(m, e, "%zu of the %zu orders of pairs: in the others, other tests meet",
			 a->rows, pairs_rows(units));
	else if (!r && a->rows)
		r = note(m, e,
			 "each test runs right behind each other one %s, in %zu orders of pairs",
			 pairs_exact(units) ? "once" : "at least once", a->rows);
	if (!r && a->seeds && m->tests_len < PLAN_FEW_TESTS)
		r = note(m, e,
			 "the suite is small (%zu tests): a bound from random orders means little",
			 m->tests_len);
	if (!r && a->seeds && shuffles[by].narrow)
		r = note(m, e, "orders of %s are some of all orders: a bound holds for these alone",
			 plan_shuffle_names[by]);
	if (!r && m->plan.more_len)
		r = note(m, e, "%zu more random orders are run when something shows in the first %zu",
			 m->plan.more_len, m->plan.random_len);
	return r;
}

static int add_others(struct making *m, struct err *e)
{
	const struct amounts *a = &m->amounts;
	size_t first = a->seeds < FIRST_LEN ? a->seeds : FIRST_LEN;
	bool reverse = !m->ask->order && m->ask->shuffle != PLAN_SHUFFLE_CANONICAL;
	struct draft d = canonical_draft(m, VIEW_CANONICAL);
	int r = add(m, &d, e, "canonical");
	r = r || !m->ask->order ? r : add_given(m, e);
	r = r || !reverse ? r : add_reverse(m, e);
	r = r ? r : add_seeds(m, 0, first, e);
	r = r || m->brief ? r : add(m, &d, e, "canonical-2");
	r = r ? r : add_views(m, e);
	r = r ? r : add_varied(m, e);
	r = r ? r : add_pairs(m, a->rows, e);
	return r ? r : add_seeds(m, first, a->seeds, e);
}

static int check_facts(const struct making *m, struct err *e)
{
	if (m->ask->shuffle != PLAN_SHUFFLE_NATIVE || m->facts->native_known)
		return 0;
	return refuse(e, "--shuffle native: the suite has no shuffle of its own",
		      "pytest-randomly would be one; --shuffle shuffle needs nothing");
}

int plan_make(const struct plan_ask *ask, const struct plan_facts *facts,
	      const struct roster *roster, struct plan *ret, struct err *e)
{
	cleanup(making_done) struct making m = MAKING_NULL;
	int r = plan_check(ask, e);
	r = r ? r : begin(&m, ask, facts, roster, e);
	r = r ? r : check_facts(&m, e);
	r = r ? r : note_selected(&m, e);
	r = r ? r : note_serial(&m, e);
	r = r || !m.tests_len ? r : add_others(&m, e);
	m.plan.more_len = m.amounts.later;
	r = r ? r : note_amounts(&m, e);
	r = r || !m.tests_len ? r : isolate(&m, e);
	if (!r)
		*ret = take(&m.plan, PLAN_NULL);
	return r;
}

int plan_more(const struct plan_ask *ask, const struct plan_facts *facts,
	      const struct roster *roster, struct plan *ret, struct err *e)
{
	cleanup(making_done) struct making m = MAKING_NULL;
	int r = begin(&m, ask, facts, roster, e);
	r = r ? r : add_seeds(&m, m.amounts.seeds, m.amounts.seeds + m.amounts.later, e);
	if (!r)
		*ret = take(&m.plan, PLAN_NULL);
	return r;
}

int plan_isolated(const struct plan_ask *ask, const struct plan_facts *facts,
		  const struct roster *roster, const uint32_t *tests, size_t n, struct plan *ret,
		  struct err *e)
{
	cleanup(making_done) struct making m = MAKING_NULL;
	int r = begin(&m, ask, facts, roster, e);
	r = r ? r : add_isolated(&m, tests, n, e);
	if (!r)
		*ret = take(&m.plan, PLAN_NULL);
	return r;
}

/* ---- what was not run ---- */

#define UNRUN_NAMES 3

int plan_unrun(const struct plan *p, const bool *ran, const char *why, struct strv *notes)
{
	char names[256] = "";
	size_t len = 0;
	size_t unrun = 0;
	for (size_t i = 0; i < p->len; i++) {
		if (ran[i] || unrun++ >= UNRUN_NAMES)
			continue;
		len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s", len ? ", " : "",
					p->orders[i].name);
	}
	if (!unrun)
		return 0;
	if (unrun > UNRUN_NAMES)
		snprintf(names + len, sizeof(names) - len, " and %zu more", unrun - UNRUN_NAMES);
	return strv_addf(notes, "%s: %zu of %zu orders were not run (%s)", why, unrun, p->len, names);
}
