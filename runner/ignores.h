#pragma once
/*
 * ignores: findings that somebody accepts, with the reason: "ignore" and
 * "expected_state" in fumehood.json. Rules are applied to what the ledger tells,
 * and change nothing in it.
 *
 * In a pattern `*` stands for any text and `?` for one character; all else stands
 * for itself, so that the brackets of parameters need nothing: test_a.py::test_x[1-*].
 *
 * Owns its texts.
 */
#include <stdbool.h>
#include <stddef.h>

#include "sandbox/base/json.h"

struct err;

enum ignores_of {
	IGNORES_FINDINGS, /* of one code */
	IGNORES_STATE,    /* what tests leave behind on purpose; damage is none of it */
};

struct ignore {
	char *code; /* NULL: of "expected_state" */
	char *test; /* pattern; NULL: any, and no test */
	char *key;  /* pattern; NULL: any, and none */
	char *reason;
	char *expires; /* "2027-01-31": the last day on which it applies; NULL: it has none */
	size_t hits;   /* findings it was applied to */
};
struct ignores {
	struct ignore *at;
	size_t len;
};
#define IGNORES_NULL ((struct ignores){ 0 })

/* A list of { "code": …, "test": …, "key": …, "reason": …, "expires": … }, or without code and expires of
 * IGNORES_STATE; adds to ret. Errors name line and column. */
int ignores_read(const struct json_source *src, const cJSON *list, enum ignores_of of,
		 struct ignores *ret, struct err *e);
/* The same from run.json, which was checked when it was written; adds to ret. 0 or -ENOMEM. */
int ignores_load(const cJSON *list, struct ignores *ret);
/* For run.json. NULL: no memory. */
cJSON *ignores_json(const struct ignores *list);
void ignores_done(struct ignores *list);

/* On that day ("2026-11-30") the rule is not over. */
bool ignore_applies(const struct ignore *rule, const char *day);
/* The first rule that applies to the finding: its index, or the count of rules. test and key may be NULL. */
size_t ignores_find(const struct ignores *list, const char *day, const char *code, const char *test,
		    const char *key);

bool ignore_pattern_fits(const char *pattern, const char *text);
