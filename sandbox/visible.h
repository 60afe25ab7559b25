#pragma once
/*
 * visible: what of the places that are private and empty in a cell (the home,
 * /tmp, /var/tmp, /dev/shm, /run) comes back read-only, because the suite's
 * tools live there; for root also of others' homes.
 *
 * From the caller's PATH, the variables that say where tools are, the project's
 * virtual environments, the command and the `expose` list, along every link on
 * the way; but of the distribution's own folders in PATH only those on the way to the
 * command. Never the home itself, and never a name on the secrets list.
 *
 * Looks below one directory descriptor, changes nothing.
 */
#include <stddef.h>

#include "sandbox/base/text.h"

struct err;

#define VISIBLE_ROWS_MAX 256
#define VISIBLE_HOMES    "/home" /* each folder in it is a home */

struct visible_ask {
	int root;                 /* the folder that stands for `/` */
	const char *home;         /* real path; NULL: none */
	const char *const *homes; /* of others, or VISIBLE_HOMES: private, too */
	size_t homes_len;
	const char *project;
	const char *command;       /* an absolute path, or a name that PATH finds; NULL: none */
	const char *const *caller; /* environ */
	const char *const *expose; /* absolute; NULL: none */
};

struct visible_row {
	char *path; /* has no link above it; may itself be one, to be made again */
	char *why;
};

struct visible {
	struct visible_row *rows; /* in order of path, none below another */
	size_t len;
	size_t cap;
	struct strv hidden; /* secrets below a row: to be covered */
	struct strv tools;  /* names of the caller's variables that say where a tool is */
	char *path;         /* what of the caller's PATH is to be seen; a default when nothing is */
	struct strv dropped; /* the rest of it: "ENTRY: why" */
};
#define VISIBLE_NULL ((struct visible){ 0 })

/* A name of `expose` that is not there, a secret, or all of a private place is refused,
 * STATUS_USAGE. */
int visible_find(const struct visible_ask *ask, struct visible *ret, struct err *e);
void visible_done(struct visible *v);
