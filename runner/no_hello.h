#pragma once
/*
 * no_hello: why no adapter spoke though the command has ended. Pure.
 */
#include <stdbool.h>

struct err;

struct no_hello {
	const char *adapter; /* its name */
	const char *command; /* argv[0] */
	const char *path;    /* PATH in the cell */
	bool exec_failed;
	int exec_error;
	int wait_status;
};

/* Sets the err and returns it: STATUS_HOST. */
int no_hello_explain(const struct no_hello *n, struct err *e);

/* The same for a command that could not be executed: `code` is why. */
int no_exec_explain(const char *command, const char *path, int code, struct err *e);
