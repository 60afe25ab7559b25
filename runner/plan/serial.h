#pragma once
/*
 * serial: tests that need the order they have, and say why: "serial" in
 * fumehood.json. What one block matches stays together, in canonical order, as
 * one unit of every shuffle.
 *
 * Owns its texts.
 */
#include "sandbox/base/json.h"

struct err;

#define SERIALS_MAX 64

struct serial {
	char *tests; /* a pattern of ids: * and ? */
	char *reason;
};
struct serials {
	struct serial at[SERIALS_MAX];
	size_t len;
};

/* A list of { "tests": PATTERN, "reason": … }; adds to ret. */
int serials_read(const struct json_source *src, const cJSON *list, struct serials *ret,
		 struct err *e);
/* "PATTERN=REASON" */
int serials_add(const char *text, struct serials *ret, struct err *e);
/* The block that matches an id first; len: none. */
size_t serials_find(const struct serials *serials, const char *id);
cJSON *serials_json(const struct serials *serials); /* NULL: no memory */
void serials_done(struct serials *serials);
