#include "runner/shrink/trials.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/base/cleanup.h"

int trials_get(struct trials *t, const uint32_t *tests, size_t len, size_t *ret)
{
	struct digest digest = digest_bytes(tests, len * sizeof(*tests));
	for (size_t i = 0; i < t->len; i++) {
		if (t->at[i].len == len && digest_eq(t->at[i].digest, digest)) {
			*ret = i;
			return 0;
		}
	}
	struct trial *more = reallocarray(t->at, t->len + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	t->at = more;
	cleanup_free uint32_t *copy = calloc(len + 1, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	if (len)
		memcpy(copy, tests, len * sizeof(*copy));
	more[t->len] = (struct trial){ .tests = take_ptr(&copy), .len = len, .digest = digest };
	*ret = t->len++;
	return 0;
}

void trial_tell(struct trial *t, enum outcome outcome)
{
	if (outcome == OUTCOME_PASSED || outcome == OUTCOME_XFAILED)
		t->passed++;
	else if (outcome_failed(outcome))
		t->failed++;
	else
		t->neither++;
}

unsigned trial_tries(const struct trial *t)
{
	return t->passed + t->failed + t->neither;
}

void trials_done(struct trials *t)
{
	for (size_t i = 0; i < t->len; i++)
		free(t->at[i].tests);
	free(t->at);
	*t = TRIALS_NULL;
}
