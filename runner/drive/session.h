#pragma once
/*
 * session: one order in one cell, as the looker sees it. The dialogue start,
 * look, answer, go on is one phase table here and nowhere else.
 *
 * Runs in the looker. Borrows the descriptors; writes finished ledger lines to
 * the channel, and reads from it how the command ended.
 */
#include <stdbool.h>
#include <sys/types.h>

#include "probe/vantage.h"

struct err;
struct order;
struct roster;
struct sensor;

struct session_setup {
	const struct order *order;
	const struct roster *roster; /* names the order's tests; NULL where it has none */
	unsigned lane;
	const char *project;                 /* absolute; ids of another root are prefixed */
	struct vantage *vantage;             /* the session fills in pid and inner */
	const struct sensor *const *sensors; /* NULL-terminated */
	bool restore;                        /* put back the files that a test leaves */
	pid_t warden; /* from whom all processes of the cell descend; 0: nobody stands there */
	int listener;
	int channel; /* stream to the runner */
};

/* What the runner says: that it was interrupted, before the suite feels it; once the command has
 * ended, how. */
struct session_news {
	bool ended;
	int wait_status;
	bool timed_out;
	bool interrupted;
};

/* Lines for the runner that are no ledger lines. */
#define SESSION_READY "{\"kind\":\"ready\"}" /* looked round: let the command run */
#define SESSION_OVER  "{\"kind\":\"over\"}"  /* the last line is written: the cell may go */

/* Returns when the command has ended and the last line is written. */
int session_run(const struct session_setup *setup, struct err *e);
