#pragma once
/*
 * plays: a history of orders, written as text.
 */
#include <stdio.h>
#include <string.h>

#include "runner/judge/history.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "tests/lib/tap.h"

static inline void say(struct history *h, cJSON *line)
{
	struct err e = ERR_NULL;
	if (history_line(h, json_text(line, "kind"), line, &e))
		tap_ok(false, "the history takes a line: %s", e.text);
	cJSON_Delete(line);
}

static inline cJSON *line_of(const char *kind, const char *order)
{
	cJSON *line = cJSON_CreateObject();
	cJSON_AddStringToObject(line, "kind", kind);
	cJSON_AddStringToObject(line, "order", order);
	return line;
}

static inline void add_words(cJSON *line, const char *key, const char *words)
{
	cJSON *array = cJSON_AddArrayToObject(line, key);
	cleanup_free char *copy = strdup(words);
	char *rest = copy;
	for (char *word; (word = strsep(&rest, " "));)
		if (*word)
			cJSON_AddItemToArray(array, cJSON_CreateString(word));
}

static inline enum outcome by_letter(char letter)
{
	int i = 0;
	while (i < OUTCOME_N && outcome_letter((enum outcome)i) != letter)
		i++;
	return (enum outcome)i;
}

struct deed {
	const char *order;
	const char *tests; /* parted by spaces, as asked for; begins with "*": as collected */
	const char *outcomes; /* a letter each; '.': nothing is told of it; lower case e: of its module */
	enum view view;
	enum role role;
	int seed; /* 0: none */
	const char *vary;
	const char *end; /* outcome of the order; NULL: complete; "": none */
	double seconds;
};

static inline void play_begin(struct history *h, const struct deed *d)
{
	cJSON *line = line_of("begin", d->order);
	cJSON_AddStringToObject(line, "view", view_names[d->view]);
	cJSON_AddStringToObject(line, "role", role_names[d->role]);
	if (d->seed) {
		cJSON_AddStringToObject(line, "shuffle", "shuffle");
		cJSON_AddNumberToObject(line, "seed", d->seed);
	}
	if (d->tests[0] != '*')
		add_words(line, "tests", d->tests);
	if (d->vary)
		add_words(line, "vary", d->vary);
	say(h, line);
}

static inline void play(struct history *h, const struct deed *d)
{
	play_begin(h, d);
	const char *letter = d->outcomes;
	cleanup_free char *copy = strdup(d->tests + (d->tests[0] == '*'));
	char *rest = copy;
	for (char *word; (word = strsep(&rest, " "));) {
		if (!*word)
			continue;
		cJSON *line = line_of("test", d->order);
		cJSON_AddStringToObject(line, "test", word);
		bool module = *letter == 'e';
		enum outcome outcome = module ? OUTCOME_ERROR_SETUP : by_letter(*letter);
		if (module)
			cJSON_AddStringToObject(line, "phase", "collect");
		if (outcome == OUTCOME_ERROR_TEARDOWN)
			cJSON_AddStringToObject(line, "phase", "teardown");
		if (*letter++ == '.') {
			cJSON_Delete(line);
			continue;
		}
		cJSON_AddStringToObject(line, "outcome", outcome_name(outcome));
		say(h, line);
		/* view repeated: the letter behind is of its second run */
		if (d->view != VIEW_REPEATED)
			continue;
		line = line_of("test", d->order);
		char again[64];
		snprintf(again, sizeof(again), "%s (again)", word);
		cJSON_AddStringToObject(line, "test", again);
		cJSON_AddStringToObject(line, "outcome", outcome_name(by_letter(*letter++)));
		say(h, line);
	}
	if (text_eq(d->end, ""))
		return;
	cJSON *line = line_of("end", d->order);
	cJSON_AddStringToObject(line, "outcome", d->end ? d->end : "complete");
	cJSON_AddNumberToObject(line, "seconds", d->seconds);
	say(h, line);
}
