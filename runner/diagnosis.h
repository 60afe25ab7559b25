#pragma once
/*
 * diagnosis: what doctor has to tell, as a tree, and that tree as text.
 *
 * Values of variables never stand in it.
 */
#include <stdio.h>

#include "sandbox/base/json.h"

struct config;
struct doctor;
struct err;
struct prepared;
struct terminal;

struct diagnosis {
	const struct config *config;
	const struct doctor *doctor;
	const struct prepared *prepared;
	const char *const *caller; /* environ */
	bool elsewhere;            /* the caller stands where no project can be */
	int status;                /* exit status */
};

/* NULL: no memory. The tree is that of configs/schema/doctor.json. */
cJSON *diagnosis_tree(const struct diagnosis *d);
/* 0 or -ENOMEM. As the config says: the verdict alone, or all names of variables. */
int diagnosis_print(const cJSON *tree, const struct config *c, const struct terminal *terminal,
		    FILE *out);
