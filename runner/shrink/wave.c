#include "runner/shrink/wave.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runner/shrink/shrink.h"
#include "runner/shrink/sightings.h"
#include "sandbox/base/cleanup.h"

#define UNDISTURBED 2 /* orders */
#define BEHIND_MAX  8 /* tests behind one set: the first that undoes it spoils the rest */

struct member { /* what a test is to a set */
	bool victim;
	bool wanted; /* to be run behind it */
	bool asked;  /* nothing was to stand between */
	bool tried;
	bool keeps;    /* the damage was there behind it */
	unsigned kept; /* times that it stood between the damage and a victim that failed */
	unsigned lost; /* ... that passed */
};

struct cause {
	struct search_set set;
	struct member *tests; /* by number */
	size_t len;
	size_t victims;
	bool compare, compared; /* see compare() */
	uint32_t *queue; /* to be run behind it in this round: who undoes it least likely first */
	size_t head, tail;
};

struct wave {
	const struct history *history;
	size_t orders_max;
	size_t tests_len;
	size_t roster_len;
	bool *open;    /* by number: a test that is to be run behind victims and sets */
	bool *victims; /* by number */
	struct cause *causes;
	size_t len;
	struct order *orders;     /* of all rounds */
	size_t orders_len, round; /* where the last round begins */
	uint32_t *list;           /* an order that is being made */
	size_t list_len;
	bool *used; /* by number: in it */
};

/* ---- made ---- */

static struct cause *cause_of(struct wave *w, const struct search_set *set)
{
	for (size_t i = 0; i < w->len; i++) {
		const struct search_set *known = &w->causes[i].set;
		if (known->len == set->len &&
		    !memcmp(known->tests, set->tests, set->len * sizeof(*set->tests)))
			return &w->causes[i];
	}
	return NULL;
}

static struct cause *add_cause(struct wave *w, const struct wave_setup *setup,
			       const struct search_set *set)
{
	struct cause *c = &w->causes[w->len++];
	c->set = *set;
	c->tests = calloc(w->roster_len + 1, sizeof(*c->tests));
	c->queue = calloc(setup->tests_len + 1, sizeof(*c->queue));
	c->len = w->roster_len;
	if (!c->tests || !c->queue)
		return NULL;
	for (size_t i = 0; i < setup->tests_len; i++)
		c->tests[setup->tests[i]].wanted = true;
	for (size_t i = 0; i < set->len; i++)
		c->tests[set->tests[i]].wanted = false;
	return c;
}

struct wave *wave_new(const struct wave_setup *setup)
{
	struct wave *w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->history = setup->history;
	w->orders_max = setup->orders_max;
	w->tests_len = setup->tests_len;
	w->roster_len = setup->history->roster.ids.len;
	w->causes = calloc(setup->found_len + 1, sizeof(*w->causes));
	w->orders = calloc(setup->orders_max + UNDISTURBED, sizeof(*w->orders));
	w->list = calloc(w->roster_len + 1, sizeof(*w->list));
	w->used = calloc(w->roster_len + 1, sizeof(*w->used));
	w->open = calloc(w->roster_len + 1, sizeof(*w->open));
	w->victims = calloc(w->roster_len + 1, sizeof(*w->victims));
	bool ok = w->causes && w->orders && w->list && w->used && w->open && w->victims;
	for (size_t i = 0; i < setup->tests_len && ok; i++)
		w->open[setup->tests[i]] = true;
	for (size_t i = 0; i < setup->found_len && ok; i++) {
		const struct search_result *r = &setup->found[i];
		struct cause *c = cause_of(w, &r->set);
		c = c ? c : add_cause(w, setup, &r->set);
		ok = c != NULL;
		if (!ok)
			break;
		c->victims += !c->tests[r->test].victim;
		c->tests[r->test].victim = w->victims[r->test] = true;
	}
	if (!ok) {
		wave_free(w);
		return NULL;
	}
	return w;
}

void wave_free(struct wave *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->len; i++) {
		free(w->causes[i].tests);
		free(w->causes[i].queue);
	}
	for (size_t i = 0; i < w->orders_len; i++)
		order_done(&w->orders[i]);
	free(w->causes);
	free(w->orders);
	free(w->list);
	free(w->used);
	free(w->open);
	free(w->victims);
	free(w);
}

/* ---- what orders tell ---- */

static bool failed(const struct played *p, size_t at)
{
	return outcome_failed((enum outcome)p->outcomes[at]);
}

/* Its first tests that ran in one process, one after the other, and are known. */
static size_t told_len(const struct cause *c, const struct played *p)
{
	size_t n = 0;
	bool over = false;
	for (; n < p->order.tests_len && p->order.tests[n] < c->len && !over; n++) {
		enum outcome outcome = (enum outcome)p->outcomes[n];
		over = outcome == OUTCOME_CRASHED || outcome == OUTCOME_TIMEOUT;
		if (outcome == OUTCOME_ABSENT)
			break;
	}
	return n;
}

/* Where all of the set has run, others between or not. */
static size_t behind(const struct search_set *set, const struct played *p)
{
	size_t n = 0;
	size_t i = 0;
	for (; i < p->order.tests_len && n < set->len; i++)
		n += p->order.tests[i] == set->tests[n];
	return n == set->len ? i : p->order.tests_len;
}

/* Does the test at `at` stand right behind the whole set? */
static bool is_right_behind(const struct search_set *set, const uint32_t *tests, size_t at)
{
	return at >= set->len &&
	       !memcmp(tests + at - set->len, set->tests, set->len * sizeof(*tests));
}

/* Who was there when the damage stayed, and when it went. */
static void learn(struct cause *c, const struct played *p)
{
	size_t first = behind(&c->set, p);
	size_t from = first;
	bool damaged = true;
	for (size_t i = first; i < told_len(c, p); i++) {
		if (!c->tests[p->order.tests[i]].victim)
			continue;
		bool fails = failed(p, i);
		for (size_t k = from; k < i && damaged; k++) {
			struct member *m = &c->tests[p->order.tests[k]];
			m->kept += fails;
			m->lost += !fails;
		}
		if (fails && i > first)
			c->tests[p->order.tests[i - 1]].keeps = true;
		damaged = fails;
		from = i + 1;
	}
}

/* Which tests ran while the damage was there, as far as that is sure. */
static void note_tried(struct cause *c, const struct played *p)
{
	size_t from = behind(&c->set, p);
	bool damaged = false;
	for (size_t i = from; i < told_len(c, p); i++) {
		struct member *m = &c->tests[p->order.tests[i]];
		damaged = damaged || (i == from && is_right_behind(&c->set, p->order.tests, i));
		m->tried = m->tried || damaged;
		bool shows = m->victim && failed(p, i);
		damaged = (damaged || shows) && m->keeps;
	}
}

/* Orders of the plan come first, those of the wave as they were asked for. */
static void read_orders(const struct wave *w, struct cause *c,
			void (*read)(struct cause *c, const struct played *p))
{
	for (size_t i = 0; i < w->history->len; i++)
		if (sightings_count(&w->history->orders[i]))
			read(c, &w->history->orders[i]);
	for (size_t i = 0; i < w->orders_len; i++) {
		const struct played *p = history_find(w->history, w->orders[i].name);
		if (p && p->ended && !p->interrupted)
			read(c, p);
	}
}

static int by_doubt(const void *a, const void *b, void *with)
{
	const struct cause *c = with;
	uint32_t i = *(const uint32_t *)a;
	uint32_t k = *(const uint32_t *)b;
	const struct member *x = &c->tests[i];
	const struct member *y = &c->tests[k];
	if (x->keeps != y->keeps)
		return x->keeps ? -1 : 1;
	uint64_t first = (uint64_t)(x->lost + 1) * (y->kept + 1);
	uint64_t second = (uint64_t)(y->lost + 1) * (x->kept + 1);
	if (first != second)
		return first < second ? -1 : 1;
	return (i > k) - (i < k);
}

static bool has_witness(const struct cause *c)
{
	for (size_t i = 0; i < c->len; i++)
		if (c->tests[i].victim && c->tests[i].keeps)
			return true;
	return false;
}

/* A victim that shows whether the damage is there and leaves it as it is. */
static uint32_t witness(const struct wave *w, const struct cause *c)
{
	for (uint32_t i = 0; i < c->len; i++)
		if (c->tests[i].victim && c->tests[i].keeps && !w->used[i])
			return i;
	return ROSTER_NONE;
}

static void know(const struct wave *w, struct cause *c)
{
	for (size_t i = 0; i < c->len; i++)
		c->tests[i].kept = c->tests[i].lost = 0;
	read_orders(w, c, learn);
	read_orders(w, c, note_tried);
	c->head = c->tail = 0;
	for (uint32_t i = 0; i < c->len; i++) {
		const struct member *m = &c->tests[i];
		if (m->wanted && !m->tried && !m->asked)
			c->queue[c->tail++] = i;
	}
	qsort_r(c->queue, c->tail, sizeof(*c->queue), by_doubt, c);
	c->compare = !c->compared && c->victims > 1 && c->tail > BEHIND_MAX && !has_witness(c);
}

/* ---- an order is packed ---- */

static void put(struct wave *w, uint32_t test)
{
	w->list[w->list_len++] = test;
	w->used[test] = true;
}

static bool fits(const struct wave *w, const struct search_set *set)
{
	for (size_t i = 0; i < set->len; i++)
		if (w->used[set->tests[i]])
			return false;
	return true;
}

/* The next of the queue, from one of its ends, that the order has not; ROSTER_NONE. It is taken out. */
static uint32_t pop(const struct wave *w, struct cause *c, bool last)
{
	for (size_t n = 0; n < c->tail - c->head; n++) {
		size_t at = last ? c->tail - 1 - n : c->head + n;
		uint32_t test = c->queue[at];
		if (w->used[test])
			continue;
		if (last) {
			memmove(&c->queue[at], &c->queue[at + 1], n * sizeof(*c->queue));
			c->tail--;
		} else {
			memmove(&c->queue[c->head + 1], &c->queue[c->head], n * sizeof(*c->queue));
			c->head++;
		}
		return test;
	}
	return ROSTER_NONE;
}

/* No victim is known to leave the damage as it is: they run one behind the other, once, and nobody else
 * in this round. */
static void compare(struct wave *w, struct cause *c)
{
	for (uint32_t i = 0; i < c->len && w->list_len < c->set.len + BEHIND_MAX; i++)
		if (c->tests[i].victim && !w->used[i])
			put(w, i);
	c->compared = true;
	c->head = c->tail;
}

/* Tests of one set, and behind it as many as can be: the most doubtful comes last. */
static void pack(struct wave *w, struct cause *c)
{
	size_t begin = w->list_len;
	for (size_t i = 0; i < c->set.len; i++)
		put(w, c->set.tests[i]);
	if (c->compare) {
		compare(w, c);
		return;
	}
	for (size_t n = 1;; n++) {
		uint32_t shows = witness(w, c);
		bool sure = c->head < c->tail && c->tests[c->queue[c->head]].keeps;
		bool last = n == BEHIND_MAX || (shows == ROSTER_NONE && !sure);
		uint32_t test = pop(w, c, last);
		if (test == ROSTER_NONE)
			break;
		c->tests[test].asked = c->tests[test].asked || n == 1;
		put(w, test);
		if (last || (shows == ROSTER_NONE && !c->tests[test].keeps))
			return;
		if (!c->tests[test].keeps)
			put(w, shows);
	}
	if (w->list_len == begin + c->set.len)
		w->list_len = begin; /* all that are left stand in the order already */
}

static int add_order(struct wave *w)
{
	cleanup(order_done) struct order o = { .view = VIEW_SHUFFLED,
					       .role = ROLE_WAVE,
					       .shuffle = "given" };
	o.tests = calloc(w->list_len + 1, sizeof(*o.tests));
	if (!o.tests)
		return -ENOMEM;
	memcpy(o.tests, w->list, w->list_len * sizeof(*o.tests));
	o.tests_len = w->list_len;
	if (shrink_name(&o, w->history, 'w', 1))
		return -ENOMEM;
	w->orders[w->orders_len++] = take(&o, ORDER_NULL);
	return 0;
}

/* Each set comes first in turn. */
static int make_order(struct wave *w)
{
	w->list_len = 0;
	memset(w->used, 0, w->roster_len * sizeof(*w->used));
	for (size_t i = 0; i < w->len; i++) {
		struct cause *c = &w->causes[(w->orders_len + i) % w->len];
		if (c->head < c->tail && fits(w, &c->set))
			pack(w, c);
	}
	return add_order(w);
}

/* All victims first, undisturbed, and then all others; or both from their ends. */
static int make_undisturbed(struct wave *w, bool backwards)
{
	w->list_len = 0;
	for (int part = 0; part < 2; part++) {
		const bool *in = part ? w->open : w->victims;
		for (size_t n = 0; n < w->roster_len; n++) {
			uint32_t test = (uint32_t)(backwards ? w->roster_len - 1 - n : n);
			if (in[test])
				put(w, test);
		}
	}
	return add_order(w);
}

static bool is_left(const struct wave *w)
{
	for (size_t i = 0; i < w->len; i++)
		if (w->causes[i].head < w->causes[i].tail)
			return true;
	return false;
}

int wave_round(struct wave *w, const struct order **ret, size_t *ret_len)
{
	bool begins = !w->orders_len && w->len && w->tests_len;
	int r = 0;
	for (size_t i = 0; i < w->len; i++)
		know(w, &w->causes[i]);
	w->round = w->orders_len;
	for (int backwards = 0; begins && !r && backwards < UNDISTURBED; backwards++)
		r = make_undisturbed(w, backwards);
	while (!r && is_left(w) && w->orders_len < w->orders_max)
		r = make_order(w);
	*ret = w->orders + w->round;
	*ret_len = w->orders_len - w->round;
	return r;
}

struct wave_sum wave_sum(struct wave *w)
{
	struct wave_sum sum = { .sets = w->len,
				.tests = w->tests_len,
				.orders = w->orders_len,
				.orders_max = w->orders_max };
	for (size_t i = 0; i < w->len; i++) {
		struct cause *c = &w->causes[i];
		know(w, c);
		for (size_t k = 0; k < c->len; k++) {
			sum.pairs += c->tests[k].wanted;
			sum.untried += c->tests[k].wanted && !c->tests[k].tried;
		}
	}
	return sum;
}
