#pragma once
/*
 * quantity: durations and sizes as people write them: 90s, 20m, 64M. A number
 * without a unit is refused, but for 0.
 */
#include <stdint.h>

struct err;

#define DURATION_MS_MAX (30ULL * 24 * 60 * 60 * 1000)
#define SIZE_BYTES_MAX  (1ULL << 50)

/* -EINVAL; the caller says where the text stood. */
int duration_parse(const char *text, uint32_t *ret_ms, struct err *e);
/* A share of one: more than nothing, less than all. */
int percent_parse(const char *text, double *ret, struct err *e);
int size_parse(const char *text, uint64_t *ret_bytes, struct err *e);
