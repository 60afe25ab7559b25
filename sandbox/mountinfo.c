#include "sandbox/mountinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "sandbox/base/text.h"

#define LEN_MAX     (16 << 20)
#define POINT_FIELD 4 /* fields of a line in front of the mount point */

int mountinfo_load(char **ret, struct err *e)
{
	return fd_load(AT_FDCWD, "/proc/self/mountinfo", LEN_MAX, ret, NULL, e);
}

static bool octal(char c)
{
	return c >= '0' && c <= '7';
}

/* The kernel writes space, tab, newline and backslash as three octal digits. */
static char *unescape(const char *from, size_t len)
{
	char *text = malloc(len + 1);
	if (!text)
		return NULL;
	char *to = text;
	for (size_t i = 0; i < len; i++) {
		if (from[i] == '\\' && len - i > 3 && octal(from[i + 1]) && octal(from[i + 2]) &&
		    octal(from[i + 3])) {
			*to++ = (char)((from[i + 1] - '0') << 6 | (from[i + 2] - '0') << 3 |
				       (from[i + 3] - '0'));
			i += 3;
		} else {
			*to++ = from[i];
		}
	}
	*to = '\0';
	return text;
}

static int parse_line(const char *line, size_t len, struct strv *ret, struct err *e)
{
	const char *end = line + len;
	const char *at = line;
	for (int i = 0; i < POINT_FIELD; i++) {
		at = memchr(at, ' ', (size_t)(end - at));
		if (!at)
			return err_set(e, EPROTO, "mountinfo: a line has %d fields", i + 1);
		at++;
	}
	const char *stop = memchr(at, ' ', (size_t)(end - at));
	if (!stop || *at != '/')
		return err_set(e, EPROTO, "mountinfo: a line has no mount point");
	if (strv_adopt(ret, unescape(at, (size_t)(stop - at))) < 0)
		return err_set(e, ENOMEM, "mountinfo: out of memory");
	return 0;
}

int mountinfo_parse(const char *text, struct strv *ret, struct err *e)
{
	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n");
		int r = parse_line(line, len, ret, e);
		if (r < 0)
			return r;
		line += len + (line[len] == '\n');
	}
	return 0;
}
