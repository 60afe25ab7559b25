#pragma once
/*
 * digest_avx2: XXH3_128bits_update() for processors that have AVX2; the caller asks.
 *
 * The state is the library's, whose own update is made for every x86-64 and half as fast.
 */
#include <stdbool.h>
#include <stddef.h>
#if defined(__x86_64__) || defined(__i386__)
#include <sys/platform/x86.h>
#endif
#include <xxhash.h>

/* Stands here since it runs everywhere: digest_avx2.c does not. */
static inline bool digest_avx2_works(void)
{
#ifdef CPU_FEATURE_ACTIVE
	return CPU_FEATURE_ACTIVE(AVX2);
#else
	return false;
#endif
}

void digest_avx2_update(XXH3_state_t *state, const void *bytes, size_t len);
