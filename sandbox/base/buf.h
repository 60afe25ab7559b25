#pragma once
/*
 * buf: bytes that grow. Always NUL-terminated behind its end, so that a text
 * in it can be passed on; the bytes themselves may hold NUL.
 */
#include <stddef.h>

struct buf {
	char *at; /* NULL while nothing was added */
	size_t len;
	size_t cap;
};
#define BUF_NULL ((struct buf){ 0 })

/* 0 or -ENOMEM. */
int buf_reserve(struct buf *b, size_t more);
int buf_add(struct buf *b, const void *bytes, size_t len);
int buf_puts(struct buf *b, const char *text);
int buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The text as one word of a shell, in single quotes. */
int buf_quote(struct buf *b, const char *text);
void buf_clear(struct buf *b); /* forget the bytes, keep the room */
void buf_done(struct buf *b);
