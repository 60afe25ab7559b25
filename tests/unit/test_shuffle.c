#include <stdlib.h>
#include <string.h>

#include "runner/plan/shuffle.h"
#include "sandbox/base/cleanup.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/tap.h"

#define TESTS 60

static const struct serials no_serials;

/* Ids of a suite: five modules, classes in some of them. */
static void fill(struct roster *r, uint32_t tests[TESTS])
{
	for (unsigned i = 0; i < TESTS; i++) {
		char id[64];
		unsigned of_module = i % 12;
		if (of_module < 6)
			snprintf(id, sizeof(id), "tests/test_%u.py::test_%u", i / 12, of_module);
		else
			snprintf(id, sizeof(id), "tests/test_%u.py::TestA%u::test_%u[x::y]", i / 12,
				 of_module / 3, of_module);
		roster_add(r, id, &tests[i]);
	}
}

/* The order as text: the numbers of its tests. */
static const char *laid(const struct units *units, const uint32_t *order, uint32_t *tests)
{
	static char text[TESTS * 4 + 1];
	size_t len = 0;
	text[0] = '\0';
	units_lay(units, order, tests);
	for (size_t i = 0; i < units->tests_len; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%u", i ? " " : "",
					tests[i]);
	return text;
}

static bool is_permutation(const uint32_t *tests, size_t n)
{
	bool seen[TESTS] = { false };
	for (size_t i = 0; i < n; i++) {
		if (tests[i] >= n || seen[tests[i]])
			return false;
		seen[tests[i]] = true;
	}
	return true;
}

/* What these seeds mean must never change: findings name them. */
static void test_golden(void)
{
	static const struct {
		enum shuffle_level level;
		uint64_t seed;
		const char *order;
	} golden[] = {
		{ SHUFFLE_UNITS, 1,
		  "46 16 14 28 0 54 30 45 58 15 39 47 22 2 52 42 17 37 25 31 57 10 35 53 27 21 1 24 51 29 "
		  "44 6 23 19 20 41 48 13 50 18 11 3 12 55 8 38 4 36 26 5 40 59 56 43 34 32 33 49 9 7" },
		{ SHUFFLE_UNITS, 17,
		  "44 5 27 1 23 3 12 13 51 26 18 11 57 39 58 42 45 35 19 21 32 31 37 6 43 16 34 38 36 33 "
		  "20 0 56 40 53 25 2 50 28 46 17 29 52 8 4 49 41 55 24 9 14 7 47 30 15 54 22 48 59 10" },
		{ SHUFFLE_UNITS, (UINT64_C(1) << 53) - 1,
		  "31 17 18 57 50 40 14 11 55 42 54 5 26 21 48 35 9 59 56 32 46 15 44 49 13 28 6 39 8 33 "
		  "20 47 12 51 16 36 23 19 53 43 10 3 2 38 4 30 25 1 7 22 24 45 27 0 34 41 58 29 37 52" },
		{ SHUFFLE_MODULES, 3,
		  "36 37 38 39 40 41 42 43 44 45 46 47 24 25 26 27 28 29 30 31 32 33 34 35 48 49 50 51 52 53 "
		  "54 55 56 57 58 59 12 13 14 15 16 17 18 19 20 21 22 23 0 1 2 3 4 5 6 7 8 9 10 11" },
		{ SHUFFLE_CLASSES, 1,
		  "52 53 51 48 50 49 54 55 56 58 57 59 28 25 27 24 29 26 35 34 33 30 31 32 42 44 43 46 45 47 "
		  "39 37 41 38 36 40 19 20 18 22 21 23 16 14 15 17 13 12 6 8 7 10 11 9 0 2 1 3 4 5" },
	};
	cleanup(roster_done) struct roster roster = ROSTER_NULL;
	cleanup(units_done) struct units units = UNITS_NULL;
	uint32_t tests[TESTS];
	uint32_t order[TESTS];
	fill(&roster, tests);
	units_make(&roster, tests, TESTS, &no_serials, &units);
	for (size_t i = 0; i < countof(golden); i++) {
		shuffle_by_seed(&units, golden[i].level, golden[i].seed, order);
		const char *text = laid(&units, order, tests);
		tap_ok(text_eq(text, golden[i].order) && is_permutation(tests, TESTS),
		       "level %d, seed %ju: %s", golden[i].level, (uintmax_t)golden[i].seed, text);
	}
}

/* Whatever is taken out, the others keep their order. */
static void test_stable(enum shuffle_level level)
{
	cleanup(roster_done) struct roster roster = ROSTER_NULL;
	cleanup(units_done) struct units all = UNITS_NULL;
	uint32_t tests[TESTS];
	uint32_t whole[TESTS];
	bool same = true;
	fill(&roster, tests);
	units_make(&roster, tests, TESTS, &no_serials, &all);
	for (uint64_t seed = 1; seed <= 50; seed++) {
		cleanup(units_done) struct units some = UNITS_NULL;
		uint32_t order[TESTS];
		uint32_t part[TESTS];
		size_t n = 0;
		for (unsigned i = 0; i < TESTS;
		     i++) /* a suite without some tests, and without a module */
			if ((i * 7 + seed) % 5 && i / 12 != seed % 5)
				part[n++] = tests[i];
		shuffle_by_seed(&all, level, seed, order);
		units_lay(&all, order, whole);
		units_make(&roster, part, n, &no_serials, &some);
		shuffle_by_seed(&some, level, seed, order);
		units_lay(&some, order, part);
		size_t at = 0;
		for (size_t i = 0; i < TESTS; i++)
			at += at < n && whole[i] == part[at];
		same &= at == n;
	}
	tap_ok(same, "level %d: no test moves when others go", level);
}

/* Each stretch of one module, or class, is one: they are not torn. */
static bool whole(const struct roster *r, const uint32_t *tests, size_t (*len_of)(const char *id))
{
	size_t stretches = 0;
	size_t names = 0;
	for (size_t i = 0; i < TESTS; i++) {
		const char *id = r->ids.at[tests[i]];
		size_t len = len_of(id);
		bool known = false;
		for (size_t j = 0; j < i; j++)
			known |= len_of(r->ids.at[tests[j]]) == len &&
				 !memcmp(r->ids.at[tests[j]], id, len);
		names += !known;
		const char *before = i ? r->ids.at[tests[i - 1]] : "";
		stretches += len_of(before) != len || memcmp(before, id, len) != 0;
	}
	return stretches == names;
}

static void test_levels(void)
{
	cleanup(roster_done) struct roster roster = ROSTER_NULL;
	cleanup(units_done) struct units units = UNITS_NULL;
	uint32_t tests[TESTS];
	uint32_t order[TESTS];
	uint32_t got[TESTS];
	bool modules = true;
	bool classes = true;
	bool canonical_inside = true;
	bool moved_inside = false;
	fill(&roster, tests);
	units_make(&roster, tests, TESTS, &no_serials, &units);
	for (uint64_t seed = 1; seed <= 50; seed++) {
		shuffle_by_seed(&units, SHUFFLE_MODULES, seed, order);
		units_lay(&units, order, got);
		modules &= is_permutation(got, TESTS) && whole(&roster, got, roster_module_len);
		for (size_t i = 1; i < TESTS; i++)
			canonical_inside &= got[i] / 12 != got[i - 1] / 12 || got[i] > got[i - 1];
		shuffle_by_seed(&units, SHUFFLE_CLASSES, seed, order);
		units_lay(&units, order, got);
		classes &= is_permutation(got, TESTS) && whole(&roster, got, roster_module_len) &&
			   whole(&roster, got, roster_class_len);
		for (size_t i = 1; i < TESTS; i++)
			moved_inside |= got[i] / 12 == got[i - 1] / 12 && got[i] < got[i - 1];
	}
	tap_ok(modules && canonical_inside, "modules move whole");
	tap_ok(classes && moved_inside, "classes move whole within modules, tests within them");
}

static void test_serial(void)
{
	const struct serials serials = {
		.at = { { (char[]){ "*test_1.py*" }, (char[]){ "a database" } },
			{ (char[]){ "*::test_2" }, (char[]){ "they share a port" } } },
		.len = 2,
	};
	cleanup(roster_done) struct roster roster = ROSTER_NULL;
	cleanup(units_done) struct units units = UNITS_NULL;
	uint32_t tests[TESTS];
	uint32_t order[TESTS];
	uint32_t got[TESTS];
	bool together = true;
	fill(&roster, tests);
	units_make(&roster, tests, TESTS, &serials, &units);
	tap_ok(units.len == TESTS - 11 - 3 && units.serial_len == 12 + 4,
	       "%zu units of %zu serial tests", units.len, units.serial_len);
	for (uint64_t seed = 0; seed < 60; seed++) {
		if (seed < 20)
			shuffle_reverse(&units, order);
		else if (seed < 40)
			shuffle_python(&units, seed, order);
		else
			shuffle_by_seed(&units, (enum shuffle_level)(seed % 3), seed, order);
		units_lay(&units, order, got);
		size_t at = 0;
		while (got[at] != 12)
			at++;
		for (uint32_t i = 0; i < 12; i++)
			together &= at + i < TESTS && got[at + i] == 12 + i;
		together &= is_permutation(got, TESTS);
	}
	tap_ok(together, "a serial block stays together, in canonical order");
}

static void test_ties(void)
{
	cleanup(roster_done) struct roster roster = ROSTER_NULL;
	cleanup(units_done) struct units units = UNITS_NULL;
	uint32_t order[1] = { 7 };
	units_make(&roster, NULL, 0, &no_serials, &units);
	tap_ok(!units.len && !shuffle_by_seed(&units, SHUFFLE_UNITS, 1, order) && order[0] == 7,
	       "no tests");
}

static void walk_faults(void)
{
	cleanup(roster_done) struct roster roster = ROSTER_NULL;
	uint32_t tests[TESTS];
	uint32_t order[TESTS];
	fill(&roster, tests);
	for (int n = 1; fault_walk_on(n); n++) {
		cleanup(units_done) struct units units = UNITS_NULL;
		int r = units_make(&roster, tests, TESTS, &no_serials, &units);
		r = r ? r : shuffle_by_seed(&units, SHUFFLE_CLASSES, 1, order);
		tap_ok(!fault_walk_hit() || r < 0, "call %d fails", n);
	}
}

int main(void)
{
	test_golden();
	test_stable(SHUFFLE_UNITS);
	test_stable(SHUFFLE_MODULES);
	test_stable(SHUFFLE_CLASSES);
	test_levels();
	test_serial();
	test_ties();
	walk_faults();
	return tap_done();
}
