#pragma once
/*
 * history: every order of a run and what became of each test in it, from the
 * lines of the ledger: as they pass while orders run, or read back. What classes,
 * searches and reports know of outcomes, they know from here.
 *
 * An order that began and never ended (a kill) leaves no trace here once it has
 * begun again. Owns everything in it.
 */
#include "probe/event.h"
#include "runner/plan/order.h"
#include "runner/plan/roster.h"
#include "sandbox/base/json.h"

struct err;

#define HISTORY_AGAIN " (again)" /* behind the id of a test's second run, in view repeated */

enum phase {
	PHASE_NONE, /* it did not fail, or nobody said where */
	PHASE_COLLECT,
	PHASE_SETUP,
	PHASE_CALL,
	PHASE_TEARDOWN,
	PHASE_N,
};
const char *phase_name(enum phase phase); /* NULL: PHASE_NONE */
/* Where the test of a line of kind test failed. */
enum phase phase_of(const cJSON *line);

struct played {
	struct order order; /* as it was asked for; `tests` as they ran, the absent ones last */
	uint8_t *outcomes;  /* enum outcome, beside order.tests */
	uint8_t *phases;    /* enum phase, beside order.tests: where it failed */
	bool *again;   /* view repeated, beside order.tests: it is the second run of the test */
	bool ended;    /* it has an end; without one, nothing of it is evidence */
	bool complete; /* ... which was neither an interruption nor the time limit */
	bool interrupted;
	double seconds;
	uint32_t *collected; /* what its sessions announced, in that order */
	size_t collected_len;
	bool announced;   /* one of its sessions came as far as that */
	uint32_t *others; /* of a sweep: what they had that the plan does not name */
	size_t others_len;
	uint32_t *asked; /* what the plan said; none when as_collected */
	size_t asked_len;
	size_t missing_len; /* of those asked for, not there */
};

struct history {
	struct roster roster;
	struct played *orders; /* as they began */
	size_t len;
	struct map by_name; /* -> index + 1 */
	struct strv can; /* what an adapter said that it can do: "repeat", "parallel", "native" */
};
#define HISTORY_NULL ((struct history){ .roster = ROSTER_NULL, .by_name = MAP_NULL(NULL) })

/* One line of the ledger. Kinds that tell nothing of outcomes are passed over. */
int history_line(struct history *h, const char *kind, const cJSON *line, struct err *e);
/* The order of that name; NULL: none began. */
const struct played *history_find(const struct history *h, const char *name);
/* The number of a test as the lines of an order name it; ROSTER_NONE: there is none. What view
 * repeated put behind the id is cut off. */
uint32_t history_test(const struct history *h, const char *order, char *id);
/* What became of a test in an order: of its first run, or of its second where it ran twice. OUTCOME_N:
 * the order does not hold it. */
enum outcome played_outcome(const struct played *p, uint32_t test);
enum outcome played_again(const struct played *p, uint32_t test);
/* It asked which tests there are, and ran none. */
bool played_collects(const struct played *p);
void history_done(struct history *h);
