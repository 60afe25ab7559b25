#pragma once
/*
 * campaign: which orders a check runs, until it knows enough: the source of the
 * lanes.
 *
 * It works in rounds. What one round told decides what the next one runs, so that
 * nothing depends on the number of lanes. All it knows stands in the history: an
 * order that has ended there is not run again, which is how a check that was cut
 * short goes on where it stopped, and comes to the same result.
 */
#include "runner/drive/lanes.h"
#include "runner/judge/classes.h"
#include "runner/judge/history.h"
#include "runner/judge/marks.h"
#include "runner/judge/suspicions.h"
#include "runner/plan/plan.h"
#include "runner/shrink/shrink.h"
#include "runner/shrink/wave.h"

struct campaign_setup {
	const struct plan_ask *ask;
	struct plan_facts facts;         /* what is known before anything ran */
	const struct accepted *accepted; /* changes that mark no test; may be NULL */
	bool shrink;                     /* search for polluters */
	unsigned confirm;                /* of searches; 0: SEARCH_CONFIRM */
	int64_t (*now_ms)(void);
	/* How long one order takes is known, and what its cell was. */
	int (*measured)(void *with, double seconds, struct err *e);
	/* What the searches will still cost, before each round of theirs; may be NULL. */
	void (*searching)(void *with, const struct shrink_cost *cost);
	void *with;
};

enum campaign_step {
	CAMPAIGN_FIRST,    /* canonical, or the collection alone: which tests there are */
	CAMPAIGN_PLAN,     /* the orders of the plan */
	CAMPAIGN_MORE,     /* more of them, where something showed */
	CAMPAIGN_ISOLATED, /* what varied, alone */
	CAMPAIGN_CONFIRM,  /* what classes wait for */
	CAMPAIGN_SHRINK,   /* searches */
	CAMPAIGN_WAVE,     /* each other test right behind what they found; of what that shows: */
	CAMPAIGN_WAVE_ISOLATED,
	CAMPAIGN_WAVE_CONFIRM,
	CAMPAIGN_WAVE_SHRINK,
	CAMPAIGN_OVER,
};

struct campaign_round {
	const struct order *orders;
	uint32_t *todo; /* which of them */
	size_t len, next;
	struct order *own; /* orders that stand in no plan */
	size_t own_len;
};

struct campaign {
	const struct campaign_setup *setup;
	struct history history;
	struct marks marks;
	struct suspicions suspicions;
	struct classes classes; /* of what was known when the last round ended */

	enum campaign_step step;
	struct campaign_round round;
	size_t running;
	int64_t deadline_ms; /* INT64_MAX: none */
	bool recalls;        /* nothing more is run */

	struct plan plan, more, isolated, wave_isolated;
	struct shrink *shrink; /* NULL: nothing was to be searched for, or not yet */
	struct wave *wave;     /* NULL: no set was found, or not yet */
	bool adopted;          /* its searches are another's: nothing follows from them */
	bool wave_searched;    /* searches for what it showed have begun */
	const struct shrink_ask *asks;
	size_t asks_len;
	double *test_seconds; /* by number, in the canonical order */
	size_t test_seconds_len;

	bool fresh; /* an order ended in this process: `first` is what the first of them did */
	struct order_result first;
	bool spoke;        /* an adapter said hello in it */
	bool budget_spent; /* and something was left to do */
};

/* In place. Lines of an earlier part of the run are given to campaign_line() before anything else. */
void campaign_init(struct campaign *c, const struct campaign_setup *setup);
int campaign_line(void *with, const char *kind, const cJSON *line, struct err *e);
struct lanes_source campaign_source(struct campaign *c);
/* What the history alone tells, as if nothing more could be run: findings of an earlier run. */
int campaign_recall(struct campaign *c, struct err *e);
/* How long the canonical order took; 0: not known. */
double campaign_seconds(const struct campaign *c);
/* What is known at the end, also when it was cut short. */
int campaign_judge(struct campaign *c, struct err *e);
/* Nothing is run but these searches, which are kept. After the lines, before the source. */
void campaign_adopt_searches(struct campaign *c, struct shrink *shrink);
/* The sets that were found, as order files of the run folder, under the names of their orders. */
struct ledger;
int campaign_save_sets(const struct campaign *c, struct ledger *l, struct err *e);
void campaign_done(struct campaign *c);
