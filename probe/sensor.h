#pragma once
/*
 * sensor: one row, one domain. What a file in sensors/ has to fill in.
 */
#include <stdbool.h>

#include "probe/vantage.h"

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

	/* Memory of the sensor between looks; may be NULL when it needs none. */
	int (*open)(const struct vantage *v, void **ret, struct err *e);
	void (*close)(void *memory);
	/* Offer entries to the sink. A sensor that knows what did not change may stay silent
	 * about it: only sink_all() says that what was not offered is gone. `full`: trust no
	 * shortcut. */
	int (*look)(void *memory, const struct vantage *v, bool full, struct sink *sink,
		    struct err *e);
};

/* What a sensor tells of one entry. Texts are borrowed. 0 or -ENOMEM. */
struct offer {
	const char *id;
	const char *key;   /* NULL: the id */
	const char *zone;  /* NULL: none */
	const char *value; /* JSON object in text; NULL: it is not there */
	bool touched;      /* something was done to it, even if the value is the same */
};
int sink_offer(struct sink *sink, const struct offer *offer);
/* All that is there was offered in this look: the rest is gone. */
void sink_all(struct sink *sink);
/* The running test opened the entry. */
int sink_met(struct sink *sink, const char *id);
/* The value that was last offered for id; NULL: none. Borrowed until the next offer. */
const char *sink_known(const struct sink *sink, const char *id);
