#include <errno.h>
#include <stdlib.h>

#include "runner/judge/judging.h"
#include "sandbox/base/cleanup.h"

bool judging_green(const struct class_facts *f, const struct tally *t)
{
	return passes(f->canonical) ? t->canonical_repeats : t->passing > 1 || t->green_repeats;
}

void judging_reruns(const struct judging *j, struct judged *t, const struct tally *tally)
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
	if (!judging_green(f, tally))
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
