#pragma once
/*
 * wave: short orders that run each test right behind what makes other tests fail.
 *
 * Where c tests undo some damage, a random order shows a test that suffers from it
 * about once in c + 2: with many of them, never. So once it is known which sets do
 * damage, each test that depends on nobody so far is run behind each of them with
 * nobody between who may undo it.
 *
 * An order is packed with as many tests as can be behind the same damage. Who may
 * stand between is known from the orders that ran: a test right behind which a
 * victim of the set failed leaves the damage as it is; and a victim that fails,
 * and is such a test, shows that it is there still. So a test behind a set, such
 * a victim, another test, another victim, … is as good as a process for each test.
 * What such a victim does not confirm is run again, nearer to its set. Behind the
 * tests of one set those of the next one follow, as long as no test would run twice.
 *
 * A test that fails may not do the damage that it does when it passes: behind what
 * makes it fail it is a polluter in disguise. So in two orders all victims run
 * first, where nothing disturbs them, and then all others.
 *
 * That a test passed there is all that is read from it; one that failed is
 * suspected, no more. Pure. Borrows the history and the sets.
 */
#include "runner/judge/history.h"
#include "runner/shrink/search.h"
#include "sandbox/base/text.h"

struct wave_setup {
	const struct history *history;
	const struct search_result *found; /* sets that make a test fail, and which test */
	size_t found_len;
	const uint32_t *tests; /* that are to be run behind them; copied */
	size_t tests_len;
	size_t orders_max;
};

struct wave;
struct wave *wave_new(const struct wave_setup *setup); /* NULL: no memory */
/* The orders of the next round, by names made of their tests; none: all are tried, or orders_max is
 * reached. Borrowed until the next round, before which the history has those that ended. What is asked
 * depends on the orders of the plan, their confirmations and earlier rounds alone. 0 or -ENOMEM. */
int wave_round(struct wave *w, const struct order **ret, size_t *ret_len);

struct wave_sum {
	size_t sets, tests;
	size_t pairs;              /* of a set and a test */
	size_t untried;            /* of these, as far as the history knows */
	size_t orders, orders_max; /* that were asked for */
};
struct wave_sum wave_sum(struct wave *w);
void wave_free(struct wave *w);
