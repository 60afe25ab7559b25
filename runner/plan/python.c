#include "runner/plan/python.h"

#include <assert.h>

#define N PYTHON_STATE_LEN
#define M 397

static uint32_t mixed(uint32_t before, uint32_t factor)
{
	return (before ^ before >> 30) * factor;
}

static void init_genrand(struct python_random *r, uint32_t seed)
{
	r->state[0] = seed;
	for (uint32_t i = 1; i < N; i++)
		r->state[i] = mixed(r->state[i - 1], 1812433253) + i;
	r->at = N;
}

/* The first word is written twice a round, so that the last one flows into it. */
static size_t next_of(uint32_t *state, size_t i)
{
	if (i + 1 < N)
		return i + 1;
	state[0] = state[N - 1];
	return 1;
}

void python_seed(struct python_random *r, const uint32_t *digits, size_t len)
{
	static const uint32_t zero[] = { 0 };
	while (len && !digits[len - 1])
		len--;
	if (!len) {
		digits = zero;
		len = 1;
	}
	init_genrand(r, 19650218);
	uint32_t *state = r->state;
	size_t i = 1;
	size_t j = 0;
	for (size_t round = len > N ? len : N; round; round--) {
		state[i] = (state[i] ^ mixed(state[i - 1], 1664525)) + digits[j] + (uint32_t)j;
		i = next_of(state, i);
		j = (j + 1) % len;
	}
	for (size_t round = N - 1; round; round--) {
		state[i] = (state[i] ^ mixed(state[i - 1], 1566083941)) - (uint32_t)i;
		i = next_of(state, i);
	}
	state[0] = UINT32_C(1) << 31;
}

void python_seed_number(struct python_random *r, uint64_t seed)
{
	python_seed(r, (const uint32_t[]){ (uint32_t)seed, (uint32_t)(seed >> 32) }, 2);
}

static void refill(struct python_random *r)
{
	uint32_t *state = r->state;
	for (size_t i = 0; i < N; i++) {
		uint32_t y = (state[i] & 0x80000000) | (state[(i + 1) % N] & 0x7fffffff);
		state[i] = state[(i + M) % N] ^ y >> 1 ^ (y & 1 ? 0x9908b0df : 0);
	}
	r->at = 0;
}

static uint32_t word(struct python_random *r)
{
	if (r->at == N)
		refill(r);
	uint32_t y = r->state[r->at++];
	y ^= y >> 11;
	y ^= y << 7 & 0x9d2c5680;
	y ^= y << 15 & 0xefc60000;
	return y ^ y >> 18;
}

uint32_t python_below(struct python_random *r, uint32_t n)
{
	assert(n);
	int spare = __builtin_clz(n); /* bits of a word that are not needed */
	uint32_t drawn;
	do
		drawn = word(r) >> spare;
	while (drawn >= n);
	return drawn;
}

void python_shuffle(struct python_random *r, uint32_t *at, size_t n)
{
	assert(n < UINT32_MAX);
	for (size_t i = n; i-- > 1;) {
		uint32_t j = python_below(r, (uint32_t)i + 1);
		uint32_t kept = at[i];
		at[i] = at[j];
		at[j] = kept;
	}
}
