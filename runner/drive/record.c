#include "runner/drive/record.h"

#include <string.h>

#include "probe/sensor.h"
#include "sandbox/base/cleanup.h"

enum delta_kind record_kind(const struct delta *d)
{
	if (d->kind == DELTA_HELD)
		return DELTA_HELD;
	return d->restored || text_eq(d->before, d->after) ? DELTA_TOUCH : d->kind;
}

static bool add_text(cJSON *object, const char *key, const char *text)
{
	return text ? cJSON_AddStringToObject(object, key, text) : cJSON_AddNullToObject(object, key);
}

static const char *name_of(const struct names *names, int number)
{
	return number < 0 ? NULL : names->test(names->with, number);
}

static cJSON *delta_object(const struct delta *d, int by, const struct names *names)
{
	cleanup_json cJSON *object = cJSON_CreateObject();
	enum delta_kind kind = record_kind(d);
	bool cleans = d->restored && d->owner != by;
	if (!object || !add_text(object, "domain", d->domain) || !add_text(object, "what", d->what) ||
	    json_add_name(object, "key", d->key) || !add_text(object, "zone", d->zone) ||
	    !json_add_raw(object, "before", d->before) || !json_add_raw(object, "after", d->after) ||
	    !add_text(object, "kind", delta_kind_names[kind]) ||
	    !cJSON_AddBoolToObject(object, "damage", d->damage && kind != DELTA_TOUCH) ||
	    json_add_name(object, "cleans", cleans ? name_of(names, d->owner) : NULL))
		return NULL;
	cJSON *suspects = cJSON_AddArrayToObject(object, "suspects");
	for (size_t i = 0; suspects && i < d->suspects.len; i++)
		cJSON_AddItemToArray(suspects, cJSON_CreateString(d->suspects.at[i]));
	if (!suspects || !json_add_raw(object, "writer", d->writer))
		return NULL;
	if (d->undone != DELTA_NOT_TRIED &&
	    (!cJSON_AddBoolToObject(object, "restored", d->undone == DELTA_UNDONE) ||
	     (d->undone_why && json_add_name(object, "restored_why", d->undone_why))))
		return NULL;
	return take_ptr(&object);
}

cJSON *record_deltas(const struct delta_list *list, int by, const struct names *names,
		     bool (*only)(const struct delta *d))
{
	cleanup_json cJSON *array = cJSON_CreateArray();
	for (size_t i = 0; array && i < list->len; i++) {
		if (only && !only(&list->at[i]))
			continue;
		cJSON *object = delta_object(&list->at[i], by, names);
		if (!object)
			return NULL;
		cJSON_AddItemToArray(array, object);
	}
	return take_ptr(&array);
}

cJSON *record_met(const struct met_list *list, const struct names *names)
{
	cleanup_json cJSON *array = cJSON_CreateArray();
	for (size_t i = 0; array && i < list->len; i++) {
		const char *from = name_of(names, list->at[i].from);
		if (!from)
			continue; /* a fixture's: it is there to be met */
		cJSON *object = cJSON_CreateObject();
		if (!object)
			return NULL;
		cJSON_AddItemToArray(array, object);
		if (!add_text(object, "domain", list->at[i].domain) ||
		    json_add_name(object, "key", list->at[i].key) ||
		    json_add_name(object, "from", from))
			return NULL;
	}
	return take_ptr(&array);
}

cJSON *record_state(const struct fingerprint *f, const struct sensor *const *sensors)
{
	cleanup_json cJSON *object = cJSON_CreateObject();
	char hex[DIGEST_HEX];
	for (; object && *sensors; sensors++) {
		digest_hex(fingerprint_digest(f, (*sensors)->domain), hex);
		if (!add_text(object, (*sensors)->domain, hex))
			return NULL;
	}
	if (!object || !add_text(object, "all", digest_hex(fingerprint_digest_all(f), hex)))
		return NULL;
	return take_ptr(&object);
}
