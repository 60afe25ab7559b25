#pragma once
/*
 * bound: what random orders without a failure say, and what they do not.
 */
#include <stddef.h>

/* The probability to fail that n random orders without a failure leave open, at 95 %: 1-0.05^(1/n), close
 * to 3/n. 1 for none. */
double bound_of(size_t n);
/* The fewest orders that leave no more than bound, which lies between 0 and 1. */
size_t bound_orders(double bound);
/* "a test that failed in none of the 20 random orders fails in at most 14 % of all orders (at 95 %)".
 * Returns text. */
#define BOUND_TEXT_LEN 160
char *bound_sentence(size_t n, char text[BOUND_TEXT_LEN]);
