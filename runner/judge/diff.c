#include "runner/judge/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runner/judge/history.h"
#include "runner/judge/rules.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/digest.h"
#include "sandbox/base/err.h"
#include "sandbox/base/map.h"

#define VALUE_MAX 160 /* bytes of a value in a sentence */

const char *const diff_names[DIFF_N] = {
	[DIFF_REGRESSED] = "regressed", [DIFF_FIXED] = "fixed",     [DIFF_ADDED] = "added",
	[DIFF_REMOVED] = "removed",     [DIFF_CHANGED] = "changed",
};

void diff_done(struct diff *d)
{
	strv_done(&d->conditions);
	free(d->tests);
	free(d->fresh.at);
	free(d->gone.at);
	*d = DIFF_NULL;
}

int diff_status(const struct diff *d)
{
	bool bad = d->counts[DIFF_REGRESSED] || d->counts[DIFF_REMOVED] || d->added_red || d->damage;
	return bad ? STATUS_DAMAGE : 0;
}

/* ---- conditions ---- */

/* What decides how a report looks, and how many cells ran at once, makes no other result. */
static bool is_beside(const char *key)
{
	static const char *const keys[] = { "json", "quiet", "verbose", "color",
					    "echo", "out",   "lanes",   "report" };
	for (size_t i = 0; i < countof(keys); i++)
		if (text_eq(key, keys[i]))
			return true;
	return false;
}

static char *value_text(const cJSON *value)
{
	if (!value)
		return strdup("nothing");
	char *text = cJSON_PrintUnformatted(value);
	if (text && strlen(text) > VALUE_MAX)
		memcpy(text + VALUE_MAX - 3, "...", sizeof("..."));
	return text;
}

static int add_condition(struct strv *ret, const char *name, const cJSON *before, const cJSON *after)
{
	if (before && after ? cJSON_Compare(before, after, true) : before == after)
		return 0;
	if (cJSON_GetArraySize(before) + cJSON_GetArraySize(after) > 20)
		return strv_addf(ret, "%s: others, %d before and %d after", name,
				 cJSON_GetArraySize(before), cJSON_GetArraySize(after));
	cleanup_free char *was = value_text(before);
	cleanup_free char *is = value_text(after);
	return was && is ? strv_addf(ret, "%s: %s before, %s after", name, was, is) : -ENOMEM;
}

/* Each member that differs, of both. */
static int add_members(struct strv *ret, const cJSON *before, const cJSON *after)
{
	int r = 0;
	const cJSON *item;
	cJSON_ArrayForEach(item, after)
	{
		if (!r && !is_beside(item->string))
			r = add_condition(ret, item->string,
					  cJSON_GetObjectItemCaseSensitive(before, item->string),
					  item);
	}
	cJSON_ArrayForEach(item, before)
	{
		if (!r && !is_beside(item->string) &&
		    !cJSON_GetObjectItemCaseSensitive(after, item->string))
			r = add_condition(ret, item->string, item, NULL);
	}
	return r;
}

static int compare_conditions(const cJSON *before, const cJSON *after, struct strv *ret)
{
	static const char *const members[] = { "command", "cwd",  "project",
					       "adapter", "plan", "fumehood" };
	static const char *const objects[] = { "environment", "isolation", "config" };
	int r = 0;
	for (size_t i = 0; i < countof(members) && !r; i++)
		r = add_condition(ret, members[i],
				  cJSON_GetObjectItemCaseSensitive(before, members[i]),
				  cJSON_GetObjectItemCaseSensitive(after, members[i]));
	for (size_t i = 0; i < countof(objects) && !r; i++)
		r = add_members(ret, cJSON_GetObjectItemCaseSensitive(before, objects[i]),
				cJSON_GetObjectItemCaseSensitive(after, objects[i]));
	const cJSON *was = cJSON_GetObjectItemCaseSensitive(before, "prepared");
	const cJSON *is = cJSON_GetObjectItemCaseSensitive(after, "prepared");
	return r ? r
		 : add_condition(ret, "prepared", cJSON_GetObjectItemCaseSensitive(was, "digest"),
				 cJSON_GetObjectItemCaseSensitive(is, "digest"));
}

/* ---- tests ---- */

enum health { RED, MIXED, GREEN, UNTOLD };

static enum health health_of(const struct judged *t)
{
	const struct class_facts *f = &t->facts;
	bool always = !f->failed && !f->untold && !f->parallel_red && !f->again_red && !t->absent;
	if (f->passed)
		return always ? GREEN : MIXED;
	return f->untold && !f->failed ? UNTOLD : RED;
}

/* DIFF_N: nothing to tell. */
static enum diff_kind kind_of(const struct judged *before, const struct judged *after)
{
	enum health was = health_of(before);
	enum health is = health_of(after);
	bool known = was != UNTOLD && is != UNTOLD;
	if (known && is != was)
		return is < was ? DIFF_REGRESSED : DIFF_FIXED;
	return before->class == after->class ? DIFF_N : DIFF_CHANGED;
}

static void add_test(struct diff *d, enum diff_kind kind, uint32_t before, uint32_t after)
{
	d->tests[d->tests_len++] = (struct diff_test){ kind, before, after };
	d->counts[kind]++;
}

static int by_kind(const void *a, const void *b)
{
	const struct diff_test *x = a;
	const struct diff_test *y = b;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->after != y->after)
		return x->after < y->after ? -1 : 1;
	return (x->before > y->before) - (x->before < y->before);
}

/* The number of a test that was not only collected; ROSTER_NONE: there is none. */
static uint32_t find_due(const struct classes *c, const char *id)
{
	uint32_t test = roster_find(&c->history->roster, id);
	return test != ROSTER_NONE && c->tests[test].due ? test : ROSTER_NONE;
}

static int compare_tests(const struct classes *before, const struct classes *after, struct diff *d)
{
	d->tests = calloc(before->len + after->len + 1, sizeof(*d->tests));
	if (!d->tests)
		return -ENOMEM;
	for (uint32_t i = 0; i < after->len; i++) {
		const char *id = after->history->roster.ids.at[i];
		uint32_t was = find_due(before, id);
		enum diff_kind kind = was == ROSTER_NONE
					      ? DIFF_ADDED
					      : kind_of(&before->tests[was], &after->tests[i]);
		if (kind == DIFF_N || !after->tests[i].due)
			continue;
		add_test(d, kind, was, i);
		d->added_red += kind == DIFF_ADDED && health_of(&after->tests[i]) < GREEN;
	}
	for (uint32_t i = 0; i < before->len; i++)
		if (before->tests[i].due &&
		    find_due(after, before->history->roster.ids.at[i]) == ROSTER_NONE)
			add_test(d, DIFF_REMOVED, i, ROSTER_NONE);
	qsort(d->tests, d->tests_len, sizeof(*d->tests), by_kind);
	return 0;
}

/* ---- what is left behind ---- */

static void key_of(const struct summary_change *c, char ret[DIGEST_HEX])
{
	const char *const parts[] = { c->code, c->test, c->fixture, c->domain, c->what, c->key };
	struct digest all[countof(parts)] = { 0 };
	for (size_t i = 0; i < countof(parts); i++)
		if (parts[i])
			all[i] = digest_bytes(parts[i], strlen(parts[i]));
	digest_hex(digest_bytes(all, sizeof(all)), ret);
}

static int remember(struct map *m, const struct summary_changes *list)
{
	char key[DIGEST_HEX];
	int r = 0;
	for (size_t i = 0; i < list->len && !r; i++) {
		key_of(&list->at[i], key);
		r = map_put(m, key, m);
	}
	return r;
}

static void add_unknown(const struct map *known, const struct summary_changes *list,
			struct summary_changes *ret)
{
	char key[DIGEST_HEX];
	for (size_t i = 0; i < list->len; i++) {
		key_of(&list->at[i], key);
		if (!map_get(known, key))
			ret->at[ret->len++] = list->at[i];
	}
}

/* What `of` has, and `other` has not. */
static int missing_in(const struct summary *of, const struct summary *other,
		      struct summary_changes *ret)
{
	cleanup(map_done) struct map known = MAP_NULL(NULL);
	ret->at = calloc(of->damage.len + of->leaks.len + 1, sizeof(*ret->at));
	if (!ret->at || remember(&known, &other->damage) || remember(&known, &other->leaks))
		return -ENOMEM;
	add_unknown(&known, &of->damage, ret);
	add_unknown(&known, &of->leaks, ret);
	return 0;
}

int diff_make(const struct diff_side *before, const struct diff_side *after, struct diff *ret)
{
	cleanup(diff_done) struct diff d = DIFF_NULL;
	if (compare_conditions(before->summary->about, after->summary->about, &d.conditions) ||
	    compare_tests(before->classes, after->classes, &d) ||
	    missing_in(after->summary, before->summary, &d.fresh) ||
	    missing_in(before->summary, after->summary, &d.gone))
		return -ENOMEM;
	for (size_t i = 0; i < d.fresh.len; i++)
		d.damage += text_eq(d.fresh.at[i].code, RULE_DAMAGE);
	*ret = take(&d, DIFF_NULL);
	return 0;
}
