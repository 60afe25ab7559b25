#pragma once
/*
 * warden: process 1 of a cell. It builds the cell, starts the command, reaps,
 * obeys the runner, and dies with it.
 *
 * Entered in the child of clone3 and never left; borrows what the fork gave it.
 */
#include "sandbox/layout.h"

struct cell_spec;

struct warden_setup {
	const struct cell_spec *spec;
	const struct scratch_disk *disk;
	const struct layout *layout; /* a board: empty until SYNC_PLANNED */
	uint64_t caps;               /* those the command keeps */
	int control;
	int gate; /* the command's way to the runner */
};
_Noreturn void warden_main(const struct warden_setup *setup);
