#pragma once
/*
 * pairs: few orders in which every test runs right behind every other one: the
 * rows of a Tuscan square. A guarantee for what one test does to the next, where
 * random orders only are a sample.
 *
 * An even number n of things stands in n rows, each ordered pair adjacent in exactly one of them. Of an
 * odd number there are n + 1 rows, those of n + 1 things without the last one: each pair is adjacent at
 * least once. (Squares of n rows exist for odd n but 3 and 5; one row is all that they would save.)
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

size_t pairs_rows(size_t n);
/* Is each ordered pair adjacent exactly once? Else at least once. */
bool pairs_exact(size_t n);
/* Row from 0: a permutation of 0 to n - 1. */
void pairs_row(size_t n, size_t row, uint32_t *ret);
