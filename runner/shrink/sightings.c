#include "runner/shrink/sightings.h"

#include <errno.h>
#include <stdlib.h>

static bool counts(const struct played *p)
{
	enum view view = p->order.view;
	enum role role = p->order.role;
	return p->ended && !p->interrupted && !p->order.vary.len &&
	       (view == VIEW_CANONICAL || view == VIEW_SHUFFLED || view == VIEW_ISOLATED) &&
	       (role == ROLE_SWEEP || role == ROLE_CONFIRM);
}

static bool passed(enum outcome outcome)
{
	return outcome == OUTCOME_PASSED || outcome == OUTCOME_XFAILED;
}

int sightings_of(const struct history *h, uint32_t test, struct sightings *ret)
{
	struct sightings s = { .at = calloc(h->len + 1, sizeof(*s.at)) };
	if (!s.at)
		return -ENOMEM;
	for (size_t i = 0; i < h->len; i++) {
		const struct played *p = &h->orders[i];
		size_t at = 0;
		while (counts(p) && at < p->order.tests_len && p->order.tests[at] != test)
			at++;
		if (!counts(p) || at == p->order.tests_len)
			continue;
		enum outcome outcome = (enum outcome)p->outcomes[at];
		if (!passed(outcome) && !outcome_failed(outcome))
			continue;
		s.at[s.len++] = (struct sighting){ p->order.tests, at, passed(outcome) };
		size_t column[] = { i, passed(outcome) };
		s.vector = digest_add(s.vector, digest_bytes(column, sizeof(column)));
	}
	*ret = s;
	return 0;
}

void sightings_done(struct sightings *s)
{
	free(s->at);
	*s = SIGHTINGS_NULL;
}
