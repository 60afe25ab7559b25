#pragma once
/*
 * lanes: orders in cells, several at once, in one loop of one thread.
 *
 * It takes the orders one after another from a source, and tells it every ledger
 * line and every end. A key pressed on the terminal, or SIGUSR1, makes the display
 * tell what each lane does. Ctrl-C ends the tests that run, a second one kills them;
 * orders that have ended by then are kept, and no other begins. A failure of ours
 * in one order ends them all.
 *
 * Owns nothing of what it is given. Writes the ledger.
 */
#include <stdbool.h>

#include "runner/drive/order.h"

struct progress_left;

/* Where orders come from. */
struct lanes_source {
	/* 1: *ret is to run now, borrowed until ended() of it. 0: nothing now; more may come once a
	 * running one has ended, and all are done when none runs. */
	int (*next)(void *with, const struct order **ret, struct err *e);
	/* Each ledger line as it is appended; may be NULL. */
	int (*line)(void *with, const char *kind, const cJSON *line, struct err *e);
	int (*ended)(void *with, const struct order *order, const struct order_result *result,
		     struct err *e);
	/* What is still to begin; NULL: nothing. */
	void (*left)(void *with, struct progress_left *ret);
	void *with;
};

struct lanes_setup {
	const struct order_setup *order;
	unsigned lanes; /* at least 1 */
	struct ledger *ledger;
	const struct roster *roster; /* NULL: no order names tests */
	struct progress *progress;
};

struct lanes_result {
	bool interrupted;
};

#define LANES_MAX 256

/* As many as this process may use processors. */
unsigned lanes_default(void);
/* How many processors a cpu.max of a control group grants, rounded up; 0: it sets no limit. */
unsigned lanes_granted(const char *cpu_max);

int lanes_run(const struct lanes_setup *setup, const struct lanes_source *source,
	      struct lanes_result *ret, struct err *e);
