#include "probe/delta.h"

#include <errno.h>
#include <stdlib.h>

#include "probe/sensor.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/map.h"

const char *const delta_kind_names[] = { "leak", "touch", "held" };

void delta_settle(struct delta *d)
{
	const struct sensor *words = d->sensor;
	if (text_eq(d->before, d->after)) {
		d->kind = DELTA_TOUCH;
		d->what = d->before ? "touched" : words->came;
	} else {
		d->kind = DELTA_LEAK;
		if (!d->before)
			d->what = words->came;
		else if (!d->after)
			d->what = words->went;
		else
			d->what = words->change ? words->change(d->before, d->after) : "changed";
	}
}

static int reserve(struct delta_list *list, size_t more)
{
	if (list->cap - list->len >= more)
		return 0;
	size_t cap = list->cap ? list->cap * 2 : 8;
	if (cap < list->len + more)
		cap = list->len + more;
	struct delta *at = reallocarray(list->at, cap, sizeof(*at));
	if (!at)
		return -ENOMEM;
	list->at = at;
	list->cap = cap;
	return 0;
}

int delta_list_adopt(struct delta_list *list, struct delta *d)
{
	int r = reserve(list, 1);
	if (r)
		delta_done(d);
	else
		list->at[list->len++] = take(d, (struct delta){ 0 });
	return r;
}

static int add_suspects(struct strv *to, const struct strv *from)
{
	for (size_t i = 0; i < from->len; i++) {
		if (strv_has(to, from->at[i]))
			continue;
		int r = strv_add(to, from->at[i]);
		if (r)
			return r;
	}
	return 0;
}

/* A fixture's change stays its own until a test's is mixed into it. */
static bool stays_held(enum delta_kind a, enum delta_kind b)
{
	return (a == DELTA_HELD || b == DELTA_HELD) && a != DELTA_LEAK && b != DELTA_LEAK;
}

/* d goes on with what came later: its `before`, and the owner of that, stay. */
static int go_on(struct delta *d, struct delta *later)
{
	bool held = stays_held(d->kind, later->kind);
	if (later->kind != DELTA_TOUCH) { /* a touch says nothing about what stood */
		d->damage = later->damage;
		d->restored = later->restored;
	}
	free(d->after);
	d->after = take_ptr(&later->after);
	if (later->writer) {
		free(d->writer);
		d->writer = take_ptr(&later->writer);
	}
	delta_settle(d);
	if (d->kind == DELTA_TOUCH)
		d->damage = d->restored = false;
	else if (held)
		d->kind = DELTA_HELD;
	return add_suspects(&d->suspects, &later->suspects);
}

/* "domain id" to the delta of that entry, in a list that does not move. */
struct index {
	struct map by_name;
	struct buf name;
};

static void index_done(struct index *index)
{
	map_done(&index->by_name);
	buf_done(&index->name);
}

static int name(struct index *index, const struct delta *d)
{
	buf_clear(&index->name);
	return buf_printf(&index->name, "%s %s", d->domain, d->id);
}

static int note(struct index *index, struct delta *d)
{
	int r = name(index, d);
	return r ? r : map_put(&index->by_name, index->name.at, d);
}

static int append(struct index *index, struct delta_list *list, struct delta *later)
{
	int r = name(index, later);
	if (r)
		return r;
	struct delta *earlier = map_get(&index->by_name, index->name.at);
	if (earlier)
		return go_on(earlier, later);
	r = delta_list_adopt(list, later);
	return r ? r : note(index, &list->at[list->len - 1]);
}

int delta_list_append(struct delta_list *list, struct delta_list *later)
{
	cleanup(index_done) struct index index = { MAP_NULL(NULL), BUF_NULL };
	int r = reserve(list, later->len);
	for (size_t i = 0; !r && later->len && i < list->len; i++)
		r = note(&index, &list->at[i]);
	for (size_t i = 0; !r && i < later->len; i++)
		r = append(&index, list, &later->at[i]);
	delta_list_done(later);
	return r;
}

int delta_list_undone(struct delta_list *list, const struct delta_list *later)
{
	cleanup(index_done) struct index index = { MAP_NULL(NULL), BUF_NULL };
	int r = 0;
	for (size_t i = 0; !r && later->len && i < list->len; i++)
		r = note(&index, &list->at[i]);
	for (size_t i = 0; !r && i < later->len; i++) {
		if (!later->at[i].restored)
			continue;
		r = name(&index, &later->at[i]);
		struct delta *d = r ? NULL : map_get(&index.by_name, index.name.at);
		if (d) {
			d->kind = DELTA_TOUCH;
			d->damage = false;
		}
	}
	return r;
}

void delta_done(struct delta *d)
{
	free(d->id);
	free(d->key);
	free(d->before);
	free(d->after);
	strv_done(&d->suspects);
	free(d->writer);
	free(d->undone_why);
	*d = (struct delta){ 0 };
}

void delta_list_done(struct delta_list *list)
{
	for (size_t i = 0; i < list->len; i++)
		delta_done(&list->at[i]);
	free(list->at);
	*list = DELTA_LIST_NULL;
}
