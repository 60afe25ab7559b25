#include "runner/shrink/oracle.h"

#include <stdlib.h>

bool oracle_goal(const struct search *s)
{
	return s->kind == SEARCH_SETTERS;
}

unsigned oracle_hits(const struct search *s, const struct trial *t)
{
	return oracle_goal(s) ? t->passed : t->failed;
}

unsigned oracle_misses(const struct search *s, const struct trial *t)
{
	return trial_tries(t) - oracle_hits(s, t);
}

unsigned oracle_bits(size_t things)
{
	unsigned n = 0;
	while (n < 63 && (size_t)1 << n < things)
		n++;
	return n;
}

enum answer oracle_no_memory(struct search *s)
{
	s->no_memory = true;
	return OPEN;
}

enum answer oracle_end(struct search *s, enum search_end end, unsigned n, unsigned of)
{
	s->end = end;
	s->hits = n;
	s->of = of;
	return OPEN;
}

/* Questions past the bound end the search; those that go with others are left out. */
enum answer oracle_ask(struct search *s, size_t trial, unsigned times)
{
	size_t len = s->asks_len + times;
	if (s->runs + len > s->runs_max)
		return s->asks_len ? OPEN : oracle_end(s, SEARCH_BOUND, 0, 0);
	struct search_ask *asks = reallocarray(s->asks, len, sizeof(*asks));
	s->asks = asks ? asks : s->asks;
	size_t *asked = reallocarray(s->asked, len, sizeof(*asked));
	s->asked = asked ? asked : s->asked;
	if (!asks || !asked)
		return oracle_no_memory(s);
	const struct trial *t = &s->trials.at[trial];
	for (unsigned i = 0; i < times; i++) {
		asks[s->asks_len] = (struct search_ask){ { t->tests, t->len }, t->runs + 1 + i };
		asked[s->asks_len++] = trial;
	}
	return OPEN;
}

enum answer oracle_answer(struct search *s, size_t trial)
{
	const struct trial *t = &s->trials.at[trial];
	unsigned n = oracle_hits(s, t);
	if (oracle_misses(s, t)) /* what was confirmed and does not hold is no order's doing */
		return n < s->confirm ? NO : oracle_end(s, SEARCH_FLAKY, n, trial_tries(t));
	return n >= s->confirm ? YES : oracle_ask(s, trial, n ? s->confirm - n : 1);
}

enum answer oracle_try(struct search *s, const uint32_t *tests, size_t len)
{
	size_t trial;
	if (trials_get(&s->trials, tests, len, &trial))
		return oracle_no_memory(s);
	return oracle_answer(s, trial);
}

void oracle_expect(struct search *s, size_t candidates, size_t more)
{
	s->left = (size_t)(CUT_COST * oracle_bits(candidates)) + more;
}
