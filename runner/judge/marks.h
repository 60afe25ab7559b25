#pragma once
/*
 * marks: what is known of each test beside its outcomes, from the lines of the
 * ledger and from whoever found out. Pure.
 *
 * Borrows what somebody accepts: such a change marks nobody.
 */
#include <stddef.h>
#include <stdint.h>

#include "sandbox/base/json.h"

struct accepted;
struct err;
struct history;

enum mark {
	MARK_DAMAGE = 1 << 0,
	MARK_LEAKS = 1 << 1,
	MARK_CLEANS = 1 << 2,     /* removed another's leak */
	MARK_FIXTURE = 1 << 3,    /* changed in place what a fixture handed out */
	MARK_HARMS = 1 << 4,      /* shrink: it makes another fail */
	MARK_UNREPEATED = 1 << 5, /* shrink: its failing order does not repeat */
	MARK_HOST = 1 << 6,       /* host and cell disagree */
	MARK_EXTERNAL = 1 << 7,   /* an external service is suspected */
};

struct marks {
	uint16_t *at; /* by number of the roster */
	size_t len;
	const struct accepted *accepted; /* NULL: nothing */
};
#define MARKS_NULL ((struct marks){ 0 })

/* What one line of the ledger, which the history has seen, says of its test; other kinds are passed
 * over. */
int marks_line(struct marks *m, const struct history *h, const char *kind, const cJSON *line,
	       struct err *e);
int marks_set(struct marks *m, uint32_t test, unsigned marks); /* 0 or -ENOMEM */
unsigned marks_of(const struct marks *m, uint32_t test);
void marks_done(struct marks *m);
