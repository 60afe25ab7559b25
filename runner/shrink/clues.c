#include "runner/shrink/clues.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/base/cleanup.h"

/* Other polluters, in an order that this one is not in, are common; an order that should have
 * failed and did not needs a cleaner behind the polluter, which is rare. */
#define MISFIT_WITHOUT 1
#define MISFIT_DESPITE 2
#define SUSPECTS_MAX   64 /* of whom pairs are made */

static bool same_before(const struct sighting *a, const struct sighting *b)
{
	return a->len == b->len &&
	       (!a->len || !memcmp(a->before, b->before, a->len * sizeof(*a->before)));
}

static bool has(const struct clues *c, const struct sighting *s, bool passed)
{
	for (size_t i = 0; i < c->len; i++)
		if (c->seen[i].passed == passed && same_before(&c->seen[i], s))
			return true;
	return false;
}

static void count(struct clues *c, const struct sighting *s)
{
	unsigned *counts = s->passed ? c->passed : c->failed;
	uint32_t *places = c->places + (size_t)(s - c->seen) * c->tests_len;
	for (size_t i = 0; i < s->len; i++) {
		counts[s->before[i]]++;
		places[s->before[i]] = (uint32_t)i + 1;
	}
	c->all[s->passed] += s->len > 0;
}

int clues_copy(struct clues *c, const struct sighting *seen, size_t len)
{
	size_t total = 0;
	for (size_t i = 0; i < len; i++) {
		total += seen[i].len;
		for (size_t k = 0; k < seen[i].len; k++)
			if (seen[i].before[k] >= c->tests_len)
				c->tests_len = seen[i].before[k] + 1UL;
	}
	c->seen = calloc(len + 1, sizeof(*c->seen));
	c->list = calloc(total + 1, sizeof(*c->list));
	c->places = calloc(len * c->tests_len + 1, sizeof(*c->places));
	c->passed = calloc(c->tests_len + 1, sizeof(*c->passed));
	c->failed = calloc(c->tests_len + 1, sizeof(*c->failed));
	if (!c->seen || !c->list || !c->places || !c->passed || !c->failed)
		return -ENOMEM;
	uint32_t *at = c->list;
	for (size_t i = 0; i < len; i++) {
		c->again[seen[i].passed] += seen[i].len > 0;
		if (has(c, &seen[i], seen[i].passed))
			continue;
		struct sighting *s = &c->seen[c->len++];
		*s = (struct sighting){ .before = at, .len = seen[i].len, .passed = seen[i].passed };
		if (s->len)
			memcpy(at, seen[i].before, s->len * sizeof(*at));
		at += s->len;
		count(c, s);
	}
	return 0;
}

/* Is a a better base than b? */
static bool better(const struct clues *c, const struct sighting *a, const struct sighting *b)
{
	bool a_doubtful = has(c, a, !a->passed);
	bool b_doubtful = has(c, b, !b->passed);
	return a_doubtful != b_doubtful ? b_doubtful : a->len < b->len;
}

size_t clues_bases(const struct clues *c, bool passed, const struct sighting **ret, size_t max)
{
	size_t n = 0;
	for (size_t i = 0; i < c->len; i++) {
		if (c->seen[i].passed != passed || !c->seen[i].len)
			continue;
		size_t at = n;
		while (at > 0 && better(c, &c->seen[i], ret[at - 1]))
			at--;
		if (at == max)
			continue;
		n += n < max;
		for (size_t k = n - 1; k > at; k--)
			ret[k] = ret[k - 1];
		ret[at] = &c->seen[i];
	}
	return n;
}

static bool runs_in(const struct clues *c, const struct search_set *set, size_t sighting)
{
	const uint32_t *places = c->places + sighting * c->tests_len;
	uint32_t last = 0;
	for (size_t i = 0; i < set->len; i++) {
		uint32_t place = set->tests[i] < c->tests_len ? places[set->tests[i]] : 0;
		if (place <= last)
			return false;
		last = place;
	}
	return true;
}

unsigned clues_misfit(const struct clues *c, bool passed, const struct search_set *set)
{
	unsigned misfit = 0;
	for (size_t i = 0; i < c->len; i++) {
		bool in = runs_in(c, set, i);
		if (c->seen[i].passed == passed)
			misfit += in ? 0 : MISFIT_WITHOUT;
		else
			misfit += in ? MISFIT_DESPITE : 0;
	}
	return misfit;
}

unsigned clues_without(const struct clues *c, bool passed, uint32_t test)
{
	return c->all[passed] - (passed ? c->passed : c->failed)[test];
}

unsigned clues_misfit_of(const struct clues *c, bool passed, uint32_t test)
{
	unsigned despite = (passed ? c->failed : c->passed)[test];
	return clues_without(c, passed, test) * MISFIT_WITHOUT + despite * MISFIT_DESPITE;
}

/* The places in base of its most suspected tests, how many. */
static size_t suspects(const struct clues *c, bool passed, const struct sighting *base,
		       uint32_t ret[SUSPECTS_MAX])
{
	size_t n = 0;
	for (unsigned without = 0; n < SUSPECTS_MAX && without < c->all[passed]; without++)
		for (size_t i = base->len; i-- > 0 && n < SUSPECTS_MAX;)
			if (clues_without(c, passed, base->before[i]) == without)
				ret[n++] = (uint32_t)i;
	return n;
}

size_t clues_pairs(const struct clues *c, bool passed, const struct sighting *base,
		   struct clues_pair *ret, size_t max, unsigned *ret_misfit)
{
	uint32_t places[SUSPECTS_MAX];
	size_t len = suspects(c, passed, base, places);
	size_t n = 0;
	unsigned best = UINT32_MAX;
	for (size_t i = 0; i < len * len; i++) {
		if (places[i / len] >= places[i % len])
			continue;
		struct clues_pair pair = { { base->before[places[i / len]],
					     base->before[places[i % len]] } };
		unsigned misfit = clues_misfit(c, passed, &(struct search_set){ pair.tests, 2 });
		if (misfit > best)
			continue;
		n = misfit < best ? 0 : n;
		best = misfit;
		if (n < max)
			ret[n++] = pair;
	}
	*ret_misfit = best;
	return n;
}

void clues_done(struct clues *c)
{
	free(c->seen);
	free(c->list);
	free(c->places);
	free(c->passed);
	free(c->failed);
	*c = CLUES_NULL;
}
