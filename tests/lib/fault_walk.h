#pragma once
/*
 * fault_walk: let the nth allocation or read fail, for every n.
 *
 * A test that links this runs its deed again and again, each time with the next
 * call failing, until none does; a sanitizer then has seen every cleanup path:
 *
 *	for (int n = 1; fault_walk_on(n); n++) {
 *		r = deed(&e);
 *		tap_ok(!fault_walk_hit() || r < 0, …);
 *	}
 *
 * Wrapped are the calls in fault_walk.c, where our own objects make them.
 */
#include <stdbool.h>

/* The nth call from now fails. False, and nothing fails any more, once a walk has passed its end:
 * the round before hit nothing. */
bool fault_walk_on(int n);
/* Did a call fail since? No more will. */
bool fault_walk_hit(void);
