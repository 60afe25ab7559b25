#include "probe/fingerprint.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probe/sensor.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/map.h"

/* What is known of one id. While it is as it stood before the order, value and stood are one
 * text. An entry that neither is there nor stood is forgotten. */
struct entry {
	char *key; /* NULL: the id */
	const char *zone;
	char *value;
	char *stood;
	int owner; /* the test that left `value`; DELTA_STOOD */
	/* What `owner` found, so that it can be put back by it without a trace. */
	bool was_known;
	char *was;
	int was_owner;
	struct digest digest; /* of key and value; DIGEST_NULL: not counted */
	bool inert;
	uint64_t seen; /* number of the look */
	uint64_t met;
};

struct domain {
	const struct sensor *sensor;
	void *memory; /* the sensor's own */
	bool opened;
	bool learned; /* looked at once: from then on, what is different is a delta */
	struct map entries;
	struct digest digest;
	const char *how;
	char *how_why;
	char *blind;
};

struct fingerprint {
	const struct vantage *vantage;
	struct domain *domains;
	size_t domains_len;
	struct delta_list *aside; /* what is done by sensors that act */
	uint64_t looks;
	struct buf room; /* for what is hashed */
};

struct sink {
	struct fingerprint *f;
	struct domain *domain;
	int by;
	struct delta_list *deltas;
	struct met_list *met;
};

void met_list_done(struct met_list *list)
{
	for (size_t i = 0; i < list->len; i++)
		free(list->at[i].key);
	free(list->at);
	*list = (struct met_list){ 0 };
}

/* Keeps what met owns, also when it fails. */
static int met_list_adopt(struct met_list *list, struct met *met)
{
	if (list->len == list->cap) {
		size_t cap = list->cap ? list->cap * 2 : 8;
		struct met *at = reallocarray(list->at, cap, sizeof(*at));
		if (!at) {
			free(met->key);
			return -ENOMEM;
		}
		list->at = at;
		list->cap = cap;
	}
	list->at[list->len++] = *met;
	return 0;
}

static void entry_free(void *at)
{
	struct entry *entry = at;
	free(entry->key);
	if (entry->value != entry->stood)
		free(entry->value);
	free(entry->stood);
	free(entry->was);
	free(entry);
}

static int entry_digest(struct sink *sink, const struct entry *entry, const char *id,
			const char *value, struct digest *ret)
{
	*ret = DIGEST_NULL;
	if (!value || text_eq(entry->zone, "state"))
		return 0;
	struct buf *b = &sink->f->room;
	buf_clear(b);
	const char *const parts[] = { sink->domain->sensor->domain, entry->key ? entry->key : id,
				      value };
	for (size_t i = 0; i < countof(parts); i++) {
		int r = buf_add(b, parts[i], strlen(parts[i]) + 1);
		if (r)
			return r;
	}
	*ret = digest_bytes(b->at, b->len);
	return 0;
}

static bool is_damage(const struct sensor *sensor, const struct entry *entry, const char *after)
{
	return sensor->damages && entry && entry->stood && !text_eq(entry->stood, after) &&
	       !text_eq(entry->zone, "state");
}

static char *copy(const char *text, int *r)
{
	char *made = text ? strdup(text) : NULL;
	if (text && !made)
		*r = -ENOMEM;
	return made;
}

/* Tell what `offer` is about to do to `entry` (NULL: there is none). */
static int tell(struct sink *sink, const struct entry *entry, const struct offer *offer)
{
	if (!sink->deltas)
		return 0;
	const struct sensor *sensor = sink->domain->sensor;
	const char *before = entry ? entry->value : NULL;
	const char *key = entry && entry->key ? entry->key : offer->key;
	int r = 0;
	struct delta d = {
		.sensor = sensor,
		.domain = sensor->domain,
		.zone = entry ? entry->zone : offer->zone,
		.id = copy(offer->id, &r),
		.key = copy(key ? key : offer->id, &r),
		.before = copy(before, &r),
		.after = copy(offer->value, &r),
		.owner = entry ? entry->owner : DELTA_STOOD,
	};
	if (r) {
		delta_done(&d);
		return r;
	}
	delta_settle(&d);
	if (d.kind != DELTA_TOUCH) {
		d.damage = is_damage(sensor, entry, offer->value);
		d.restored = text_eq(offer->value, entry ? entry->stood : NULL);
	}
	return delta_list_adopt(sink->deltas, &d);
}

static struct entry *entry_new(struct sink *sink, const struct offer *offer)
{
	struct entry *entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
	int r = 0;
	entry->key = text_eq(offer->key, offer->id) ? NULL : copy(offer->key, &r);
	entry->zone = offer->zone;
	entry->inert = offer->inert;
	entry->owner = DELTA_STOOD;
	entry->seen = sink->f->looks;
	if (r) {
		entry_free(entry);
		return NULL;
	}
	return map_put(&sink->domain->entries, offer->id, entry) ? NULL : entry;
}

/* The value went on by itself: who left it, and whether it stood, stay. */
static void put_quietly(struct entry *entry, char *value)
{
	bool as_stood = entry->value == entry->stood;
	free(entry->value);
	entry->value = value;
	if (as_stood)
		entry->stood = value;
}

static void forget_was(struct entry *entry)
{
	entry->was_known = false;
	free(take_ptr(&entry->was));
}

/* `by` made it so. Putting back what it found gives it back to whoever left that. */
static void put(struct entry *entry, char *value, int by)
{
	bool as_stood = entry->value == entry->stood;
	cleanup_free char *old = as_stood ? NULL : entry->value;
	entry->value = value;
	if (text_eq(value, entry->stood)) {
		free(value);
		entry->value = entry->stood;
		entry->owner = DELTA_STOOD;
		forget_was(entry);
	} else if (entry->owner != by) {
		forget_was(entry);
		entry->was_known = !as_stood;
		entry->was = take_ptr(&old);
		entry->was_owner = entry->owner;
		entry->owner = by;
	} else if (entry->was_known && text_eq(value, entry->was)) {
		entry->owner = entry->was_owner;
		forget_was(entry);
	}
}

/* What went on by itself may go by another name now: a process that runs another program. */
static int rename_entry(struct entry *entry, const struct offer *offer)
{
	int r = 0;
	if (!offer->value || !offer->key || text_eq(offer->key, entry->key))
		return 0;
	char *key = copy(offer->key, &r);
	if (r)
		return r;
	free(entry->key);
	entry->key = key;
	return 0;
}

static int learn(struct sink *sink, struct entry *entry, const struct offer *offer)
{
	int r = 0;
	if (!entry)
		entry = entry_new(sink, offer);
	else if (offer->quiet)
		r = rename_entry(entry, offer);
	if (!entry || r)
		return -ENOMEM;
	struct domain *domain = sink->domain;
	struct digest digest;
	r = entry_digest(sink, entry, offer->id, offer->value, &digest);
	cleanup_free char *value = copy(offer->value, &r);
	if (r)
		return r;
	if (!offer->stood) /* else it was in every digest so far, in all of them the same */
		domain->digest = digest_add(digest_sub(domain->digest, entry->digest), digest);
	entry->digest = digest;
	if (!domain->learned || offer->quiet || offer->stood)
		put_quietly(entry, take_ptr(&value));
	else
		put(entry, take_ptr(&value), sink->by);
	if (!entry->value && (!entry->stood || offer->quiet))
		map_remove(&domain->entries, offer->id);
	return 0;
}

int sink_offer(struct sink *sink, const struct offer *offer)
{
	struct entry *entry = map_get(&sink->domain->entries, offer->id);
	if (entry) {
		entry->seen = sink->f->looks;
		entry->inert = offer->inert;
	}
	bool same = text_eq(entry ? entry->value : NULL, offer->value);
	if (same && !offer->touched)
		return 0;
	if (sink->domain->learned && !offer->quiet && !offer->stood) {
		int r = tell(sink, entry, offer);
		if (r)
			return r;
	}
	return same ? 0 : learn(sink, entry, offer);
}

void sink_anew(struct sink *sink)
{
	struct domain *domain = sink->domain;
	map_done(&domain->entries);
	domain->digest = DIGEST_NULL;
	domain->learned = false;
}

struct missing {
	uint64_t look;
	struct strv ids;
	int r;
};

static void note_missing(const char *id, void *value, void *with)
{
	const struct entry *entry = value;
	struct missing *missing = with;
	if (!missing->r && entry->value && entry->seen != missing->look)
		missing->r = strv_add(&missing->ids, id);
}

int sink_all(struct sink *sink)
{
	struct missing missing = { .look = sink->f->looks };
	map_walk(&sink->domain->entries, note_missing, &missing);
	int r = missing.r;
	for (size_t i = 0; !r && i < missing.ids.len; i++) {
		const char *id = missing.ids.at[i];
		r = sink_offer(sink, &(struct offer){ .id = id });
	}
	strv_done(&missing.ids);
	return r;
}

int sink_met(struct sink *sink, const char *id)
{
	struct entry *entry = map_get(&sink->domain->entries, id);
	uint64_t look = sink->f->looks;
	if (!sink->met || !entry || !entry->value || entry->met == look ||
	    entry->owner == sink->by || entry->owner == DELTA_STOOD)
		return 0;
	int r = 0;
	struct met met = {
		.domain = sink->domain->sensor->domain,
		.key = copy(entry->key ? entry->key : id, &r),
		.from = entry->owner,
	};
	if (!r)
		r = met_list_adopt(sink->met, &met);
	if (!r)
		entry->met = look;
	return r;
}

const char *sink_known(const struct sink *sink, const char *id)
{
	const struct entry *entry = map_get(&sink->domain->entries, id);
	return entry ? entry->value : NULL;
}

static int replace(char **text, const char *with)
{
	int r = 0;
	if (text_eq(*text, with))
		return 0;
	char *made = copy(with, &r);
	if (!r) {
		free(*text);
		*text = made;
	}
	return r;
}

int sink_how(struct sink *sink, const char *how, const char *why)
{
	sink->domain->how = how;
	return replace(&sink->domain->how_why, why);
}

int sink_blind(struct sink *sink, const char *why)
{
	return replace(&sink->domain->blind, why);
}

static int domain_open(struct domain *domain, const struct sensor *sensor, const struct vantage *v,
		       struct err *e)
{
	domain->sensor = sensor;
	domain->entries = MAP_NULL(entry_free);
	if (!sensor->open)
		return 0;
	int r = sensor->open(v, &domain->memory, e);
	domain->opened = !r;
	return r;
}

static void domain_done(struct domain *domain)
{
	if (domain->opened && domain->sensor->close)
		domain->sensor->close(domain->memory);
	map_done(&domain->entries);
	free(domain->how_why);
	free(domain->blind);
}

static void fingerprint_free_at(struct fingerprint **f)
{
	fingerprint_free(*f);
}

int fingerprint_new(const struct vantage *v, const struct sensor *const *sensors,
		    struct fingerprint **ret, struct err *e)
{
	size_t n = 0;
	while (sensors[n])
		n++;
	cleanup(fingerprint_free_at) struct fingerprint *f = calloc(1, sizeof(*f));
	if (!f)
		return err_sys(e, "make a fingerprint");
	f->vantage = v;
	f->domains = calloc(n ? n : 1, sizeof(*f->domains));
	if (!f->domains)
		return err_sys(e, "make a fingerprint");
	for (size_t i = 0; i < n; i++) {
		f->domains_len++; /* a domain that did not open is closed like any other */
		int r = domain_open(&f->domains[i], sensors[i], v, e);
		if (r)
			return r;
	}
	*ret = take_ptr(&f);
	return 0;
}

static int domain_look(struct sink *sink, bool full, struct err *e)
{
	struct domain *domain = sink->domain;
	const struct sensor *sensor = domain->sensor;
	struct err inner = ERR_NULL;
	int r = sensor->look(domain->memory, sink->f->vantage, full, sink, &inner);
	if (!r) {
		domain->learned = true;
		return 0;
	}
	if (!inner.code)
		err_set(&inner, -r, "%s", strerrordesc_np(-r));
	if (e)
		*e = inner;
	return err_in(e, "look at %s", sensor->domain);
}

/* Those that act, or those that do not. 1: there were some. */
static int look_at(struct fingerprint *f, bool acting, bool full, struct sink *sink, struct err *e)
{
	int some = 0;
	f->looks++;
	sink->f = f;
	for (size_t i = 0; i < f->domains_len; i++) {
		sink->domain = &f->domains[i];
		if (sink->domain->sensor->acts != acting)
			continue;
		some = 1;
		int r = domain_look(sink, full, e);
		if (r)
			return r;
	}
	return some;
}

static int look(struct fingerprint *f, bool full, struct sink *sink, struct err *e)
{
	struct sink aside = { .by = DELTA_STOOD, .deltas = f->aside };
	int r = look_at(f, false, full, sink, e);
	if (r >= 0)
		r = look_at(f, true, full, sink, e);
	if (r > 0 && f->aside)
		r = look_at(f, false, false, &aside, e);
	return r < 0 ? r : 0;
}

int fingerprint_look(struct fingerprint *f, int by, struct delta_list *deltas, struct met_list *met,
		     struct err *e)
{
	struct sink sink = { .by = by, .deltas = deltas, .met = met };
	return look(f, false, &sink, e);
}

int fingerprint_look_full(struct fingerprint *f, int by, struct delta_list *deltas, struct err *e)
{
	struct sink sink = { .by = by, .deltas = deltas };
	return look(f, true, &sink, e);
}

void fingerprint_put_aside(struct fingerprint *f, struct delta_list *aside)
{
	f->aside = aside;
}

static const struct domain *find(const struct fingerprint *f, const char *name)
{
	for (size_t i = 0; i < f->domains_len; i++)
		if (text_eq(f->domains[i].sensor->domain, name))
			return &f->domains[i];
	return NULL;
}

struct digest fingerprint_digest(const struct fingerprint *f, const char *domain)
{
	const struct domain *found = find(f, domain);
	return found ? found->digest : DIGEST_NULL;
}

struct digest fingerprint_digest_all(const struct fingerprint *f)
{
	struct digest sum = DIGEST_NULL;
	for (size_t i = 0; i < f->domains_len; i++)
		sum = digest_add(sum, f->domains[i].digest);
	return sum;
}

const char *fingerprint_tracker(const struct fingerprint *f, const char **ret_why)
{
	const struct domain *files = find(f, "files");
	*ret_why = files ? files->how_why : NULL;
	return files ? files->how : NULL;
}

const char *fingerprint_blind(const struct fingerprint *f, const char *domain)
{
	const struct domain *found = find(f, domain);
	return found ? found->blind : NULL;
}

struct survivors {
	const struct sensor *sensor;
	struct delta_list *list;
	int r;
};

static void note_survivor(const char *id, void *value, void *with)
{
	const struct entry *entry = value;
	struct survivors *survivors = with;
	if (survivors->r || entry->owner == DELTA_STOOD || !entry->value || entry->inert)
		return;
	int r = 0;
	struct delta d = {
		.sensor = survivors->sensor,
		.domain = survivors->sensor->domain,
		.what = survivors->sensor->came,
		.id = copy(id, &r),
		.key = copy(entry->key ? entry->key : id, &r),
		.after = copy(entry->value, &r),
		.owner = entry->owner,
	};
	if (r)
		delta_done(&d);
	else
		r = delta_list_adopt(survivors->list, &d);
	survivors->r = r;
}

int fingerprint_survivors(const struct fingerprint *f, struct delta_list *ret, struct err *e)
{
	struct survivors survivors = { .list = ret };
	for (size_t i = 0; !survivors.r && i < f->domains_len; i++) {
		survivors.sensor = f->domains[i].sensor;
		if (survivors.sensor->lives)
			map_walk(&f->domains[i].entries, note_survivor, &survivors);
	}
	if (survivors.r)
		return err_set(e, -survivors.r, "list the survivors");
	return 0;
}

const char *fingerprint_value(const struct fingerprint *f, const char *domain, const char *id)
{
	const struct domain *found = find(f, domain);
	const struct entry *entry = found ? map_get(&found->entries, id) : NULL;
	return entry ? entry->value : NULL;
}

void fingerprint_charge(struct fingerprint *f, const char *domain, const char *id, int owner)
{
	const struct domain *found = find(f, domain);
	struct entry *entry = found ? map_get(&found->entries, id) : NULL;
	if (entry && entry->owner != DELTA_STOOD)
		entry->owner = owner;
}

void fingerprint_free(struct fingerprint *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->domains_len; i++)
		domain_done(&f->domains[i]);
	free(f->domains);
	buf_done(&f->room);
	free(f);
}
