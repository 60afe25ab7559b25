#include "runner/judge/suspicions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/judge/classes.h"
#include "runner/judge/history.h"
#include "runner/judge/summary.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"

#define SUSPICIONS_MAX 4096 /* further ones stay as they were charged */

void suspicions_done(struct suspicions *s)
{
	for (size_t i = 0; i < s->len; i++)
		free(s->at[i].suspects);
	free(s->at);
	map_done(&s->known);
	map_done(&s->alone);
	*s = SUSPICIONS_NULL;
}

/* ---- names of changes ---- */

static void digest_of(const char *domain, const char *what, const char *key, char ret[DIGEST_HEX])
{
	const char *const parts[] = { domain, what, key };
	struct digest all[countof(parts)] = { 0 };
	for (size_t i = 0; i < countof(parts); i++)
		if (parts[i])
			all[i] = digest_bytes(parts[i], strlen(parts[i]));
	digest_hex(digest_bytes(all, sizeof(all)), ret);
}

/* A change and a test. */
#define PAIR_LEN (DIGEST_HEX + 12)
static const char *pair_of(const char *change, uint32_t test, char ret[PAIR_LEN])
{
	snprintf(ret, PAIR_LEN, "%s %u", change, test);
	return ret;
}

static int change_of(const cJSON *row, char ret[DIGEST_HEX])
{
	cleanup_free char *key = NULL;
	if (json_get_name(row, "key", &key))
		return -ENOMEM;
	digest_of(json_text(row, "domain"), json_text(row, "what"), key, ret);
	return 0;
}

/* ---- lines ---- */

/* In the order of one test alone whatever outlives it is its own. */
static int add_alone(struct suspicions *s, uint32_t test, const cJSON *rows)
{
	const cJSON *row;
	cJSON_ArrayForEach(row, rows)
	{
		char change[DIGEST_HEX];
		char pair[PAIR_LEN];
		const char *kind = json_text(row, "kind");
		if (kind && !text_eq(kind, "leak"))
			continue;
		if (change_of(row, change) || map_put(&s->alone, pair_of(change, test, pair), s))
			return -ENOMEM;
	}
	return 0;
}

static int read_suspects(const struct history *h, const char *order, const cJSON *ids,
			 struct suspicion *ret)
{
	ret->suspects = calloc((size_t)cJSON_GetArraySize(ids) + 1, sizeof(*ret->suspects));
	if (!ret->suspects)
		return -ENOMEM;
	const cJSON *id;
	cJSON_ArrayForEach(id, ids)
	{
		cleanup_free char *own = cJSON_IsString(id) ? strdup(id->valuestring) : NULL;
		if (!own)
			return -ENOMEM;
		uint32_t test = history_test(h, order, own);
		if (test != ROSTER_NONE)
			ret->suspects[ret->suspects_len++] = test;
	}
	return 0;
}

static int add_suspicion(struct suspicions *s, const struct history *h, const cJSON *line,
			 const cJSON *row)
{
	const char *order = json_text(line, "order");
	const cJSON *ids = cJSON_GetObjectItemCaseSensitive(row, "suspects");
	cleanup_free char *test = NULL;
	char pair[PAIR_LEN];
	if (!text_eq(json_text(row, "kind"), "leak") || !cJSON_GetArraySize(ids) ||
	    s->len == SUSPICIONS_MAX)
		return 0;
	if (json_get_name(line, "test", &test))
		return -ENOMEM;
	struct suspicion fresh = { .charged = test ? history_test(h, order, test) : ROSTER_NONE };
	if (fresh.charged == ROSTER_NONE)
		return 0;
	if (change_of(row, fresh.change))
		return -ENOMEM;
	pair_of(fresh.change, fresh.charged, pair);
	if (map_get(&s->known, pair))
		return 0;
	struct suspicion *more = reallocarray(s->at, s->len + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	s->at = more;
	int r = read_suspects(h, order, ids, &fresh);
	more[s->len++] = fresh;
	void *at = (void *)(uintptr_t)s->len; // NOLINT(performance-no-int-to-ptr)
	return r ? r : map_put(&s->known, pair, at);
}

static bool is_alone(const struct played *p)
{
	return p->order.view == VIEW_ISOLATED && p->asked_len == 1;
}

int suspicions_line(struct suspicions *s, const struct history *h, const char *kind,
		    const cJSON *line, struct err *e)
{
	const struct played *p = history_find(h, json_text(line, "order"));
	const cJSON *deltas = cJSON_GetObjectItemCaseSensitive(line, "deltas");
	int r = 0;
	if (!p)
		return 0;
	if (is_alone(p)) {
		bool end = text_eq(kind, "end");
		const cJSON *rows = cJSON_GetObjectItemCaseSensitive(line, "unattributed");
		r = add_alone(s, p->asked[0], end ? rows : deltas);
	} else if (text_eq(kind, "test")) {
		const cJSON *row;
		cJSON_ArrayForEach(row, deltas)
		{
			r = r ? r : add_suspicion(s, h, line, row);
		}
	}
	return r ? err_set(e, ENOMEM, "keep who is suspected: no memory") : 0;
}

/* ---- who it was ---- */

static bool does_alone(const struct suspicions *s, const struct suspicion *at, uint32_t test)
{
	char pair[PAIR_LEN];
	return map_get(&s->alone, pair_of(at->change, test, pair));
}

uint32_t suspicions_author(const struct suspicions *s, const struct classes *c, size_t i)
{
	const struct suspicion *at = &s->at[i];
	if (does_alone(s, at, at->charged))
		return at->charged;
	/* Whoever ran meanwhile is nearest: it has to be ruled out before another is blamed. */
	if (c->tests[at->charged].facts.alone == OUTCOME_N)
		return ROSTER_NONE;
	for (size_t k = 0; k < at->suspects_len; k++)
		if (does_alone(s, at, at->suspects[k]))
			return at->suspects[k];
	return ROSTER_NONE;
}

int suspicions_open(const struct suspicions *s, const struct classes *c, uint32_t **ret,
		    size_t *ret_len)
{
	cleanup_free bool *asked = calloc(c->len + 1, sizeof(*asked));
	cleanup_free uint32_t *tests = calloc(c->len + 1, sizeof(*tests));
	size_t len = 0;
	if (!asked || !tests)
		return -ENOMEM;
	for (size_t i = 0; i < s->len; i++) {
		const struct suspicion *at = &s->at[i];
		if (suspicions_author(s, c, i) != ROSTER_NONE)
			continue;
		asked[at->charged] = true;
		for (size_t k = 0; k < at->suspects_len; k++)
			asked[at->suspects[k]] = true;
	}
	for (uint32_t i = 0; i < c->len; i++)
		if (asked[i] && c->tests[i].facts.alone == OUTCOME_N)
			tests[len++] = i;
	*ret = take_ptr(&tests);
	*ret_len = len;
	return 0;
}

static const struct suspicion *find(const struct suspicions *s, const struct classes *c,
				    const struct summary_change *change)
{
	char digest[DIGEST_HEX];
	char pair[PAIR_LEN];
	uint32_t test = change->test ? roster_find(&c->history->roster, change->test) : ROSTER_NONE;
	digest_of(change->domain, change->what, change->key, digest);
	uintptr_t at = (uintptr_t)map_get(&s->known, pair_of(digest, test, pair));
	return at ? &s->at[at - 1] : NULL;
}

static bool has(const struct summary_changes *list, const struct summary_change *like,
		const char *test)
{
	for (size_t i = 0; i < list->len; i++) {
		const struct summary_change *c = &list->at[i];
		if (text_eq(c->test, test) && text_eq(c->key, like->key) &&
		    text_eq(c->what, like->what) && text_eq(c->domain, like->domain))
			return true;
	}
	return false;
}

/* True: it is told already. */
static bool charge(struct summary_changes *list, struct summary_change *change, char **author)
{
	strv_done(&change->suspects);
	if (text_eq(change->test, *author))
		return false;
	if (has(list, change, *author))
		return true;
	free(change->during);
	change->during = change->test;
	change->test = take_ptr(author);
	return false;
}

int suspicions_settle(const struct suspicions *s, const struct classes *c,
		      struct summary_changes *list)
{
	size_t left = 0;
	int r = 0;
	for (size_t i = 0; i < list->len; i++) {
		struct summary_change *change = &list->at[i];
		const struct suspicion *at = change->suspects.len ? find(s, c, change) : NULL;
		uint32_t test = at ? suspicions_author(s, c, (size_t)(at - s->at)) : ROSTER_NONE;
		cleanup_free char *author =
			test == ROSTER_NONE ? NULL : strdup(c->history->roster.ids.at[test]);
		r = test != ROSTER_NONE && !author ? -ENOMEM : r;
		if (author && charge(list, change, &author))
			summary_change_done(change);
		else if (left++ != i)
			list->at[left - 1] = take(change, (struct summary_change){ 0 });
	}
	list->len = left;
	return r;
}
