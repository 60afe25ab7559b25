#pragma once
/*
 * isolation: each property of a cell, tried from inside by the command's own
 * process, when it has given everything up and before it becomes the command.
 *
 * Leaves nothing behind. The namespaces are compared by the runner, which alone
 * knows its own.
 */
#include "sandbox/cell.h"
#include "sandbox/layout.h"

struct isolation_scene {
	const struct cell_spec *spec;
	const struct layout *layout;
	uint64_t places_made;
	int scratch;
	int proc;        /* a mount of the cell's /proc */
	uint64_t caps;   /* those the command keeps */
	bool limited;    /* kernel.pid_max of the cell was lowered */
	bool unfiltered; /* the host refused a filter of system calls */
};

/* What the process is, which needs no tree: capabilities, filter, limits. */
void isolation_observe_self(const struct isolation_scene *scene, struct isolation *ret);
/* The tree around it. Changes the working directory. */
void isolation_observe_tree(const struct isolation_scene *scene, struct isolation *ret);
/* The same without namespaces: everything is reduced to what Landlock gives, which is tried. */
void isolation_observe_bare(const struct isolation_scene *scene, struct isolation *ret);
/* Compare the inodes seen inside with the caller's own. */
void isolation_compare(const struct cell_spec *spec, const uint64_t *inside,
		       const uint64_t *outside, struct isolation *isolation);
