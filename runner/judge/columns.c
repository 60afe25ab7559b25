#include "runner/judge/judging.h"

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
	bool scored = is_plain(&p->order);
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

/* It is no order of the suite, and no column. */
static bool is_apart(const struct order *o)
{
	return o->view == VIEW_ISOLATED || o->role == ROLE_WAVE;
}

/* Where each test did not pass first: in an order that varies nothing else, if there is one. */
static void find_first(struct judging *j)
{
	for (int pass = 0; pass < 3; pass++) {
		for (uint32_t i = 0; i < j->c->history->len; i++) {
			const struct played *p = order_at(j, i);
			bool column = is_column(j->c, p);
			bool mine = pass == 0   ? column && is_plain(&p->order)
				    : pass == 1 ? column && !is_plain(&p->order)
						: tells(j->c, p) && is_apart(&p->order);
			for (size_t k = 0; k < p->order.tests_len && mine; k++)
				note_bad(&j->c->tests[p->order.tests[k]], p, i, k);
		}
	}
}

void judging_columns(struct judging *j)
{
	for (size_t i = 0; i < j->c->columns_len; i++)
		fill_column(j, i);
	find_first(j);
}
