#include "runner/drive/suite.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/base/cleanup.h"

#define AGAIN " (again)"

int suite_ask(struct suite *s, const struct order *order, const struct roster *roster)
{
	s->all = order->as_collected;
	s->repeated = order->view == VIEW_REPEATED;
	for (size_t i = 0; i < order->tests_len; i++) {
		const char *id = roster->ids.at[order->tests[i]];
		if (strv_add(&s->asked, id) || map_put(&s->is_asked, id, s))
			return -ENOMEM;
	}
	return 0;
}

int suite_session(struct suite *s, const char *project, const char *rootdir)
{
	free(s->prefix);
	s->prefix = NULL;
	s->sessions++;
	s->session_at = s->ids.len;
	int r;
	if (!rootdir || text_eq(rootdir, project))
		r = asprintf(&s->prefix, "%s", "");
	else if (path_below(rootdir, project))
		r = asprintf(&s->prefix, "%s/", rootdir + strlen(project) + 1);
	else
		r = asprintf(&s->prefix, "%s/", rootdir);
	return r < 0 ? -ENOMEM : 0;
}

/* How an id ends that an earlier session had, too. */
struct mark {
	char text[32];
};

static struct mark session_mark(const struct suite *s)
{
	struct mark mark;
	snprintf(mark.text, sizeof(mark.text), " (session %d)", s->sessions);
	return mark;
}

/* The id under which the present session's test is known; `marked` tells it from an earlier one's. */
static char *full_id(const struct suite *s, const char *id, bool marked)
{
	bool again = s->repeated && text_ends(id, AGAIN);
	size_t len = strlen(id) - (again ? strlen(AGAIN) : 0);
	const struct mark mark = session_mark(s);
	char *full = NULL;
	int r = asprintf(&full, "%s%.*s%s%s", s->prefix, (int)len, id, marked ? mark.text : "",
			 again ? AGAIN : "");
	return r < 0 ? NULL : full;
}

static int number_of(const struct suite *s, const char *full)
{
	return (int)(intptr_t)map_get(&s->number, full) - 1;
}

int suite_find(const struct suite *s, const char *id)
{
	for (int repeated = 0; repeated < 2; repeated++) {
		cleanup_free char *full = full_id(s, id, repeated);
		if (!full)
			return -ENOMEM;
		int number = number_of(s, full);
		if (number >= 0 && (size_t)number >= s->session_at)
			return number;
	}
	return -ENOENT;
}

int suite_name(const struct suite *s, const char *id, char **ret)
{
	cleanup_free char *plain = full_id(s, id, false);
	cleanup_free char *marked = full_id(s, id, true);
	if (!plain || !marked)
		return -ENOMEM;
	bool earlier = number_of(s, plain) >= 0 || map_get(&s->is_asked, marked);
	*ret = earlier ? take_ptr(&marked) : take_ptr(&plain);
	return 0;
}

int suite_add(struct suite *s, const char *id)
{
	int known = suite_find(s, id);
	if (known != -ENOENT)
		return known < 0 ? known : -EEXIST;
	cleanup_free char *full = NULL;
	if (suite_name(s, id, &full))
		return -ENOMEM;
	assert(s->ids.len < INT_MAX);
	int number = (int)s->ids.len;
	bool *ran = reallocarray(s->ran, s->ids.len + 1, sizeof(*ran));
	if (!ran)
		return -ENOMEM;
	s->ran = ran;
	s->ran[number] = false;
	int r = strv_add(&s->ids, full);
	if (!r)
		r = map_put(&s->number, full,
			    (void *)(intptr_t)(number + 1)); // NOLINT(performance-no-int-to-ptr)
	return r ? r : number;
}

int suite_plan(const struct suite *s, struct strv *ret)
{
	const struct mark mark = session_mark(s);
	for (size_t i = 0; i < s->asked.len; i++) {
		const char *id = s->asked.at[i];
		bool marked = text_ends(id, mark.text);
		if (!text_starts(id, s->prefix) || (!marked && number_of(s, id) >= 0))
			continue;
		size_t len = strlen(id) - (marked ? strlen(mark.text) : 0);
		cleanup_free char *base = strndup(id, len);
		if (!base || strv_add(ret, base + strlen(s->prefix)))
			return -ENOMEM;
	}
	return 0;
}

int suite_missing(const struct suite *s, struct strv *ret)
{
	for (size_t i = 0; i < s->asked.len; i++)
		if (number_of(s, s->asked.at[i]) < 0 && strv_add(ret, s->asked.at[i]))
			return -ENOMEM;
	return 0;
}

void suite_done(struct suite *s)
{
	strv_done(&s->ids);
	map_done(&s->number);
	free(s->ran);
	free(s->prefix);
	strv_done(&s->asked);
	map_done(&s->is_asked);
	*s = SUITE_NULL;
}
