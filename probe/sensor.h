#pragma once
/*
 * sensor: one row, one domain. What a file in sensors/ has to fill in.
 */
#include <stdbool.h>

#include "probe/vantage.h"

struct delta;
struct err;
struct sink;

struct sensor {
	const char *domain;
	/* Words for an entry that came, went, or changed; `change` names what differs between two
	 * values and may be NULL ("changed"). */
	const char *came;
	const char *went;
	const char *(*change)(const char *before, const char *after);
	bool damages; /* changing or deleting what stood before the order is damage */
	bool acts; /* to look, it runs something in the cell: it looks last, and what that does to the
			 other domains is no test's */
	bool lives; /* its entries go on acting after their test: they are survivors */

	/* Memory of the sensor between looks; may be NULL when it needs none. */
	int (*open)(const struct vantage *v, void **ret, struct err *e);
	void (*close)(void *memory);
	/* Offer entries to the sink. A sensor that knows what did not change may stay silent
	 * about it: only sink_all() says that what was not offered is gone. `full`: trust no
	 * shortcut. A test process that is gone is an answer: 0, and nothing offered. What the
	 * sink refuses (-ENOMEM) may be returned without words. */
	int (*look)(void *memory, const struct vantage *v, bool full, struct sink *sink,
		    struct err *e);
	/* Make it as `before` of the delta says, by hand in the cell; see undo.h. May be NULL. */
	int (*undo)(const struct vantage *v, const struct delta *d, struct err *e);
};

/* What a sensor tells of one entry. Texts are borrowed. 0 or -ENOMEM. */
struct offer {
	const char *id;
	const char *key;   /* the first offer's counts, and that of a quiet one; NULL: the id */
	const char *zone;  /* the first offer's counts; NULL: none */
	const char *value; /* JSON object in text; NULL: it is not there */
	bool touched;      /* something was done to it, even if the value is the same */
	bool quiet;        /* it went on by itself: learn the value, tell nobody; a new one stood */
	bool stood; /* nobody looked yet, but so it stood before the order: learn it in silence,
			      and leave the digest as it is */
	bool inert; /* it acts no more (a zombie): no survivor */
};
int sink_offer(struct sink *sink, const struct offer *offer);
/* The domain is about something else from here on (another test process): what was known is
 * forgotten, and what this look offers stood before the order. */
void sink_anew(struct sink *sink);
/* All that is there was offered in this look: the rest is gone. */
int sink_all(struct sink *sink);
/* The running test opened the entry; to be said before an offer of the same look changes it. */
int sink_met(struct sink *sink, const char *id);
/* The value that was last offered for id; NULL: none. Borrowed until the next offer. */
const char *sink_known(const struct sink *sink, const char *id);
/* By which means the domain is looked at (a constant: "fanotify"), and why not by a better one
 * (copied; NULL: it is the best). */
int sink_how(struct sink *sink, const char *how, const char *why);
/* What cannot be seen, and why; NULL: all of the domain is seen. Copied. */
int sink_blind(struct sink *sink, const char *why);
