#pragma once
/*
 * check: the report of a check. What is wrong comes first, then how sure that is,
 * what to do next and where the rest is. Reads what it is given and nothing else.
 */
#include <stdbool.h>
#include <stdio.h>

#include "sandbox/base/text.h"

struct classes;
struct err;
struct findings;
struct history;
struct report_look;
struct summary;

struct check_report {
	const struct summary *summary; /* leaks, damage, notes, the verdict, the run folder */
	const struct history *history;
	const struct classes *classes;
	const struct findings *findings;
	const char *run;            /* as replay takes it */
	const struct strv *skipped; /* sentences: what was not run, and what that leaves open */
	bool searched;              /* polluters were looked for */
};

int check_write_text(const struct check_report *c, const struct report_look *look, FILE *out,
		     struct err *e);
int check_write_json(const struct check_report *c, const struct report_look *look, FILE *out,
		     struct err *e);

/* What of it programs and people are told alike. */
struct check_counts {
	size_t tests;
	size_t orders, executions; /* of all roles */
	size_t sweep, isolated, confirm, shrink, wave;
	size_t random;  /* orders that a bound stands on */
	double seconds; /* of all orders, one after another */
};
struct check_counts check_counts(const struct check_report *c);
/* One sentence: what is wrong. The caller's; NULL: no memory. */
char *check_sentence(const struct check_report *c);
/* The command that shows a finding again. The caller's; NULL: no memory. */
struct finding;
char *check_replay(const struct check_report *c, const struct finding *f);
