#pragma once
/*
 * writers: files that processes can still write to although no event will tell.
 *
 * A store through a shared mapping raises none, and moves no time, and an open
 * descriptor can be mapped at any later time. sendfile(2) and splice(2) into
 * what was opened through an overlay raise none either, until it is closed.
 *
 * Owns the list of processes; process 1 is ours and not in it.
 */
#include <stdbool.h>
#include <stdint.h>

#include "probe/sensors/roll.h"

struct err;

struct writers {
	struct roll processes;
	uint64_t descriptors; /* all that they had open when that was last asked */
};
#define WRITERS_NULL ((struct writers){ .processes = ROLL_NULL })

struct writers_tell {
	/* A path as the processes see it; one can come more than once, and what was removed ends in
	 * " (deleted)". What has no path is as a link in /proc shows it: "socket:[123]". */
	int (*each)(void *with, const char *path, bool mapped);
	void *with;
};

/* List the processes below proc, which the other calls then ask. warden: as in struct vantage. */
int writers_list(struct writers *w, int proc, int warden, struct err *e);
/* Have they more, or fewer, descriptors than when this was last asked? As quick as looking at each
 * is slow; one that took the place of another is not noticed. */
bool writers_moved(struct writers *w, int proc);
int writers_descriptors(const struct writers *w, int proc, const struct writers_tell *tell,
			struct err *e);
/* -ENOTTY: this kernel cannot be asked (before 6.11). */
int writers_maps(const struct writers *w, int proc, const struct writers_tell *tell, struct err *e);
void writers_done(struct writers *w);
