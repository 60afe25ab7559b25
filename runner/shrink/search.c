#include "runner/shrink/search.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runner/shrink/oracle.h"
#include "runner/shrink/pool.h"
#include "sandbox/base/cleanup.h"

/*
 * How it goes about it.
 *
 * The search is a plain function, solve(), over an oracle, oracle_try(), that answers from the trials. Where
 * they have no answer, the question is noted and the function left; once it is answered, it runs again
 * from its start, and the answers that are there bring it to where it was. So there is no state but
 * the answers, and a resumed run asks what the interrupted one asked.
 *
 * A yes costs `confirm` runs, a no costs one. So all searching is by cuts that are more likely to be
 * answered no: see pool.c. In turn:
 *
 * alone   what it does with nothing before it decides what is looked for, or ends it
 * hints   sets that did it to other tests
 * pairs   that explain what was seen better than any one test does
 * guess   of the shortest order that showed it: the most suspected test, the most suspected few, …;
 *         ends with the suspects up to one that is needed, or, when seven eighths of all suspicion
 *         are tried in vain, with nothing
 * narrow  what is left, test by test: of the tests not known to be needed, how many can be dropped
 *         from the far end? By thirds while the needed are few; from the end while they stand close
 *         (PROGRESSION of Marques-Silva, Janota and Belov, "Minimal Sets over Monotone Predicates in
 *         Boolean Formulae", CAV 2013, is alike). Each cut ends between a list that does it, confirmed,
 *         and one that does not, and so needs no monotony; only that the result is minimal does, so:
 * prune   ddmin's last stage: each test is left out in turn, until none can be
 *
 * An order that was seen to do it and, run up to the test, does not do it again is given up for the
 * next longer one that was seen.
 */
#define AHEAD_MAX 8 /* runs that are asked for at once where all of them are needed, most likely */
#define BASES_MAX 3 /* orders that are tried before a test is called flaky */
#define HINTS_MAX 3
#define PAIRS_MAX 3 /* when more explain what was seen, none is tried */

/* That a set of a test that fails as it likes explains all that was seen, and repeats, is put up with
 * once in 2^n. */
#define CHANCE_BITS 4

const char *const search_kind_names[SEARCH_KIND_N] = {
	[SEARCH_POLLUTERS] = "polluters",
	[SEARCH_SETTERS] = "setters",
	[SEARCH_EITHER] = "either",
};

const char *const search_end_names[SEARCH_END_N] = {
	[SEARCH_GOING] = "going",
	[SEARCH_FOUND] = "found",
	[SEARCH_NEVER_HERMETIC] = "never hermetic",
	[SEARCH_FLAKY] = "flaky, not order",
	[SEARCH_UNSEEN] = "unseen",
	[SEARCH_BOUND] = "bound",
};

/* ---- the result ---- */

static bool runs_in(const struct search_set *set, const struct trial *t)
{
	size_t at = 0;
	for (size_t i = 0; i < t->len && at < set->len; i++)
		at += t->tests[i] == set->tests[at];
	return at == set->len;
}

/* Can all that was seen be by chance? Of a test that fails as it likes, however often that be, all
 * numbers of failures are as likely, and all ways to spread them: what was seen is one of these. But
 * the set was chosen, among all there are, because it explains that. */
static bool explains(const struct search *s, const struct search_set *set)
{
	unsigned n[2] = { 0 };
	for (size_t i = 0; i < s->trials.len; i++) {
		const struct trial *t = &s->trials.at[i];
		if (trial_tries(t) && (runs_in(set, t) ? oracle_misses(s, t) : oracle_hits(s, t)))
			return false;
		n[0] += oracle_misses(s, t);
		n[1] += oracle_hits(s, t);
	}
	double ways = n[0] + n[1] + 1;
	for (unsigned i = 1; i <= n[1]; i++)
		ways *= (double)(n[0] + i) / i;
	return ways > ldexp(1, (int)(CHANCE_BITS + set->len * oracle_bits(s->clues.tests_len)));
}

/* Did one list both do it and not? */
static bool wavered(const struct search *s)
{
	for (size_t i = 0; i < s->trials.len; i++)
		if (oracle_hits(s, &s->trials.at[i]) && oracle_misses(s, &s->trials.at[i]))
			return true;
	return false;
}

/* A test that fails as it likes fails three times of three behind some set, too. So where chance is
 * not ruled out by what was seen, it must not do it alone as often as it must behind the set; and
 * both twice as often when it wavered behind others. What the history has of the set is no run of its
 * own: others ran behind it there. */
static enum answer found(struct search *s, const uint32_t *tests, size_t len)
{
	size_t set;
	if (trials_get(&s->trials, tests, len, &set))
		return oracle_no_memory(s);
	const struct trial *t = &s->trials.at[set];
	const struct trial *alone = &s->trials.at[ALONE];
	if (oracle_hits(s, alone))
		return oracle_end(s, SEARCH_FLAKY, oracle_hits(s, alone), trial_tries(alone));
	unsigned needed = wavered(s) ? 2 * s->confirm : s->confirm;
	unsigned own = t->runs < s->confirm ? s->confirm - t->runs : 0;
	unsigned more = oracle_hits(s, t) < needed ? needed - oracle_hits(s, t) : 0;
	if (more || own)
		return oracle_ask(s, set, more > own ? more : own);
	if (oracle_misses(s, alone) < needed && !explains(s, &(struct search_set){ tests, len }))
		return oracle_ask(s, ALONE, needed - oracle_misses(s, alone));
	s->set = set;
	return oracle_end(s, SEARCH_FOUND, oracle_hits(s, t), trial_tries(t));
}

static void leave_out(const uint32_t *set, size_t len, size_t i, uint32_t *ret)
{
	memcpy(ret, set, i * sizeof(*set));
	memcpy(ret + i, set + i + 1, (len - 1 - i) * sizeof(*set));
}

/* When the ith is needed, as is likely, the next ones are tried anyway. */
static enum answer ask_ahead(struct search *s, const uint32_t *set, size_t len, size_t i,
			     size_t needed, uint32_t *less)
{
	bool first_run = s->asks_len == 1;
	for (size_t k = 1; first_run && k < len - needed && s->asks_len < AHEAD_MAX; k++) {
		size_t trial;
		leave_out(set, len, (i + k) % len, less);
		if (trials_get(&s->trials, less, len - 1, &trial))
			return oracle_no_memory(s);
		if (!trial_tries(&s->trials.at[trial]) && oracle_ask(s, trial, 1) == OPEN &&
		    s->no_memory)
			return OPEN;
	}
	return OPEN;
}

static enum answer prune(struct search *s, const uint32_t *tests, size_t len)
{
	cleanup_free uint32_t *set = calloc(len + 1, sizeof(*set));
	cleanup_free uint32_t *less = calloc(len + 1, sizeof(*less));
	if (!set || !less)
		return oracle_no_memory(s);
	memcpy(set, tests, len * sizeof(*set));
	size_t i = 0;
	for (size_t needed = 0; needed < len;) {
		s->left = len - needed;
		leave_out(set, len, i, less);
		enum answer r = oracle_try(s, less, len - 1);
		if (r == OPEN)
			return ask_ahead(s, set, len, i, needed, less);
		if (r == YES) {
			len--;
			memcpy(set, less, len * sizeof(*set));
			needed = 0;
		} else {
			needed++;
			i++;
		}
		i = i < len ? i : 0;
	}
	return found(s, set, len);
}

/* ---- where it begins ---- */

static bool seen(const struct search *s, bool passed)
{
	return s->clues.all[passed] > 0;
}

/* YES: what is looked for is known, and it does not do it alone. */
static enum answer alone(struct search *s)
{
	const struct trial *t = &s->trials.at[ALONE];
	if (!trial_tries(t))
		return oracle_ask(s, ALONE, 1);
	if (t->passed && t->failed)
		return oracle_end(s, SEARCH_FLAKY, t->failed, trial_tries(t));
	if (s->kind == SEARCH_EITHER)
		s->kind = t->failed && seen(s, true) ? SEARCH_SETTERS : SEARCH_POLLUTERS;
	if (oracle_hits(s, t)) {
		enum answer r = oracle_answer(s, ALONE);
		if (r != YES)
			return r;
		return oracle_end(s, oracle_goal(s) ? SEARCH_UNSEEN : SEARCH_NEVER_HERMETIC,
				  oracle_hits(s, t), trial_tries(t));
	}
	return seen(s, oracle_goal(s)) ? YES : oracle_end(s, SEARCH_UNSEEN, 0, 0);
}

static void hint_free(struct search_set *hint)
{
	free((void *)hint->tests);
}

/* How badly the most suspected test explains what was seen. */
static unsigned misfit_min(const struct search *s, const struct sighting *base)
{
	unsigned min = UINT32_MAX;
	for (size_t i = 0; i < base->len; i++) {
		unsigned misfit = clues_misfit_of(&s->clues, oracle_goal(s), base->before[i]);
		min = misfit < min ? misfit : min;
	}
	return min;
}

/* Keeps the hints that what was seen allows as well as the best suspect, or nearly. */
static void choose_hints(struct search *s, const struct sighting *base)
{
	unsigned best[HINTS_MAX];
	unsigned limit = misfit_min(s, base) + 1;
	size_t n = 0;
	for (size_t i = 0; i < s->hints_len; i++) {
		struct search_set hint = s->hints[i];
		unsigned misfit = clues_misfit(&s->clues, oracle_goal(s), &hint);
		size_t at = n;
		while (at > 0 && best[at - 1] > misfit)
			at--;
		if (misfit > limit || at == HINTS_MAX) {
			hint_free(&hint);
			continue;
		}
		if (n == HINTS_MAX)
			hint_free(&s->hints[--n]);
		memmove(best + at + 1, best + at, (n - at) * sizeof(*best));
		memmove(s->hints + at + 1, s->hints + at, (n - at) * sizeof(hint));
		best[at] = misfit;
		s->hints[at] = hint;
		n++;
	}
	s->hints_len = n;
	s->hints_chosen = true;
}

/* NO: none of them does it. */
static enum answer try_hints(struct search *s, const struct sighting *base)
{
	if (!s->hints_chosen)
		choose_hints(s, base);
	for (size_t i = 0; i < s->hints_len; i++) {
		s->left = s->confirm + s->hints[i].len;
		enum answer r = oracle_try(s, s->hints[i].tests, s->hints[i].len);
		if (r != NO)
			return r == YES ? prune(s, s->hints[i].tests, s->hints[i].len) : r;
	}
	return NO;
}

/* NO: none of them does it. */
static enum answer try_pairs(struct search *s, const struct sighting *base)
{
	struct clues_pair pairs[PAIRS_MAX + 1];
	unsigned misfit;
	size_t n = clues_pairs(&s->clues, oracle_goal(s), base, pairs, PAIRS_MAX + 1, &misfit);
	if (n > PAIRS_MAX || misfit >= misfit_min(s, base))
		return NO;
	for (size_t i = 0; i < n; i++) {
		s->left = s->confirm + 2;
		enum answer r = oracle_try(s, pairs[i].tests, 2);
		if (r != NO)
			return r == YES ? prune(s, pairs[i].tests, 2) : r;
	}
	return NO;
}

/* NO: the order does not do it again. */
static enum answer from_base(struct search *s, const struct sighting *base, bool whole_first)
{
	cleanup(pool_done) struct pool p = POOL_NULL;
	if (pool_make(&p, base))
		return oracle_no_memory(s);
	enum answer r = YES;
	if (whole_first) {
		oracle_expect(s, base->len, 2 * s->confirm);
		r = pool_try(s, &p, p.len);
	}
	if (r == YES)
		r = pool_guess(s, &p) == OPEN ? OPEN : pool_narrow(s, &p);
	return r == YES ? prune(s, p.tests, pool_list(&p, 0)) : r;
}

/* None of the orders did it again `confirm` times: said with at least that many tries. */
static enum answer flaky(struct search *s, const struct sighting *const *bases, size_t len)
{
	unsigned n = 0;
	unsigned of = 0;
	size_t first = 0;
	for (size_t i = 0; i < len; i++) {
		size_t trial;
		if (trials_get(&s->trials, bases[i]->before, bases[i]->len, &trial))
			return oracle_no_memory(s);
		first = i ? first : trial;
		n += oracle_hits(s, &s->trials.at[trial]);
		of += trial_tries(&s->trials.at[trial]);
	}
	return of < s->confirm ? oracle_ask(s, first, s->confirm - of)
			       : oracle_end(s, SEARCH_FLAKY, n, of);
}

static enum answer solve(struct search *s)
{
	enum answer r = alone(s);
	if (r != YES)
		return r;
	const struct sighting *bases[BASES_MAX];
	size_t len = clues_bases(&s->clues, oracle_goal(s), bases, BASES_MAX);
	r = try_hints(s, bases[0]);
	if (r == NO)
		r = try_pairs(s, bases[0]);
	/* What was seen once may be chance, and then all cuts are in vain. */
	bool whole_first = s->clues.again[oracle_goal(s)] < 2;
	for (size_t i = 0; i < len && r == NO; i++)
		r = from_base(s, bases[i], whole_first || i);
	return r == NO ? flaky(s, bases, len) : r;
}

/* ---- asked from outside ---- */

struct search *search_new(const struct search_setup *setup)
{
	struct search *s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->test = setup->test;
	s->kind = setup->kind;
	s->confirm = setup->confirm ? setup->confirm : SEARCH_CONFIRM;
	s->runs_max = setup->runs_max ? setup->runs_max : SEARCH_RUNS_MAX;
	size_t trial;
	if (clues_copy(&s->clues, setup->seen, setup->seen_len) ||
	    trials_get(&s->trials, NULL, 0, &trial)) {
		search_free(s);
		return NULL;
	}
	for (size_t i = 0; i < setup->seen_len; i++) {
		const struct sighting *seen = &setup->seen[i];
		if (trials_get(&s->trials, seen->before, seen->len, &trial)) {
			search_free(s);
			return NULL;
		}
		trial_tell(&s->trials.at[trial], seen->passed ? OUTCOME_PASSED : OUTCOME_FAILED);
	}
	return s;
}

static bool holds(const struct search_set *set, uint32_t test)
{
	for (size_t i = 0; i < set->len; i++)
		if (set->tests[i] == test)
			return true;
	return false;
}

int search_hint(struct search *s, const struct search_set *sets, size_t len)
{
	struct search_set *more = reallocarray(s->hints, s->hints_len + len + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	s->hints = more;
	for (size_t i = 0; i < len; i++) {
		if (!sets[i].len || holds(&sets[i], s->test))
			continue;
		uint32_t *tests = calloc(sets[i].len, sizeof(*tests));
		if (!tests)
			return -ENOMEM;
		memcpy(tests, sets[i].tests, sets[i].len * sizeof(*tests));
		s->hints[s->hints_len++] = (struct search_set){ tests, sets[i].len };
	}
	return 0;
}

int search_ask(struct search *s, const struct search_ask **ret, size_t *ret_len)
{
	assert(s->told == s->asks_len);
	s->told = 0;
	s->asks_len = 0;
	if (s->end == SEARCH_GOING)
		solve(s);
	if (s->no_memory) {
		s->no_memory = false;
		s->asks_len = 0;
		return -ENOMEM;
	}
	*ret = s->asks;
	*ret_len = s->asks_len;
	return s->asks_len > 0;
}

void search_tell(struct search *s, size_t at, enum outcome outcome)
{
	assert(at < s->asks_len && s->told < s->asks_len);
	struct trial *t = &s->trials.at[s->asked[at]];
	trial_tell(t, outcome);
	t->runs++;
	s->runs++;
	s->told++;
}

/* The shortest list that was confirmed, at least once by a run of its own; ALONE: none. */
static size_t best(const struct search *s)
{
	size_t found = ALONE;
	for (size_t i = 0; i < s->trials.len && s->kind != SEARCH_EITHER; i++) {
		const struct trial *t = &s->trials.at[i];
		if (t->len && t->runs && oracle_hits(s, t) >= s->confirm && !oracle_misses(s, t) &&
		    (found == ALONE || t->len < s->trials.at[found].len))
			found = i;
	}
	return found;
}

struct search_result search_result(const struct search *s)
{
	struct search_result ret = { .test = s->test,
				     .kind = s->kind,
				     .end = s->end,
				     .hits = s->hits,
				     .of = s->of,
				     .runs = s->runs };
	bool open = s->end == SEARCH_GOING || s->end == SEARCH_BOUND;
	size_t set = open ? best(s) : s->set;
	if (set == ALONE)
		return ret;
	const struct trial *t = &s->trials.at[set];
	ret.any = true;
	ret.set = (struct search_set){ t->tests, t->len };
	ret.hits = oracle_hits(s, t);
	ret.of = trial_tries(t);
	return ret;
}

/* Before the first answer: as many cuts as there are best suspects. */
static size_t left_first(const struct search *s)
{
	const struct sighting *base;
	size_t n = 0;
	if (clues_bases(&s->clues, oracle_goal(s), &base, 1)) {
		unsigned limit = UINT32_MAX;
		for (size_t i = 0; i < base->len; i++) {
			unsigned misfit = clues_misfit_of(&s->clues, oracle_goal(s), base->before[i]);
			n = misfit < limit ? 1 : n + (misfit == limit);
			limit = misfit < limit ? misfit : limit;
		}
	}
	return (n ? (size_t)(CUT_COST * oracle_bits(n)) + s->confirm : 0) +
	       !trial_tries(&s->trials.at[ALONE]);
}

size_t search_left(const struct search *s)
{
	if (s->end != SEARCH_GOING)
		return 0;
	size_t asked = s->asks_len - s->told;
	return s->left > asked ? s->left : asked ? asked : left_first(s);
}

void search_free(struct search *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->hints_len; i++)
		hint_free(&s->hints[i]);
	free(s->hints);
	free(s->asks);
	free(s->asked);
	clues_done(&s->clues);
	trials_done(&s->trials);
	free(s);
}
