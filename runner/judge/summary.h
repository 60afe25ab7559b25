#pragma once
/*
 * summary: what one run found, read back from its folder. A pure function of
 * run.json and the ledger, so that a report of an old run and the end of a new
 * one are the same thing. What several orders show stands there once.
 *
 * Owns everything in it. Texts are as the suite gave them: a report makes them
 * printable.
 */
#include <stdbool.h>
#include <stddef.h>

#include "probe/event.h"
#include "runner/judge/accepted.h"
#include "runner/judge/status.h"
#include "sandbox/base/json.h"
#include "sandbox/base/text.h"

struct err;
struct ledger;

/* Where something stands in the earliest order that shows it: the order, as they began, and which of
 * all that is told of that order it is. */
struct summary_place {
	unsigned order;
	unsigned line;
};
struct summary_showings {
	struct summary_place place;
	unsigned orders; /* of the plan, that show it */
	unsigned last;   /* of them, the one heard of last */
	unsigned alike;  /* of the first of things alike: how many that one shows */
};

struct summary_failure {
	struct summary_showings shown;
	char *test;
	enum outcome outcome;
	const char *phase; /* setup teardown collect; NULL: the test itself, or not told */
	char *message;     /* whole; NULL: none */
};

/* A change that outlived its test or fixture, or that no test made. What lies in the zone `state` is
 * none. */
struct summary_change {
	struct summary_showings shown;
	const char *code;
	char *test;    /* NULL: no test's */
	char *during;  /* the test in which what `test` had left running did it; NULL: itself did */
	char *fixture; /* whose it is, set up in `test`; NULL: the test's own */
	char *domain;
	char *what;
	char *key;
	char *zone;    /* NULL: none */
	cJSON *before; /* object, or NULL */
	cJSON *after;
	struct strv suspects;
	bool restored;      /* put back before the next test */
	char *restored_why; /* why that failed; NULL: it did not, or was not tried */
	char *when;         /* of no test: outside any, or seen by the last scan; else NULL */
};

struct summary_changes {
	struct summary_change *at;
	size_t len;
	size_t cap;
};

struct summary_survivor {
	struct summary_showings shown;
	char *key;
	char *test; /* NULL: nobody's */
};

struct summary {
	char *run;    /* path of the run folder */
	cJSON *about; /* run.json */

	size_t outcomes[OUTCOME_N]; /* of the first order that swept all */
	size_t tests_len;
	struct summary_failure *failures; /* a test each, in the order they ran */
	size_t failures_len;
	struct summary_changes leaks; /* without damage */
	struct summary_changes damage;
	struct summary_changes writes; /* outside of zone state, and neither of these; with --contain */
	struct summary_changes unattributed;
	struct summary_survivor *survivors;
	size_t survivors_len;

	struct accepted accepted; /* what was taken out of the lists, by rule */
	bool contain;             /* --contain */
	struct strv notes;        /* what could not be seen, was switched off, or was refused */
	size_t changes_left_out;  /* as too many: they stand in the ledger */
	size_t notes_left_out;
	size_t begins_len;
	size_t ends_len;
	size_t sweeps_len; /* orders of the plan; 0: the ledger tells of none that begins */
	double seconds;
	struct status_facts facts;
	struct verdict verdict;
};
#define SUMMARY_NULL ((struct summary){ 0 })

int summary_read(const struct ledger *l, struct summary *ret, struct err *e);
void summary_done(struct summary *s);
void summary_change_done(struct summary_change *c);
void summary_survivor_done(struct summary_survivor *alive);
