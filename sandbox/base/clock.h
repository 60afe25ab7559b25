#pragma once
/*
 * clock: for how long to wait, and how long it took.
 */
#include <stdint.h>
#include <time.h>

/* Milliseconds that only grow. */
static inline int64_t clock_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Seconds that only grow. */
static inline double clock_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
