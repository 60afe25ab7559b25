#pragma once
/*
 * page: a report for people while it is written, and the parts that reports share.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "runner/terminal.h"

struct report_look;
struct summary;
struct summary_changes;

/* What to do where nothing was collected. */
#define PAGE_NO_TESTS \
	"no test was collected: name the folder or the files of the tests in the command"

struct page {
	const struct summary *s;
	const struct report_look *look;
	FILE *out;
	bool no_memory;
};

const char *page_style(const struct page *p, enum style style);
/* "Left behind (12)" */
void page_heading(const struct page *p, const char *title, size_t n);
/* How many of n lines are shown; where the rest is. */
size_t page_shown(const struct page *p, size_t n);
void page_rest(struct page *p, size_t n);
/* Prints a text that was made for it, and keeps in mind when it could not be made. */
void page_put(struct page *p, char *text);
void page_printable(struct page *p, const char *before, const char *text, const char *after);

void page_changes(struct page *p, const char *title, const struct summary_changes *list,
		  enum style color);
void page_survivors(struct page *p);
/* A NULL-terminated list, or NULL. */
void page_lines(struct page *p, const char *title, const char *const *texts);
/* Each rule with its reason, and what it took out. */
void page_accepted(struct page *p);
void page_isolation(struct page *p);
