#include "sandbox/base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/base/cleanup.h"

bool text_eq(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

bool text_starts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_ends(const char *text, const char *suffix)
{
	size_t len = strlen(text);
	size_t suffix_len = strlen(suffix);
	return len >= suffix_len && strcmp(text + len - suffix_len, suffix) == 0;
}

bool path_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);
	if (len == 1 && dir[0] == '/')
		return path[0] == '/';
	return strncmp(path, dir, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

bool text_glob(const char *pattern, const char *text)
{
	const char *star = NULL; /* behind the last one, and where what it stands for may end next */
	const char *from = NULL;
	while (*text) {
		if (*pattern == '*') {
			star = ++pattern;
			from = text;
		} else if (*pattern == '?' || *pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star;
			text = ++from;
		} else {
			return false;
		}
	}
	return !pattern[strspn(pattern, "*")];
}

#define NEAREST_LEN_MAX 256 /* longer words are not compared: ids of tests are shorter */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Edit distance with transpositions of neighbours (Damerau, optimal string alignment). */
static size_t distance(const char *a, const char *b)
{
	size_t a_len = strlen(a);
	size_t b_len = strlen(b);
	if (a_len > NEAREST_LEN_MAX || b_len > NEAREST_LEN_MAX)
		return SIZE_MAX;
	size_t rows[3][NEAREST_LEN_MAX + 1];
	for (size_t j = 0; j <= b_len; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t *now = rows[i % 3];
		const size_t *up = rows[(i + 2) % 3];
		const size_t *up2 = rows[(i + 1) % 3];
		now[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t swap = a[i - 1] != b[j - 1];
			now[j] = least(least(up[j] + 1, now[j - 1] + 1), up[j - 1] + swap);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = least(now[j], up2[j - 2] + 1);
		}
	}
	return rows[a_len % 3][b_len];
}

const char *text_nearest(const char *text, const char *const *names, size_t n)
{
	const char *best = NULL;
	size_t len = strlen(text);
	size_t best_distance = len / 3 + 1;
	for (size_t i = 0; i < n; i++) {
		size_t name_len = strlen(names[i]);
		if ((name_len > len ? name_len - len : len - name_len) > best_distance)
			continue;
		size_t d = distance(text, names[i]);
		if (d > best_distance || (best && d == best_distance))
			continue;
		best = names[i];
		best_distance = d;
	}
	return best;
}

size_t text_char(const char *text, uint32_t *ret)
{
	static const struct { /* well-formed sequences, RFC 3629 */
		unsigned char first_min, first_max, second_min, second_max, len, bits;
	} forms[] = {
		{ 0x01, 0x7f, 0, 0, 1, 0x7f },       { 0xc2, 0xdf, 0x80, 0xbf, 2, 0x1f },
		{ 0xe0, 0xe0, 0xa0, 0xbf, 3, 0x0f }, { 0xe1, 0xec, 0x80, 0xbf, 3, 0x0f },
		{ 0xed, 0xed, 0x80, 0x9f, 3, 0x0f }, { 0xee, 0xef, 0x80, 0xbf, 3, 0x0f },
		{ 0xf0, 0xf0, 0x90, 0xbf, 4, 0x07 }, { 0xf1, 0xf3, 0x80, 0xbf, 4, 0x07 },
		{ 0xf4, 0xf4, 0x80, 0x8f, 4, 0x07 },
	};
	const unsigned char *s = (const unsigned char *)text;
	for (size_t i = 0; i < countof(forms); i++) {
		if (s[0] < forms[i].first_min || s[0] > forms[i].first_max)
			continue;
		if (forms[i].len > 1 && (s[1] < forms[i].second_min || s[1] > forms[i].second_max))
			return 0;
		uint32_t code = s[0] & forms[i].bits;
		for (size_t k = 1; k < forms[i].len; k++) {
			if ((s[k] & 0xc0) != 0x80)
				return 0;
			code = code << 6 | (s[k] & 0x3fU);
		}
		if (ret)
			*ret = code;
		return forms[i].len;
	}
	return 0;
}

char *text_utf8(const char *text, bool *ret_clean)
{
	char *out = malloc(strlen(text) * 3 + 1);
	if (!out)
		return NULL;
	bool clean = true;
	char *to = out;
	for (const char *s = text; *s;) {
		size_t len = text_char(s, NULL);
		if (len) {
			memcpy(to, s, len);
		} else {
			memcpy(to, "\xef\xbf\xbd", 3);
			clean = false;
		}
		to += len ? len : 3;
		s += len ? len : 1;
	}
	*to = '\0';
	if (ret_clean)
		*ret_clean = clean;
	return out;
}

const char *text_word(const char *text, size_t n)
{
	text += strspn(text, " ");
	for (; n; n--) {
		text += strcspn(text, " ");
		text += strspn(text, " ");
	}
	return text;
}

int strv_adopt(struct strv *v, char *text)
{
	if (!text)
		return -ENOMEM;
	if (v->len + 1 >= v->cap) {
		size_t cap = v->cap ? v->cap * 2 : 16;
		char **at = reallocarray(v->at, cap, sizeof(*at));
		if (!at) {
			free(text);
			return -ENOMEM;
		}
		v->at = at;
		v->cap = cap;
	}
	v->at[v->len++] = text;
	v->at[v->len] = NULL;
	return 0;
}

int strv_add(struct strv *v, const char *text)
{
	return strv_adopt(v, strdup(text));
}

int strv_addf(struct strv *v, const char *fmt, ...)
{
	char *text = NULL;
	va_list args;
	va_start(args, fmt);
	int len = vasprintf(&text, fmt, args);
	va_end(args);
	return len < 0 ? -ENOMEM : strv_adopt(v, text);
}

bool strv_has(const struct strv *v, const char *text)
{
	for (size_t i = 0; i < v->len; i++)
		if (strcmp(v->at[i], text) == 0)
			return true;
	return false;
}

void strv_done(struct strv *v)
{
	for (size_t i = 0; i < v->len; i++)
		free(v->at[i]);
	free(v->at);
	*v = STRV_NULL;
}
