#include <errno.h>
#include <stdlib.h>

#include "runner/shrink/wave.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/plays.h"
#include "tests/lib/sim.h"

/*
 * Simulated suites: tests do damage, undo it and suffer from it. Some who suffer
 * failed in the sweep, and who does it to them is known; the others are to fail in
 * an order of the wave, wherever somebody undoes the damage.
 */
#define TESTS_MAX 200
#define SETS_MAX  4

struct test {
	unsigned arms;    /* damage that it makes ready for another to do */
	unsigned does;    /* ... that it does */
	unsigned needs;   /* ... if these are armed */
	unsigned undoes;  /* bits of damage */
	unsigned suffers; /* fails when there is one of these */
};

struct world {
	struct test tests[TESTS_MAX];
	uint32_t len;
	struct history history;
	struct sim dice;
	bool failed[TESTS_MAX];
	size_t executions;
};

static char *played(struct world *w, const uint32_t *tests, size_t len)
{
	char *letters = calloc(len + 1, 1);
	unsigned armed = 0;
	unsigned damage = 0;
	for (size_t i = 0; i < len; i++) {
		const struct test *t = &w->tests[tests[i]];
		bool fails = t->suffers & damage;
		w->failed[tests[i]] |= fails;
		letters[i] = fails ? 'F' : 'P';
		damage &= ~t->undoes;
		armed |= t->arms;
		damage |= (armed & t->needs) == t->needs ? t->does : 0;
	}
	w->executions += len;
	return letters;
}

static void run(struct world *w, const char *name, enum role role, const uint32_t *tests, size_t len)
{
	cleanup_free char *letters = played(w, tests, len);
	cleanup_free char *words = calloc(len + 1, 6);
	size_t at = 0;
	for (size_t i = 0; i < len; i++)
		at += (size_t)sprintf(words + at, "%st%u", i ? " " : "", tests[i]);
	play(&w->history, &(struct deed){ name, words, letters, VIEW_SHUFFLED, role });
}

static void sweep(struct world *w, unsigned seeds)
{
	uint32_t order[TESTS_MAX] = { 0 };
	for (uint32_t i = 0; i < w->len; i++)
		order[i] = i;
	run(w, "canonical", ROLE_SWEEP, order, w->len);
	for (unsigned seed = 1; seed <= seeds; seed++) {
		char name[16];
		snprintf(name, sizeof(name), "s%u", seed);
		sim_shuffle(&w->dice, order);
		run(w, name, ROLE_SWEEP, order, w->len);
	}
}

static struct world world_of(uint32_t tests, uint64_t random)
{
	return (struct world){ .len = tests,
			       .history = HISTORY_NULL,
			       .dice = { .tests = tests, .random = random } };
}

static void world_done(struct world *w)
{
	history_done(&w->history);
}

/* ---- what is known, and what is asked for ---- */

struct known {
	struct search_result found[TESTS_MAX];
	size_t found_len;
	uint32_t open[TESTS_MAX];
	size_t open_len;
};

/* Who failed does so for the first of the sets that does such damage. */
static void know(const struct world *w, const struct search_set *sets, size_t sets_len,
		 struct known *ret)
{
	*ret = (struct known){ 0 };
	for (uint32_t i = 0; i < w->len; i++) {
		if (!w->failed[i])
			ret->open[ret->open_len++] = i;
		for (size_t k = 0; k < sets_len && w->failed[i]; k++) {
			const struct test *last = &w->tests[sets[k].tests[sets[k].len - 1]];
			if (!(last->does & w->tests[i].suffers))
				continue;
			ret->found[ret->found_len++] =
				(struct search_result){ .test = i, .set = sets[k], .any = true };
			break;
		}
	}
}

static struct wave *begin(const struct world *w, const struct known *k, size_t orders_max)
{
	return wave_new(&(struct wave_setup){ .history = &w->history,
					      .found = k->found,
					      .found_len = k->found_len,
					      .tests = k->open,
					      .tests_len = k->open_len,
					      .orders_max = orders_max });
}

/* Each test once in an order; what the history has is not run again. */
static bool work(struct world *w, struct wave *wave)
{
	const struct order *orders;
	size_t len;
	bool ok = true;
	while (!wave_round(wave, &orders, &len) && len) {
		for (size_t i = 0; i < len; i++) {
			bool seen[TESTS_MAX] = { 0 };
			for (size_t k = 0; k < orders[i].tests_len; k++) {
				ok = ok && !seen[orders[i].tests[k]];
				seen[orders[i].tests[k]] = true;
			}
			if (!history_find(&w->history, orders[i].name))
				run(w, orders[i].name, ROLE_WAVE, orders[i].tests,
				    orders[i].tests_len);
		}
	}
	return ok;
}

static size_t hidden(const struct world *w)
{
	size_t n = 0;
	for (uint32_t i = 0; i < w->len; i++)
		n += w->tests[i].suffers && !w->failed[i];
	return n;
}

/* ---- suites ---- */

/* The first ones suffer, t30 does it, and so many at the end undo it. */
static struct world plant(uint32_t tests, uint32_t victims, uint32_t cleaners, uint64_t random)
{
	struct world w = world_of(tests, random);
	w.tests[30].does = 1;
	for (uint32_t i = 0; i < victims; i++)
		w.tests[i].suffers = 1;
	for (uint32_t i = tests - cleaners; i < tests; i++)
		w.tests[i].undoes = 1;
	return w;
}

static const uint32_t polluter = 30;
static const struct search_set set = { &polluter, 1 };

static void test_found(void)
{
	size_t shown_late = 0;
	size_t pairs = 0;
	size_t orders = 0;
	for (uint64_t random = 0; random < 40; random++) {
		cleanup(world_done) struct world w = plant(60, 8, 20, random);
		sweep(&w, 20);
		size_t before = hidden(&w);
		struct known k;
		know(&w, &set, 1, &k);
		struct wave *wave = begin(&w, &k, 300);
		bool ok = work(&w, wave);
		struct wave_sum sum = wave_sum(wave);
		if (before < 8)
			tap_ok(ok && !hidden(&w) && !sum.untried,
			       "one polluter, 20 cleaners: %zu victims more, %zu orders for %zu tests",
			       before, sum.orders, sum.tests);
		else
			tap_ok(!sum.orders && !sum.sets, "nobody failed: nothing is asked for");
		shown_late += before;
		pairs += sum.pairs;
		orders += sum.orders;
		wave_free(wave);
	}
	tap_ok(shown_late > 0, "the sweeps missed some: %zu", shown_late);
	tap_ok(orders < pairs, "%zu orders for %zu pairs", orders, pairs);
}

/* Sets of one and of two tests; others that do the same damage, unknown; victims that undo what they
 * suffer from. */
static struct world tangle(uint64_t random)
{
	struct world w = world_of(80, random);
	w.tests[0].does = 1;
	w.tests[1].does = 2;
	w.tests[2].arms = w.tests[3].needs = 1;
	w.tests[3].does = 4;
	for (uint32_t i = 4; i < w.len; i++) {
		unsigned bit = 1U << sim_random(&w.dice, 3);
		uint64_t part = sim_random(&w.dice, 10);
		if (part < 2)
			w.tests[i].does = bit & 1;
		else if (part < 5)
			w.tests[i].undoes = bit | (1U << sim_random(&w.dice, 3));
		else if (part < 8)
			w.tests[i].suffers = bit;
		if (part == 7)
			w.tests[i].undoes = bit;
	}
	return w;
}

static void test_tangled(void)
{
	static const uint32_t numbers[] = { 0, 1, 2, 3 };
	static const struct search_set sets[] = { { numbers, 1 },
						  { numbers + 1, 1 },
						  { numbers + 2, 2 } };
	size_t late = 0;
	for (uint64_t random = 0; random < 100; random++) {
		cleanup(world_done) struct world w = tangle(random);
		sweep(&w, 5);
		late += hidden(&w);
		struct known k;
		know(&w, sets, countof(sets), &k);
		bool all[SETS_MAX] = { 0 };
		for (size_t i = 0; i < k.found_len; i++)
			all[k.found[i].set.tests[0]] = true;
		struct wave *wave = begin(&w, &k, 1000);
		bool ok = work(&w, wave);
		struct wave_sum sum = wave_sum(wave);
		bool whole = all[0] && all[1] && all[2];
		if (!ok || (whole && hidden(&w)) || sum.untried || sum.orders > sum.pairs)
			tap_ok(false, "tangle %ju: %zu hidden, %zu untried of %zu in %zu orders",
			       (uintmax_t)random, hidden(&w), sum.untried, sum.pairs, sum.orders);
		wave_free(wave);
	}
	tap_ok(late > 0, "tangled suites hide %zu victims, none behind the wave", late);
}

static void test_bound(void)
{
	cleanup(world_done) struct world w = plant(150, 30, 60, 1);
	sweep(&w, 8);
	struct known k;
	know(&w, &set, 1, &k);
	struct wave *wave = begin(&w, &k, 4);
	struct wave_sum before = wave_sum(wave);
	work(&w, wave);
	struct wave_sum sum = wave_sum(wave);
	tap_ok(sum.orders == 4 && sum.untried && sum.untried < before.untried,
	       "no more orders than may be: %zu of %zu pairs are left, of %zu", sum.untried,
	       sum.pairs, before.untried);
	wave_free(wave);

	struct known none = k;
	none.found_len = 0;
	wave = begin(&w, &none, 300);
	work(&w, wave);
	tap_ok(!wave_sum(wave).orders && !wave_sum(wave).pairs, "without a set nothing is asked for");
	wave_free(wave);
}

/* Rounds are the same when later ones stand in the history already. */
static void test_again(void)
{
	cleanup(world_done) struct world w = plant(60, 8, 20, 3);
	sweep(&w, 20);
	struct known k;
	know(&w, &set, 1, &k);
	struct wave *wave = begin(&w, &k, 300);
	work(&w, wave);
	struct wave_sum first = wave_sum(wave);
	size_t ran = w.history.len;
	wave_free(wave);
	wave = begin(&w, &k, 300);
	work(&w, wave);
	struct wave_sum again = wave_sum(wave);
	tap_ok(first.orders > 1 && again.orders == first.orders && w.history.len == ran,
	       "what stands in the history is not run again: %zu orders", first.orders);
	wave_free(wave);
}

static void test_no_memory(void)
{
	cleanup(world_done) struct world w = plant(40, 4, 6, 3);
	sweep(&w, 6);
	struct known k;
	know(&w, &set, 1, &k);
	size_t wrong = 0;
	int n = 1;
	for (; fault_walk_on(n); n++) {
		struct wave *wave = begin(&w, &k, 300);
		const struct order *orders;
		size_t len = 0;
		int r = wave ? wave_round(wave, &orders, &len) : -ENOMEM;
		wrong += fault_walk_hit() ? r != -ENOMEM : r || !len;
		wave_free(wave);
	}
	tap_ok(n > 5 && !wrong, "no memory is told, at each of %d places", n - 1);
}

int main(void)
{
	test_found();
	test_tangled();
	test_bound();
	test_again();
	test_no_memory();
	return tap_done();
}
