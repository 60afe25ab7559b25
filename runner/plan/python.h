#pragma once
/*
 * python: random.Random(seed).shuffle(list) as CPython does it, for the seeds of
 * an existing conftest: MT19937, seeded by init_by_array with the 32-bit digits of
 * the seed, and the words drawn by getrandbits.
 *
 * The same in every CPython from 3.2 on; 2.7 and 3.1 shuffle in another way. A
 * test compares it with the interpreters that it finds.
 */
#include <stddef.h>
#include <stdint.h>

#define PYTHON_STATE_LEN 624

struct python_random {
	uint32_t state[PYTHON_STATE_LEN];
	size_t at; /* of the next word */
};

/* The seed's absolute value, its lowest 32 bits first; zeros at the end do not count. */
void python_seed(struct python_random *r, const uint32_t *digits, size_t len);
void python_seed_number(struct python_random *r, uint64_t seed);
uint32_t python_below(struct python_random *r, uint32_t n); /* from 0 to n - 1 */
void python_shuffle(struct python_random *r, uint32_t *at, size_t n);
