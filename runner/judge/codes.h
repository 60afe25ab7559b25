#pragma once
/*
 * codes: every finding has a stable code. This is the table of them: what each
 * says, what `check` makes of it, and how it is repaired.
 */
#include <stddef.h>

/* What `check` makes of a finding, or of a test of some class. */
enum check_says {
	CHECK_BLOCK,  /* exit status 1 */
	CHECK_FAILED, /* exit status 2 */
	CHECK_WARN,
	CHECK_INFO,
	CHECK_NEVER,    /* nothing wrong, and no evidence either */
	CHECK_EVIDENCE, /* it counts */
};
const char *check_says_name(enum check_says says); /* "block" */

enum repair {
	REPAIR_NONE, /* nothing to change in a test: the page says what to do */
	REPAIR_FIXTURE,
	REPAIR_FOLDER,
	REPAIR_CLOCK,
	REPAIR_ALLOCATE,
	REPAIR_ROLL_BACK,
	REPAIR_N,
};
struct repair_row {
	const char *name; /* "narrow the fixture" */
	const char *text; /* how */
};
extern const struct repair_row repairs[REPAIR_N];

struct code {
	const char *code; /* "FH101" */
	const char *name; /* "file created" */
	enum check_says check;
	enum repair repair;
	const char *means; /* what was seen, and why it matters; one paragraph */
	const char *what;  /* to do about it, beside the repair; NULL: nothing */
};
extern const struct code codes[];
extern const size_t codes_len;

/* By "FH201" in any case, or by the id of a finding, "FH201-1a2b3c4d". NULL: there is none. */
const struct code *code_find(const char *name);
/* The nearest that there is, for "did you mean"; NULL: none is near. */
const char *code_nearest(const char *name);
