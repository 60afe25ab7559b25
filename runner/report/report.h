#pragma once
/*
 * report: a summary, written. One row a format; a format reads the summary and
 * nothing else.
 */
#include <stdbool.h>
#include <stdio.h>

struct err;
struct summary;
struct terminal;

struct report_look {
	const struct terminal *terminal; /* of the stream; NULL: a file */
	bool quiet;                      /* the verdict alone */
	bool verbose;                    /* lists in full */
	const char *const *hints;        /* likely causes of failures; NULL-terminated, or NULL */
};

struct report_format {
	const char *name;
	int (*write)(const struct summary *s, const struct report_look *look, FILE *out,
		     struct err *e);
};

extern const struct report_format report_text;
extern const struct report_format report_json;

/* A finding's id: its code and 8 hex digits of what it is about, the same in every run. */
#define REPORT_ID_LEN 16
struct summary_change;
char *report_id(const struct summary_change *c, char id[REPORT_ID_LEN]);
/* One sentence. The caller's; NULL: no memory. */
char *report_sentence(const struct summary *s);
