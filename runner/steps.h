#pragma once
/*
 * steps: commands that make what the suite needs before it runs, and the files
 * that decide what they make: "prepare" in fumehood.json.
 *
 * Owns its texts.
 */
#include "sandbox/base/json.h"
#include "sandbox/base/text.h"

struct err;

enum steps_when { STEPS_AUTO, STEPS_AGAIN, STEPS_NEVER };

struct steps {
	struct strv run;    /* shell texts, in their order */
	struct strv inputs; /* patterns of files below the project, of all of them */
	int when;           /* enum steps_when */
};

/* A list of { "run": …, "inputs": […] }; adds to ret. */
int steps_read(const struct json_source *src, const cJSON *steps, struct steps *ret, struct err *e);
/* A command as a text for a shell, from such a text or a list of words. *ret is the caller's. */
int steps_command(const struct json_source *src, const cJSON *run, char **ret, struct err *e);
void steps_done(struct steps *steps);
