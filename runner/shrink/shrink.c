#include "runner/shrink/shrink.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/shrink/sightings.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"

/* Searches at work at once: one until the first has ended, since what it finds helps the others most;
 * then one more for each that ends, up to this. Not the number of lanes, on which nothing depends. */
#define WIDE_MAX 4

#define NAME_DIGITS 8

enum stage { WAITING, AT_WORK, ENDED };

struct seeker {
	uint32_t test;
	enum search_kind kind;
	enum stage stage;
	struct digest vector;        /* tests with equal ones have one cause, most likely */
	bool alike;                  /* one before it has the same */
	struct search *search;       /* while at work */
	struct search_result result; /* once ended; owns its set */
};

struct asker {
	size_t seeker;
	size_t at; /* of what its search asked for */
};

struct shrink {
	struct shrink_setup setup;
	const struct history *history;
	struct seeker *seekers;
	size_t len;
	struct search_set *found; /* distinct; borrowed from the results */
	size_t found_len;
	struct shrink_ask *asks; /* of this round */
	struct asker *askers;    /* beside it */
	size_t asks_len, told;
	size_t asks_room;
};

struct shrink *shrink_new(const struct shrink_setup *setup)
{
	struct shrink *s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->setup = *setup;
	s->setup.confirm = setup->confirm ? setup->confirm : SEARCH_CONFIRM;
	s->setup.runs_max = setup->runs_max ? setup->runs_max : SEARCH_RUNS_MAX;
	return s;
}

int shrink_add(struct shrink *s, const struct history *h, uint32_t test, enum search_kind kind)
{
	cleanup(sightings_done) struct sightings seen = SIGHTINGS_NULL;
	if (sightings_of(h, test, &seen))
		return -ENOMEM;
	struct seeker *more = reallocarray(s->seekers, s->len + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	s->seekers = more;
	s->history = h;
	struct seeker *seeker = &more[s->len];
	*seeker = (struct seeker){
		.test = test,
		.kind = kind,
		.vector = seen.vector,
		.result = { .test = test, .kind = kind },
	};
	for (size_t i = 0; i < s->len; i++)
		seeker->alike = seeker->alike || digest_eq(more[i].vector, seen.vector);
	s->len++;
	return 0;
}

/* ---- searches begin and end ---- */

static bool same(const struct search_set *a, const struct search_set *b)
{
	return a->len == b->len && !memcmp(a->tests, b->tests, a->len * sizeof(*a->tests));
}

static int keep_found(struct shrink *s, const struct search_set *set)
{
	for (size_t i = 0; i < s->found_len; i++)
		if (same(&s->found[i], set))
			return 0;
	struct search_set *more = reallocarray(s->found, s->found_len + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	s->found = more;
	more[s->found_len++] = *set;
	return 0;
}

static int end(struct shrink *s, struct seeker *seeker)
{
	struct search_result r = search_result(seeker->search);
	if (r.any) {
		uint32_t *tests = calloc(r.set.len, sizeof(*tests));
		if (!tests)
			return -ENOMEM;
		memcpy(tests, r.set.tests, r.set.len * sizeof(*tests));
		r.set.tests = tests;
	}
	seeker->result = r;
	seeker->stage = ENDED;
	search_free(seeker->search);
	seeker->search = NULL;
	return r.end == SEARCH_FOUND ? keep_found(s, &seeker->result.set) : 0;
}

static int begin(struct shrink *s, struct seeker *seeker)
{
	cleanup(sightings_done) struct sightings seen = SIGHTINGS_NULL;
	if (sightings_of(s->history, seeker->test, &seen))
		return -ENOMEM;
	seeker->search = search_new(&(struct search_setup){
		.test = seeker->test,
		.kind = seeker->kind,
		.seen = seen.at,
		.seen_len = seen.len,
		.confirm = s->setup.confirm,
		.runs_max = s->setup.runs_max,
	});
	if (!seeker->search || search_hint(seeker->search, s->found, s->found_len)) {
		search_free(seeker->search);
		seeker->search = NULL;
		return -ENOMEM;
	}
	seeker->stage = AT_WORK;
	return 0;
}

/* One that is like a test that is searched for just now waits for what is found there. */
static struct seeker *next_to_begin(const struct shrink *s)
{
	size_t at_work = 0;
	size_t wide = 1;
	for (size_t i = 0; i < s->len; i++) {
		at_work += s->seekers[i].stage == AT_WORK;
		wide += s->seekers[i].stage == ENDED && wide < WIDE_MAX;
	}
	for (size_t i = 0; i < s->len && at_work < wide; i++) {
		struct seeker *seeker = &s->seekers[i];
		bool waits = seeker->stage != WAITING;
		for (size_t k = 0; k < s->len && !waits; k++)
			waits = s->seekers[k].stage == AT_WORK &&
				digest_eq(s->seekers[k].vector, seeker->vector);
		if (!waits)
			return seeker;
	}
	return NULL;
}

/* ---- rounds ---- */

static int add_asks(struct shrink *s, const struct seeker *seeker, const struct search_ask *more,
		    size_t len)
{
	size_t needed = s->asks_len + len;
	if (needed > s->asks_room) {
		struct shrink_ask *asks = reallocarray(s->asks, needed, sizeof(*asks));
		s->asks = asks ? asks : s->asks;
		struct asker *askers = reallocarray(s->askers, needed, sizeof(*askers));
		s->askers = askers ? askers : s->askers;
		if (!asks || !askers)
			return -ENOMEM;
		s->asks_room = needed;
	}
	for (size_t i = 0; i < len; i++) {
		s->askers[s->asks_len] = (struct asker){ (size_t)(seeker - s->seekers), i };
		s->asks[s->asks_len++] =
			(struct shrink_ask){ seeker->test, more[i].before, more[i].nth };
	}
	return 0;
}

/* What it asks for, or its end. */
static int step(struct shrink *s, struct seeker *seeker)
{
	const struct search_ask *asks;
	size_t len;
	int r = search_ask(seeker->search, &asks, &len);
	if (r > 0)
		return add_asks(s, seeker, asks, len);
	return r ? r : end(s, seeker);
}

int shrink_round(struct shrink *s, const struct shrink_ask **ret, size_t *ret_len)
{
	assert(s->told == s->asks_len);
	s->told = 0;
	s->asks_len = 0;
	int r = 0;
	for (size_t i = 0; i < s->len && !r; i++)
		if (s->seekers[i].stage == AT_WORK)
			r = step(s, &s->seekers[i]);
	struct seeker *seeker;
	while (!r && (seeker = next_to_begin(s))) {
		r = begin(s, seeker);
		r = r ? r : step(s, seeker);
	}
	if (r) {
		s->asks_len = 0; /* they are asked again */
		return r;
	}
	*ret = s->asks;
	*ret_len = s->asks_len;
	return 0;
}

void shrink_tell(struct shrink *s, size_t at, enum outcome outcome)
{
	assert(at < s->asks_len && s->told < s->asks_len);
	s->told++;
	search_tell(s->seekers[s->askers[at].seeker].search, s->askers[at].at, outcome);
}

/* ---- what it costs, what was found ---- */

struct shrink_cost shrink_cost(const struct shrink *s)
{
	size_t ended = 0;
	size_t ended_runs = 0;
	for (size_t i = 0; i < s->len; i++) {
		if (s->seekers[i].stage == ENDED && !s->seekers[i].alike) {
			ended++;
			ended_runs += s->seekers[i].result.runs;
		}
	}
	size_t bits = 0;
	while (s->history && s->history->roster.ids.len >> bits)
		bits++;
	size_t first = ended ? (ended_runs + ended - 1) / ended : s->setup.confirm + bits;
	struct shrink_cost cost = { 0 };
	for (size_t i = 0; i < s->len; i++) {
		const struct seeker *seeker = &s->seekers[i];
		if (seeker->stage == ENDED)
			continue;
		cost.tests++;
		size_t done = seeker->search ? search_result(seeker->search).runs : 0;
		cost.runs_max += s->setup.runs_max - done;
		if (seeker->search)
			cost.runs += search_left(seeker->search);
		else
			cost.runs += seeker->alike ? s->setup.confirm + 1 : first;
	}
	return cost;
}

size_t shrink_len(const struct shrink *s)
{
	return s->len;
}

struct search_result shrink_result(const struct shrink *s, size_t n)
{
	const struct seeker *seeker = &s->seekers[n];
	return seeker->search ? search_result(seeker->search) : seeker->result;
}

void shrink_free(struct shrink *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->len; i++) {
		search_free(s->seekers[i].search);
		free((void *)s->seekers[i].result.set.tests);
	}
	free(s->seekers);
	free(s->found);
	free(s->asks);
	free(s->askers);
	free(s);
}

/* ---- the order of an ask ---- */

static int add_id(struct buf *b, const struct history *h, uint32_t test)
{
	const char *id = h->roster.ids.at[test];
	return buf_add(b, id, strlen(id) + 1);
}

static bool is_of(const struct played *p, const struct order *o)
{
	return p->asked_len == o->tests_len &&
	       !memcmp(p->asked, o->tests, o->tests_len * sizeof(*o->tests));
}

int shrink_name(struct order *o, const struct history *h, char letter, unsigned nth)
{
	cleanup(buf_done) struct buf ids = BUF_NULL;
	for (size_t i = 0; i < o->tests_len; i++)
		if (add_id(&ids, h, o->tests[i]))
			return -ENOMEM;
	char hex[DIGEST_HEX];
	digest_hex(digest_bytes(ids.at, ids.len), hex);
	for (int digits = NAME_DIGITS;; digits += NAME_DIGITS) {
		if (asprintf(&o->name, "%c%.*s-%u", letter, digits, hex, nth) < 0) {
			o->name = NULL;
			return -ENOMEM;
		}
		const struct played *p = history_find(h, o->name);
		if (!p || is_of(p, o) || digits + 1 == DIGEST_HEX)
			return 0;
		free(take_ptr(&o->name));
	}
}

static const char *given(void)
{
	size_t i = 0;
	while (strcmp(shuffle_names[i], "given") != 0)
		i++;
	return shuffle_names[i];
}

int shrink_order(const struct shrink_ask *ask, const struct history *h, struct order *ret)
{
	cleanup(order_done) struct order o = ORDER_NULL;
	o.view = ask->before.len ? VIEW_SHUFFLED : VIEW_ISOLATED;
	o.shuffle = ask->before.len ? given() : NULL;
	o.role = ROLE_SHRINK;
	o.tests = calloc(ask->before.len + 1, sizeof(*o.tests));
	if (!o.tests)
		return -ENOMEM;
	if (ask->before.len)
		memcpy(o.tests, ask->before.tests, ask->before.len * sizeof(*o.tests));
	o.tests[ask->before.len] = ask->test;
	o.tests_len = ask->before.len + 1;
	int r = shrink_name(&o, h, 'x', ask->nth);
	if (!r)
		*ret = take(&o, ORDER_NULL);
	return r;
}

int shrink_order_found(const struct search_result *result, const struct history *h, struct order *ret)
{
	const struct shrink_ask ask = { .test = result->test, .before = result->set, .nth = 1 };
	return shrink_order(&ask, h, ret);
}

char *shrink_file(const struct order *o)
{
	char *name = NULL;
	return asprintf(&name, "%.*s.json", (int)strcspn(o->name, "-"), o->name) < 0 ? NULL : name;
}
