#pragma once
/*
 * looker: the process that takes one cell's fingerprints.
 *
 * Forked by the runner, joined to the cell's user namespace and to no other,
 * it runs the session and ends with its cell or with the runner, whichever is
 * first. It holds the cell's view and the channel; nothing else of the runner.
 */
#include "runner/drive/order.h"

struct looker {
	pid_t pid;   /* 0: none */
	int channel; /* stream: ledger lines out of it, struct session_end into it; -1: none */
};
#define LOOKER_NULL ((struct looker){ .channel = -1 })

int looker_start(const struct order *order, const struct order_setup *setup,
		 const struct cell *cell, struct looker *ret, struct err *e);
/* Waits until it has ended. Accepts LOOKER_NULL. */
void looker_done(struct looker *looker);
