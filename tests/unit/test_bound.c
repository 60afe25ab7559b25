#include "runner/plan/bound.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/text.h"
#include "tests/lib/tap.h"

static void test_bounds(void)
{
	static const struct {
		size_t n;
		double bound;
	} known[] = { { 0, 1 },       { 1, 0.95 },      { 3, 0.6316 },    { 5, 0.4507 },
		      { 20, 0.1391 }, { 100, 0.02951 }, { 300, 0.00994 }, { 10000, 0.000299529 } };
	for (size_t i = 0; i < countof(known); i++) {
		double off = bound_of(known[i].n) / known[i].bound - 1;
		tap_ok(off < 1e-3 && off > -1e-3, "%zu orders: %.6f", known[i].n,
		       bound_of(known[i].n));
	}
	size_t n = 1;
	while (n <= 3000 && bound_orders(bound_of(n)) == n &&
	       bound_orders(bound_of(n) * (1 - 1e-9)) == n + 1 && bound_of(n) > bound_of(n + 1))
		n++;
	tap_ok(n == 3001, "a bound is the fewest orders that give it (%zu)", n);
	tap_ok(bound_orders(0.03) == 99 && bound_orders(0.01) == 299 && bound_orders(0.14) == 20,
	       "the rule of three");
}

static void test_sentences(void)
{
	static const struct {
		size_t n;
		const char *text;
	} cases[] = {
		{ 0, "no random order ran: nothing bounds how often a test fails in other orders" },
		{ 1,
		  "a test that did not fail in the one random order fails in at most 95 % of all orders (at 95 %)" },
		{ 20,
		  "a test that failed in none of the 20 random orders fails in at most 14 % of all orders (at 95 %)" },
		{ 100,
		  "a test that failed in none of the 100 random orders fails in at most 3 % of all orders (at 95 %)" },
		{ 1000,
		  "a test that failed in none of the 1000 random orders fails in at most 0.3 % of all orders (at 95 %)" },
	};
	for (size_t i = 0; i < countof(cases); i++) {
		char text[BOUND_TEXT_LEN];
		bound_sentence(cases[i].n, text);
		tap_ok(text_eq(text, cases[i].text), "%s", text);
	}
}

int main(void)
{
	test_bounds();
	test_sentences();
	return tap_done();
}
