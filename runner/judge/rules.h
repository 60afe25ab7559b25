#pragma once
/*
 * rules: the stable codes of findings, by what changed.
 */
#include <stdbool.h>
#include <stddef.h>

struct rule {
	const char *code; /* "FH101" */
	/* "created", "changed mode of": what a line says before the key. NULL: the sensor's own
	 * word and the noun. */
	const char *verb;
	const char *noun;
};

#define RULE_DAMAGE       "FH105"
#define RULE_WRITE        "FH106"
#define RULE_UNATTRIBUTED "FH191"

/* The rule of a change that outlived its test; of a domain without a row, FH191. */
const struct rule *rule_of(const char *domain, const char *what, const char *key);
/* "created /tmp/a", "set variable HOME": one clause, printable, the key quoted for a shell. The
 * caller's; NULL: no memory. */
char *rule_clause(const char *domain, const char *what, const char *key);

/* What differs between two values of an entry, for people: "file, 12 bytes", "mode 0644 -> 0600".
 * The values are JSON objects as they stand in the ledger, or NULL. The caller's; "" when there is
 * nothing to say, NULL: no memory. */
struct cJSON;
char *rule_detail(const char *domain, const struct cJSON *before, const struct cJSON *after);
