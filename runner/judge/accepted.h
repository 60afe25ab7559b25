#pragma once
/*
 * accepted: what of a run's findings somebody accepts, by the rules that run.json
 * keeps, on the day on which the run started. Pure; the ledger stays as it is.
 *
 * Owns the rules, and counts what each took out.
 */
#include "runner/ignores.h"

struct summary_changes;

struct accepted {
	struct ignores ignore;
	struct ignores expected_state;
	char day[11]; /* "2026-11-30", in UTC */
};
#define ACCEPTED_NULL ((struct accepted){ 0 })

/* about: run.json. 0 or -ENOMEM. */
int accepted_read(const cJSON *about, struct accepted *ret);
void accepted_done(struct accepted *a);

/* Is it to be taken out? Then it is counted by its rule. test and key may be NULL. */
bool accepted_takes(struct accepted *a, const char *code, const char *test, const char *key);
/* The same, and nothing is counted. */
bool accepted_has(const struct accepted *a, const char *code, const char *test, const char *key);
/* Takes changes out of a list. */
void accepted_filter(struct accepted *a, struct summary_changes *list);
