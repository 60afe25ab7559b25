#pragma once
/*
 * fingerprint: the state of one cell at a boundary, domain by domain.
 *
 * A domain is a set of entries: an id, and a JSON object in text that holds
 * all that counts about it. The digest of a domain is the sum of its entries'
 * digests, kept up to date in O(changes). fingerprint_look() walks the sensor
 * table; each sensor offers what may have changed, and what is different comes
 * back as deltas. Every entry remembers the test that left it.
 *
 * Owns the entries and the sensors' own memory; borrows the vantage.
 */
#include "probe/delta.h"
#include "probe/vantage.h"
#include "sandbox/base/digest.h"

struct err;
struct sensor;
struct fingerprint;

struct met {
	const char *domain;
	char *key;
	int from; /* the test that left it */
};
struct met_list {
	struct met *at;
	size_t len;
	size_t cap;
};
void met_list_done(struct met_list *list);

/* `sensors`: the rows to walk, NULL-terminated; fingerprint_sensors for all of them. */
int fingerprint_new(const struct vantage *v, const struct sensor *const *sensors,
		    struct fingerprint **ret, struct err *e);

/* Look now. What changed since the last look belongs to test number `by` (DELTA_STOOD for the
 * first look, which only learns what is there, and for what no test does); it is appended to
 * deltas, and what `by` opened of others' to met; both may be NULL. Entries of the zone `state`
 * have deltas but are in no digest. A test process that is gone is no failure: what it alone could
 * tell stays as it was last seen. */
int fingerprint_look(struct fingerprint *f, int by, struct delta_list *deltas, struct met_list *met,
		     struct err *e);
/* A look that trusts no shortcut: contents are read again. */
int fingerprint_look_full(struct fingerprint *f, int by, struct delta_list *deltas, struct err *e);

/* Where each look puts what sensors that act did, by a second look at the other domains; NULL, as it is
 * at first: there is none. Borrowed. */
void fingerprint_put_aside(struct fingerprint *f, struct delta_list *aside);

struct digest fingerprint_digest(const struct fingerprint *f, const char *domain);
struct digest fingerprint_digest_all(const struct fingerprint *f);
/* "fanotify" or "scan", and after an overflow why it changed; NULL when nothing did. */
const char *fingerprint_tracker(const struct fingerprint *f, const char **ret_why);
/* What of a domain cannot be seen, and why; NULL: all is seen. Changes only in a look. */
const char *fingerprint_blind(const struct fingerprint *f, const char *domain);
/* Processes and threads that a test left (`owner`) and that lived at the last look. */
int fingerprint_survivors(const struct fingerprint *f, struct delta_list *ret, struct err *e);
/* The value of an entry at the last look; NULL: it is not there. Borrowed until the next look. */
const char *fingerprint_value(const struct fingerprint *f, const char *domain, const char *id);
/* An entry is the doing of test `owner` after all. */
void fingerprint_charge(struct fingerprint *f, const char *domain, const char *id, int owner);
void fingerprint_free(struct fingerprint *f);

extern const struct sensor *const fingerprint_sensors[];
