#pragma once
/*
 * layer_make: run the commands of "prepare" in a cell, and keep what they did
 * to the project.
 *
 * Writes DIGEST/new and DIGEST/layer.json; whoever calls holds the exclusive
 * lock, and gives the layer its name when all is well.
 */
#include <stdio.h>

#include "runner/config.h"
#include "sandbox/cell_spec.h"

struct err;

#define LAYER_VERSION 1 /* of layer.json */

struct layer_job {
	const struct config *config;
	const struct cell_spec *spec; /* of the cell; argv, stdin, stdout and stderr are set here */
	int dir;                      /* DIGEST */
	FILE *say;                    /* NULL: only what went wrong, to stderr */
};
int layer_make(const struct layer_job *job, struct err *e);
