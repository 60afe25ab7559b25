#pragma once
/*
 * undo: put back what a test left, so that the next one starts from the same
 * base, or so that one leak of several can be proved to be a cause.
 *
 * The suite must stand still meanwhile.
 */
#include <stdbool.h>

#include "probe/delta.h"

struct err;
struct fingerprint;
struct vantage;

/* Put one change back. -ENOTSUP: its domain cannot. e says why not, and no more. */
int undo_one(const struct vantage *v, const struct delta *d, struct err *e);

/* Put back all of list that may be, look again, and say in each what came of it. What else is seen
 * to have changed goes to aside: it is no test's. */
int undo_all(struct fingerprint *f, const struct vantage *v, bool (*may)(const struct delta *d),
	     struct delta_list *list, struct delta_list *aside, struct err *e);
