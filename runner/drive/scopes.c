#include "runner/drive/scopes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int find_open(const struct scopes *s, const char *fixture, const char *scope)
{
	for (size_t i = s->len; i-- > 0;)
		if (!s->at[i].closed && text_eq(s->at[i].fixture, fixture) &&
		    text_eq(s->at[i].scope, scope))
			return (int)i;
	return -EPROTO;
}

static int add(struct scopes *s, const char *fixture, const char *scope, int test)
{
	if (s->len == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 8;
		struct scope *at = reallocarray(s->at, cap, sizeof(*at));
		if (!at)
			return -ENOMEM;
		s->at = at;
		s->cap = cap;
	}
	struct scope *new = &s->at[s->len];
	*new = (struct scope){ .fixture = strdup(fixture),
			       .scope = strdup(scope),
			       .number = SCOPE_FIRST + (int)s->len,
			       .first = test };
	if (!new->fixture || !new->scope) {
		free(new->fixture);
		free(new->scope);
		return -ENOMEM;
	}
	return (int)s->len++;
}

int scopes_begin(struct scopes *s, const char *fixture, const char *scope, bool closing, int test)
{
	if (s->nest_len == SCOPES_NEST_MAX)
		return -EPROTO;
	int i = closing ? find_open(s, fixture, scope) : add(s, fixture, scope, test);
	if (i < 0)
		return i;
	s->at[i].closing = closing;
	s->nest[s->nest_len++] = (size_t)i;
	return 0;
}

int scopes_end(struct scopes *s, const char *fixture, const char *scope, bool closing,
	       struct scope **ret_scope)
{
	if (!s->nest_len)
		return -EPROTO;
	struct scope *inner = &s->at[s->nest[s->nest_len - 1]];
	if (!text_eq(inner->fixture, fixture) || !text_eq(inner->scope, scope) ||
	    inner->closing != closing)
		return -EPROTO;
	s->nest_len--;
	inner->closed = closing;
	*ret_scope = inner;
	return 0;
}

int scopes_by(const struct scopes *s, int test)
{
	return s->nest_len ? s->at[s->nest[s->nest_len - 1]].number : test;
}

struct delta_list *scopes_deltas(struct scopes *s, struct delta_list *tests)
{
	return s->nest_len ? &s->at[s->nest[s->nest_len - 1]].held : tests;
}

void scopes_done(struct scopes *s)
{
	for (size_t i = 0; i < s->len; i++) {
		free(s->at[i].fixture);
		free(s->at[i].scope);
		delta_list_done(&s->at[i].held);
	}
	free(s->at);
	*s = SCOPES_NULL;
}
