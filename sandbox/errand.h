#pragma once
/*
 * errand: a command of ours that runs in the cell beside the suite, asked for
 * from outside by its number in the spec.
 *
 * It is confined as the suite is, without any capability, with the suite's
 * environment and working directory, in a session of its own: what of that is
 * left when it ends, or when its time is over, is killed. One runs at a time.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct buf;
struct cell_spec;
struct err;

/* ---- outside ---- */

struct errand_limits {
	uint32_t timeout_ms;
	size_t len_max; /* bytes of output */
};
struct errand_result {
	int wait_status;
	bool timed_out;
	bool too_long; /* there was more output than len_max */
};
/* Run it and wait; what it writes to its standard output is appended to out. That it fails is an
 * answer, in *ret. */
int errand_run(int sock, size_t number, const struct errand_limits *within, struct buf *out,
	       struct errand_result *ret, struct err *e);

/* ---- the warden's side ---- */

struct errands {
	const struct cell_spec *spec;
	int sock;      /* -1: none are wanted */
	pid_t running; /* 0: none */
};
#define ERRANDS_NULL ((struct errands){ .sock = -1 })

/* *ret is the end for outside, -1 when the spec has no errands. */
int errands_open(const struct cell_spec *spec, struct errands *errands, int *ret, struct err *e);
void errands_hear(struct errands *errands); /* its socket is readable */
void errands_ended(struct errands *errands, pid_t child, int wait_status); /* if it was one */
