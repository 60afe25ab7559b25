#pragma once
/*
 * matrix: matrix.json, what became of each test in each order and what kind of
 * test that makes it (configs/schema/matrix.json).
 *
 * Written test by test: beside the classes it needs no memory that grows with
 * the suite.
 */
#include <stdio.h>

struct classes;
struct err;

int matrix_write(const struct classes *c, FILE *out, struct err *e);
