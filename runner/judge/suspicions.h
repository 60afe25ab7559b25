#pragma once
/*
 * suspicions: changes that were seen while processes of earlier tests were alive,
 * so that nobody knows yet whose they are. Who makes the same change when it runs
 * alone is who made it. Pure.
 *
 * Owns what it keeps in mind.
 */
#include <stddef.h>
#include <stdint.h>

#include "sandbox/base/digest.h"
#include "sandbox/base/json.h"
#include "sandbox/base/map.h"

struct classes;
struct err;
struct history;
struct summary_changes;

struct suspicion {
	char change[DIGEST_HEX]; /* of its domain, what and key */
	uint32_t charged;        /* the test that ran meanwhile */
	uint32_t *suspects;      /* whose processes were alive */
	size_t suspects_len;
};
struct suspicions {
	struct suspicion *at;
	size_t len;
	struct map known; /* a change and who is charged -> index + 1 */
	struct map alone; /* a change and who showed it alone */
};
#define SUSPICIONS_NULL ((struct suspicions){ .known = MAP_NULL(NULL), .alone = MAP_NULL(NULL) })

/* What one line of the ledger, which the history has seen, says; other kinds are passed over. */
int suspicions_line(struct suspicions *s, const struct history *h, const char *kind,
		    const cJSON *line, struct err *e);
/* The test that did it; ROSTER_NONE: not known, or nobody does it alone. */
uint32_t suspicions_author(const struct suspicions *s, const struct classes *c, size_t i);
/* The tests whose isolated run would tell more: numbers, ascending; the caller's. 0 or -ENOMEM. */
int suspicions_open(const struct suspicions *s, const struct classes *c, uint32_t **ret,
		    size_t *ret_len);
/* Charges each change of the list to who did it. What the author is charged with already goes. 0 or
 * -ENOMEM. */
int suspicions_settle(const struct suspicions *s, const struct classes *c,
		      struct summary_changes *list);
void suspicions_done(struct suspicions *s);
