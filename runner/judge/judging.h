#pragma once
/*
 * judging: what the files behind classes.h share while they judge.
 */
#include "runner/judge/classes.h"
#include "runner/judge/history.h"
#include "sandbox/base/digest.h"

#define REPEATS 3 /* a failure counts when it happened as often, of as many */
#define GREENS  2 /* ... and a pass repeats when it did */

enum dimension {              /* what an order varies */
		 ORDER_ALONE, /* the order of tests, and nothing else */
		 SOMETHING_ELSE,
		 WORKERS,
};

static inline enum dimension dimension_of(const struct order *o)
{
	if (o->view == VIEW_PARALLEL)
		return WORKERS;
	return o->vary.len ? SOMETHING_ELSE : ORDER_ALONE;
}

static inline bool tells(const struct classes *c, const struct played *p)
{
	enum role role = p->order.role;
	return p->ended && !p->interrupted && !played_collects(p) &&
	       (role == ROLE_SWEEP || role == ROLE_CONFIRM || (role == ROLE_WAVE && !c->first));
}

/* It says whether an order repeats, whoever asked for it. */
static inline bool repeats(const struct classes *c, const struct played *p)
{
	return tells(c, p) || (p->ended && !p->interrupted && p->order.role == ROLE_SHRINK);
}

/* What the runs of one test in one order came to, over all times that order ran. */
struct runs {
	bool touched;
	unsigned sides; /* bits: what was seen, by searches, too */
	uint32_t passed, failed, untold;
	uint32_t again_passed, again_bad; /* the second runs of view repeated */
};

/* What all distinct orders say of one test. */
struct tally {
	uint32_t passing, failing; /* orders that always do */
	uint32_t passing_order;    /* the first of them; CLASSES_NONE */
	uint32_t failing_order;
	bool repeats;       /* one of the failing ones did three times */
	bool green_repeats; /* one of the passing ones did twice */
	bool canonical_repeats;
	uint32_t alone_order; /* the first with no other test; CLASSES_NONE */
	uint32_t again_order; /* the one behind again_red, and how often it ran */
	uint32_t again_runs;
	uint32_t varied_order;
	uint32_t varied_runs;
};

/* An order, and the first one that was the same. */
struct place {
	struct digest digest;
	uint32_t order;
	uint32_t group;
};

struct judging {
	struct classes *c;
	const struct marks *marks;
	struct tally *tallies; /* by test */
	struct runs *runs;     /* by test; zero between groups */
	uint32_t *touched;     /* tests of the group at hand */
	uint32_t *seen;        /* by test: the last order that told of it, + 1 */
	struct place *places;  /* by order; sorted by group once groups are known */
	size_t touched_len, places_len;
	uint32_t canonical; /* the first such order */
};

static inline const struct played *order_at(const struct judging *j, size_t i)
{
	return &j->c->history->orders[i];
}

/* The suite as it stands is one order, however it was collected. */
static inline bool is_canonical(const struct order *o)
{
	return o->view == VIEW_CANONICAL && dimension_of(o) == ORDER_ALONE;
}

/* It varies order alone, and each test runs once. */
static inline bool is_plain(const struct order *o)
{
	return (o->view == VIEW_CANONICAL || o->view == VIEW_SHUFFLED) &&
	       dimension_of(o) == ORDER_ALONE;
}

static inline bool is_column(const struct classes *c, const struct played *p)
{
	return tells(c, p) && p->order.role == ROLE_SWEEP && p->order.view != VIEW_ISOLATED;
}

/* The tests that the order was to run: *ret_len of them; NULL: all there are. */
static inline const uint32_t *due(const struct judging *j, const struct played *p, size_t *ret_len)
{
	*ret_len = p->order.as_collected ? j->c->len : p->asked_len;
	return p->order.as_collected ? NULL : p->asked;
}

/* groups.c: which orders are the same. */
void judging_group(struct judging *j);
/* columns.c: the vectors, and where each test did not pass first. */
void judging_columns(struct judging *j);
/* reruns.c. Does its pass repeat? In the canonical order, or where it does not pass in that, in others. */
bool judging_green(const struct class_facts *f, const struct tally *t);
/* Which reruns would make classes final, and sure: what each test waits for. 0 or -ENOMEM. */
int judging_waits(struct judging *j);
