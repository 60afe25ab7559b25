#pragma once
/*
 * config: what the user asked for, from the command line over fumehood.json
 * over the defaults.
 *
 * One row of the settings table is the flag, the JSON key and the help line.
 * Nothing is ignored and nothing is guessed: an unknown key or flag, a wrong
 * type, a value that is not allowed are errors that say where and what is
 * allowed instead. Lists add up; of anything else the command line wins.
 *
 * An option of another command is an error. The file is one for all commands:
 * each takes of it what it needs.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "runner/ignores.h"
#include "runner/plan/ask.h"
#include "runner/probes.h"
#include "runner/project.h"
#include "runner/steps.h"
#include "sandbox/base/json.h"
#include "sandbox/base/text.h"

struct adapter;
struct err;

enum config_command {
	CONFIG_CHECK = 1 << 0,
	CONFIG_RUN = 1 << 1,
	CONFIG_SHRINK = 1 << 2,
	CONFIG_REPLAY = 1 << 3,
	CONFIG_EXEC = 1 << 4,
	CONFIG_DOCTOR = 1 << 5,
	CONFIG_DIFF = 1 << 6,

	CONFIG_SUITE = CONFIG_CHECK | CONFIG_RUN | CONFIG_SHRINK | CONFIG_REPLAY,
	CONFIG_CELL = CONFIG_SUITE | CONFIG_EXEC | CONFIG_DOCTOR,
	CONFIG_ANY = CONFIG_CELL | CONFIG_DIFF,
};

enum config_tracker { CONFIG_TRACKER_AUTO, CONFIG_TRACKER_FANOTIFY, CONFIG_TRACKER_SCAN };
enum config_project_mode { CONFIG_PROJECT_OVERLAY, CONFIG_PROJECT_COPY };
enum config_color { CONFIG_COLOR_AUTO, CONFIG_COLOR_ALWAYS, CONFIG_COLOR_NEVER };

struct config {
	int isolation;        /* enum cell_isolation */
	int network;          /* enum cell_network */
	struct strv forwards; /* ports, each once */
	struct strv env;      /* NAME=VALUE; of one name the last wins */
	struct strv pass;     /* names of the caller's variables */
	struct strv expose;   /* absolute paths */
	struct strv state_dirs;
	uint32_t timeout_ms; /* 0: none */
	uint32_t grace_ms;
	char *scratch;          /* absolute path of a folder; NULL: in memory */
	uint64_t scratch_bytes; /* 0: half of the memory */
	int project_mode;       /* enum config_project_mode */
	struct steps prepare;
	int tracker;         /* enum config_tracker */
	struct strv without; /* domains */
	struct probes custom;
	struct ignores ignore;
	struct ignores expected_state;
	bool restore; /* put back the files that a test leaves */
	bool canary;
	bool allow_nested;
	int caps;                      /* enum cell_caps */
	struct strv accept_reduced;    /* of isolation_names */
	const struct adapter *adapter; /* NULL: found by its signs */

	struct plan_ask plan;
	uint32_t lanes;   /* 0: as many as processors */
	bool shrink;      /* search for the tests that make others fail */
	char *resume;     /* a run; NULL: none */
	uint32_t times;   /* of replay; 0: once */
	uint32_t confirm; /* runs that a search accepts a set by; 0: SEARCH_CONFIRM */
	bool all;         /* of shrink: every test that depends on order */

	struct strv fail_on; /* "leak" */
	bool contain;        /* no write outside of zone state */
	bool exit_zero;
	bool bisect_exit;

	bool show_values;
	bool echo;
	bool json;
	bool quiet;
	bool verbose;
	int color;    /* enum config_color */
	char *out;    /* NULL: in the state folder */
	char *report; /* NULL: stderr; "-": stdout */
	bool tty;
	struct strv keep; /* "PATH" or "PATH=DEST", PATH absolute */
	char *project_asked;

	char *home; /* real path; NULL: the caller has none */
	struct project project;
	struct strv words;          /* what stands among the options: a run, an order */
	const char *const *command; /* NULL-terminated; empty: none was given. Borrowed from argv, or
				       from said_command */

	/* what has to be said to run the same again */
	struct strv said;           /* "--network=host"; paths are absolute */
	struct strv said_variables; /* names of --env, whose values are not told */
	struct strv said_command;   /* of an earlier call */
};
#define CONFIG_COPY "copy" /* as a --project: the mode, and no folder */
#define CONFIG_NULL ((struct config){ .canary = true, .grace_ms = 5000, .shrink = true })

/* Reads argv (argv[0] is the command's name), finds the project and reads its file. `c` begins as
 * CONFIG_NULL; after a failure it holds what was read up to there. */
int config_load(struct config *c, enum config_command command, int argc, const char *const *argv,
		struct err *e);
/* Reads argv alone, without a project and its file. */
int config_words(struct config *c, enum config_command command, int argc, const char *const *argv,
		 struct err *e);
/* As an earlier call, which `run` (a run.json) tells of, and this one on top. What that one had as
 * value of a variable has to be said again. */
int config_load_again(struct config *c, enum config_command command, const cJSON *run, int argc,
		      const char *const *argv, struct err *e);
/* Adds "again": what config_load_again() reads. False: no memory. */
bool config_add_again(const struct config *c, cJSON *run);
void config_done(struct config *c);

/* The options of a command, from the table. */
void config_help(enum config_command command, FILE *out);

#define CONFIG_COMMANDS_LEN 96 /* of the names of all commands */

/* One row, for whoever has to hold another list true to the table. */
struct setting_name {
	char flag[40];                  /* "--network", "--no-canary" */
	const char *key;                /* "env.set"; NULL: the command line only */
	char only[CONFIG_COMMANDS_LEN]; /* the commands that take it: "run, exec"; "": all that make cells */
};
/* False: there is no row n. */
bool config_setting(size_t n, struct setting_name *ret);

/* The settings of a command as an object for run.json: values of variables stand there as their
 * length and digest. NULL: no memory. */
cJSON *config_json(const struct config *c, enum config_command command);

/* Apply the text of a fumehood.json that stands in the folder `base`. */
int config_file(struct config *c, const char *name, const char *text, size_t len, const char *base,
		struct err *e);
