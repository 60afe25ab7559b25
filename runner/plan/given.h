#pragma once
/*
 * given: an order as a file: a JSON array of ids, in execution order. Comments,
 * CRLF and a BOM are read.
 */
#include "runner/plan/roster.h"
#include "sandbox/base/json.h"

struct err;

#define GIVEN_LEN_MAX (64 << 20) /* bytes of an order file */

struct given {
	char *name; /* what errors call it */
	char *text;
	cJSON *tree;
};
#define GIVEN_NULL ((struct given){ 0 })

/* Before the suite is known: is it a list of texts, each once? Errors name line and column. */
int given_parse(const char *name, const char *text, size_t len, struct given *ret, struct err *e);
int given_load(const char *path, struct given *ret, struct err *e);
/* Its tests by number; an id that the suite does not have is refused, and the nearest one named. */
int given_tests(const struct given *given, const struct roster *roster, uint32_t **ret,
		size_t *ret_len, struct err *e);
/* The text of a file that reads back as these tests. NULL: no memory. */
char *given_write(const struct roster *roster, const uint32_t *tests, size_t n);
void given_done(struct given *given);
