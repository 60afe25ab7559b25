#include "runner/judge/marks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runner/judge/accepted.h"
#include "runner/judge/history.h"
#include "runner/judge/rules.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"

int marks_set(struct marks *m, uint32_t test, unsigned marks)
{
	if (test >= m->len) {
		size_t len = test < 2 * m->len ? 2 * m->len : test + 1UL;
		uint16_t *more = reallocarray(m->at, len, sizeof(*more));
		if (!more)
			return -ENOMEM;
		memset(more + m->len, 0, (len - m->len) * sizeof(*more));
		m->at = more;
		m->len = len;
	}
	m->at[test] |= (uint16_t)marks;
	return 0;
}

unsigned marks_of(const struct marks *m, uint32_t test)
{
	return test < m->len ? m->at[test] : 0;
}

void marks_done(struct marks *m)
{
	free(m->at);
	*m = MARKS_NULL;
}

/* In the zone `state` a suite may leave what it likes. */
static unsigned marks_of_delta(const cJSON *row)
{
	unsigned marks = 0;
	if (text_eq(json_text(row, "zone"), "state"))
		return 0;
	if (text_eq(json_text(row, "kind"), "leak"))
		marks |= json_true(row, "damage") ? MARK_DAMAGE : MARK_LEAKS;
	if (json_text(row, "cleans"))
		marks |= MARK_CLEANS;
	return marks;
}

/* Whose a delta is: of the test whose process was seen to write, or else of the line's. */
static int owner_of(const cJSON *line, const cJSON *row, char **ret)
{
	int r = json_get_name(cJSON_GetObjectItemCaseSensitive(row, "writer"), "test", ret);
	return r || *ret ? r : json_get_name(line, "test", ret);
}

static int is_accepted(const struct marks *m, const cJSON *row, const char *test, bool *ret)
{
	const char *domain = json_text(row, "domain");
	const char *what = json_text(row, "what");
	cleanup_free char *key = NULL;
	*ret = false;
	if (!m->accepted || !domain || !what)
		return 0;
	if (json_get_name(row, "key", &key))
		return -ENOMEM;
	const char *code = json_true(row, "damage") ? RULE_DAMAGE : rule_of(domain, what, key)->code;
	*ret = accepted_has(m->accepted, code, test, key);
	return 0;
}

static int mark_delta(struct marks *m, const struct history *h, const cJSON *line, const cJSON *row)
{
	cleanup_free char *test = NULL;
	unsigned marks = marks_of_delta(row);
	if (!marks)
		return 0;
	if (owner_of(line, row, &test))
		return -ENOMEM;
	uint32_t number = test ? history_test(h, json_text(line, "order"), test) : ROSTER_NONE;
	bool accepted;
	if (is_accepted(m, row, test, &accepted))
		return -ENOMEM;
	if (accepted)
		marks &= ~(unsigned)(MARK_DAMAGE | MARK_LEAKS);
	return number == ROSTER_NONE ? 0 : marks_set(m, number, marks);
}

int marks_line(struct marks *m, const struct history *h, const char *kind, const cJSON *line,
	       struct err *e)
{
	if (!text_eq(kind, "test") && !text_eq(kind, "scope"))
		return 0;
	const cJSON *row;
	cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(line, "deltas"))
	{
		if (mark_delta(m, h, line, row))
			return err_set(e, ENOMEM, "keep what tests left behind: no memory");
	}
	return 0;
}
