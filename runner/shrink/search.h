#pragma once
/*
 * search: the smallest set of tests that, run before one test, makes it fail; or,
 * for a brittle one, makes it pass.
 *
 * Pure. It asks for runs (these tests, in this order, then the test itself, in a
 * fresh cell) and is told what came of each; it knows nothing of cells, names or
 * the ledger. What became of it in the orders that ran already answers for the
 * tests before it there, and says what is tried first. A set is accepted when it
 * was seen to do it `confirm` times of `confirm`, and given out when it did so in
 * runs of its own and, beside that, each removal of one test from it
 * was seen not to do it (1-minimal: Zeller and Hildebrandt, "Simplifying and
 * Isolating Failure-Inducing Input", TSE 2002).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/event.h"

#define SEARCH_CONFIRM  3
#define SEARCH_RUNS_MAX 400 /* of one test */

enum search_kind {
	SEARCH_POLLUTERS, /* passes alone: what makes it fail? */
	SEARCH_SETTERS,   /* fails alone: what makes it pass? */
	SEARCH_EITHER,    /* as it does alone, which is run when no order shows it */
	SEARCH_KIND_N,
};
extern const char *const search_kind_names[SEARCH_KIND_N]; /* "polluters", … */

enum search_end {
	SEARCH_GOING,
	SEARCH_FOUND,
	SEARCH_NEVER_HERMETIC, /* fails alone, too: it needs no polluter */
	SEARCH_FLAKY,          /* no order in which it was seen does it again: not order */
	SEARCH_UNSEEN,         /* no order shows it: nothing to begin with */
	SEARCH_BOUND,          /* runs_max is passed; the set is the best so far */
	SEARCH_END_N,
};
extern const char *const search_end_names[SEARCH_END_N]; /* "going", "found", "never hermetic", … */

struct sighting { /* an order in which the test ran */
	const uint32_t *before;
	size_t len;
	bool passed;
};

struct search_setup {
	uint32_t test;
	enum search_kind kind;
	const struct sighting *seen; /* copied; those in which it was skipped or absent are not here */
	size_t seen_len;
	unsigned confirm; /* 0: SEARCH_CONFIRM */
	size_t runs_max;  /* 0: SEARCH_RUNS_MAX */
};

struct search_set { /* tests, in execution order */
	const uint32_t *tests;
	size_t len;
};

struct search_ask { /* one run: these, then the test, in a cell of its own */
	struct search_set before;
	unsigned nth; /* run of this list, from 1 */
};

struct search_result {
	uint32_t test;
	enum search_kind kind; /* SEARCH_EITHER: not known yet */
	enum search_end end;
	bool any;              /* a set was confirmed; without an end, the best so far */
	struct search_set set; /* borrowed from the search */
	unsigned hits; /* of the set; where flaky or never hermetic, of the whole order or none */
	unsigned of;
	size_t runs;
};

struct search;
struct search *search_new(const struct search_setup *setup); /* NULL: no memory */
/* Sets that did it to other tests: those that this one's orders allow are tried first. Copied. Before
 * the first ask only. 0 or -ENOMEM. */
int search_hint(struct search *s, const struct search_set *sets, size_t len);
/* What to run now, side by side. 1, or 0: it has ended; or -ENOMEM. Borrowed until the next ask, before
 * which all are told. */
int search_ask(struct search *s, const struct search_ask **ret, size_t *ret_len);
/* What became of the test in run `at` of those. */
void search_tell(struct search *s, size_t at, enum outcome outcome);
struct search_result search_result(const struct search *s);
/* How many runs it will still take, about. */
size_t search_left(const struct search *s);
void search_free(struct search *s);
