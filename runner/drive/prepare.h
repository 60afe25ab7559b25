#pragma once
/*
 * prepare: from config and adapter to all that a cell is made of. Decides;
 * starts nothing, and makes nothing but the folder of a cell without namespaces,
 * whose name is part of what the command is told.
 *
 * Owns what the spec borrows.
 */
#include "probe/vantage.h"
#include "runner/config.h"
#include "runner/drive/keep.h"
#include "sandbox/cell_spec.h"
#include "sandbox/scratch_disk.h"
#include "sandbox/visible.h"

struct adapter;
struct err;

#define PREPARE_PID_MAX 4096 /* processes and threads of the suite at once */

/* What the command knows its places as. */
struct prepared_places {
	const char *tmp, *run, *cache, *project;
	const char *home; /* NULL: there is none */
	const char *own;  /* CELL_RUN_DIR */
};

struct prepared {
	struct cell_spec spec; /* without stdin, stdout and stderr */
	struct prepared_places places;
	struct vantage_zone *zones;
	size_t zones_len;
	struct keeps keeps; /* by their places in the cell */
	struct strv notes;  /* what was asked for and could not be done */

	/* of the spec's errands */
	const char *probes[PROBES_MAX + 1]; /* names, NULL-terminated */
	uint32_t probe_ms[PROBES_MAX];      /* how long each may take */

	/* what is borrowed above */
	struct cell_errand *errands;
	struct strv env;
	struct strv texts;
	const char *passwd_home; /* of the passwd database; NULL: none */
	struct strv homes;
	struct visible visible;
	struct cell_bind *binds;
	struct cell_file *files;
	uint16_t *forwards;
	struct scratch_disk disk; /* what spec.top names */
};
#define PREPARED_NULL ((struct prepared){ .disk = SCRATCH_DISK_NULL })

/* Borrows from c and adapter, which must outlive *ret. `caller`: environ. An adapter of NULL: nobody
 * speaks, and nobody looks before the command has ended. */
int prepare(const struct config *c, const struct adapter *adapter, const char *const *caller,
	    struct prepared *ret, struct err *e);
void prepared_done(struct prepared *p);
