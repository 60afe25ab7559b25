#pragma once
/*
 * order: one order of the suite in one cell, from the spec to the last ledger
 * line. The runner's side: it owns the cell, forks the looker, keeps the suite's
 * output, and hands on every ledger line.
 *
 * Several run side by side in one loop (lanes.h), which waits for the descriptors
 * and the time that each of them names. Nothing here waits, but for a cell to
 * stand, and for what is brought out of it.
 */
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runner/plan/order.h"
#include "runner/plan/roster.h"
#include "sandbox/base/err.h"
#include "sandbox/base/json.h"
#include "sandbox/cell.h"

struct adapter;
struct config;
struct keeps;
struct ledger;
struct progress;
struct vantage_zone;

/* All that orders are run with; borrowed. */
struct order_setup {
	/* A cell without namespaces is a folder, whose name is part of what the command is told: by
	 * this each order prepares its own. NULL: there is one order, and it is prepared. */
	const struct config *config;
	const struct cell_spec *spec; /* its stdin, stdout and stderr are set by order_start */
	const struct adapter *adapter;
	const struct vantage_zone *zones;
	size_t zones_len;
	const char *const *sensors_off; /* domains not looked at; NULL-terminated, or NULL */
	bool show_values;               /* of variables, in the ledger */
	const char *const *probes;      /* names of the spec's errands; NULL-terminated */
	const uint32_t *probe_ms;       /* how long each may take */
	bool restore;                   /* put back the files that a test leaves */
	struct keeps *keeps;            /* what is brought out at the end; NULL: nothing */
	bool echo;                      /* copy the suite's output to stderr as it comes */
};

struct order_result {
	int wait_status; /* of the command */
	bool exec_failed;
	int exec_error;
	bool timed_out;
	bool interrupted;    /* ctrl-C or SIGTERM came */
	bool spoke;          /* an adapter said hello */
	uint64_t tests_len;  /* rows written, absent ones included */
	struct err not_kept; /* why not all that was to be brought out was */
	struct isolation isolation;
};

/* One order, and who hears of it; borrowed until order_leave() has returned. */
struct order_ask {
	const struct order *order;
	const struct order_setup *setup;
	const struct roster *roster; /* names the order's tests; NULL where it has none */
	unsigned lane;
	struct ledger *ledger;     /* for the log of the suite's output */
	struct progress *progress; /* stands aside where that is echoed */
	/* Each ledger line as it comes, also as text. */
	int (*line)(void *with, const cJSON *line, const char *text, size_t len, struct err *e);
	void *with;
};

struct order_run;

/* An err is our failure or the host's, never the suite's; after it the run can only be freed. */
int order_start(const struct order_ask *ask, struct order_run **ret, struct err *e);

/* What to wait for; and until when at most, on the clock of clock_ms(): INT64_MAX: for ever. */
#define ORDER_POLLS 3
void order_polls(const struct order_run *run, struct pollfd polls[ORDER_POLLS]);
int64_t order_due_ms(const struct order_run *run);
/* Acts on what came. 1: it is over, its last line is written; after order_leave(): the cell is
 * gone. */
int order_step(struct order_run *run, const struct pollfd polls[ORDER_POLLS], struct err *e);

/* Somebody wants it to end: the first time it is asked to, then it is killed. */
int order_interrupt(struct order_run *run, struct err *e);
/* SIGSTOP or SIGCONT to the command, while it runs. */
int order_signal(struct order_run *run, int signal, struct err *e);

/* It is over: brings out what is to be kept, and lets the cell go, which order_step() sees the end of. */
int order_leave(struct order_run *run, struct order_result *ret, struct err *e);
/* At any time: ends what is left of it, and waits for that. Accepts NULL. */
void order_free(struct order_run *run);
