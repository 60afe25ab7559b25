#include "runner/about.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "probe/adapter.h"
#include "runner/config.h"
#include "runner/drive/layer.h"
#include "runner/drive/prepare.h"
#include "runner/ledger.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/digest.h"
#include "sandbox/base/err.h"
#include "sandbox/cell.h"

#define ABOUT_VERSION 1

/* Values of variables go in as one digest. */
cJSON *about_environment(const struct prepared *p)
{
	struct utsname uts;
	if (uname(&uts))
		return NULL;
	struct digest env = DIGEST_NULL;
	for (const char *const *line = p->spec.env; *line; line++)
		env = digest_add(env, digest_bytes(*line, strlen(*line)));
	char hex[DIGEST_HEX];
	cleanup_json cJSON *object = cJSON_CreateObject();
	if (!object || !cJSON_AddStringToObject(object, "kernel", uts.release) ||
	    !cJSON_AddStringToObject(object, "machine", uts.machine) ||
	    !cJSON_AddNumberToObject(object, "processors", (double)sysconf(_SC_NPROCESSORS_ONLN)) ||
	    !cJSON_AddNumberToObject(object, "uid", p->spec.uid) ||
	    !cJSON_AddStringToObject(object, "env", digest_hex(env, hex)))
		return NULL;
	return take_ptr(&object);
}

bool about_isolation(cJSON *tree, const struct isolation *isolation)
{
	static const char *const states[] = {
		[ISOLATION_OFF_ASKED] = "off (asked)",
		[ISOLATION_VERIFIED] = "verified",
		[ISOLATION_REDUCED] = "reduced",
	};
	cJSON *parts = cJSON_AddObjectToObject(tree, "isolation");
	cJSON *why = cJSON_AddObjectToObject(tree, "isolation_why");
	bool ok = parts && why;
	for (int i = 0; i < ISOLATION_N && ok; i++) {
		ok = cJSON_AddStringToObject(parts, isolation_names[i], states[isolation->state[i]]);
		if (ok && isolation->state[i] != ISOLATION_VERIFIED && isolation->why[i][0])
			ok = !json_add_name(why, isolation_names[i], isolation->why[i]);
	}
	return ok;
}

/* What was made by the commands of "prepare". */
static bool add_layer(cJSON *tree, const struct layer *layer)
{
	if (!layer->path)
		return true;
	cJSON *told = cJSON_AddObjectToObject(tree, "prepared");
	return told && cJSON_AddStringToObject(told, "digest", layer->digest) &&
	       cJSON_AddBoolToObject(told, "reused", layer->reused) &&
	       !json_add_name(told, "path", layer->path);
}

/* What an earlier part of the run saw of its cells. */
static bool add_earlier(cJSON *tree, const cJSON *earlier)
{
	static const char *const keys[] = { "isolation", "isolation_why" };
	for (size_t i = 0; i < countof(keys); i++) {
		const cJSON *item = cJSON_GetObjectItemCaseSensitive(earlier, keys[i]);
		if (item && !json_add(tree, keys[i], cJSON_Duplicate(item, true)))
			return false;
	}
	return true;
}

static cJSON *tree_of(const struct about *a)
{
	const struct cell_spec *spec = &a->prepared->spec;
	cleanup_json cJSON *tree = cJSON_CreateObject();
	if (!tree || !cJSON_AddNumberToObject(tree, "version", ABOUT_VERSION) ||
	    !cJSON_AddStringToObject(tree, "fumehood", FUMEHOOD_VERSION) ||
	    !cJSON_AddStringToObject(tree, "started", a->started) ||
	    !json_add(tree, "command", json_texts(spec->argv)) ||
	    json_add_name(tree, "project", spec->project) || json_add_name(tree, "cwd", spec->cwd) ||
	    !cJSON_AddStringToObject(tree, "adapter", a->adapter->name) ||
	    !json_add(tree, "plan", json_texts(a->plan)) ||
	    !json_add(tree, "config", config_json(a->config, a->command)) ||
	    !config_add_again(a->config, tree) ||
	    !json_add(tree, "notes", json_texts((const char *const *)a->prepared->notes.at)) ||
	    !json_add(tree, "environment", about_environment(a->prepared)) ||
	    !add_layer(tree, a->layer) ||
	    (a->isolation ? !about_isolation(tree, a->isolation) : !add_earlier(tree, a->earlier)))
		return NULL;
	return take_ptr(&tree);
}

int about_save(struct about *about, struct ledger *ledger, struct err *e)
{
	const char *started = json_text(about->earlier, "started");
	if (!about->started[0] && started)
		snprintf(about->started, sizeof(about->started), "%s", started);
	if (!about->started[0]) {
		time_t now = time(NULL);
		struct tm utc;
		strftime(about->started, sizeof(about->started), "%Y-%m-%dT%H:%M:%SZ",
			 gmtime_r(&now, &utc));
	}
	cleanup_json cJSON *tree = tree_of(about);
	cleanup_free char *text = tree ? cJSON_Print(tree) : NULL;
	if (!text)
		return err_set(e, ENOMEM, "write run.json: no memory");
	return ledger_save(ledger, "run.json", text, strlen(text), e);
}
