#pragma once
/*
 * doctor: makes a cell step by step, in children, and tells what each step met.
 * The steps are the warden's own deeds, so what fails here fails there.
 *
 * Every step has a time limit; nothing stays behind.
 */
#include "sandbox/cause.h"
#include "sandbox/cell.h"

enum doctor_state {
	DOCTOR_OK,
	DOCTOR_REDUCED, /* a cell can be without it */
	DOCTOR_FAILED,
	DOCTOR_SKIPPED, /* an earlier one failed */
};
extern const char *const doctor_states[];

struct doctor_step {
	const char *name; /* one word, for programs */
	const char *what; /* for people */
	enum doctor_state state;
	char text[256]; /* what failed */
	bool explained;
	struct cause cause; /* when explained */
};

#define DOCTOR_STEPS_MAX 16

struct doctor {
	struct host host;
	struct doctor_step steps[DOCTOR_STEPS_MAX];
	size_t steps_len;
	bool made; /* a whole cell stood, and was looked at from inside */
	struct isolation isolation;
};

/* The spec's descriptors and command are not used. */
void doctor_examine(const struct cell_spec *spec, struct doctor *ret);
