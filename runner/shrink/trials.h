#pragma once
/*
 * trials: what became of a test behind each list of tests that was run before it.
 *
 * Owns copies of the lists.
 */
#include "probe/event.h"
#include "sandbox/base/digest.h"

struct trial {
	uint32_t *tests;
	size_t len;
	struct digest digest;
	unsigned passed;
	unsigned failed;
	unsigned neither; /* skipped, xpassed, absent: it did not do what is looked for */
	unsigned runs;    /* of these, those that the search asked for */
};

struct trials {
	struct trial *at;
	size_t len;
};
#define TRIALS_NULL ((struct trials){ 0 })

/* The trial of that list, which is new or known. 0 or -ENOMEM. */
int trials_get(struct trials *t, const uint32_t *tests, size_t len, size_t *ret);
void trial_tell(struct trial *t, enum outcome outcome);
unsigned trial_tries(const struct trial *t);
void trials_done(struct trials *t);
