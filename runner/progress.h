#pragma once
/*
 * progress: how far the orders are, on stderr while they run: a bar on a terminal,
 * a line now and then elsewhere; and what each lane does, when somebody asks.
 * Reads the ledger lines as they pass; keeps no result.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "runner/terminal.h"
#include "sandbox/base/json.h"
#include "sandbox/base/map.h"
#include "sandbox/base/text.h"

#define PROGRESS_BAR_MS  100   /* between two drawings of the bar */
#define PROGRESS_LINE_MS 10000 /* between two lines */

/* What is still to begin, as far as is known. */
struct progress_left {
	size_t orders;
	double seconds; /* one after another; 0: nobody knows */
	bool more;      /* what comes of those decides what follows */
};

struct progress_order { /* one that runs */
	char *name;
	unsigned lane;
	int64_t began_ms;
	int64_t since_ms;  /* when its running test began */
	struct strv tests; /* all that were announced, by number */
	size_t running;    /* number of the test that runs; past the end: none */
	size_t done;
};

struct progress {
	FILE *out; /* borrowed; NULL: say nothing */
	struct terminal terminal;
	int64_t (*now_ms)(void);

	int64_t began_ms;
	int64_t told_ms; /* when it was told last */
	bool drawn;      /* a bar stands on the terminal */

	struct progress_order *orders; /* as they began */
	size_t orders_len;
	size_t orders_done;
	double orders_seconds; /* that those took */
	struct progress_left left;
	unsigned lanes;

	size_t tests_len; /* of the order that announced last, and how many of them ended */
	size_t tests_done;
	struct map failed; /* ids, each once in however many orders */
	struct map leaking;
};

void progress_begin(struct progress *p, FILE *out, const struct terminal *terminal,
		    int64_t (*now_ms)(void));
/* What is to come, in so many lanes. */
void progress_expect(struct progress *p, const struct progress_left *left, unsigned lanes);
/* A ledger line passes. */
void progress_see(struct progress *p, const cJSON *line);
/* Time passes; call it about every progress_due_ms(). */
void progress_tick(struct progress *p);
/* Milliseconds until the display grows old; -1: never. */
int progress_due_ms(const struct progress *p);
/* What each lane does, now. */
void progress_tell_lanes(struct progress *p);
/* Clears the bar, so that something else can be written; it comes back with the next line. */
void progress_hide(struct progress *p);
void progress_done(struct progress *p);
