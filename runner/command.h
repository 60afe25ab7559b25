#pragma once
/*
 * command: one row, one command of the program. Dispatch and help come from
 * commands[]; only main.c prints an err.
 */
#include <stdio.h>

struct err;

struct command {
	const char *name;
	const char *args; /* as in the usage line */
	const char *help; /* one line */
	/* The options, and for --help what a reader wants to know beside them. */
	void (*options)(FILE *out);
	const char *more;
	/* argv[0] is the command's name. The exit status, or negative errno. */
	int (*run)(int argc, const char *const *argv, struct err *e);
};

extern const struct command cmd_run;
extern const struct command *const commands[]; /* NULL-terminated */
