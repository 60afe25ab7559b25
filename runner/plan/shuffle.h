#pragma once
/*
 * shuffle: a suite in another order. What moves is a unit: one test, or the tests of a
 * serial block, which stay together as they are. Pure.
 *
 * An order of `shuffle` is decided by the seed and each unit's own name, so that a
 * test that is added or removed moves no other.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runner/plan/roster.h"
#include "runner/plan/serial.h"

enum unit_name { UNIT_MODULE, UNIT_CLASS, UNIT_SELF, UNIT_NAMES };

struct unit {
	struct {
		const char *text; /* begins with the name; borrowed */
		uint32_t len;     /* of the name */
		uint32_t number;  /* of the first unit that has the same */
	} names[UNIT_NAMES]; /* of its first test; itself: the id of the test, or the pattern of the block */
	uint32_t first; /* in units.tests */
	uint32_t len;
};

struct units {
	struct unit *at; /* by their first test, in canonical order */
	size_t len;
	uint32_t *tests; /* numbers, unit by unit */
	size_t tests_len;
	size_t serial_len; /* tests that stand in serial blocks */
};
#define UNITS_NULL ((struct units){ 0 })

/* Borrows the roster and the blocks as long as the units live. 0 or -ENOMEM. */
int units_make(const struct roster *roster, const uint32_t *tests, size_t n,
	       const struct serials *serials, struct units *ret);
void units_done(struct units *units);

enum shuffle_level {
	SHUFFLE_UNITS,   /* each moves by itself */
	SHUFFLE_MODULES, /* whole modules move, inside they stay canonical */
	SHUFFLE_CLASSES, /* modules move, in them their classes, in these the units */
};
/* Each writes indices of units, all of them, in their new order. 0 or -ENOMEM. */
int shuffle_by_seed(const struct units *units, enum shuffle_level level, uint64_t seed,
		    uint32_t *ret);
int shuffle_python(const struct units *units, uint64_t seed, uint32_t *ret);
int shuffle_reverse(const struct units *units, uint32_t *ret);

/* The tests of such an order, tests_len of them. */
void units_lay(const struct units *units, const uint32_t *order, uint32_t *ret);
