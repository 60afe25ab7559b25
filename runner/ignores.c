#include "runner/ignores.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/judge/codes.h"
#include "runner/judge/rules.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"

#define RULES_MAX 1000 /* of one list */

static void ignore_done(struct ignore *rule)
{
	free(rule->code);
	free(rule->test);
	free(rule->key);
	free(rule->reason);
	free(rule->expires);
	*rule = (struct ignore){ 0 };
}

void ignores_done(struct ignores *list)
{
	for (size_t i = 0; i < list->len; i++)
		ignore_done(&list->at[i]);
	free(list->at);
	*list = IGNORES_NULL;
}

/* ---- reading ---- */

/* A day that is in the calendar, as "2027-01-31". */
static bool is_day(const char *text)
{
	static const int lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	const char *form = "0000-00-00";
	for (size_t i = 0; i <= strlen(form); i++)
		if (form[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
			return false;
	int year = atoi(text);      // NOLINT(cert-err34-c): these are digits
	int month = atoi(text + 5); // NOLINT(cert-err34-c)
	int day = atoi(text + 8);   // NOLINT(cert-err34-c)
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
	return month >= 1 && month <= 12 && day >= 1 &&
	       day <= lengths[month - 1] + (month == 2 && leap);
}

static int check_code(const struct json_source *src, const cJSON *item, struct err *e)
{
	for (size_t i = 0; i < codes_len; i++)
		if (text_eq(codes[i].code, item->valuestring))
			return 0;
	const char *near = code_nearest(item->valuestring);
	json_refuse(src, item, e, "there is no code %s", item->valuestring);
	return near ? err_hint(e, "did you mean %s?", near)
		    : err_hint(e, "fumehood rule lists the codes");
}

static int check_member(const struct json_source *src, const cJSON *item, struct err *e)
{
	if (!cJSON_IsString(item) || !*item->valuestring)
		return json_refuse(src, item, e, "\"%s\" must be a text", item->string);
	if (text_eq(item->string, "code"))
		return check_code(src, item, e);
	if (text_eq(item->string, "expires") && !is_day(item->valuestring))
		return json_refuse(src, item, e, "\"expires\": %s is no day: write it as 2027-01-31",
				   item->valuestring);
	return 0;
}

/* Which members a rule may have, and which it must. */
static const struct {
	const char *names[5];
	size_t names_len;
	const char *needed[2];
} forms[] = {
	[IGNORES_FINDINGS] = { { "code", "test", "key", "reason", "expires" }, 5, { "code", "reason" } },
	[IGNORES_STATE] = { { "test", "key", "reason" }, 3, { "key", "reason" } },
};

static int check(const struct json_source *src, const cJSON *object, enum ignores_of of,
		 struct err *e)
{
	if (!cJSON_IsObject(object))
		return json_refuse(src, object, e, "a rule must be an object with \"%s\" and \"%s\"",
				   forms[of].needed[0], forms[of].needed[1]);
	int r = json_known_keys(src, object, forms[of].names, forms[of].names_len, e);
	for (size_t i = 0; i < countof(forms[of].needed) && !r; i++)
		if (!cJSON_GetObjectItemCaseSensitive(object, forms[of].needed[i]))
			r = json_refuse(src, object, e, "a rule has no \"%s\"", forms[of].needed[i]);
	for (const cJSON *item = object->child; item && !r; item = item->next)
		r = check_member(src, item, e);
	return r;
}

static int copy_text(const cJSON *object, const char *key, char **ret)
{
	const char *text = json_text(object, key);
	*ret = text ? strdup(text) : NULL;
	return text && !*ret ? -ENOMEM : 0;
}

static int add(const cJSON *object, struct ignores *ret)
{
	struct ignore *more = reallocarray(ret->at, ret->len + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	ret->at = more;
	struct ignore *rule = &more[ret->len++];
	*rule = (struct ignore){ 0 };
	return copy_text(object, "code", &rule->code) || copy_text(object, "test", &rule->test) ||
			       copy_text(object, "key", &rule->key) ||
			       copy_text(object, "reason", &rule->reason) ||
			       copy_text(object, "expires", &rule->expires)
		       ? -ENOMEM
		       : 0;
}

int ignores_read(const struct json_source *src, const cJSON *list, enum ignores_of of,
		 struct ignores *ret, struct err *e)
{
	const cJSON *object;
	cJSON_ArrayForEach(object, list)
	{
		int r = check(src, object, of, e);
		if (r)
			return r;
		if (ret->len == RULES_MAX)
			return json_refuse(src, object, e, "there are over %d rules", RULES_MAX);
		if (add(object, ret))
			return err_set(e, ENOMEM, "no memory");
	}
	return 0;
}

int ignores_load(const cJSON *list, struct ignores *ret)
{
	const cJSON *object;
	cJSON_ArrayForEach(object, list)
	{
		if (add(object, ret))
			return -ENOMEM;
	}
	return 0;
}

/* Members that a rule does not have are left out. */
static bool add_text(cJSON *object, const char *key, const char *text)
{
	return !text || cJSON_AddStringToObject(object, key, text);
}

cJSON *ignores_json(const struct ignores *list)
{
	cleanup_json cJSON *array = cJSON_CreateArray();
	for (size_t i = 0; array && i < list->len; i++) {
		const struct ignore *rule = &list->at[i];
		cJSON *object = cJSON_CreateObject();
		if (!object || !cJSON_AddItemToArray(array, object) ||
		    !add_text(object, "code", rule->code) || !add_text(object, "test", rule->test) ||
		    !add_text(object, "key", rule->key) || !add_text(object, "reason", rule->reason) ||
		    !add_text(object, "expires", rule->expires))
			return NULL;
	}
	return take_ptr(&array);
}

/* ---- applying ---- */

bool ignore_pattern_fits(const char *pattern, const char *text)
{
	const char *star = NULL; /* behind the last one, and where the text it takes ends */
	const char *from = NULL;
	while (*text) {
		size_t one = text_char(text, NULL);
		one = one ? one : 1;
		if (*pattern == '*') {
			star = ++pattern;
			from = text;
		} else if (*pattern == '?') {
			pattern++;
			text += one;
		} else if (*pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star;
			text = ++from;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

bool ignore_applies(const struct ignore *rule, const char *day)
{
	return !rule->expires || strcmp(day, rule->expires) <= 0;
}

/* What tests leave: neither damage nor what they do to objects in memory is state. */
static bool is_state(const char *code)
{
	return text_starts(code, "FH1") && !text_eq(code, RULE_DAMAGE) && !text_starts(code, "FH17");
}

static bool fits(const char *pattern, const char *text)
{
	return !pattern || ignore_pattern_fits(pattern, text ? text : "");
}

size_t ignores_find(const struct ignores *list, const char *day, const char *code, const char *test,
		    const char *key)
{
	size_t i = 0;
	for (; i < list->len; i++) {
		const struct ignore *rule = &list->at[i];
		bool of_code = rule->code ? text_eq(rule->code, code) : is_state(code);
		if (of_code && ignore_applies(rule, day) && fits(rule->test, test) &&
		    fits(rule->key, key))
			break;
	}
	return i;
}
