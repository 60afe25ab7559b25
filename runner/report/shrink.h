#pragma once
/*
 * shrink: the report of searches. Reads what it is given and nothing else.
 */
#include <stdbool.h>
#include <stdio.h>

#include "runner/shrink/shrink.h"

struct err;

struct shrink_report {
	const struct history *history;
	const struct shrink *shrink;
	const char *run; /* as replay takes it */
	bool interrupted;
	bool quiet;
	bool verbose;
};

/* 130 interrupted, 3 a search did not end in an answer, 2 a test is flaky, 0. */
int shrink_status(const struct shrink_report *r);
int shrink_write_text(const struct shrink_report *r, FILE *out, struct err *e);
int shrink_write_json(const struct shrink_report *r, FILE *out, struct err *e);

/* What searches will still cost, in a line. */
void shrink_tell_cost(const struct shrink_cost *cost, const struct history *h, FILE *out);
