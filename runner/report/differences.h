#pragma once
/*
 * differences: a diff of two runs, written for people and for programs. Pure.
 */
#include <stdio.h>

struct diff;
struct diff_side;
struct err;
struct report_look;

struct differences {
	const struct diff *diff;
	const struct diff_side *before, *after;
};

int differences_write_text(const struct differences *d, const struct report_look *look, FILE *out,
			   struct err *e);
/* configs/schema/diff.json */
int differences_write_json(const struct differences *d, FILE *out, struct err *e);
