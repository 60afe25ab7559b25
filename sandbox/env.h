#pragma once
/*
 * env: the environment of the command. Built, not filtered: what no rule here
 * puts in is not in it, whatever the caller's held. Pure.
 *
 * Later wins: the base (below), where visible tools are, settings, `pass`,
 * `set`. The base is the same on every machine but for the names of the user
 * and of the home: PATH HOME TMPDIR XDG_* USER LOGNAME SHELL=/bin/sh TERM=dumb
 * LANG=C.UTF-8 TZ=UTC.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sandbox/base/text.h"

struct err;

struct env_setting {
	const char *name;
	const char *value;
	char between; /* not 0: goes in front of what `pass` and `set` say, with this between */
};

struct env_ask {
	uid_t uid;
	const char *user;
	const char *home; /* as getpwuid has it; NULL: none */
	const char *top;  /* folder in which tmp and run are; NULL: /tmp and /run themselves */
	const char *path; /* visible_path.text: what of the caller's PATH can be seen */

	const char *const *caller; /* environ */
	const char *const *tools;  /* names of variables that say where visible tools are; NULL */
	const struct env_setting *settings;
	size_t settings_len;
	const char *const *pass; /* names; what the caller has not is passed over. NULL */
	const char *const *set;  /* NAME=VALUE; NULL */
};

/* NAME=VALUE, each name once. */
int env_build(const struct env_ask *ask, struct strv *ret, struct err *e);
/* Sets a variable, in place of what it had. 0 or -ENOMEM. */
int env_put(struct strv *v, const char *name, const char *value);
/* The value in a NULL-terminated environment; NULL: it is not there. */
const char *env_get(const char *const *env, const char *name);

/* Variables of the caller that people miss, and why they come only by `set` or `pass`. */
struct env_verdict {
	const char *name;
	const char *why;
};
extern const struct env_verdict env_verdicts[];
extern const size_t env_verdicts_len;
