#pragma once
/*
 * minicell: the part of a cell that a look at files needs, made by hand: a
 * scratch with a folder for /tmp, one for /home and an overlay over
 * /home/project, a fanotify mark, and processes of its own. For tests that must not depend on
 * the sandbox.
 *
 * minicell_enter() runs a function as process 1 in there; what it returns is
 * the exit status. minicell_make() then makes a fresh scratch.
 */
#include <stdbool.h>

#include "probe/vantage.h"

#define MINICELL_BASE "/base" /* the tree under the overlay; empty until the test fills it */

/* 0 and a skip when this host gives no namespaces. */
int minicell_enter(int (*inside)(void));

struct minicell {
	struct vantage v;
	struct vantage_place places[3];
};
/* Exits the process when something fails: a test cannot go on. */
void minicell_make(struct minicell *ret, bool watch);
void minicell_done(struct minicell *cell);

/* Run deed in a process of its own, with / as working directory, and wait for its end. */
void minicell_do(void (*deed)(void));
/* The same without the wait. */
pid_t minicell_start(void (*deed)(void));
void minicell_wait(pid_t pid);
