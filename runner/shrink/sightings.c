#include "runner/shrink/sightings.h"

#include <errno.h>
#include <stdlib.h>

static bool counts(const struct played *p)
{
	enum view view = p->order.view;
	return p->ended && !p->interrupted && !p->order.vary.len &&
	       (view == VIEW_CANONICAL || view == VIEW_SHUFFLED || view == VIEW_ISOLATED);
}

bool sightings_count(const struct played *p)
{
	return counts(p) && (p->order.role == ROLE_SWEEP || p->order.role == ROLE_CONFIRM);
}

static bool passed(enum outcome outcome)
{
	return outcome == OUTCOME_PASSED || outcome == OUTCOME_XFAILED;
}

static void add(struct sightings *s, const struct history *h, size_t order, uint32_t test)
{
	const struct played *p = &h->orders[order];
	size_t at = 0;
	while (at < p->order.tests_len && p->order.tests[at] != test)
		at++;
	enum outcome outcome = at < p->order.tests_len ? (enum outcome)p->outcomes[at] : OUTCOME_N;
	if (!passed(outcome) && !outcome_failed(outcome))
		return;
	s->at[s->len++] = (struct sighting){ p->order.tests, at, passed(outcome) };
	size_t column[] = { order, passed(outcome) };
	s->vector = digest_add(s->vector, digest_bytes(column, sizeof(column)));
}

static bool is_mixed(const struct sightings *s)
{
	for (size_t i = 1; i < s->len; i++)
		if (s->at[i].passed != s->at[0].passed)
			return true;
	return false;
}

int sightings_of(const struct history *h, uint32_t test, struct sightings *ret)
{
	struct sightings s = { .at = calloc(h->len + 1, sizeof(*s.at)) };
	if (!s.at)
		return -ENOMEM;
	for (size_t i = 0; i < h->len; i++)
		if (sightings_count(&h->orders[i]))
			add(&s, h, i, test);
	bool mixed = is_mixed(&s);
	for (size_t i = 0; i < h->len && !mixed; i++)
		if (counts(&h->orders[i]) && h->orders[i].order.role == ROLE_WAVE)
			add(&s, h, i, test);
	*ret = s;
	return 0;
}

void sightings_done(struct sightings *s)
{
	free(s->at);
	*s = SIGHTINGS_NULL;
}
