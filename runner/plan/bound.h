#pragma once
/*
 * bound: what random orders without a failure say, and what they do not.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The probability to fail that n random orders without failure leave open, at 95 %: 1-0.05^(1/n), close
 * to 3/n. 1 for none. */
double bound_of(size_t n);
/* The fewest orders that leave no more than bound, which lies between 0 and 1. */
size_t bound_orders(double bound);
/* "20 random orders without a failure: a test may still fail in up to 14 % of all orders (at 95 %)".
 * Returns text. */
#define BOUND_TEXT_LEN 160
char *bound_sentence(size_t n, char text[BOUND_TEXT_LEN]);

#define SCORE_RAN_MIN 3
/* The share of the orders in which a test ran that it did not pass. False: it ran in fewer than
 * SCORE_RAN_MIN, which say nothing. */
bool score_of(size_t not_passed, size_t ran, double *ret);
