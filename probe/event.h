#pragma once
/*
 * event: one packet from an adapter (adapters/PROTOCOL.md).
 *
 * Owns its texts. Borrows the packet only while parsing. Never reads, never
 * waits, never logs: the session does those.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/base/json.h"

struct err;

#define EVENT_LEN_MAX    65536 /* bytes in a packet */
#define EVENT_ID_LEN_MAX 16384 /* bytes in an id or another name */
#define EVENT_VERSION    1

enum event_kind {
	EVENT_HELLO,
	EVENT_COLLECTING,
	EVENT_COLLECTED,
	EVENT_UNCOLLECTABLE,
	EVENT_START,
	EVENT_SCOPE_OPEN,
	EVENT_SCOPE_CLOSE,
	EVENT_FINISH,
	EVENT_DONE,
	EVENT_HANGUP, /* never on the wire: the connection ended */
	EVENT_KIND_N,
};
const char *event_kind_name(enum event_kind kind);

/* The words of PROTOCOL.md, and absent, which is ours to say. */
enum outcome {
	OUTCOME_PASSED,
	OUTCOME_FAILED,
	OUTCOME_ERROR_SETUP,
	OUTCOME_ERROR_TEARDOWN,
	OUTCOME_SKIPPED,
	OUTCOME_XFAILED,
	OUTCOME_XPASSED,
	OUTCOME_CRASHED,
	OUTCOME_TIMEOUT,
	OUTCOME_ABSENT,
	OUTCOME_N,
};
const char *outcome_name(enum outcome outcome);
char outcome_letter(enum outcome outcome);
/* The outcome of that name; OUTCOME_N: there is none. */
enum outcome outcome_find(const char *name);
/* Did a test with this outcome fail? Absent ones did not run. */
bool outcome_failed(enum outcome outcome);

struct event {
	enum event_kind kind;
	cJSON *packet; /* the whole packet, for what only few readers want: phases, us, state … */
	/* borrowed from packet; NULL where the kind has none */
	const char *test; /* of uncollectable: its id; of collecting: NULL, too */
	const char *next; /* of finish: the test that follows, NULL for the last */
	const char *file; /* a name in the drop folder, without a slash. Of collected: the tests; of
			     finish: {"message":"…"}, when that is too long for a packet */
	const char *fixture;
	const char *scope;
	const char *rootdir;
	bool at_end;          /* scope_open, scope_close: "at" is "end" */
	enum outcome outcome; /* of finish; of uncollectable: error_setup or skipped */
};
#define EVENT_NULL ((struct event){ 0 })

/* Parse one packet. What is no event of version 1 is -EPROTO, says why, and *ret is untouched. */
int event_parse(struct event *ret, const char *packet, size_t len, struct err *e);
/* Of hello: does the adapter name this among what it can? */
bool event_can(const struct event *ev, const char *what);
void event_done(struct event *ev);
