#pragma once
/*
 * mounts: the cell's file tree, from the host's and a layout.
 *
 * Owns what the warden keeps of it: clones of the bases and of the scratch,
 * with which a later fork can mount overlays of its own, and the descriptors
 * that are handed out. Runs in the cell's namespaces, once.
 */
#include <stdint.h>

#include "sandbox/layout.h"

struct cell_spec;
struct err;

struct mounts {
	int root; /* O_PATH: the cell's / */
	int proc; /* open folders */
	int scratch;
	int scratch_clone;                            /* a detached mount of it */
	int bases[CELL_TREES_MAX + CELL_PRIVATE_MAX]; /* by place; -1: no overlay */
	uint64_t made;                                /* bit n: place n of the layout stands */
};

void mounts_init(struct mounts *m);
/* From the host's root to the cell's. Afterwards the caller stands in the new root, the old one is
 * still below it, /proc and CELL_RUN_DIR are still writable. */
int mounts_make(const struct cell_spec *spec, const struct layout *layout, struct mounts *m,
		struct err *e);
/* Make read-only what the suite shall not write, and let go of the old root. */
int mounts_seal(const struct cell_spec *spec, struct mounts *m, struct err *e);
