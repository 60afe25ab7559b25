#pragma once
/*
 * diff: what is other in one run than in an earlier one: its tests, by id, what
 * they leave behind, and the conditions under which they ran. Pure.
 *
 * Borrows both sides. Owns its lists, not what stands in them.
 */
#include "runner/judge/classes.h"
#include "runner/judge/summary.h"

struct diff_side {
	const struct summary *summary;
	const struct classes *classes;
};

enum diff_kind {
	DIFF_REGRESSED, /* passed in more orders, or was there in more */
	DIFF_FIXED,
	DIFF_ADDED,
	DIFF_REMOVED,
	DIFF_CHANGED, /* of another class, and neither better nor worse */
	DIFF_N,
};
extern const char *const diff_names[DIFF_N]; /* "regressed" */

struct diff_test {
	enum diff_kind kind;
	uint32_t before, after; /* numbers of the rosters; ROSTER_NONE */
};

struct diff {
	struct strv conditions; /* sentences: what was not the same in both runs. They come first */
	struct diff_test *tests; /* by kind, then as they stand in the suite */
	size_t tests_len;
	size_t counts[DIFF_N];
	size_t added_red;             /* of the added ones, those that do not pass in every order */
	struct summary_changes fresh; /* left behind or damaged in the later run alone */
	struct summary_changes gone;
	size_t damage; /* of the fresh ones */
};
#define DIFF_NULL ((struct diff){ 0 })

/* 0 or -ENOMEM. */
int diff_make(const struct diff_side *before, const struct diff_side *after, struct diff *ret);
void diff_done(struct diff *d);

/* STATUS_DAMAGE: a test regressed or is gone, a new one does not always pass, or something that stood
 * before is damaged now. 0: nothing of that kind. */
int diff_status(const struct diff *d);
