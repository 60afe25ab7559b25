#include "runner/plan/bound.h"

#include <assert.h>
#include <stdio.h>

#define UNSURE 0.05 /* how often the bound may be wrong */

static double power(double base, size_t n)
{
	double all = 1;
	for (; n; n /= 2, base *= base)
		all *= n % 2 ? base : 1;
	return all;
}

/* By halving: libm would be one more library to load at every start. */
double bound_of(size_t n)
{
	double low = 0; /* of the probability to pass, whose nth power is UNSURE */
	double high = 1;
	if (!n)
		return 1;
	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;
		*(power(middle, n) < UNSURE ? &low : &high) = middle;
	}
	return 1 - high;
}

size_t bound_orders(double bound)
{
	assert(bound > 0 && bound < 1);
	size_t high = 1;
	while (bound_of(high) > bound)
		high *= 2;
	size_t low = high / 2; /* which is too few */
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		*(bound_of(middle) > bound ? &low : &high) = middle;
	}
	return high;
}

char *bound_sentence(size_t n, char text[BOUND_TEXT_LEN])
{
	if (!n)
		snprintf(text, BOUND_TEXT_LEN,
			 "no random order ran: nothing bounds how often a test fails in other orders");
	else if (n == 1)
		snprintf(text, BOUND_TEXT_LEN,
			 "a test that did not fail in the one random order fails in at most %.2g %% of all "
			 "orders (at 95 %%)",
			 100 * bound_of(n));
	else
		snprintf(text, BOUND_TEXT_LEN,
			 "a test that failed in none of the %zu random orders fails in at most %.2g %% of "
			 "all orders (at 95 %%)",
			 n, 100 * bound_of(n));
	return text;
}
