#pragma once
/*
 * suite: the tests of one cell as their sessions announced them: a number for
 * each id, and what became of it; and which of them a plan asks each session for.
 *
 * A cell may hold several sessions of a framework, one after another; ids of a
 * root other than the project's are prefixed by it, and an id that an earlier
 * session had gets " (session N)" behind it. Plans name tests so, too.
 */
#include <stdbool.h>

#include "runner/plan/order.h"
#include "runner/plan/roster.h"
#include "sandbox/base/map.h"
#include "sandbox/base/text.h"

struct suite {
	struct strv ids;   /* all, in execution order; the index is the number */
	struct map number; /* id -> number + 1 */
	bool *ran;         /* by number */
	size_t session_at; /* number of the first test of the present session */
	int sessions;
	char *prefix; /* of the present session */

	bool all;          /* as the framework collects them */
	bool repeated;     /* each test runs twice, the second time as "ID (again)" */
	struct strv asked; /* else these, in this order */
	struct map is_asked;
};
#define SUITE_NULL ((struct suite){ .number = MAP_NULL(NULL), .is_asked = MAP_NULL(NULL) })

/* What is to run. roster may be NULL where the order names no test. 0 or -ENOMEM. */
int suite_ask(struct suite *s, const struct order *order, const struct roster *roster);
/* Of those asked for: what the present session may have, as its adapter calls it; and what no session
 * announced. 0 or -ENOMEM. */
int suite_plan(const struct suite *s, struct strv *ret);
int suite_missing(const struct suite *s, struct strv *ret);

/* A session begins; rootdir and project are absolute paths. 0 or -ENOMEM. */
int suite_session(struct suite *s, const char *project, const char *rootdir);
/* Adds a test of the present session; the number, -EEXIST when it has one, or -ENOMEM. */
int suite_add(struct suite *s, const char *id);
/* The id under which a test of the present session that has no number would stand: the caller's. */
int suite_name(const struct suite *s, const char *id, char **ret);
/* The number of a test of the present session, by the adapter's id; -ENOENT. */
int suite_find(const struct suite *s, const char *id);
void suite_done(struct suite *s);
