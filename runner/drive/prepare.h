#pragma once
/*
 * prepare: from config and adapter to all that a cell is made of. Decides;
 * starts nothing.
 *
 * Owns what the spec borrows.
 */
#include "probe/vantage.h"
#include "runner/config.h"
#include "sandbox/cell_spec.h"
#include "sandbox/visible.h"

struct adapter;
struct err;

#define PREPARE_PID_MAX 4096 /* processes and threads of the suite at once */

struct prepared {
	struct cell_spec spec; /* without stdin, stdout and stderr */
	struct vantage_zone *zones;
	size_t zones_len;
	struct strv notes; /* what was asked for and could not be done */

	/* what is borrowed above */
	struct strv env;
	struct strv texts;
	struct visible visible;
	struct cell_bind *binds;
	struct cell_file *files;
	uint16_t *forwards;
};
#define PREPARED_NULL ((struct prepared){ 0 })

/* Borrows from c and adapter, which must outlive *ret. `caller`: environ. An adapter of NULL: nobody
 * speaks, and nobody looks before the command has ended. */
int prepare(const struct config *c, const struct adapter *adapter, const char *const *caller,
	    struct prepared *ret, struct err *e);
void prepared_done(struct prepared *p);
