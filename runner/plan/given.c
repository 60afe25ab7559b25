#include "runner/plan/given.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"

void given_done(struct given *given)
{
	free(given->name);
	free(given->text);
	cJSON_Delete(given->tree);
	*given = GIVEN_NULL;
}

static struct json_source source(const struct given *given)
{
	return (struct json_source){ given->name, given->text, given->tree };
}

static int check(const struct given *given, struct err *e)
{
	const struct json_source src = source(given);
	cleanup(map_done) struct map seen = MAP_NULL(NULL);
	const cJSON *item;
	if (!cJSON_IsArray(given->tree)) {
		json_refuse(&src, given->tree, e, "an order is a list of ids");
		return err_hint(e,
				"such as [\"tests/test_a.py::test_x\", \"tests/test_b.py::test_y\"]");
	}
	cJSON_ArrayForEach(item, given->tree)
	{
		if (!cJSON_IsString(item) || !item->valuestring[0])
			return json_refuse_entry(&src, item, e, "the id of a test must be a text");
		if (map_get(&seen, item->valuestring))
			return json_refuse_entry(&src, item, e, "\"%s\" stands there twice",
						 item->valuestring);
		if (map_put(&seen, item->valuestring, item->valuestring))
			return err_set(e, ENOMEM, "read %s: no memory", given->name);
	}
	return given->tree->child ? 0 : json_refuse(&src, given->tree, e, "the order names no test");
}

int given_parse(const char *name, const char *text, size_t len, struct given *ret, struct err *e)
{
	cleanup(given_done) struct given given = { .name = strdup(name), .text = strndup(text, len) };
	if (!given.name || !given.text)
		return err_set(e, ENOMEM, "read %s: no memory", name);
	int r = json_parse(given.name, given.text, len, &given.tree, e);
	r = r ? r : check(&given, e);
	if (!r)
		*ret = take(&given, GIVEN_NULL);
	return r;
}

int given_load(const char *path, struct given *ret, struct err *e)
{
	cleanup_free char *text = NULL;
	size_t len = 0;
	int r = fd_load(AT_FDCWD, path, GIVEN_LEN_MAX, &text, &len, e);
	return r ? err_status(e, STATUS_DATA) : given_parse(path, text, len, ret, e);
}

static int refuse_unknown(const struct given *given, const struct roster *roster,
			  const cJSON *unknown, size_t unknown_len, struct err *e)
{
	const struct json_source src = source(given);
	char more[64] = "";
	if (unknown_len > 1)
		snprintf(more, sizeof(more), ", nor %zu more of its ids", unknown_len - 1);
	json_refuse_entry(&src, unknown, e, "the suite has no test \"%s\"%s", unknown->valuestring,
			  more);
	const char *near = text_nearest(unknown->valuestring, (const char *const *)roster->ids.at,
					roster->ids.len);
	return near ? err_hint(e, "did you mean \"%s\"?", near)
		    : err_hint(e, "ids are written as run.json and matrix.json have them");
}

int given_tests(const struct given *given, const struct roster *roster, uint32_t **ret,
		size_t *ret_len, struct err *e)
{
	size_t n = (size_t)cJSON_GetArraySize(given->tree);
	cleanup_free uint32_t *tests = calloc(n + !n, sizeof(*tests));
	const cJSON *unknown = NULL;
	size_t unknown_len = 0;
	size_t len = 0;
	const cJSON *item;
	if (!tests)
		return err_set(e, ENOMEM, "read %s: no memory", given->name);
	cJSON_ArrayForEach(item, given->tree)
	{
		tests[len] = roster_find(roster, item->valuestring);
		if (tests[len++] != ROSTER_NONE)
			continue;
		unknown = unknown ? unknown : item;
		unknown_len++;
	}
	if (unknown)
		return refuse_unknown(given, roster, unknown, unknown_len, e);
	*ret = take_ptr(&tests);
	*ret_len = len;
	return 0;
}

char *given_write(const struct roster *roster, const uint32_t *tests, size_t n)
{
	cleanup(buf_done) struct buf text = BUF_NULL;
	for (size_t i = 0; i < n; i++) {
		cleanup_json cJSON *id = cJSON_CreateString(roster->ids.at[tests[i]]);
		cleanup_free char *line = id ? json_line(id) : NULL;
		if (!line || buf_printf(&text, "%s %s", i ? ",\n" : "[\n", line))
			return NULL;
	}
	return buf_puts(&text, n ? "\n]\n" : "[]\n") ? NULL : take_ptr(&text.at);
}
