#pragma once
/*
 * roster: every test of a run, numbered as they were first heard of. A number
 * stands for its id in plans, in the history and in searches. Pure.
 *
 * Owns the ids.
 */
#include <stddef.h>
#include <stdint.h>

#include "sandbox/base/map.h"
#include "sandbox/base/text.h"

struct roster {
	struct strv ids;   /* by number */
	struct map number; /* id -> number + 1 */
};
#define ROSTER_NULL ((struct roster){ .number = MAP_NULL(NULL) })
#define ROSTER_NONE UINT32_MAX

/* The number of an id, which is new or known. 0 or -ENOMEM. */
int roster_add(struct roster *r, const char *id, uint32_t *ret);
/* ROSTER_NONE: no such test. */
uint32_t roster_find(const struct roster *r, const char *id);
void roster_done(struct roster *r);

/* How much of an id names its module ("tests/test_a.py"), and its class or module
 * ("tests/test_a.py::TestB"): what comes before the first and before the last "::" outside of the
 * brackets of parameters. An id without "::" is a module of its own. */
size_t roster_module_len(const char *id);
size_t roster_class_len(const char *id);
