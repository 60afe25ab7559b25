#include "runner/plan/pairs.h"

#include <assert.h>

/* n is even. r, r+1, r-1, r+2, … has each difference once; so, over all r, it has each pair once. */
static uint32_t zigzag(size_t n, size_t row, size_t i)
{
	return (uint32_t)((row + (i % 2 ? (i + 1) / 2 : n - i / 2)) % n);
}

size_t pairs_rows(size_t n)
{
	return pairs_exact(n) ? n : n + 1;
}

bool pairs_exact(size_t n)
{
	return n == 1 || n % 2 == 0;
}

void pairs_row(size_t n, size_t row, uint32_t *ret)
{
	assert(row < pairs_rows(n));
	size_t even = n + n % 2;
	for (size_t i = 0; i < even; i++) {
		uint32_t at = zigzag(even, row, i);
		if (at < n)
			*ret++ = at;
	}
}
