#include "sandbox/base/json.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"

void json_free_at(cJSON **tree)
{
	cJSON_Delete(*tree);
}

/* Where `at` bytes into text lie, counted from 1. */
static void position(const char *text, size_t at, int *ret_line, int *ret_column)
{
	int line = 1;
	int column = 1;
	for (size_t i = 0; i < at && text[i]; i++) {
		column++;
		if (text[i] == '\n') {
			line++;
			column = 1;
		}
	}
	*ret_line = line;
	*ret_column = column;
}

static const char *string_end(const char *s) /* s stands on the opening quote */
{
	for (s++; *s && *s != '"'; s++)
		if (*s == '\\' && s[1])
			s++;
	return *s ? s + 1 : s;
}

/* Turns comments into blanks, so that positions stay what they are. False: one does not end. */
static bool blank_comments(char *text)
{
	for (char *s = text; *s;) {
		if (*s == '"') {
			s = (char *)string_end(s);
		} else if (s[0] == '/' && s[1] == '/') {
			while (*s && *s != '\n')
				*s++ = ' ';
		} else if (s[0] == '/' && s[1] == '*') {
			char *end = strstr(s + 2, "*/");
			if (!end)
				return false;
			for (end += 2; s < end; s++)
				if (*s != '\n')
					*s = ' ';
		} else {
			s++;
		}
	}
	return true;
}

static int refuse(const char *name, const char *text, size_t at, const char *why, struct err *e)
{
	int line;
	int column;
	position(text, at, &line, &column);
	err_set(e, EINVAL, "%s:%d:%d: %s", name, line, column, why);
	return err_status(e, STATUS_DATA);
}

static size_t bom_len(const char *text)
{
	return text_starts(text, "\xef\xbb\xbf") ? 3 : 0;
}

int json_parse(const char *name, const char *text, size_t len, cJSON **ret, struct err *e)
{
	if (memchr(text, '\0', len))
		return refuse(name, text, strlen(text), "a NUL byte stands in the text", e);
	size_t bom = bom_len(text);
	cleanup_free char *plain = strndup(text + bom, len - bom);
	if (!plain)
		return err_sys(e, "parse %s", name);
	bool clean = true;
	cleanup_free char *valid = text_utf8(plain, &clean);
	if (!valid)
		return err_sys(e, "parse %s", name);
	if (!clean) {
		size_t at = 0; /* the first byte where the repaired copy differs */
		while (plain[at] == valid[at])
			at++;
		return refuse(name, plain, at, "this byte is no UTF-8", e);
	}
	if (!blank_comments(plain))
		return refuse(name, plain, (size_t)(strstr(plain, "/*") - plain),
			      "this comment does not end", e);

	const char *end = plain;
	cJSON *tree = cJSON_ParseWithOpts(plain, &end, 1);
	if (!tree) {
		while (end > plain && isalnum((unsigned char)end[-1]))
			end--; /* cJSON stops within a word: point at its start */
		return refuse(name, plain, (size_t)(end - plain), "this is no JSON", e);
	}
	*ret = tree;
	return 0;
}

/* Which key of the text, counted from 1, is item's or the nearest one around it; 0: none. */
static bool key_number(const cJSON *tree, const cJSON *item, size_t around, size_t *seen, size_t *ret)
{
	const cJSON *child;
	cJSON_ArrayForEach(child, tree)
	{
		size_t own = child->string ? ++*seen : around;
		if (child == item) {
			*ret = own;
			return true;
		}
		if (key_number(child, item, own, seen, ret))
			return true;
	}
	return false;
}

static size_t key_offset(const char *plain, size_t number)
{
	for (const char *s = plain; number && *s;) {
		if (*s != '"') {
			s++;
			continue;
		}
		const char *end = string_end(s);
		if (end[strspn(end, " \t\r\n")] == ':' && --number == 0)
			return (size_t)(s - plain);
		s = end;
	}
	return 0;
}

/* Where the nth entry (from 0) of a list begins that is the whole text. */
static size_t entry_offset(const char *plain, size_t n)
{
	const char *s = plain + strspn(plain, " \t\r\n") + 1;
	for (int depth = 0; n && *s; s++) {
		if (*s == '"')
			s = string_end(s) - 1;
		depth += (*s == '[' || *s == '{') - (*s == ']' || *s == '}');
		n -= *s == ',' && !depth;
	}
	return (size_t)(s + strspn(s, " \t\r\n") - plain);
}

static int refuse_at(const struct json_source *src, size_t (*offset)(const char *plain, size_t n),
		     size_t n, const char *fmt, va_list args, struct err *e)
{
	cleanup_free char *why = NULL;
	int len = vasprintf(&why, fmt, args);
	cleanup_free char *plain = strdup(src->text + bom_len(src->text));
	if (len < 0 || !plain)
		return err_set(e, ENOMEM, "%s: no memory", src->name);
	blank_comments(plain);
	return refuse(src->name, plain, offset(plain, n), why, e);
}

int json_refuse(const struct json_source *src, const cJSON *item, struct err *e, const char *fmt, ...)
{
	size_t seen = 0;
	size_t number = 0;
	va_list args;
	key_number(src->tree, item, 0, &seen, &number);
	va_start(args, fmt);
	int r = refuse_at(src, key_offset, number, fmt, args, e);
	va_end(args);
	return r;
}

int json_refuse_entry(const struct json_source *src, const cJSON *entry, struct err *e,
		      const char *fmt, ...)
{
	size_t n = 0;
	va_list args;
	for (const cJSON *item = src->tree->child; item != entry; item = item->next)
		n++;
	va_start(args, fmt);
	int r = refuse_at(src, entry_offset, n, fmt, args, e);
	va_end(args);
	return r;
}

int json_known_keys(const struct json_source *src, const cJSON *object, const char *const *names,
		    size_t n, struct err *e)
{
	const cJSON *item;
	cJSON_ArrayForEach(item, object)
	{
		bool known = false;
		for (size_t i = 0; i < n && !known; i++)
			known = text_eq(item->string, names[i]);
		if (!known) {
			int r = json_refuse(src, item, e, "unknown key \"%s\"", item->string);
			const char *near = text_nearest(item->string, names, n);
			return near ? err_hint(e, "did you mean \"%s\"?", near) : r;
		}
		if (cJSON_GetObjectItemCaseSensitive(object, item->string) != item)
			return json_refuse(src, item, e, "the key \"%s\" stands here twice",
					   item->string);
	}
	return 0;
}

const char *json_text(const cJSON *object, const char *key)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

double json_number(const cJSON *object, const char *key, double absent)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
	return cJSON_IsNumber(item) ? item->valuedouble : absent;
}

bool json_true(const cJSON *object, const char *key)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, key));
}

static char *base64(const char *text)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
	size_t len = strlen(text);
	char *out = malloc((len + 2) / 3 * 4 + 1);
	if (!out)
		return NULL;
	char *to = out;
	for (size_t i = 0; i < len; i += 3) {
		unsigned int bits = (unsigned int)(unsigned char)text[i] << 16;
		if (i + 1 < len)
			bits |= (unsigned int)(unsigned char)text[i + 1] << 8;
		if (i + 2 < len)
			bits |= (unsigned int)(unsigned char)text[i + 2];
		*to++ = digits[bits >> 18];
		*to++ = digits[bits >> 12 & 63];
		*to++ = digits[i + 1 < len ? bits >> 6 & 63 : 64];
		*to++ = digits[i + 2 < len ? bits & 63 : 64];
	}
	*to = '\0';
	return out;
}

int json_add_name(cJSON *object, const char *key, const char *text)
{
	if (!text)
		return cJSON_AddNullToObject(object, key) ? 0 : -ENOMEM;
	bool clean;
	cleanup_free char *shown = text_utf8(text, &clean);
	if (!shown || !cJSON_AddStringToObject(object, key, shown))
		return -ENOMEM;
	if (clean)
		return 0;
	cleanup_free char *bytes = base64(text);
	cleanup_free char *bytes_key = NULL;
	if (!bytes || asprintf(&bytes_key, "%s_b64", key) < 0)
		return -ENOMEM;
	return cJSON_AddStringToObject(object, bytes_key, bytes) ? 0 : -ENOMEM;
}

/* The value of a base64 digit; 64: it is none. */
static unsigned int digit_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (unsigned int)(c - 'A');
	if (c >= 'a' && c <= 'z')
		return (unsigned int)(c - 'a') + 26;
	if (c >= '0' && c <= '9')
		return (unsigned int)(c - '0') + 52;
	return c == '+' ? 62 : c == '/' ? 63 : 64;
}

static int unbase64(const char *text, char **ret)
{
	cleanup_free char *out = malloc(strlen(text) / 4 * 3 + 4);
	if (!out)
		return -ENOMEM;
	char *to = out;
	uint32_t bits = 0;
	unsigned int held = 0; /* bits not yet written */
	for (; *text && *text != '='; text++) {
		unsigned int value = digit_value(*text);
		if (value == 64)
			return -EINVAL;
		bits = bits << 6 | value;
		held += 6;
		if (held < 8)
			continue;
		held -= 8;
		*to = (char)(bits >> held & 0xff);
		if (!*to++)
			return -EINVAL; /* a name holds no NUL */
	}
	*to = '\0';
	*ret = take_ptr(&out);
	return 0;
}

int json_get_name(const cJSON *object, const char *key, char **ret)
{
	cleanup_free char *bytes_key = NULL;
	if (asprintf(&bytes_key, "%s_b64", key) < 0)
		return -ENOMEM;
	const char *bytes = json_text(object, bytes_key);
	if (bytes)
		return unbase64(bytes, ret);
	const char *text = json_text(object, key);
	*ret = text ? strdup(text) : NULL;
	return text && !*ret ? -ENOMEM : 0;
}

bool json_add(cJSON *object, const char *key, cJSON *item)
{
	if (item && cJSON_AddItemToObject(object, key, item))
		return true;
	cJSON_Delete(item);
	return false;
}

bool json_add_raw(cJSON *object, const char *key, const char *json)
{
	return json ? cJSON_AddRawToObject(object, key, json) : cJSON_AddNullToObject(object, key);
}

cJSON *json_texts(const char *const *texts)
{
	cleanup_json cJSON *array = cJSON_CreateArray();
	for (; array && texts && *texts; texts++) {
		cleanup_free char *shown = text_utf8(*texts, NULL);
		cJSON *item = shown ? cJSON_CreateString(shown) : NULL;
		if (!item)
			return NULL;
		cJSON_AddItemToArray(array, item);
	}
	return take_ptr(&array);
}

char *json_line(const cJSON *tree)
{
	return cJSON_PrintUnformatted(tree);
}
