#pragma once
/*
 * order: one execution of tests that is to be, as data. How it is run is
 * drive/'s business; what came of it stands in the ledger.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/base/json.h"
#include "sandbox/base/text.h"

enum view { /* what is looked at: DESIGN 2 */
	    VIEW_CANONICAL,
	    VIEW_SHUFFLED,
	    VIEW_ISOLATED,
	    VIEW_REPEATED,
	    VIEW_PARALLEL,
	    VIEW_N,
};
extern const char *const view_names[VIEW_N];

enum role {               /* who asked for it */
	    ROLE_SWEEP,   /* the plan: a column of the matrix */
	    ROLE_CONFIRM, /* does it repeat? */
	    ROLE_SHRINK,
	    ROLE_WAVE, /* right behind what makes others fail; and what follows from that, but searches */
	    ROLE_REPLAY, /* the user, of an earlier run */
	    ROLE_N,
};
extern const char *const role_names[ROLE_N];

extern const char *const shuffle_names[]; /* NULL-terminated */

struct order {
	char *name; /* "canonical", "canonical-2", "reverse", "s17", "alone-3": of its log and its lines */
	enum view view;
	enum role role;
	const char *shuffle; /* of shuffle_names; NULL: none */
	uint64_t seed;       /* of shuffle, where it has one */
	bool seeded;
	bool as_collected; /* all tests, as the framework has them; `tests` is empty */
	uint32_t *tests;   /* numbers of the roster, in execution order */
	size_t tests_len;
	struct strv vary; /* DIMENSION=VALUE: "hashseed=17", "umask=077" */
};
#define ORDER_NULL ((struct order){ 0 })

/* It runs no test: which ones there are is all that is asked. */
bool order_collects(const struct order *o);
void order_done(struct order *o);

/* Its "shuffle" and "seed", as ledger lines tell them. */
void order_add_shuffle(const struct order *o, cJSON *line);
