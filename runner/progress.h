#pragma once
/*
 * progress: how far an order is, on stderr while it runs: a bar on a terminal,
 * a line now and then elsewhere. Reads the ledger lines as they pass; keeps no
 * result.
 */
#include <stdint.h>
#include <stdio.h>

#include "runner/terminal.h"
#include "sandbox/base/json.h"
#include "sandbox/base/text.h"

#define PROGRESS_BAR_MS  100   /* between two drawings of the bar */
#define PROGRESS_LINE_MS 10000 /* between two lines */

struct progress {
	FILE *out; /* borrowed; NULL: say nothing */
	struct terminal terminal;
	int64_t (*now_ms)(void);

	int64_t began_ms;
	int64_t told_ms;   /* when it was told last */
	bool drawn;        /* a bar stands on the terminal */
	struct strv tests; /* all that were announced, by number */
	size_t running;    /* number of the test that runs; past the end: none */
	size_t done;
	size_t failed;
	size_t leaking;
};

void progress_begin(struct progress *p, FILE *out, const struct terminal *terminal,
		    int64_t (*now_ms)(void));
/* A ledger line passes. */
void progress_see(struct progress *p, const cJSON *line);
/* Time passes; call it about every progress_due_ms(). */
void progress_tick(struct progress *p);
/* Milliseconds until the display grows old; -1: never. */
int progress_due_ms(const struct progress *p);
/* Clears the bar, so that something else can be written; it comes back with the next line. */
void progress_hide(struct progress *p);
void progress_done(struct progress *p);
