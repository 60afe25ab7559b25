#include "runner/plan/serial.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"

static int add(struct serials *to, const char *tests, size_t tests_len, const char *reason,
	       struct err *e)
{
	if (!tests_len)
		return err_set(e, EINVAL, "\"tests\" is empty: it is a pattern of ids");
	if (!reason[strspn(reason, " \t\r\n")])
		return err_set(e, EINVAL, "\"reason\" is empty: why must they stay together?");
	if (to->len == SERIALS_MAX)
		return err_set(e, E2BIG, "there are over %d blocks", SERIALS_MAX);
	struct serial one = { .tests = strndup(tests, tests_len), .reason = strdup(reason) };
	to->at[to->len++] = one;
	return one.tests && one.reason ? 0 : err_set(e, ENOMEM, "no memory");
}

int serials_add(const char *text, struct serials *ret, struct err *e)
{
	const char *equals = strchr(text, '=');
	if (!equals)
		return err_set(e, EINVAL, "a serial block is written PATTERN=REASON");
	return add(ret, text, (size_t)(equals - text), equals + 1, e);
}

static int read_one(const struct json_source *src, const cJSON *block, struct serials *ret,
		    struct err *e)
{
	static const char *const names[] = { "tests", "reason" };
	if (!cJSON_IsObject(block))
		return json_refuse(src, block, e,
				   "a block of \"serial\" must be an object with \"tests\" and "
				   "\"reason\"");
	int r = json_known_keys(src, block, names, countof(names), e);
	if (r)
		return r;
	for (size_t i = 0; i < countof(names); i++)
		if (!json_text(block, names[i]))
			return json_refuse(src, block, e, "a block of \"serial\" has no \"%s\"",
					   names[i]);
	const char *tests = json_text(block, "tests");
	struct err why = ERR_NULL;
	r = add(ret, tests, strlen(tests), json_text(block, "reason"), &why);
	return r == -ENOMEM ? err_set(e, ENOMEM, "no memory")
	       : r          ? json_refuse(src, block, e, "%s", why.text)
			    : 0;
}

int serials_read(const struct json_source *src, const cJSON *list, struct serials *ret, struct err *e)
{
	const cJSON *block;
	int r = 0;
	cJSON_ArrayForEach(block, list)
	{
		r = r ? r : read_one(src, block, ret, e);
	}
	return r;
}

cJSON *serials_json(const struct serials *serials)
{
	cleanup_json cJSON *array = cJSON_CreateArray();
	for (size_t i = 0; array && i < serials->len; i++) {
		cJSON *block = cJSON_CreateObject();
		if (!block || !cJSON_AddItemToArray(array, block)) {
			cJSON_Delete(block);
			return NULL;
		}
		if (!cJSON_AddStringToObject(block, "tests", serials->at[i].tests) ||
		    !cJSON_AddStringToObject(block, "reason", serials->at[i].reason))
			return NULL;
	}
	return take_ptr(&array);
}

size_t serials_find(const struct serials *serials, const char *id)
{
	size_t block = 0;
	while (block < serials->len && !text_glob(serials->at[block].tests, id))
		block++;
	return block;
}

void serials_done(struct serials *serials)
{
	for (size_t i = 0; i < serials->len; i++) {
		free(serials->at[i].tests);
		free(serials->at[i].reason);
	}
	serials->len = 0;
}
