#pragma once
/*
 * secrets: names below a home that no cell ever shows.
 */
#include <stddef.h>

/* Relative to the home. */
extern const char *const secrets[];
extern const size_t secrets_len;
