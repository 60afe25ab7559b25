#include <stdlib.h>
#include <string.h>

#include "runner/plan/pairs.h"
#include "sandbox/base/cleanup.h"
#include "tests/lib/tap.h"

#define MAX 200

/* How often the least and the most seen of all ordered pairs stand side by side. */
static bool count(size_t n, unsigned *ret_least, unsigned *ret_most)
{
	static unsigned char seen[MAX + 1][MAX + 1];
	uint32_t row[MAX];
	memset(seen, 0, sizeof(seen));
	for (size_t r = 0; r < pairs_rows(n); r++) {
		bool met[MAX] = { false };
		pairs_row(n, r, row);
		for (size_t i = 0; i < n; i++) {
			if (row[i] >= n || met[row[i]])
				return false;
			met[row[i]] = true;
			if (i)
				seen[row[i - 1]][row[i]]++;
		}
	}
	*ret_least = 255;
	*ret_most = 0;
	for (size_t a = 0; a < n; a++)
		for (size_t b = 0; b < n; b++) {
			if (a == b)
				continue;
			*ret_least = seen[a][b] < *ret_least ? seen[a][b] : *ret_least;
			*ret_most = seen[a][b] > *ret_most ? seen[a][b] : *ret_most;
		}
	return true;
}

int main(void)
{
	for (size_t n = 2; n <= MAX; n++) {
		unsigned least = 0;
		unsigned most = 0;
		bool exact = pairs_exact(n);
		bool rows = count(n, &least, &most);
		tap_ok(rows && least == 1 && (most == 1) == exact &&
			       pairs_rows(n) == (exact ? n : n + 1),
		       "%zu things in %zu rows: each pair %u to %u times", n, pairs_rows(n), least,
		       most);
	}
	uint32_t row[1] = { 7 };
	pairs_row(1, 0, row);
	tap_ok(pairs_rows(1) == 1 && pairs_exact(1) && row[0] == 0, "one thing");
	return tap_done();
}
