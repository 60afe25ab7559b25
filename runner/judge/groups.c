#include <stdlib.h>
#include <string.h>

#include "runner/judge/judging.h"
#include "sandbox/base/cleanup.h"

static int by_digest(const void *a, const void *b)
{
	const struct place *x = a;
	const struct place *y = b;
	int r = memcmp(&x->digest, &y->digest, sizeof(x->digest));
	return r ? r : (x->order > y->order) - (x->order < y->order);
}

static int by_group(const void *a, const void *b)
{
	const struct place *x = a;
	const struct place *y = b;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* Two orders are the same when the same tests ran in the same sequence, with the same varied. */
static struct digest digest_of(const struct played *p)
{
	const struct order *o = &p->order;
	struct digest parts[2] = {
		digest_bytes(o->tests, o->tests_len * sizeof(*o->tests)),
		{ o->view == VIEW_REPEATED, (uint64_t)dimension_of(o) },
	};
	for (size_t i = 0; i < o->vary.len; i++)
		parts[1] = digest_add(parts[1], digest_bytes(o->vary.at[i], strlen(o->vary.at[i])));
	return digest_bytes(parts, sizeof(parts));
}

/* The order of which this one is to be a repetition: "s17" of "s17+2". */
static uint32_t repeated_order(const struct judging *j, const struct order *o)
{
	const char *plus = strrchr(o->name, '+');
	cleanup_free char *name = plus ? strndup(o->name, (size_t)(plus - o->name)) : NULL;
	const struct played *p = name ? history_find(j->c->history, name) : NULL;
	return p ? (uint32_t)(p - j->c->history->orders) : CLASSES_NONE;
}

static void join_by_name(struct judging *j)
{
	j->canonical = CLASSES_NONE;
	for (uint32_t i = 0; i < j->c->history->len; i++) {
		const struct order *o = &order_at(j, i)->order;
		bool again = o->role == ROLE_CONFIRM || o->role == ROLE_WAVE;
		uint32_t first = again ? repeated_order(j, o) : CLASSES_NONE;
		if (is_canonical(o) && tells(j->c, order_at(j, i))) {
			j->canonical = j->canonical == CLASSES_NONE ? i : j->canonical;
			first = j->canonical;
		}
		if (first != CLASSES_NONE && first < i)
			j->c->groups[i] = j->c->groups[first];
	}
}

void judging_group(struct judging *j)
{
	const struct history *h = j->c->history;
	for (uint32_t i = 0; i < h->len; i++) {
		j->c->groups[i] = i;
		if (repeats(j->c, &h->orders[i]))
			j->places[j->places_len++] =
				(struct place){ .digest = digest_of(&h->orders[i]), .order = i };
	}
	qsort(j->places, j->places_len, sizeof(*j->places), by_digest);
	for (size_t i = 1; i < j->places_len; i++)
		if (digest_eq(j->places[i].digest, j->places[i - 1].digest))
			j->c->groups[j->places[i].order] = j->c->groups[j->places[i - 1].order];
	join_by_name(j);
	for (size_t i = 0; i < j->places_len; i++)
		j->places[i].group = j->c->groups[j->places[i].order];
	qsort(j->places, j->places_len, sizeof(*j->places), by_group);
}
