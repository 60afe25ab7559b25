#pragma once
/*
 * solo: one command in one cell, with nobody who asks it anything: no adapter
 * speaks, nobody looks until it has ended. What is sent to the runner is the
 * command's; what stops the command stops the runner.
 */
#include "sandbox/cell.h"

struct err;
struct signals;
struct tty;

/* The signals to be heard, for signals_open(): all that people and shells send. */
extern const int solo_signals[];
extern const size_t solo_signals_len;

struct solo {
	struct cell *cell;
	const struct signals *signals;
	struct tty *tty; /* TTY_NULL: the command has our own streams */
	/* Stop when the command stops itself, as a job of a shell does. Not with a time limit: nobody
	 * need ever continue us, and the limit would never be told. */
	bool mirror_stops;
};

/* Lets the command run, and returns when it has ended. */
int solo_run(const struct solo *solo, struct cell_event *ret, struct err *e);
