#pragma once
/*
 * order: one order of the suite in one cell, from the spec to the last ledger
 * line. The runner's side: it owns the cell, forks the looker, passes signals
 * on, keeps the suite's output, and is the only one that writes the ledger.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runner/plan/order.h"
#include "sandbox/base/err.h"
#include "sandbox/cell.h"

struct adapter;
struct keeps;
struct ledger;
struct progress;
struct vantage_zone;

/* All that one order is run with; borrowed. */
struct order_setup {
	const struct cell_spec *spec; /* its stdin, stdout and stderr are set by order_run */
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

/* Runs it. Ledger lines are appended as they come, the suite's output goes to the ledger's log of
 * this order. An err is our failure or the host's, never the suite's. */
int order_run(const struct order *order, const struct order_setup *setup, struct ledger *ledger,
	      struct progress *progress, struct order_result *ret, struct err *e);
