#pragma once
/*
 * sim: a suite that is simulated, and one test in it that depends on the others.
 *
 * Causes are chains: a chain is complete once its tests have run in their order,
 * and begins anew when a cleaner of it runs. The test fails when some chain is
 * complete; a brittle one passes then, and fails otherwise.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runner/shrink/search.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/digest.h"

#define SIM_CHAINS   12
#define SIM_LINKS    24
#define SIM_CLEANERS 16
#define SIM_TESTS    400

struct sim {
	uint32_t tests; /* in the suite */
	uint32_t test;  /* the one that is looked at */
	bool brittle;
	unsigned chains_len;
	struct {
		unsigned len;
		uint32_t at[SIM_LINKS];
		unsigned cleaners_len;
		uint32_t cleaners[SIM_CLEANERS];
	} chains[SIM_CHAINS];
	unsigned flaky; /* of 100 runs in which a complete chain does nothing; or, without chains, of
			      100 runs that fail */
	unsigned arbitrary; /* not 0: of 16 lists that fail, by their digest alone */
	uint64_t random;
};

static inline uint64_t sim_random(struct sim *s, uint64_t below)
{
	uint64_t x = s->random += 0x9e3779b97f4a7c15;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return (x ^ (x >> 31)) % below;
}

static inline bool sim_complete(const struct sim *s, const uint32_t *before, size_t len)
{
	for (unsigned c = 0; c < s->chains_len; c++) {
		unsigned done = 0;
		for (size_t i = 0; i < len; i++) {
			if (done < s->chains[c].len && before[i] == s->chains[c].at[done])
				done++;
			for (unsigned k = 0; k < s->chains[c].cleaners_len; k++)
				if (before[i] == s->chains[c].cleaners[k])
					done = 0;
		}
		if (done == s->chains[c].len)
			return true;
	}
	return false;
}

/* Without luck. */
static inline bool sim_passes(const struct sim *s, const uint32_t *before, size_t len)
{
	if (s->arbitrary)
		return !len || digest_bytes(before, len * sizeof(*before)).low % 16 >= s->arbitrary;
	return sim_complete(s, before, len) == s->brittle;
}

static inline enum outcome sim_run(struct sim *s, const uint32_t *before, size_t len)
{
	bool passes = sim_passes(s, before, len);
	if (s->flaky && sim_random(s, 100) < s->flaky)
		passes = s->chains_len ? !s->brittle : false;
	return passes ? OUTCOME_PASSED : OUTCOME_ERROR_TEARDOWN;
}

struct sim_sweep {
	uint32_t *lists;
	struct sighting *seen;
	size_t len;
};

static inline void sim_sweep_done(struct sim_sweep *w)
{
	free(w->lists);
	free(w->seen);
}

static inline void sim_shuffle(struct sim *s, uint32_t *order)
{
	for (uint32_t i = s->tests; i > 1; i--) {
		uint64_t k = sim_random(s, i);
		uint32_t t = order[i - 1];
		order[i - 1] = order[k];
		order[k] = t;
	}
}

/* canonical twice, reverse, so many seeds; and alone, if asked for. */
static inline struct sim_sweep sim_sweep(struct sim *s, unsigned seeds, bool isolated)
{
	size_t orders = 3 + seeds;
	struct sim_sweep w = { .lists = calloc(orders * s->tests, sizeof(*w.lists)),
			       .seen = calloc(orders + 1, sizeof(*w.seen)) };
	for (size_t o = 0; o < orders; o++) {
		uint32_t *order = w.lists + o * s->tests;
		for (uint32_t i = 0; i < s->tests; i++)
			order[i] = o == 2 ? s->tests - 1 - i : i;
		if (o > 2)
			sim_shuffle(s, order);
		size_t len = 0;
		while (order[len] != s->test)
			len++;
		bool passed = sim_run(s, order, len) == OUTCOME_PASSED;
		w.seen[w.len++] = (struct sighting){ order, len, passed };
	}
	if (isolated)
		w.seen[w.len++] = (struct sighting){ NULL, 0, sim_run(s, NULL, 0) == OUTCOME_PASSED };
	return w;
}

/* Runs a search to its end. */
static inline void sim_search(struct sim *s, struct search *search)
{
	const struct search_ask *asks;
	size_t len;
	while (search_ask(search, &asks, &len) > 0)
		for (size_t i = 0; i < len; i++)
			search_tell(search, i, sim_run(s, asks[i].before.tests, asks[i].before.len));
}

/* Is the set what it is said to be, and is no test in it for nothing? */
static inline bool sim_holds(const struct sim *s, const struct search_set *set)
{
	cleanup_free uint32_t *less = calloc(set->len + 1, sizeof(*less));
	bool ok = sim_passes(s, set->tests, set->len) == s->brittle;
	for (size_t i = 0; i < set->len; i++) {
		memcpy(less, set->tests, i * sizeof(*less));
		memcpy(less + i, set->tests + i + 1, (set->len - 1 - i) * sizeof(*less));
		ok = ok && sim_passes(s, less, set->len - 1) != s->brittle;
	}
	return ok;
}

/* ---- a plain script ---- */

struct sim_script {
	struct sim *sim;
	size_t runs;
};

static inline bool sim_again(struct sim_script *p, const uint32_t *before, size_t len)
{
	for (unsigned i = 0; i < 3; i++) {
		p->runs++;
		if ((sim_run(p->sim, before, len) == OUTCOME_PASSED) != p->sim->brittle)
			return false;
	}
	return true;
}

/* Bisection of the first order seen to do it; the last test that is left, alone; then removal of one
 * test at a time: runs it takes. */
static inline size_t sim_script(struct sim *s, const struct sim_sweep *w)
{
	struct sim_script p = { s, 0 };
	const struct sighting *base = NULL;
	for (size_t i = w->len; i-- > 0;)
		if (w->seen[i].len && w->seen[i].passed == s->brittle)
			base = &w->seen[i];
	if (!base || !sim_again(&p, base->before, base->len))
		return p.runs;
	size_t lo = 0;
	size_t hi = base->len;
	while (hi - lo > 1) {
		size_t mid = (lo + hi) / 2;
		*(sim_again(&p, base->before, mid) ? &hi : &lo) = mid;
	}
	if (sim_again(&p, base->before + hi - 1, 1))
		return p.runs;
	cleanup_free uint32_t *set = calloc(hi + 1, sizeof(*set));
	cleanup_free uint32_t *less = calloc(hi + 1, sizeof(*less));
	memcpy(set, base->before, hi * sizeof(*set));
	for (bool less_now = true; less_now;) {
		less_now = false;
		for (size_t i = 0; i < hi;) {
			memcpy(less, set, i * sizeof(*set));
			memcpy(less + i, set + i + 1, (hi - 1 - i) * sizeof(*set));
			if (sim_again(&p, less, hi - 1)) {
				memcpy(set, less, --hi * sizeof(*set));
				less_now = true;
			} else {
				i++;
			}
		}
	}
	return p.runs;
}
