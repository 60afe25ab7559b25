#pragma once
/*
 * layer: what the commands of "prepare" made of the project, kept in the cache
 * and laid on the project in every cell that follows.
 *
 *	CACHE/fumehood/layers/DIGEST/
 *		layer/		a lower layer for overlays
 *		layer.json	what it was made of, and what of the project it replaced
 *		new/		being made, or left by a run that was killed
 *
 * DIGEST is of the project's path, the commands, their environment and the
 * contents of the inputs. A layer is no longer used when a file of the project
 * that it replaced has changed since. Whoever uses one holds a shared lock on
 * DIGEST/, whoever makes or removes one an exclusive one.
 *
 * Owns its path and the lock.
 */
#include <stdbool.h>
#include <stdio.h>

#include "runner/config.h"
#include "sandbox/base/digest.h"

struct err;

#define LAYERS_MAX       16                  /* kept; of more the least used go */
#define LAYER_TIMEOUT_MS (60U * 60U * 1000U) /* for all commands of one */

struct layer {
	char *path; /* NULL: there is nothing to lay on the project */
	int lock;   /* the folder DIGEST, open */
	char digest[DIGEST_HEX];
	bool reused;
};
#define LAYER_NULL ((struct layer){ .lock = -1 })

/* Runs the commands where no earlier run has, in a cell with the host's network. `caller`: environ.
 * What is done is told to `say`; NULL: only what went wrong, to stderr. */
int layer_ready(const struct config *c, const char *const *caller, FILE *say, struct layer *ret,
		struct err *e);
void layer_done(struct layer *layer);
