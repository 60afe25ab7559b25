#pragma once
/*
 * shrink: the searches of all tests of a run, in rounds.
 *
 * A round is what the searches that are at work ask for, in a fixed order; the
 * next one begins when all of it is told. So what is asked, and what is found,
 * never depends on the number of lanes. What one search finds is tried first by
 * those that begin after it: many tests with one polluter cost `confirm` runs
 * each.
 *
 * Pure: whoever runs the orders looks first whether the history has them.
 */
#include "runner/judge/history.h"
#include "runner/shrink/search.h"

struct shrink_setup {
	unsigned confirm; /* 0: SEARCH_CONFIRM */
	size_t runs_max;  /* of one test; 0: SEARCH_RUNS_MAX */
};

struct shrink_ask {
	uint32_t test;
	struct search_set before; /* borrowed until the round is over */
	unsigned nth;             /* run of this list, from 1 */
};

struct shrink_cost {     /* of what is still to do */
	size_t tests;    /* to search for */
	size_t runs;     /* about */
	size_t runs_max; /* at most */
};

struct shrink;
struct shrink *shrink_new(const struct shrink_setup *setup); /* NULL: no memory */
/* A test to search for: before the first round, or when all have ended. What is known of it is taken from
 * the history (sightings.h), which is one for all, and borrowed. 0 or -ENOMEM. */
int shrink_add(struct shrink *s, const struct history *h, uint32_t test, enum search_kind kind);
/* The runs of the next round; none: all have ended. The round before must be told. 0 or -ENOMEM,
 * after which nothing goes on. */
int shrink_round(struct shrink *s, const struct shrink_ask **ret, size_t *ret_len);
/* What became of ask `at` of this round. */
void shrink_tell(struct shrink *s, size_t at, enum outcome outcome);
struct shrink_cost shrink_cost(const struct shrink *s);
size_t shrink_len(const struct shrink *s);
/* Of the nth test, in the order of shrink_add(); at any time. */
struct search_result shrink_result(const struct shrink *s, size_t n);
void shrink_free(struct shrink *s);

/* Names an order by its tests: the letter, the first 8 hex digits of the digest of their ids (more, should
 * another list have them), -nth. 0 or -ENOMEM. */
int shrink_name(struct order *o, const struct history *h, char letter, unsigned nth);
/* The order that answers an ask, named with an x. When the history has an ended order of that name, it
 * is the answer. 0 or -ENOMEM. */
int shrink_order(const struct shrink_ask *ask, const struct history *h, struct order *ret);
/* The order in which a set was found, under the name of its first run. 0 or -ENOMEM. */
int shrink_order_found(const struct search_result *result, const struct history *h,
		       struct order *ret);
/* What a file of its ids is called: "x1234abcd.json". The caller's; NULL: no memory. */
char *shrink_file(const struct order *o);
