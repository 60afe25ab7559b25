#pragma once
/*
 * limits: resource limits of the command.
 *
 * They are the caller's, so that what passes outside passes inside, but for the
 * rows of one table. Processes are not bounded here: RLIMIT_NPROC counts a user,
 * not a cell, and not root at all; the warden lowers kernel.pid_max.
 */
#include <stddef.h>
#include <sys/resource.h>

struct err;

struct limit {
	__rlimit_resource_t resource;
	const char *name;
	rlim_t soft_min; /* raised to this, as far as the hard limit allows */
	rlim_t hard_max; /* neither may be above; RLIM_INFINITY: as it is */
	const char *why;
};
extern const struct limit limits[];
extern const size_t limits_len;

/* What a row makes of the caller's limit. Pure. */
struct rlimit limit_of(const struct limit *limit, struct rlimit caller);
int limits_apply(struct err *e);
