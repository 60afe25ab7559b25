#pragma once
/*
 * clues: what the orders that ran already say of who makes a test fail (or pass).
 *
 * Guesses, all of them: they only say what is tried first. A test that ran before
 * it wherever it failed, and nowhere where it passed, is suspected most.
 *
 * Owns copies of what was seen.
 */
#include "runner/shrink/search.h"

struct clues {
	struct sighting *seen; /* without those that say the same again */
	size_t len;
	uint32_t *list;    /* their tests, one behind the other */
	uint32_t *places;  /* [sighting * tests_len + test]: from 1; 0: not before it */
	unsigned *passed;  /* by number of a test: in so many, in which it ran before, it passed */
	unsigned *failed;  /* ... failed */
	size_t tests_len;  /* of the two */
	unsigned all[2];   /* sightings by `passed`, of those that have tests before */
	unsigned again[2]; /* the same with those that say the same again */
};
#define CLUES_NULL ((struct clues){ 0 })

/* 0 or -ENOMEM. */
int clues_copy(struct clues *c, const struct sighting *seen, size_t len);
/* The orders that showed it, by `passed`: shortest first, those last of which another sighting says the
 * contrary. At most `max`; returns how many. */
size_t clues_bases(const struct clues *c, bool passed, const struct sighting **ret, size_t max);
/* How badly a set explains what was seen: 0 is best. One step for each sighting of the kind looked for
 * that does not hold it, two for each of the other kind that does. */
unsigned clues_misfit(const struct clues *c, bool passed, const struct search_set *set);
/* The same, of one test. */
unsigned clues_misfit_of(const struct clues *c, bool passed, uint32_t test);
/* In how many of the orders that showed it this test did not run before it. */
unsigned clues_without(const struct clues *c, bool passed, uint32_t test);
struct clues_pair {
	uint32_t tests[2];
};
/* The pairs of tests of `base` that explain best what was seen, and how badly they do; how many there
 * are, at most `max`, which says that there are too many. Pairs of the most suspected only. */
size_t clues_pairs(const struct clues *c, bool passed, const struct sighting *base,
		   struct clues_pair *ret, size_t max, unsigned *ret_misfit);
void clues_done(struct clues *c);
