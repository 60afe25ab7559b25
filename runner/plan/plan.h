#pragma once
/*
 * plan: the orders to run, from what the user asks and what is known of the suite.
 * Pure: the same ask and facts make the same plan.
 *
 * Orders come best first, so that whoever stops early has the most for its time:
 * canonical, reverse, three of the others, canonical again, views and dimensions
 * that nothing else shows, the rest of the others, each test alone.
 *
 * A plan needs the ids of the suite. They are those of "canonical", which is run
 * as collected and stands in the plan as its first order; with --select every
 * order holds some tests only, canonical too, and the ids have to come from
 * another order, which asks for no test at all.
 *
 * Owns the orders and notes. Borrows ask, facts and roster while it is made.
 */
#include "runner/plan/ask.h"
#include "runner/plan/order.h"
#include "runner/plan/roster.h"

struct err;
struct given;

#define PLAN_ISOLATED_MAX 300  /* tests of a suite that are all run alone, cold */
#define PLAN_LONG_SECONDS 60.0 /* of one canonical run; above, the plan is a short one */
#define PLAN_FEW_TESTS    20   /* below, pairs are run and a bound means little */

struct plan_facts {
	const uint32_t *tests; /* the canonical collection */
	size_t tests_len;
	const double *test_seconds; /* beside tests; NULL: not known */
	double seconds;             /* of one canonical run; 0: not known */
	unsigned lanes;
	bool parallel_known; /* the project runs its tests in parallel, by pytest-xdist */
	bool native_known;   /* the framework has a shuffle of its own: pytest-randomly */
	/* Is there what a dimension would be varied to ("locale=tr_TR.UTF-8")? NULL: all of it. */
	bool (*can_vary)(const char *vary);
	const struct strv *touched; /* with ask.select: the files changed, as below the project */
	const struct given *given;  /* with ask.order: what it holds */
};

struct plan {
	struct order *orders; /* of ROLE_SWEEP */
	double *seconds;      /* beside orders: an estimate; 0: nothing is known */
	size_t len;
	size_t random_len;  /* how many of them are random: what a bound stands on */
	size_t more_len;    /* random ones that plan_more() adds when something shows */
	bool isolate_later; /* what varied is to be run alone: plan_isolated() */
	struct strv notes;  /* sentences: what was left out and why, and what bound that leaves */
};
#define PLAN_NULL ((struct plan){ 0 })

/* Does the user ask for what cannot be together? Before anything is run. */
int plan_check(const struct plan_ask *ask, struct err *e);
int plan_make(const struct plan_ask *ask, const struct plan_facts *facts,
	      const struct roster *roster, struct plan *ret, struct err *e);
/* The second part of a plan, after something showed in the first; empty unless more_len. */
int plan_more(const struct plan_ask *ask, const struct plan_facts *facts,
	      const struct roster *roster, struct plan *ret, struct err *e);
/* Each of n tests alone; those of a serial block are left out, and said. */
int plan_isolated(const struct plan_ask *ask, const struct plan_facts *facts,
		  const struct roster *roster, const uint32_t *tests, size_t n, struct plan *ret,
		  struct err *e);
/* What of the plan was not run, `ran` beside its orders: sentences. Nothing when all was. `why`: "the budget of 20m is spent". 0 or -ENOMEM. */
int plan_unrun(const struct plan *p, const bool *ran, const char *why, struct strv *notes);
void plan_done(struct plan *p);
