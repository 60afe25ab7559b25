#pragma once
/*
 * layout: the writable places of a cell, in the order in which they are
 * mounted. Decided by the runner from the spec and the host's mounts, while the
 * warden begins; the warden only carries it out.
 *
 * Owns its paths.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sandbox/cell.h"

struct err;

#define LAYOUT_DIR_LEN 16

struct layout_place {
	char dir[LAYOUT_DIR_LEN]; /* below the scratch */
	char *path;               /* real path in the cell */
	bool overlay; /* over what stands at path; otherwise it begins empty, or a copy */
	bool empty;   /* so does a tree, of the mode and owner of what stands there */
	bool project; /* of the project's tree: mounted after all else */
	bool copy;    /* no overlay: what stands at path is copied */
};

struct layout {
	struct layout_place places[CELL_TREES_MAX + CELL_PRIVATE_MAX];
	size_t len;
	size_t trees_len; /* overlays, and those that need none because they are empty */
};
#define LAYOUT_NULL ((struct layout){ 0 })

/* mountinfo: the text of /proc/self/mountinfo. hidden: a folder no place may hold, since their layers
 * lie in it; NULL: there is none. More trees of root than CELL_TREES_MAX stay read-only;
 * a project that mounts split into more is an error. */
int layout_make(const struct cell_spec *spec, const char *mountinfo, const char *hidden,
		struct layout *ret, struct err *e);
void layout_done(struct layout *layout);

/* A board is memory that forks share with who made it: what is posted on it can be read by forks
 * that are older. The paths on it are borrowed from the board; NULL: no memory. */
struct layout *layout_board_new(void);
void layout_post(const struct layout *layout, struct layout *board);
void layout_board_free(struct layout *board);
