#pragma once
/*
 * scratch: the one tmpfs, or folder on a disk, that holds everything a cell can
 * write, and what stands on it before the command starts: folders, canaries, our
 * files.
 *
 *	tmp var-tmp shm home cache run	the private places
 *	run/fumehood			ours; etc/ and empty/ in it are mounted elsewhere
 *	dev				the folder of /dev
 *	upper/N work/N			layers of the overlays
 *
 * Keeps nothing.
 */
struct cell_spec;
struct err;

#define SCRATCH_OWN        "run/fumehood" /* CELL_RUN_DIR */
#define SCRATCH_DROP       SCRATCH_OWN "/drop"
#define SCRATCH_ETC        SCRATCH_OWN "/etc"   /* a file for each of struct etc that is wanted */
#define SCRATCH_EMPTY      SCRATCH_OWN "/empty" /* what covers secrets */
#define SCRATCH_EMPTY_FILE SCRATCH_OWN "/empty.file"

/* A detached mount: of a folder on a disk, or when path is NULL a tmpfs of the spec's size. */
int scratch_new(const struct cell_spec *spec, const char *path, int *ret, struct err *e);
/* Make what will be mounted, but the layers, on an open scratch. Reads the host's /etc. */
int scratch_lay_out(const struct cell_spec *spec, int scratch, struct err *e);
/* Make what lies in there: canaries, our files. */
int scratch_fill(const struct cell_spec *spec, int scratch, struct err *e);
