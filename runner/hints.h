#pragma once
/*
 * hints: why a test may fail in the cell and pass outside, from the text of its
 * failure, with the flag that lifts it. Guesses, told as
 * such. Pure.
 */
#include <stdbool.h>

#include "sandbox/base/text.h"

struct hint_facts {
	const char *const *caller; /* environ */
	const char *const *inside; /* the suite's environment */
	const char *home;          /* NULL: none */
	bool network;              /* the suite has the host's */
	bool on_disk;              /* the scratch is */
	bool copy;                 /* of the project */
	bool landlock;             /* in place of namespaces */
	bool root;
	bool setid; /* ... who may become another user */
	/* Does path exist on the host, and cannot be seen in the cell? */
	bool (*is_kept_away)(const void *with, const char *path);
	const void *with;
};

/* Adds to ret each hint that is not in it. 0 or -ENOMEM. */
int hints_find(const struct hint_facts *f, const char *text, struct strv *ret);
