#pragma once
/*
 * scopes: fixtures wider than a function, and what each of them holds.
 *
 * Only what changes between the begin and the end of a set-up or a finaliser is
 * the fixture's. Until its finaliser has ended that is held; what then is left
 * is the fixture's leak.
 */
#include "probe/delta.h"

#define SCOPE_FIRST     (1 << 24) /* numbers of fixtures begin here; tests lie below */
#define SCOPES_NEST_MAX 64        /* set-ups within set-ups */

struct scope {
	char *fixture;
	char *scope; /* class module package session */
	int number;
	int first; /* the test in which it was set up */
	bool closing;
	bool closed;
	struct delta_list held;
};

struct scopes {
	struct scope *at;
	size_t len;
	size_t cap;
	size_t nest[SCOPES_NEST_MAX]; /* begun and not ended, innermost last */
	size_t nest_len;
};
#define SCOPES_NULL ((struct scopes){ 0 })

/* Set-up (or finaliser, when closing) begins. -EPROTO: too deep, or nothing of that name to close;
 * -ENOMEM. */
int scopes_begin(struct scopes *s, const char *fixture, const char *scope, bool closing, int test);
/* It ends: *ret_scope is what ended. -EPROTO: it is not the innermost. */
int scopes_end(struct scopes *s, const char *fixture, const char *scope, bool closing,
	       struct scope **ret_scope);
/* Whose a change is right now: the innermost fixture's, else the test's. */
int scopes_by(const struct scopes *s, int test);
/* The list such a change goes to. */
struct delta_list *scopes_deltas(struct scopes *s, struct delta_list *tests);
void scopes_done(struct scopes *s);
