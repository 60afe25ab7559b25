#include "runner/drive/suite.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/base/cleanup.h"

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

/* The id under which the present session's test is known; behind_session tells repeated ones. */
static char *full_id(const struct suite *s, const char *id, bool repeated)
{
	char *full = NULL;
	int r = repeated ? asprintf(&full, "%s%s (session %d)", s->prefix, id, s->sessions)
			 : asprintf(&full, "%s%s", s->prefix, id);
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

int suite_add(struct suite *s, const char *id)
{
	if (suite_find(s, id) >= 0)
		return -EEXIST;
	cleanup_free char *full = full_id(s, id, false);
	if (full && number_of(s, full) >= 0) { /* an earlier session ran it */
		free(full);
		full = full_id(s, id, true);
	}
	if (!full)
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

void suite_done(struct suite *s)
{
	strv_done(&s->ids);
	map_done(&s->number);
	free(s->ran);
	free(s->prefix);
	*s = SUITE_NULL;
}
