#pragma once
/*
 * text: small things about strings, and vectors of them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool text_eq(const char *a, const char *b); /* NULL equals only NULL */
bool text_starts(const char *text, const char *prefix);
bool text_ends(const char *text, const char *suffix);
/* Does path lie at or below dir? Both absolute and without a slash at the end ("/" aside). */
bool path_below(const char *path, const char *dir);
/* Does a pattern match all of text? `*` stands for any bytes, `?` for one; brackets are no pattern: ids
 * of tests are full of them. */
bool text_glob(const char *pattern, const char *text);
/* The one of n names that is nearest to text, for "did you mean"; NULL when none is near. */
const char *text_nearest(const char *text, const char *const *names, size_t n);
/* The UTF-8 sequence that text begins with: its length, and the character unless ret is NULL. 0: it
 * begins with none, or ends. */
size_t text_char(const char *text, uint32_t *ret);
/* A copy in which every byte that is no UTF-8 is U+FFFD; *ret_clean says whether none was. NULL:
 * no memory. */
char *text_utf8(const char *text, bool *ret_clean);

/* The nth word (from 0) of words parted by spaces, and all behind it; "" when there are fewer. */
const char *text_word(const char *text, size_t n);

/* Strings owned as a NULL-terminated vector. */
struct strv {
	char **at; /* NULL or terminated */
	size_t len;
	size_t cap;
};
#define STRV_NULL ((struct strv){ 0 })
int strv_add(struct strv *v, const char *text); /* copies; 0 or -ENOMEM */
int strv_addf(struct strv *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int strv_adopt(struct strv *v, char *text); /* keeps text, frees it on failure */
bool strv_has(const struct strv *v, const char *text);
void strv_done(struct strv *v);
