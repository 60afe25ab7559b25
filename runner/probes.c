#include "runner/probes.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "runner/quantity.h"
#include "runner/steps.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

#define NAME_LEN_MAX 64

static void probe_done(struct probe *p)
{
	free(p->name);
	strv_done(&p->run);
	*p = (struct probe){ 0 };
}

void probes_done(struct probes *probes)
{
	for (size_t i = 0; i < probes->len; i++)
		probe_done(&probes->at[i]);
	probes->len = 0;
}

static int no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "no memory");
}

/* A place for one more of that name. */
static int begin(struct probes *probes, const char *name, size_t len, struct probe **ret,
		 struct err *e)
{
	if (!len || len > NAME_LEN_MAX)
		return err_set(e, EINVAL, "the name of a probe has 1 to %d bytes", NAME_LEN_MAX);
	for (size_t i = 0; i < probes->len; i++)
		if (strlen(probes->at[i].name) == len && !memcmp(probes->at[i].name, name, len))
			return err_set(e, EINVAL, "two probes are called \"%s\"", probes->at[i].name);
	if (probes->len == PROBES_MAX)
		return err_set(e, E2BIG, "there are over %d probes", PROBES_MAX);
	struct probe p = { .name = strndup(name, len), .timeout_ms = PROBE_TIMEOUT_MS };
	if (!p.name)
		return no_memory(e);
	*ret = &probes->at[probes->len++];
	**ret = p;
	return 0;
}

static int shell(struct probe *p, const char *command)
{
	return strv_add(&p->run, "/bin/sh") || strv_add(&p->run, "-c") || strv_add(&p->run, command);
}

int probes_add(const char *text, struct probes *ret, struct err *e)
{
	const char *equals = strchr(text, '=');
	struct probe *p;
	if (!equals || !equals[1])
		return err_set(e, EINVAL, "a probe is written NAME=COMMAND");
	int r = begin(ret, text, (size_t)(equals - text), &p, e);
	return r ? r : shell(p, equals + 1) ? no_memory(e) : 0;
}

/* ---- fumehood.json ---- */

static int read_run(const struct json_source *src, const cJSON *run, struct probe *p, struct err *e)
{
	cleanup_free char *text = NULL;
	int r = steps_command(src, run, &text, e);
	return r ? r : shell(p, text) ? no_memory(e) : 0;
}

static int read_timeout(const struct json_source *src, const cJSON *item, struct probe *p,
			struct err *e)
{
	struct err why = ERR_NULL;
	if (!item)
		return 0;
	if (!cJSON_IsString(item))
		return json_refuse(src, item, e, "\"timeout\" must be a text such as \"5s\"");
	if (duration_parse(item->valuestring, &p->timeout_ms, &why))
		return json_refuse(src, item, e, "\"timeout\": %s", why.text);
	if (!p->timeout_ms)
		return json_refuse(src, item, e,
				   "\"timeout\": the suite waits for a probe: 0 is no limit");
	return 0;
}

static int read_probe(const struct json_source *src, const cJSON *object, struct probes *ret,
		      struct err *e)
{
	static const char *const names[] = { "name", "run", "timeout" };
	const char *name = json_text(object, "name");
	const cJSON *run = cJSON_GetObjectItemCaseSensitive(object, "run");
	struct err why = ERR_NULL;
	struct probe *p = NULL;
	if (!cJSON_IsObject(object))
		return json_refuse(src, object, e,
				   "a probe must be an object with \"name\" and \"run\"");
	int r = json_known_keys(src, object, names, countof(names), e);
	if (r)
		return r;
	if (!name || !run)
		return json_refuse(src, object, e, "a probe has no \"%s\"", name ? "run" : "name");
	r = begin(ret, name, strlen(name), &p, &why);
	if (r)
		return json_refuse(src, object, e, "%s", why.text);
	assert(p);
	r = read_run(src, run, p, e);
	return r ? r : read_timeout(src, cJSON_GetObjectItemCaseSensitive(object, "timeout"), p, e);
}

int probes_read(const struct json_source *src, const cJSON *list, struct probes *ret, struct err *e)
{
	const cJSON *object;
	cJSON_ArrayForEach(object, list)
	{
		int r = read_probe(src, object, ret, e);
		if (r)
			return r;
	}
	return 0;
}

cJSON *probes_json(const struct probes *probes)
{
	cleanup_json cJSON *array = cJSON_CreateArray();
	for (size_t i = 0; array && i < probes->len; i++) {
		const struct probe *p = &probes->at[i];
		cJSON *object = cJSON_CreateObject();
		if (!object || !cJSON_AddItemToArray(array, object) ||
		    json_add_name(object, "name", p->name) ||
		    !json_add(object, "run", json_texts((const char *const *)p->run.at)) ||
		    !cJSON_AddNumberToObject(object, "timeout", p->timeout_ms))
			return NULL;
	}
	return take_ptr(&array);
}
