#pragma once
/*
 * summary_lines: the lines of a ledger, taken into a summary one by one.
 *
 * What several orders of the plan show is told once, with their number. Which of them
 * was heard of first depends on how they ran beside each other: everything is told as
 * the earliest of the plan has it, and stands at its place there.
 *
 * Borrows the summary. Owns what it keeps in mind until the end.
 */
#include "runner/judge/summary.h"
#include "sandbox/base/map.h"

struct err;
struct summary_note;

struct summary_lines {
	struct summary *summary;
	struct map orders; /* name -> what is to be known of it */
	unsigned orders_len;
	bool counted;    /* there is an order whose outcomes are counted */
	struct map seen; /* digest of what was told -> its index + 1 */
	struct summary_note *notes;
	size_t notes_len;
	size_t changes_len; /* of all lists, that orders behind the first added */
};
#define SUMMARY_LINES_OF(s) \
	((struct summary_lines){ .summary = (s), .orders = MAP_NULL(free), .seen = MAP_NULL(NULL) })

/* For ledger_each(). */
int summary_line(void *lines, const char *kind, const cJSON *line, struct err *e);
/* After the last one. 0 or -ENOMEM. */
int summary_lines_end(struct summary_lines *lines);
void summary_lines_done(struct summary_lines *lines);
