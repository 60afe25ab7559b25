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

/* Refuse keys of an object that are not among names: -EINVAL, STATUS_DATA, with line, column and
 * the nearest name. `text` is what was parsed. */
int json_known_keys(const char *name, const char *text, const cJSON *object,
		    const char *const *names, size_t n, struct err *e);

/* Line and column (from 1) where "key" stands as a key in text; 1:1 when it does not. */
void json_locate(const char *text, const char *key, int *ret_line, int *ret_column);

/* Members by name; the default when absent or of another type. */
const char *json_text(const cJSON *object, const char *key);
double json_number(const cJSON *object, const char *key, double absent);
bool json_true(const cJSON *object, const char *key);

/* Adds text under key; when it is no UTF-8, U+FFFD stands in for what is not, and key_b64 holds
 * the bytes. NULL text adds null. 0 or -ENOMEM. */
int json_add_name(cJSON *object, const char *key, const char *text);

/* One line, no newline inside. NULL: no memory. */
char *json_line(const cJSON *tree);
