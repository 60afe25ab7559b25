#pragma once
/*
 * record: ledger lines (configs/schema/ledger.json) from what a session saw. Pure but
 * for memory; a NULL tree is no memory.
 */
#include "probe/delta.h"
#include "probe/fingerprint.h"
#include "sandbox/base/json.h"

/* Names for the numbers that deltas carry: NULL for one that is no test's. */
struct names {
	const char *(*test)(const void *with, int number);
	const void *with;
};

/* The deltas that pass `only` (NULL: all) as an array; `by` is whose they are. */
cJSON *record_deltas(const struct delta_list *list, int by, const struct names *names,
		     bool (*only)(const struct delta *d));
cJSON *record_met(const struct met_list *list, const struct names *names);
/* {"files": digest, …, "all": digest} */
cJSON *record_state(const struct fingerprint *f, const struct sensor *const *sensors);

/* What a delta counts as, now that its test or fixture has ended. */
enum delta_kind record_kind(const struct delta *d);
