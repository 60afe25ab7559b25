#pragma once
/*
 * settings: the table of all that can be set. One row is the flag, the JSON key
 * and the help line; its kind says how a text becomes the member's value.
 */
#include "runner/config.h"

enum setting_kind {
	KIND_BOOL,
	KIND_CHOICE,   /* one of names: its index */
	KIND_DURATION, /* milliseconds */
	KIND_SIZE,     /* bytes */
	KIND_COUNT,    /* a whole number from 1 to `most` */
	KIND_TEXT,
	KIND_PATH,    /* a relative one counts from where it is written */
	KIND_PROJECT, /* a folder, or the word copy */
	KIND_ADAPTER,
	KIND_PLACES,    /* below the project, or absolute */
	KIND_WORDS,     /* some of names */
	KIND_PATHS,     /* relative ones count from where they are written */
	KIND_PORTS,     /* of TCP; numbers in JSON, too */
	KIND_NAMES,     /* of variables */
	KIND_VARIABLES, /* NAME=VALUE */
	KIND_STEPS,     /* commands, in JSON alone; on the command line when they run */
	KIND_PROBES,    /* NAME=COMMAND */
	KIND_IGNORES,   /* rules, in JSON alone; on the command line whether they are applied */
	KIND_BOUND,     /* a percentage: a share of one */
	KIND_SEEDS,     /* whole numbers, as texts, each once */
	KIND_SERIALS,   /* PATTERN=REASON */
	KIND_N,
};

/* What an option decides. Said on the command line, it overrules what decides the same in fumehood.json,
 * be it itself or another. */
enum setting_about {
	ABOUT_PROFILE = 1 << 0,
	ABOUT_SHUFFLE = 1 << 1,
	ABOUT_SEEDS = 1 << 2,
	ABOUT_ORDER = 1 << 3,
};

struct setting {
	const char *flag;
	const char *key; /* in fumehood.json, with dots; NULL: the command line alone */
	const char *arg; /* what the help calls the value; NULL: none */
	const char *help;
	size_t at; /* of the member */
	const char *const *names;
	size_t names_len;
	const char *group; /* heading above this row and those that follow */
	uint32_t most;     /* KIND_COUNT */
	enum setting_kind kind;
	unsigned of;    /* enum config_command: who takes it on the command line; 0: CONFIG_CELL */
	unsigned about; /* enum setting_about */
	unsigned overrules; /* the same, of those that it overrules */
	char letter;
	bool unless; /* KIND_BOOL: on by default, so that the help shows --no-FLAG */
	bool once; /* it is of this call alone: whoever runs the same again does not say it again */
	bool all;  /* KIND_WORDS: "all" stands for each of names */
};
extern const struct setting settings[];
extern const size_t settings_len;

bool setting_is_of(const struct setting *s, enum config_command command);

/* What a value looks like in JSON. */
enum setting_shape {
	SHAPE_BOOL,
	SHAPE_NUMBER,
	SHAPE_TEXT,
	SHAPE_LIST,
	SHAPE_OBJECT,
	SHAPE_STEPS,
	SHAPE_PROBES,
	SHAPE_IGNORES,
	SHAPE_SERIALS,
};
enum setting_shape setting_shape(const struct setting *s);
const char *setting_must_be(const struct setting *s); /* "a list of texts" */
bool setting_takes_numbers(const struct setting *s);

/* Read one value, or one entry of a list. `base`: relative paths count from there. */
int setting_set(struct config *c, const struct setting *s, const char *text, const char *base,
		struct err *e);
/* As if it had never been set. */
void setting_clear(struct config *c, const struct setting *s);
/* Values of variables as their length and digest. NULL: no memory. */
cJSON *setting_json(const struct config *c, const struct setting *s);
void settings_done(struct config *c);
