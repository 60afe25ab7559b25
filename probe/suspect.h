#pragma once
/*
 * suspect: which changes may be the work of a process that an earlier test
 * left running, and which surely are.
 *
 * A survivor that holds the changed file open for writing wrote it; so did one
 * that wrote at least the file's size since the last look while the test
 * process wrote less. In any other case it is named as a suspect: a later rerun
 * without it settles that.
 */
#include "probe/delta.h"
#include "probe/vantage.h"
#include "sandbox/base/map.h"

struct err;
struct fingerprint;

struct suspects {
	struct map written; /* "PID" in the cell -> struct of bytes written, at the last look */
};
#define SUSPECTS_NULL ((struct suspects){ .written = MAP_NULL(free) })

/* `deltas`: what a look by test `by` has just seen. Names suspects, and charges the changes of files
 * that a survivor made to the test that left it: in the delta's writer, and in the fingerprint.
 * name(with, n): the id of test n, NULL when n is none. */
int suspects_name(struct suspects *s, struct fingerprint *f, const struct vantage *v, int by,
		  const char *(*name)(const void *with, int number), const void *with,
		  struct delta_list *deltas, struct err *e);
void suspects_done(struct suspects *s);
