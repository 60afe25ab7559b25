#pragma once
/*
 * changes: what a command left changed in the files of its cell, by zone.
 *
 * One look before it runs, which learns what stands; one after it has ended
 * and nobody of it is alive, by a process of its own in the cell's user
 * namespace. What counts as a change is the probe's to say.
 */
#include <stddef.h>
#include <stdint.h>

#include "probe/vantage.h"
#include "sandbox/base/json.h"

struct cell;
struct err;

enum changes_class {
	CHANGES_CREATED,
	CHANGES_CHANGED, /* content, type, target of a link */
	CHANGES_DELETED,
	CHANGES_ATTRIBUTES, /* mode, owner, extended attributes, links: these alone */
	CHANGES_CLASS_N,
};
extern const char *const changes_class_names[CHANGES_CLASS_N];

enum { CHANGES_ZONES_N = 7 };
extern const char *const changes_zone_names[CHANGES_ZONES_N];

#define CHANGES_ROWS_MAX 10000 /* that are told one by one */

struct changes_total {
	uint64_t count;
	uint64_t bytes; /* of contents: after, or of what was deleted, before; attributes have none */
};

struct changes {
	struct changes_total totals[CHANGES_ZONES_N][CHANGES_CLASS_N];
	uint64_t len;
	/* Array by path, what a folder holds right after it. A row has zone, class, what, key, before
	 * and after; a folder that is new has `below`, how many rows behind it are new with it. */
	cJSON *rows;
};
#define CHANGES_NULL ((struct changes){ .rows = NULL })

/* What stands in the cell, before its command runs. */
struct changes_base;
int changes_begin(const struct cell *cell, const struct vantage_zone *zones, size_t zones_len,
		  struct changes_base **ret, struct err *e);
/* Look again. */
int changes_look(struct changes_base *base, const struct cell *cell, struct changes *ret,
		 struct err *e);
void changes_base_free(struct changes_base *base);
void changes_done(struct changes *c);
