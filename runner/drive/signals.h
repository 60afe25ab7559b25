#pragma once
/*
 * signals: what a user or a terminal sends to the runner, heard through a
 * descriptor, so that the runner acts on it in its own time.
 *
 * What the caller has us ignore, as nohup does, stays ignored.
 */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

struct cell;
struct err;

struct signals {
	int fd; /* readable when one has come */
	sigset_t before;
};
#define SIGNALS_NULL ((struct signals){ .fd = -1 })

int signals_open(const int *heard, size_t n, struct signals *ret, struct err *e);
/* The next one that came; 0: none. */
int signals_take(const struct signals *s);
/* The runner stops, and the command of the cell with it, until somebody continues the runner. */
int signals_pause(struct cell *cell, struct err *e);
/* Accepts SIGNALS_NULL. */
void signals_done(struct signals *s);
