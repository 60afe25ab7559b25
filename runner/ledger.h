#pragma once
/*
 * ledger: what happened, as JSON lines (configs/schema/ledger.json) in a run folder.
 *
 * Append-only: a line is one write, so that after a kill at any instant the
 * lines before it stand and at most the last one is torn. Whoever reports
 * reads the lines back; nothing is reported from memory.
 *
 * Owns the run folder's descriptors and path.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/base/json.h"

struct err;

#define LEDGER_VERSION  1
#define LEDGER_LINE_MAX (64 << 20) /* bytes */

struct ledger {
	char *path; /* of the run folder */
	int dir;
	int lines;       /* ledger.jsonl, O_APPEND; -1: opened to be read */
	int lock;        /* held while it is written: two runs in one folder would mix */
	bool own;        /* files of another user are refused */
	uint64_t logged; /* bytes of output that this process has kept */
};
#define LEDGER_NULL ((struct ledger){ .dir = -1, .lines = -1, .lock = -1 })

/* Makes the run folder: `out`, or a new one below the caller's state folder when out is NULL. */
int ledger_create(const char *out, const char *project, const char *home, struct ledger *ret,
		  struct err *e);
/* Opens the folder of an earlier run to be read. */
int ledger_open(const char *path, struct ledger *ret, struct err *e);
/* So, when what it says is acted upon: commands, options. */
int ledger_open_own(const char *path, struct ledger *ret, struct err *e);
/* Opens it to go on where it ended: a torn last line goes. */
int ledger_continue(const char *path, struct ledger *ret, struct err *e);
/* The folder of an earlier run: `run` is a path, or the name of one among those of the project, or
 * RUN_LATEST. *ret is the caller's. */
#define RUN_LATEST "latest"
int ledger_find(const char *run, const char *project, const char *home, char **ret, struct err *e);
void ledger_done(struct ledger *l);

/* One line, a JSON object without newline; the version is in it. */
int ledger_append(struct ledger *l, const char *line, size_t len, struct err *e);
/* A file for the output of the order of that name: a descriptor that the caller closes. */
int ledger_open_log(struct ledger *l, const char *order, int *ret, struct err *e);
/* Appends output to it: 0, or -1 and errno. What is more than one order, or all of them, may write onto
 * the disk is left out, and the log says so. */
#define LEDGER_LOG_MAX   (UINT64_C(256) << 20)
#define LEDGER_LOGS_MAX  (UINT64_C(1) << 30)
#define LEDGER_LOG_LEAST (UINT64_C(1) << 20) /* of each order, whatever others wrote */
struct ledger_log {
	int fd;
	uint64_t len;
	bool cut;
};
#define LEDGER_LOG_NULL ((struct ledger_log){ .fd = -1 })
int ledger_log(struct ledger *l, struct ledger_log *log, const char *bytes, size_t len);
/* The last `lines_max` lines of that output, cut to bytes_max from the front; *ret is the caller's. */
int ledger_log_tail(const struct ledger *l, const char *order, size_t lines_max, char **ret,
		    struct err *e);

/* A file of the run folder, written whole or not at all; read whole. */
int ledger_save(struct ledger *l, const char *name, const char *text, size_t len, struct err *e);
int ledger_load(const struct ledger *l, const char *name, cJSON **ret, struct err *e);

/* Each line that counts, in order, until one returns other than 0. An order that began again (its run
 * was killed, and resumed) counts from there on; where it began first, its place among the orders is
 * told by that line alone. A last line without newline is no line. A line that is no JSON object or of
 * another version is an error with its number. */
int ledger_each(const struct ledger *l,
		int (*each)(void *with, const char *kind, const cJSON *line, struct err *e),
		void *with, struct err *e);
