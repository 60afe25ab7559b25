#pragma once
/*
 * looker: the process that takes one cell's fingerprints.
 *
 * Forked by the runner, joined to the cell's user namespace and to no other,
 * it runs the session and ends with its cell or with the runner, whichever is
 * first. It holds the cell's view and the channel; nothing else of the runner.
 */
#include "probe/vantage.h"
#include "runner/drive/order.h"
#include "sandbox/base/json.h"

struct looker {
	pid_t pid;   /* 0: none */
	int pidfd;   /* readable when it has ended */
	int channel; /* stream: ledger lines out of it, struct session_end into it; -1: none */
};
#define LOOKER_NULL ((struct looker){ .pidfd = -1, .channel = -1 })

/* What it does: says lines on the channel. Where it fails, its err goes there as the last line, of
 * the kind "err". */
struct looker_task {
	int (*look)(const void *with, const struct cell *cell, int channel, struct err *e);
	const void *with;
	const int *fds; /* of its own, at most LOOKER_FDS_MAX */
	size_t fds_len;
};
#define LOOKER_FDS_MAX 64
int looker_fork(const struct looker_task *task, const struct cell *cell, struct looker *ret,
		struct err *e);
/* What a task says: one line of JSON. */
int looker_say(int channel, const cJSON *line, struct err *e);
/* Forks, and hands each line and its "kind" to take_line() until that returns 1: it was the last. */
int looker_ask(const struct looker_task *task, const struct cell *cell,
	       int (*take_line)(void *with, cJSON *line, const char *kind, struct err *e),
	       void *with, struct err *e);
/* Raises a line of the kind "err" as one's own. */
int looker_raise(const cJSON *line, struct err *e);

/* The cell as a vantage, without zones; `places` has room for LOOKER_PLACES_MAX, and both borrow
 * from view. */
#define LOOKER_PLACES_MAX (CELL_TREES_MAX + CELL_PRIVATE_MAX)
void looker_vantage(const struct cell_view *view, struct vantage_place *places, struct vantage *ret);

/* The session of an order. */
int looker_start(const struct order_ask *ask, const struct cell *cell, struct looker *ret,
		 struct err *e);
/* Waits until it has ended. Accepts LOOKER_NULL. */
void looker_done(struct looker *looker);
