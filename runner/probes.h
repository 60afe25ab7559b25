#pragma once
/*
 * probes: commands whose output is part of what is looked at: "custom" in
 * fumehood.json, --custom on the command line.
 *
 * Owns its texts.
 */
#include <stdint.h>

#include "sandbox/base/json.h"
#include "sandbox/base/text.h"

struct err;

#define PROBES_MAX       16
#define PROBE_TIMEOUT_MS 10000 /* where none is said */

struct probe {
	char *name;
	struct strv run; /* its words */
	uint32_t timeout_ms;
};
struct probes {
	struct probe at[PROBES_MAX];
	size_t len;
};

/* A list of { "name": …, "run": a text for a shell or words, "timeout": "5s" }; adds to ret. */
int probes_read(const struct json_source *src, const cJSON *list, struct probes *ret, struct err *e);
/* "NAME=COMMAND", for a shell. */
int probes_add(const char *text, struct probes *ret, struct err *e);
/* For run.json. NULL: no memory. */
cJSON *probes_json(const struct probes *probes);
void probes_done(struct probes *probes);
