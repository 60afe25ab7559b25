#include "runner/drive/changes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/fingerprint.h"
#include "probe/sensors/sensors.h"
#include "runner/drive/looker.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"

const char *const changes_class_names[CHANGES_CLASS_N] = {
	[CHANGES_CREATED] = "created",
	[CHANGES_CHANGED] = "changed",
	[CHANGES_DELETED] = "deleted",
	[CHANGES_ATTRIBUTES] = "attributes",
};
const char *const changes_zone_names[CHANGES_ZONES_N] = { "source", "state", "home",  "cache",
							  "tmp",    "shm",   "system" };

struct changes_base {
	struct vantage_place places[LOOKER_PLACES_MAX];
	struct vantage vantage;
	struct fingerprint *print;
};

static int no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "tell what changed: no memory");
}

void changes_base_free(struct changes_base *base)
{
	if (base)
		fingerprint_free(base->print);
	free(base);
}

static void base_free_at(struct changes_base **base)
{
	changes_base_free(*base);
}

void changes_done(struct changes *c)
{
	cJSON_Delete(c->rows);
	*c = CHANGES_NULL;
}

int changes_begin(const struct cell *cell, const struct vantage_zone *zones, size_t zones_len,
		  struct changes_base **ret, struct err *e)
{
	static const struct sensor *const files[] = { &sensor_files, NULL };
	cleanup(base_free_at) struct changes_base *base = calloc(1, sizeof(*base));
	if (!base)
		return no_memory(e);
	looker_vantage(&cell->view, base->places, &base->vantage);
	base->vantage.zones = zones;
	base->vantage.zones_len = zones_len;
	int r = fingerprint_new(&base->vantage, files, &base->print, e);
	r = r ? r : fingerprint_look(base->print, DELTA_STOOD, NULL, NULL, e);
	if (!r)
		*ret = take_ptr(&base);
	return r;
}

/* ---- in the looker: from deltas to lines ---- */

static enum changes_class class_of(const struct delta *d)
{
	static const char *const attributes[] = { "mode", "owner", "xattrs", "links" };
	if (!d->before)
		return CHANGES_CREATED;
	if (!d->after)
		return CHANGES_DELETED;
	for (size_t i = 0; i < countof(attributes); i++)
		if (text_eq(d->what, attributes[i]))
			return CHANGES_ATTRIBUTES;
	return CHANGES_CHANGED;
}

static size_t zone_index(const char *zone)
{
	size_t i = 0;
	while (i < CHANGES_ZONES_N - 1 && !text_eq(zone, changes_zone_names[i]))
		i++;
	return i;
}

/* The values are our own, flat and without blanks; a quote in a name is escaped. */
static uint64_t size_in(const char *value)
{
	const char *at = value ? strstr(value, "\"size\":") : NULL;
	return at ? strtoull(at + strlen("\"size\":"), NULL, 10) : 0;
}

/* By path; what lies in a folder comes right after it, since '/' comes before all else. */
static int by_path(const void *a, const void *b)
{
	const unsigned char *x = (const unsigned char *)((const struct delta *)a)->key;
	const unsigned char *y = (const unsigned char *)((const struct delta *)b)->key;
	for (; *x && *x == *y; x++)
		y++;
	int cx = *x == '/' ? 1 : *x ? *x + 1 : 0;
	int cy = *y == '/' ? 1 : *y ? *y + 1 : 0;
	return cx - cy;
}

/* How many of the deltas right behind i are new in a folder that is new. */
static size_t new_below(const struct delta_list *list, size_t i)
{
	size_t n = i + 1;
	if (list->at[i].before)
		return 0;
	while (n < list->len && !list->at[n].before && path_below(list->at[n].key, list->at[i].key))
		n++;
	return n - i - 1;
}

static int say_row(int channel, const struct delta *d, size_t below, struct err *e)
{
	cleanup_json cJSON *row = cJSON_CreateObject();
	if (!row || !cJSON_AddStringToObject(row, "kind", "row") ||
	    !cJSON_AddStringToObject(row, "zone", changes_zone_names[zone_index(d->zone)]) ||
	    !cJSON_AddStringToObject(row, "class", changes_class_names[class_of(d)]) ||
	    !cJSON_AddStringToObject(row, "what", d->what) || json_add_name(row, "key", d->key) ||
	    !json_add_raw(row, "before", d->before) || !json_add_raw(row, "after", d->after) ||
	    (below && !cJSON_AddNumberToObject(row, "below", (double)below)))
		return no_memory(e);
	return looker_say(channel, row, e);
}

static int say_totals(int channel, const struct changes *c, struct err *e)
{
	cleanup_json cJSON *line = cJSON_CreateObject();
	cJSON *totals = cJSON_AddArrayToObject(line, "totals");
	if (!totals || !cJSON_AddStringToObject(line, "kind", "totals") ||
	    !cJSON_AddNumberToObject(line, "len", (double)c->len))
		return no_memory(e);
	for (size_t i = 0; i < CHANGES_ZONES_N * (size_t)CHANGES_CLASS_N; i++) {
		const struct changes_total *total =
			&c->totals[i / CHANGES_CLASS_N][i % CHANGES_CLASS_N];
		cJSON *count = cJSON_CreateNumber((double)total->count);
		cJSON *bytes = cJSON_CreateNumber((double)total->bytes);
		cJSON_AddItemToArray(totals, count);
		cJSON_AddItemToArray(totals, bytes);
		if (!count || !bytes)
			return no_memory(e);
	}
	return looker_say(channel, line, e);
}

static void drop_touches(struct delta_list *list)
{
	size_t kept = 0;
	for (size_t i = 0; i < list->len; i++) {
		struct delta *d = &list->at[i];
		if (d->kind == DELTA_TOUCH || d->restored)
			delta_done(d);
		else
			list->at[kept++] = *d;
	}
	list->len = kept;
}

static int look(const void *with, const struct cell *cell, int channel, struct err *e)
{
	struct changes_base *const *base = with;
	cleanup(delta_list_done) struct delta_list list = DELTA_LIST_NULL;
	struct changes c = CHANGES_NULL;
	(void)cell;
	int r = fingerprint_look_full((*base)->print, 0, &list, e);
	drop_touches(&list);
	if (list.len)
		qsort(list.at, list.len, sizeof(*list.at), by_path);
	for (size_t i = 0; i < list.len && !r; i++) {
		const struct delta *d = &list.at[i];
		struct changes_total *total = &c.totals[zone_index(d->zone)][class_of(d)];
		total->count++;
		if (class_of(d) != CHANGES_ATTRIBUTES)
			total->bytes += size_in(d->after ? d->after : d->before);
		if (i < CHANGES_ROWS_MAX)
			r = say_row(channel, d, new_below(&list, i), e);
	}
	c.len = list.len;
	return r ? r : say_totals(channel, &c, e);
}

/* ---- in the runner: from lines to changes ---- */

static int take_totals(const cJSON *line, struct changes *c, struct err *e)
{
	const cJSON *totals = cJSON_GetObjectItemCaseSensitive(line, "totals");
	size_t i = 0;
	const cJSON *number;
	c->len = (uint64_t)json_number(line, "len", 0);
	cJSON_ArrayForEach(number, totals)
	{
		if (i == CHANGES_ZONES_N * 2 * (size_t)CHANGES_CLASS_N)
			break;
		struct changes_total *total =
			&c->totals[i / 2 / CHANGES_CLASS_N][i / 2 % CHANGES_CLASS_N];
		*(i++ % 2 ? &total->bytes : &total->count) = (uint64_t)number->valuedouble;
	}
	return i == CHANGES_ZONES_N * 2 * (size_t)CHANGES_CLASS_N
		       ? 0
		       : err_set(e, EPROTO, "the looker sent other totals");
}

static int take_line(void *with, cJSON *line, const char *kind, struct err *e)
{
	struct changes *c = with;
	if (text_eq(kind, "totals")) {
		int r = take_totals(line, c, e);
		return r ? r : 1;
	}
	if (!text_eq(kind, "row"))
		return err_set(e, EPROTO, "the looker sent a line that is none of ours");
	cJSON *row = cJSON_Duplicate(line, true);
	if (!row || !cJSON_AddItemToArray(c->rows, row))
		return no_memory(e);
	cJSON_DeleteItemFromObjectCaseSensitive(row, "kind");
	return 0;
}

int changes_look(struct changes_base *base, const struct cell *cell, struct changes *ret,
		 struct err *e)
{
	cleanup(changes_done) struct changes c = { .rows = cJSON_CreateArray() };
	if (!c.rows)
		return no_memory(e);
	int r = looker_ask(&(struct looker_task){ .look = look, .with = &base }, cell, take_line,
			   &c, e);
	if (r)
		return err_in(e, "look at what the command changed");
	*ret = take(&c, CHANGES_NULL);
	return 0;
}
