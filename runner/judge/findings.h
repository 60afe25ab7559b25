#pragma once
/*
 * findings: what is wrong with which test, and how sure that is: from the classes
 * and from what searches found. Pure.
 *
 * Leaks and damage are the summary's. Borrows the classes, the history and the
 * searches.
 */
#include "runner/judge/accepted.h"
#include "runner/judge/classes.h"
#include "runner/shrink/shrink.h"

struct accepted;
struct err;
struct ledger;

#define FINDING_ID_LEN 16

struct finding {
	char id[FINDING_ID_LEN]; /* "FH201-1a2b3c4d": the same in every run */
	const char *code;
	enum class class; /* as to order: what else is the matter with the test stands elsewhere */
	uint32_t test;
	uint32_t order; /* of the history, in which it shows; CLASSES_NONE */
	bool searched;
	struct search_result search; /* its set is the search's */
	char *message;               /* of the failure in that order; NULL: none */
};

struct findings {
	struct finding *at; /* what blocks comes first; of one class, those of one set together */
	size_t len;
};
#define FINDINGS_NULL ((struct findings){ 0 })

/* shrink: NULL when nothing was searched for. 0 or -ENOMEM. */
int findings_make(const struct classes *c, const struct shrink *shrink, struct findings *ret);
/* What each failing test said, from the ledger. */
int findings_messages(struct findings *f, const struct history *h, const struct ledger *l,
		      struct err *e);
/* Takes out what somebody accepts. */
void findings_accept(struct findings *f, const struct classes *c, struct accepted *accepted);
const struct finding *findings_find(const struct findings *f, const char *id);
/* Do both have the same tests before them? */
bool finding_same_set(const struct finding *a, const struct finding *b);
/* Was the set, or that there is none, seen as often as asked? */
bool finding_is_sure(const struct finding *f);
void findings_done(struct findings *f);
