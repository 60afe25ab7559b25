#pragma once
/*
 * json: what cJSON does not do: comments, positions in errors, strict keys,
 * and names that are not UTF-8.
 *
 * Every JSON text of ours is a cJSON tree; these functions only read and
 * write them.
 */
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

struct err;

void json_free_at(cJSON **tree);
#define cleanup_json cleanup(json_free_at)

/* Parse a text that may hold a BOM, CRLF and comments. Errors name line and column:
 * "fumehood.json:3:7: …", -EINVAL, STATUS_DATA. `name` is what the error calls the text. */
int json_parse(const char *name, const char *text, size_t len, cJSON **ret, struct err *e);

/* A text as it was parsed, for errors that point into it. Borrows all three. */
struct json_source {
	const char *name; /* what errors call the text */
	const char *text;
	const cJSON *tree;
};

/* Refuse what stands at item: "name:line:column: …", -EINVAL, STATUS_DATA. The place is that of
 * the item's key, of the key around it when it has none, and 1:1 for the tree itself. */
int json_refuse(const struct json_source *src, const cJSON *item, struct err *e, const char *fmt,
		...) __attribute__((format(printf, 4, 5)));

/* The same for an entry of a tree that is a list: the place is its own. */
int json_refuse_entry(const struct json_source *src, const cJSON *entry, struct err *e,
		      const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Refuse keys of an object that are not among names, with the nearest name, and keys that stand
 * there twice. */
int json_known_keys(const struct json_source *src, const cJSON *object, const char *const *names,
		    size_t n, struct err *e);

/* Members by name; the default when absent or of another type. */
const char *json_text(const cJSON *object, const char *key);
double json_number(const cJSON *object, const char *key, double absent);
bool json_true(const cJSON *object, const char *key);

/* Adds text under key; when it is no UTF-8, U+FFFD stands in for what is not, and key_b64 holds
 * the bytes. NULL text adds null. 0 or -ENOMEM. */
int json_add_name(cJSON *object, const char *key, const char *text);
/* What json_add_name() was given: *ret is the caller's, NULL when the key is absent or null.
 * 0, -ENOMEM, or -EINVAL when key_b64 is no base64 of a text. */
int json_get_name(const cJSON *object, const char *key, char **ret);

/* Adds item, which it takes, under key. False: item is NULL, or there is no memory. */
bool json_add(cJSON *object, const char *key, cJSON *item);
/* The same with a value that is JSON in text already; NULL adds null. */
bool json_add_raw(cJSON *object, const char *key, const char *json);

/* An array of the texts of a NULL-terminated vector, or of none when it is NULL; U+FFFD stands in
 * for what is no UTF-8. NULL: no memory. */
cJSON *json_texts(const char *const *texts);

/* One line, no newline inside. NULL: no memory. */
char *json_line(const cJSON *tree);
