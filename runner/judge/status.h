#pragma once
/*
 * status: what the exit status of a run is, and every reason for it.
 * Pure.
 */
#include <stdbool.h>
#include <stddef.h>

#include "sandbox/base/text.h"

struct status_facts {
	size_t coupled;  /* of a check: tests that depend on others */
	size_t vanished; /* of a check: tests that were not there in some order */
	size_t damage;
	size_t leaks;
	size_t writes; /* outside of the state folders; with --contain alone */
	size_t tests;
	size_t failed;
	size_t absent;
	size_t stuck;      /* orders whose time limit passed when no test ran */
	size_t differing;  /* of a check: orders that had other tests than the first */
	int command;       /* exit status of the command; 128 + n for a signal */
	char reduced[256]; /* parts of the isolation that are missing and were not accepted */
	bool interrupted;
	bool budget_spent; /* of a check: before all was run */
	bool timed_out;
	bool leaks_fail; /* --fail-on leak */
	bool protocol_broken;
	bool died;         /* the test process ended in its session, and in no test */
	bool uncollected;  /* collecting the suite ended the test process, or did not end */
	bool tracker_lost; /* --tracker=fanotify, and it had to be scan */
	bool unfinished;   /* the ledger has no end: the run was killed */
	bool exit_zero;
	bool bisect_exit;
};

struct verdict {
	int status;
	struct strv reasons; /* the one that decided first */
};
#define VERDICT_NULL ((struct verdict){ 0 })

/* 0 or -ENOMEM. */
int status_judge(const struct status_facts *facts, struct verdict *ret);
void verdict_done(struct verdict *v);

/* The status that git bisect run understands: 125 skips the commit, 128 ends the search. */
int status_for_bisect(int status);
