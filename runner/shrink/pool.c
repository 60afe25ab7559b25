#include "runner/shrink/pool.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of equal candidates, the part at which to cut: with x the part not cut off, a no costing 1 and a yes
 * costing 3 balance where x + x^3 = 1. */
#define CUT         0.32
#define GUESS_END   0.125
#define MISFIT_BITS 2 /* a test with a misfit of one more is suspected 2^-n times as much */

int pool_make(struct pool *p, const struct sighting *base)
{
	p->base = base->before;
	p->base_len = base->len;
	p->rank = calloc(base->len, sizeof(*p->rank));
	p->kept = calloc(base->len, sizeof(*p->kept));
	p->in = calloc(base->len, sizeof(*p->in));
	p->tests = calloc(base->len, sizeof(*p->tests));
	p->sum = calloc(base->len + 1, sizeof(*p->sum));
	if (!p->rank || !p->kept || !p->in || !p->tests || !p->sum)
		return -ENOMEM;
	for (size_t i = 0; i < base->len; i++)
		p->rank[i] = (uint32_t)i;
	p->len = base->len;
	return 0;
}

void pool_done(struct pool *p)
{
	free(p->rank);
	free(p->kept);
	free(p->in);
	free(p->tests);
	free(p->sum);
	*p = POOL_NULL;
}

size_t pool_list(struct pool *p, size_t cut)
{
	memcpy(p->in, p->kept, p->base_len * sizeof(*p->in));
	for (size_t i = 0; i < cut; i++)
		p->in[p->rank[i]] = true;
	size_t n = 0;
	for (size_t i = 0; i < p->base_len; i++)
		if (p->in[i])
			p->tests[n++] = p->base[i];
	return n;
}

enum answer pool_try(struct search *s, struct pool *p, size_t cut)
{
	return oracle_try(s, p->tests, pool_list(p, cut));
}

/* The last of the first `hi` of rank is needed, and what stands behind it is not. */
static void pool_keep(struct pool *p, size_t hi)
{
	p->kept[p->rank[hi - 1]] = true;
	p->len = hi - 1;
}

struct order_of { /* of rank */
	const struct search *s;
	const struct pool *p;
	unsigned (*misfit)(const struct clues *c, bool passed, uint32_t test);
};

/* The less suspected later; of equals, the one farther from the test: tests of one module stand
 * together, and what stands before a cleaner is undone. */
static int by_misfit(const void *a, const void *b, void *with)
{
	const struct order_of *o = with;
	uint32_t i = *(const uint32_t *)a;
	uint32_t k = *(const uint32_t *)b;
	unsigned first = o->misfit(&o->s->clues, oracle_goal(o->s), o->p->base[i]);
	unsigned second = o->misfit(&o->s->clues, oracle_goal(o->s), o->p->base[k]);
	if (first != second)
		return first < second ? -1 : 1;
	return i > k ? -1 : i < k;
}

static void pool_sort(const struct search *s, struct pool *p,
		      unsigned (*misfit)(const struct clues *, bool, uint32_t))
{
	struct order_of with = { s, p, misfit };
	qsort_r(p->rank, p->len, sizeof(*p->rank), by_misfit, &with);
}

/* ---- guess ---- */

static void weigh(const struct search *s, struct pool *p)
{
	for (size_t i = 0; i < p->len; i++) {
		unsigned misfit = clues_misfit_of(&s->clues, oracle_goal(s), p->base[p->rank[i]]);
		p->sum[i + 1] = p->sum[i] + ldexp(1, -MISFIT_BITS * (misfit < 60 ? (int)misfit : 60));
	}
}

/* Between lo and hi, where a yes is as likely as CUT. */
static size_t cut_of(const double *sum, size_t lo, size_t hi)
{
	double at = sum[lo] + CUT * (sum[hi] - sum[lo]);
	size_t cut = lo + 1;
	while (cut + 1 < hi && sum[cut] < at)
		cut++;
	return cut;
}

enum answer pool_guess(struct search *s, struct pool *p)
{
	pool_sort(s, p, clues_misfit_of);
	weigh(s, p);
	size_t lo = 0;
	size_t hi = p->len;
	bool found = false;
	double end = p->sum[p->len] * GUESS_END;
	while (hi - lo > 1 && (found || p->sum[p->len] - p->sum[lo] > end)) {
		oracle_expect(s, hi - lo, s->confirm + 2);
		size_t cut = cut_of(p->sum, lo, hi);
		enum answer r = pool_try(s, p, cut);
		if (r == OPEN)
			return r;
		found = found || r == YES;
		*(r == YES ? &hi : &lo) = cut;
	}
	if (!found)
		return NO;
	pool_keep(p, hi);
	return YES;
}

/* ---- narrow ---- */

struct cuts {       /* of one needed test */
	ssize_t lo; /* the longest list seen not to do it; -1: none */
	size_t hi;
	size_t step;
	bool close; /* the needed stand close: begin at the end */
	bool hit;
};

static size_t next_cut(const struct cuts *c)
{
	size_t room = c->hi - (size_t)(c->lo + 1);
	if (c->close && !c->hit)
		return c->hi - 1;
	if (c->lo < 0)
		return 0; /* is anything more needed? */
	if (c->close && c->step)
		return c->hi - (c->step < room ? c->step : room);
	size_t cut = (size_t)c->lo + (size_t)((double)(room + 1) * CUT);
	return cut > (size_t)c->lo ? cut : cut + 1;
}

/* NO: not even the whole pool does it again. */
static enum answer narrow_one(struct search *s, struct pool *p, size_t kept, struct cuts *c)
{
	while ((ssize_t)c->hi - c->lo > 1) {
		oracle_expect(s, c->hi, s->confirm + 1 + kept);
		size_t cut = next_cut(c);
		enum answer r = pool_try(s, p, cut);
		if (r == OPEN)
			return r;
		if (r == YES) {
			c->hi = cut;
			c->step *= 2;
			c->hit = true;
		} else {
			c->step = c->hit && cut ? 0 : c->step;
			c->lo = (ssize_t)cut;
		}
	}
	return pool_try(s, p, c->hi);
}

enum answer pool_narrow(struct search *s, struct pool *p)
{
	pool_sort(s, p, clues_without);
	size_t kept = 0;
	for (bool close = false;; kept++) {
		struct cuts c = { .lo = -1, .hi = p->len, .step = 1, .close = close };
		enum answer r = narrow_one(s, p, kept, &c);
		if (r != YES || !c.hi)
			return r;
		close = c.hi == p->len;
		pool_keep(p, c.hi);
	}
}
