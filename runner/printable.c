#include "runner/printable.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/text.h"

struct range {
	uint32_t first, last;
};

static bool among(uint32_t code, const struct range *ranges, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	return false;
}

/* What changes more on a terminal than the place it stands in. */
static bool is_control(uint32_t code)
{
	static const struct range ranges[] = {
		{ 0x00, 0x1f },     { 0x7f, 0x9f },     { 0x061c, 0x061c }, { 0x200b, 0x200b },
		{ 0x200e, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0xfeff, 0xfeff },
	};
	return among(code, ranges, countof(ranges));
}

static int add_escaped(struct buf *out, const char *bytes, size_t len)
{
	static const struct {
		char byte;
		const char *escape;
	} short_ones[] = { { '\n', "\\n" }, { '\r', "\\r" }, { '\t', "\\t" } };
	for (size_t i = 0; i < countof(short_ones); i++)
		if (len == 1 && bytes[0] == short_ones[i].byte)
			return buf_puts(out, short_ones[i].escape);
	int r = 0;
	for (size_t i = 0; i < len && !r; i++)
		r = buf_printf(out, "\\x%02x", (unsigned char)bytes[i]);
	return r;
}

/* Adds text with what a terminal must not see escaped, and a backslash before each byte of
 * `special`. Returns whether anything was; -1: no memory. */
static int escape(struct buf *out, const char *text, const char *special)
{
	int escaped = 0;
	int r = buf_reserve(out, strlen(text) + 1);
	for (const char *s = text; *s && !r;) {
		uint32_t code = 0;
		size_t len = text_char(s, &code);
		if (!len || is_control(code)) {
			escaped = 1;
			r = add_escaped(out, s, len ? len : 1);
		} else {
			if (strchr(special, *s))
				r = buf_puts(out, "\\");
			r = r ? r : buf_add(out, s, len);
		}
		s += len ? len : 1;
	}
	return r ? -1 : escaped;
}

char *printable(const char *text)
{
	cleanup(buf_done) struct buf out = BUF_NULL;
	return escape(&out, text, "") < 0 ? NULL : take_ptr(&out.at);
}

/* No shell makes anything of these. */
static bool is_plain(const char *text)
{
	for (const char *s = text; *s; s++)
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@%+=,-",
			    *s) &&
		    !(*s & 0x80))
			return false;
	return *text;
}

char *quoted(const char *text)
{
	cleanup(buf_done) struct buf out = BUF_NULL;
	int r = buf_puts(&out, "$'");
	int escaped = escape(&out, text, "\\'");
	if (r || escaped < 0)
		return NULL;
	if (escaped || strchr(text, '\''))
		return buf_puts(&out, "'") ? NULL : take_ptr(&out.at);
	if (is_plain(text))
		return strdup(text);
	buf_clear(&out);
	return buf_printf(&out, "'%s'", text) ? NULL : take_ptr(&out.at);
}

/* Where the first line that begins so has its text; NULL: there is none. */
static const char *first_marked(const char *text, const char *mark)
{
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (text_starts(line, mark))
			return line + strlen(mark);
	}
	return NULL;
}

static const char *last_line(const char *text)
{
	size_t end = strlen(text);
	while (end && strchr(" \t\r\n", text[end - 1]))
		end--;
	while (end && text[end - 1] != '\n')
		end--;
	return text + end;
}

char *telling_line(const char *message)
{
	const char *line = first_marked(message, "E  ");
	if (!line)
		line = last_line(message);
	line += strspn(line, " \t");
	size_t len = strcspn(line, "\n");
	while (len && strchr(" \t\r", line[len - 1]))
		len--;
	cleanup_free char *copy = strndup(line, len);
	return copy ? printable(copy) : NULL;
}

static int char_columns(uint32_t code)
{
	static const struct range none[] = {
		{ 0x0300, 0x036f },
		{ 0x200c, 0x200d },
		{ 0x20d0, 0x20f0 },
		{ 0xfe00, 0xfe0f },
	};
	static const struct range two[] = {
		{ 0x1100, 0x115f },   { 0x2e80, 0x303e },   { 0x3041, 0xa4cf },
		{ 0xac00, 0xd7a3 },   { 0xf900, 0xfaff },   { 0xfe30, 0xfe6f },
		{ 0xff00, 0xff60 },   { 0xffe0, 0xffe6 },   { 0x1f300, 0x1f64f },
		{ 0x1f680, 0x1f6ff }, { 0x1f900, 0x1f9ff }, { 0x20000, 0x3fffd },
	};
	if (among(code, none, countof(none)))
		return 0;
	return among(code, two, countof(two)) ? 2 : 1;
}

int columns_cut(const char *text, int columns_max)
{
	int used = 0;
	const char *s = text;
	while (*s) {
		uint32_t code = 0;
		size_t len = text_char(s, &code);
		used += char_columns(code);
		if (used > columns_max)
			break;
		s += len ? len : 1;
	}
	return (int)(s - text);
}
