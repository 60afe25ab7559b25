#pragma once
/*
 * command: one row, one command of the program. Dispatch and help come from
 * commands[]; only main.c prints an err.
 */
#include "runner/config.h"

struct err;

struct command {
	const char *name;
	const char *args;            /* as in the usage line */
	const char *help;            /* one line */
	enum config_command options; /* the rows of the settings table that it takes; 0: none */
	const char *more;            /* for --help: what a reader wants to know beside them */
	/* argv[0] is the command's name. The exit status, or negative errno. */
	int (*run)(int argc, const char *const *argv, struct err *e);
};

extern const struct command cmd_check;
extern const struct command cmd_diff;
extern const struct command cmd_doctor;
extern const struct command cmd_exec;
extern const struct command cmd_replay;
extern const struct command cmd_rule;
extern const struct command cmd_run;
extern const struct command cmd_shrink;
extern const struct command *const commands[]; /* NULL-terminated */
