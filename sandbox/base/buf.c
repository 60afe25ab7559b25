#include "sandbox/base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int buf_reserve(struct buf *b, size_t more)
{
	if (more > SIZE_MAX / 4 - b->len)
		return -ENOMEM;
	size_t need = b->len + more + 1;
	if (need <= b->cap)
		return 0;
	size_t cap = b->cap ? b->cap * 2 : 256;
	if (cap < need)
		cap = need;
	char *at = realloc(b->at, cap);
	if (!at)
		return -ENOMEM;
	b->at = at;
	b->cap = cap;
	b->at[b->len] = '\0';
	return 0;
}

int buf_add(struct buf *b, const void *bytes, size_t len)
{
	int r = buf_reserve(b, len);
	if (r)
		return r;
	if (len)
		memcpy(b->at + b->len, bytes, len);
	b->len += len;
	b->at[b->len] = '\0';
	return 0;
}

int buf_puts(struct buf *b, const char *text)
{
	return buf_add(b, text, strlen(text));
}

int buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	int len = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (len < 0)
		return -EINVAL;
	int r = buf_reserve(b, (size_t)len);
	if (r)
		return r;
	va_start(args, fmt);
	vsnprintf(b->at + b->len, (size_t)len + 1, fmt, args);
	va_end(args);
	b->len += (size_t)len;
	return 0;
}

int buf_quote(struct buf *b, const char *text)
{
	int r = buf_puts(b, "'");
	for (; *text && !r; text++)
		r = *text == '\'' ? buf_puts(b, "'\\''") : buf_add(b, text, 1);
	return r ? r : buf_puts(b, "'");
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	if (b->at)
		b->at[0] = '\0';
}

void buf_done(struct buf *b)
{
	free(b->at);
	*b = BUF_NULL;
}
