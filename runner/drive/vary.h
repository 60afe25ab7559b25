#pragma once
/*
 * vary: what an order changes in the environment of its cell besides the order of
 * tests, as DIMENSION=VALUE: hashseed, tz, locale, umask. One dimension is one row.
 */
#include <stdbool.h>

#include "runner/plan/order.h"
#include "sandbox/cell_spec.h"

struct err;

/* Changes spec, which borrows its environment from *env then. */
int vary_apply(const struct order *order, struct cell_spec *spec, struct strv *env, struct err *e);
/* Is there such a thing on this host, whose locales are those of its cells? */
bool vary_exists(const char *vary);
