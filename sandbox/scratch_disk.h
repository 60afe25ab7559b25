#pragma once
/*
 * scratch_disk: a scratch in a folder of the host, in place of memory.
 *
 * DIR/fumehood-UID holds a folder for each cell that runs; cells see nothing of
 * it. Whoever made one holds a lock on it until it is removed, so that what a
 * killed run left behind is told apart, and removed when the next cell begins.
 *
 * Owns the path, the lock and all that lies in the folder.
 */
struct cell_spec;
struct err;

struct scratch_disk {
	char *parent; /* DIR/fumehood-UID; NULL: nothing was made */
	char *path;   /* DIR/fumehood-UID/NAME.XXXXXX */
	int lock;
};
#define SCRATCH_DISK_NULL ((struct scratch_disk){ .lock = -1 })

/* Below spec->scratch_dir; removes what is left there by runs that are no more. */
int scratch_disk_new(const struct cell_spec *spec, struct scratch_disk *ret, struct err *e);
/* Removes it, when nobody is in there any more. Accepts SCRATCH_DISK_NULL. */
void scratch_disk_done(struct scratch_disk *disk);
