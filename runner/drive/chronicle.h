#pragma once
/*
 * chronicle: what a session saw, told as ledger lines (configs/schema/ledger.json)
 * to the runner, which alone writes the ledger.
 *
 * Knows every test of the cell and what became of it. Borrows the fingerprint
 * and the channel.
 */
#include <stdint.h>

#include "probe/event.h"
#include "probe/fingerprint.h"
#include "runner/drive/record.h"
#include "runner/drive/scopes.h"
#include "runner/drive/session.h"
#include "runner/drive/suite.h"

/* Since the last boundary, of the running test. */
struct window {
	struct delta_list deltas;
	struct met_list met;
	cJSON *held; /* what fixtures made meanwhile, already as lines show it; may be NULL */
};
void window_done(struct window *w);

struct chronicle {
	const struct session_setup *setup;
	struct suite suite;
	struct fingerprint *prints;
	struct names names;
	double began; /* clock_seconds() */
	uint64_t refused;
};

/* In place: the names point at it. */
void chronicle_init(struct chronicle *c, const struct session_setup *setup);
void chronicle_done(struct chronicle *c);
/* The id of a test, NULL when the number is no test's. `with` is the chronicle. */
const char *chronicle_name(const void *with, int number);

/* One line as it is. */
int chronicle_say(struct chronicle *c, const char *line, struct err *e);
/* An adapter said hello; pid is its process in the cell. What earlier tests left alive beside it is
 * told, too: it can do to that process what a parent or a tracer can. */
int chronicle_session(struct chronicle *c, const cJSON *hello, pid_t pid, struct err *e);
/* The tests of the present session; others: an array of ids that it has and was not asked for, or NULL. */
int chronicle_order(struct chronicle *c, const cJSON *collected, const cJSON *others, struct err *e);
/* One test has its outcome. packet: what told so, or NULL; message: in place of the packet's, or
 * NULL. Empties the window, unless the test is absent; w: NULL: nobody looked. */
int chronicle_test(struct chronicle *c, int test, enum outcome outcome, const cJSON *packet,
		   const char *message, struct window *w, struct err *e);
/* What a fixture left behind when it closed, or never closed: no line when that is nothing. */
int chronicle_scope(struct chronicle *c, struct scope *scope, struct err *e);
/* What a fixture made during the running test, for that test's line. */
int chronicle_held(struct chronicle *c, struct scope *scope, struct window *w, struct err *e);
/* A packet of process `pid` (in the cell) was not heard; test: running, or negative. */
int chronicle_refused(struct chronicle *c, pid_t pid, const char *why, int test, struct err *e);

struct chronicle_end {
	const char *outcome;
	const char *why; /* may be NULL */
	int wait_status;
	const struct delta_list *between; /* of no test */
	const struct delta_list *last;    /* what only the last scan by content saw */
};
int chronicle_finish(struct chronicle *c, const struct chronicle_end *end, struct err *e);
