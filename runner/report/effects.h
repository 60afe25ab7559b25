#pragma once
/*
 * effects: what one command did, written for people and for programs. Pure.
 */
#include <stdbool.h>
#include <stdio.h>

#include "runner/drive/changes.h"
#include "runner/drive/keep.h"
#include "sandbox/cell.h"

struct err;
struct terminal;

struct effects {
	const char *const *command;
	const char *project;
	const char *cwd;
	const char *const *notes; /* NULL-terminated, or NULL */
	const struct isolation *isolation;
	const struct cell_event *end;
	int status; /* the exit status that stands for it */
	double seconds;
	const struct changes *changes;
	const struct keeps *keeps;
};

struct effects_look {
	const struct terminal *terminal; /* NULL: no style */
	bool verbose;                    /* lists in full */
};

int effects_write_text(const struct effects *effects, const struct effects_look *look, FILE *out,
		       struct err *e);
/* One object, one line: configs/schema/exec.json. */
int effects_write_json(const struct effects *effects, FILE *out, struct err *e);
