#pragma once
/*
 * rhythm: when the next packet is likely to come, so that the looker is awake
 * by then.
 *
 * To be woken by a packet takes as long as half a look (measured: 40 us where an
 * idle processor has to be called out of its halt, 8 when the looker is awake).
 * Short tests come in a rhythm; so the looker sleeps for most of the gap, wakes
 * by itself, and polls for a moment. Pure; owns nothing.
 */
#include <stdint.h>

#define RHYTHM_GAP_US_MAX  4000 /* of longer gaps, a wake-up is no part worth the trouble */
#define RHYTHM_POLL_US_MAX 400  /* polling in one gap */
#define RHYTHM_MISSES_MAX  4    /* gaps in a row polled in vain … */
#define RHYTHM_REST        32   /* … and so many packets it does without */

struct rhythm {
	int64_t gap_us; /* rather one of the shorter ones: late is late, early costs little */
	unsigned int misses;
	unsigned int rest;
};
#define RHYTHM_NULL ((struct rhythm){ 0 })

enum rhythm_how {
	RHYTHM_SLEPT,  /* it came while the looker slept */
	RHYTHM_POLLED, /* it came while it was polled for */
	RHYTHM_MISSED, /* it came after that */
};

/* How long to sleep before polling for the next packet. Negative: it is not worth it. */
int64_t rhythm_nap_us(const struct rhythm *r);
/* A packet came so long after the looker began to wait. */
void rhythm_heard(struct rhythm *r, int64_t gap_us, enum rhythm_how how);
