#pragma once
/*
 * adapter: what joins one framework to the looker. A row, and what runs in the
 * cell. A row is data: it never calls the session.
 */
#include <stdbool.h>
#include <stddef.h>

struct adapter_file {
	const char *name; /* below CELL_RUN_DIR "/adapter/", which is "${ADAPTER}" */
	const char *text;
	const char *text_end;
};

struct adapter {
	const char *name;
	/* Files whose presence in the project says that this framework is meant ("NAME", with "*" in
	 * its last part; "NAME:TEXT" for a file that holds a text), and what is run then, when no
	 * command was given. NULL-terminated. */
	const char *const *signs;
	const char *const *command;
	/* Files brought into the cell. */
	const struct adapter_file *files;
	size_t files_len;
	/* NAME=VALUE added to the environment. "${CACHE}" is the private cache folder, "${ADAPTER}"
	 * the folder of files. A value that begins with "${PREPEND}" and one character goes in front
	 * of what env.set and env.pass give, with that character between them. NULL-terminated. */
	const char *const *env;
	/* Places it writes itself, relative to the project or absolute, with "${CACHE}", "${TMP}" and
	 * "*" at the end of a name; "*" and a slash in front of a name is that name anywhere: zone `state`.
	 * NULL-terminated. */
	const char *const *state_dirs;
	/* Variables it moves itself. NULL-terminated. */
	const char *const *env_ignored;
};

extern const struct adapter adapter_pytest;
extern const struct adapter *const adapters[]; /* NULL-terminated */
const struct adapter *adapter_find(const char *name);
/* The adapter whose signs stand in the project, a folder's descriptor; NULL. */
const struct adapter *adapter_detect(int project);
