#pragma once
/*
 * delta: what changed between two boundaries. Pure data.
 *
 * `before` and `after` are JSON objects in text, as they stand in the ledger;
 * NULL where there was or is nothing. Owns its texts, but for the domain, what
 * and zone, which are constants of the probe and of the vantage.
 */
#include <stdbool.h>
#include <stddef.h>

#include "sandbox/base/text.h"

struct sensor;

enum delta_kind { DELTA_LEAK, DELTA_TOUCH, DELTA_HELD };
extern const char *const delta_kind_names[]; /* leak touch held */

#define DELTA_STOOD (-1) /* nobody: it stood before the order began */

/* What became of an attempt to put back what stood before. */
enum delta_undone { DELTA_NOT_TRIED, DELTA_UNDONE, DELTA_NOT_UNDONE };

struct delta {
	const char *domain;          /* files env process descriptors processes threads … */
	const char *what;            /* created content mode …; the sensor's words */
	const char *zone;            /* files only; NULL elsewhere */
	const struct sensor *sensor; /* the row that saw it: has the words */
	char *id;                    /* unique in its domain */
	char *key;                   /* what a finding calls it, the same in every order */
	char *before;
	char *after;
	enum delta_kind kind;
	bool damage;
	bool restored;        /* `after` is what stood before the order began */
	int owner;            /* number of the test whose leak `before` is; DELTA_STOOD */
	struct strv suspects; /* filled in by whoever knows which tests left survivors */
	char *writer;         /* JSON in text, or NULL */
	enum delta_undone undone;
	char *undone_why; /* of DELTA_NOT_UNDONE; NULL: no memory for words */
};

struct delta_list {
	struct delta *at;
	size_t len;
	size_t cap;
};
#define DELTA_LIST_NULL ((struct delta_list){ 0 })

/* Names kind and what after `before` and `after`: equal ones are a touch. */
void delta_settle(struct delta *d);
/* Adds one; keeps what d owns, also when it fails. 0 or -ENOMEM. */
int delta_list_adopt(struct delta_list *list, struct delta *d);
/* Goes on from an earlier list: of what stands in both, `before` is the earlier one's and `after`
 * the later one's; what then is as it was becomes a touch. Empties later. 0 or -ENOMEM. */
int delta_list_append(struct delta_list *list, struct delta_list *later);
/* What somebody else then put back as it stood before the order did not outlive its time: those
 * of list become touches. later stays as it is. 0 or -ENOMEM. */
int delta_list_undone(struct delta_list *list, const struct delta_list *later);
void delta_done(struct delta *d);
void delta_list_done(struct delta_list *list);
