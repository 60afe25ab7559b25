#pragma once
/*
 * keep: bring a file or folder that a command left in its cell out to the host.
 *
 * Files, folders, and links that cannot lead out of what is kept; modes
 * without setuid, setgid and sticky; whoever calls owns the copies. What is
 * there is replaced, each file at once; nothing is deleted. No link is followed,
 * neither in the cell nor, below the place that was named, on the host.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/base/text.h"

struct cell;
struct err;

#define KEEP_MAX 32 /* places */

struct keep {
	char *path;     /* absolute, in the cell */
	char *to;       /* absolute, on the host */
	int dir;        /* the last folder on the way to it that stood when the command began */
	char *rest;     /* of `to` below dir, at least a name */
	bool done;      /* all of it was brought out */
	uint64_t files; /* that were: files and links */
	uint64_t bytes;
};

struct keeps {
	struct keep at[KEEP_MAX];
	size_t len;
	struct strv left_out; /* "PATH: why", the first of them */
	uint64_t left_out_len;
};
#define KEEPS_NULL ((struct keeps){ .len = 0 })

/* Before the command begins. `asked`: "PATH" or "PATH=DEST"; NULL-terminated, or NULL. What can
 * be refused is refused now, STATUS_USAGE. */
int keeps_open(const char *const *asked, struct keeps *ret, struct err *e);
/* When nobody is at work in the cell. */
int keeps_bring(struct keeps *keeps, const struct cell *cell, struct err *e);
void keeps_done(struct keeps *keeps);

/* Does a link, `depth` folders below the top of what is kept, lead to nowhere else, whatever other
 * such links it meets? Pure. */
bool keep_stays_within(const char *target, size_t depth);
