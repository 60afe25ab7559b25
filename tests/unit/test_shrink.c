#include <errno.h>
#include <stdio.h>

#include "runner/shrink/shrink.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/sim.h"
#include "tests/lib/tap.h"

/* Several tests of one suite depend on others: each is a sim of its own. */
#define VICTIMS_MAX 28

struct world {
	struct sim sims[VICTIMS_MAX];
	size_t len;
	uint32_t tests;
	struct history history;
	size_t ran; /* orders of searches */
};

static void line(struct world *w, const char *text)
{
	cleanup_json cJSON *json = cJSON_Parse(text);
	struct err e = ERR_NULL;
	if (history_line(&w->history, json_text(json, "kind"), json, &e))
		tap_ok(false, "line %s: %s", text, e.text);
}

static enum outcome outcome_in(struct world *w, const uint32_t *tests, size_t at)
{
	for (size_t i = 0; i < w->len; i++)
		if (w->sims[i].test == tests[at])
			return sim_run(&w->sims[i], tests, at);
	return OUTCOME_PASSED;
}

/* What the ledger would say of an order. */
static void play(struct world *w, const char *name, const char *view, const char *role,
		 const uint32_t *tests, size_t len)
{
	char text[65536];
	size_t n = (size_t)snprintf(
		text, sizeof(text),
		"{\"kind\":\"begin\",\"order\":\"%s\",\"view\":\"%s\",\"role\":\"%s\",\"tests\":[",
		name, view, role);
	for (size_t i = 0; i < len; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s\"t%u\"", i ? "," : "",
				      tests[i]);
	snprintf(text + n, sizeof(text) - n, "]}");
	line(w, text);
	for (size_t i = 0; i < len; i++) {
		snprintf(text, sizeof(text),
			 "{\"kind\":\"test\",\"order\":\"%s\",\"test\":\"t%u\",\"outcome\":\"%s\"}",
			 name, tests[i], outcome_name(outcome_in(w, tests, i)));
		line(w, text);
	}
	snprintf(text, sizeof(text),
		 "{\"kind\":\"end\",\"order\":\"%s\",\"outcome\":\"complete\",\"seconds\":1}", name);
	line(w, text);
}

/* Canonical twice, reverse, seeds, and those that depend on others alone. */
static void sweep(struct world *w, unsigned seeds)
{
	uint32_t order[SIM_TESTS] = { 0 };
	for (uint32_t i = 0; i < w->tests; i++)
		order[i] = i;
	play(w, "canonical", "canonical", "sweep", order, w->tests);
	play(w, "canonical-2", "canonical", "sweep", order, w->tests);
	for (unsigned seed = 0; seed < seeds; seed++) {
		char name[16];
		snprintf(name, sizeof(name), "s%u", seed);
		sim_shuffle(&w->sims[0], order);
		play(w, name, "shuffled", "sweep", order, w->tests);
	}
	for (uint32_t i = 0; i < w->tests; i++)
		order[i] = w->tests - 1 - i;
	play(w, "reverse", "shuffled", "sweep", order, w->tests);
	for (size_t i = 0; i < w->len; i++) {
		char name[32];
		snprintf(name, sizeof(name), "alone-%zu", i);
		play(w, name, "isolated", "sweep", &w->sims[i].test, 1);
	}
}

static struct shrink *begin(struct world *w)
{
	struct shrink *s = shrink_new(&(struct shrink_setup){ 0 });
	for (size_t i = 0; i < w->len; i++)
		shrink_add(s, &w->history, w->sims[i].test, SEARCH_EITHER);
	return s;
}

/* As a campaign does it: the history answers what it can; the rest runs. Which ends first does not
 * matter. At most `rounds`. */
static void work(struct world *w, struct shrink *s, bool backwards, size_t rounds)
{
	const struct shrink_ask *asks;
	size_t len;
	while (rounds-- && !shrink_round(s, &asks, &len) && len) {
		for (size_t i = 0; i < len; i++) {
			size_t at = backwards ? len - 1 - i : i;
			cleanup(order_done) struct order o = ORDER_NULL;
			shrink_order(&asks[at], &w->history, &o);
			const struct played *p = history_find(&w->history, o.name);
			if (!p) {
				w->ran++;
				play(w, o.name, view_names[o.view], "shrink", o.tests, o.tests_len);
				p = history_find(&w->history, o.name);
			}
			shrink_tell(s, at, played_outcome(p, asks[at].test));
		}
	}
}

static bool all_hold(const struct world *w, const struct shrink *s)
{
	bool ok = shrink_len(s) == w->len;
	for (size_t i = 0; i < w->len; i++) {
		struct search_result r = shrink_result(s, i);
		ok = ok && r.end == SEARCH_FOUND && r.test == w->sims[i].test && r.hits >= 3 &&
		     r.hits == r.of && sim_holds(&w->sims[i], &r.set);
	}
	return ok;
}

static bool same(const struct shrink *a, const struct shrink *b)
{
	bool ok = shrink_len(a) == shrink_len(b);
	for (size_t i = 0; ok && i < shrink_len(a); i++) {
		struct search_result x = shrink_result(a, i);
		struct search_result y = shrink_result(b, i);
		ok = x.end == y.end && x.set.len == y.set.len && x.runs == y.runs &&
		     !memcmp(x.set.tests, y.set.tests, x.set.len * sizeof(*x.set.tests));
	}
	return ok;
}

static void world_done(struct world *w)
{
	history_done(&w->history);
}

static struct world world_of(uint32_t tests, size_t victims, uint64_t seed)
{
	struct world w = { .tests = tests, .len = victims, .history = HISTORY_NULL };
	for (size_t i = 0; i < victims; i++)
		w.sims[i] = (struct sim){ .tests = tests, .test = (uint32_t)i, .random = seed };
	return w;
}

static void add_chain(struct sim *s, unsigned len, const uint32_t *links)
{
	unsigned chain = s->chains_len++;
	s->chains[chain].len = len;
	memcpy(s->chains[chain].at, links, len * sizeof(*links));
}

static void test_shared(void)
{
	cleanup(world_done) struct world w = world_of(100, VICTIMS_MAX, 3);
	for (size_t i = 0; i < w.len; i++)
		add_chain(&w.sims[i], 1, (uint32_t[]){ 60 });
	sweep(&w, 20);
	struct shrink *s = begin(&w);
	struct shrink_cost before = shrink_cost(s);
	work(&w, s, false, SIZE_MAX);
	struct shrink_cost after = shrink_cost(s);
	tap_ok(all_hold(&w, s), "many tests, one polluter");
	tap_ok(w.ran <= 3 * w.len + 12, "three runs each, but for the first: %zu of %zu", w.ran,
	       w.len);
	tap_ok(before.tests == w.len && w.ran <= before.runs_max && w.ran < 4 * before.runs &&
		       before.runs < 4 * w.ran,
	       "stated ahead: about %zu, at most %zu", before.runs, before.runs_max);
	tap_ok(!after.tests && !after.runs && !after.runs_max, "nothing is left");
	shrink_free(s);
}

static void plant_mixed(struct world *w)
{
	for (size_t i = 0; i < w->len; i++) {
		uint32_t a = (uint32_t)(20 + i * 7 % 13);
		uint32_t b = (uint32_t)(35 + i * 5 % 11);
		if (i % 3 == 0)
			add_chain(&w->sims[i], 2, (uint32_t[]){ a, b });
		else
			add_chain(&w->sims[i], 1, (uint32_t[]){ i % 3 == 1 ? a : b });
	}
}

static void test_rounds(void)
{
	cleanup(world_done) struct world w = world_of(60, 12, 9);
	cleanup(world_done) struct world v = world_of(60, 12, 9);
	plant_mixed(&w);
	plant_mixed(&v);
	sweep(&w, 8);
	sweep(&v, 8);
	struct shrink *a = begin(&w);
	struct shrink *b = begin(&v);
	work(&w, a, false, SIZE_MAX);
	work(&v, b, true, SIZE_MAX);
	tap_ok(all_hold(&w, a) && same(a, b) && w.ran == v.ran,
	       "the same, whichever run ends first: %zu runs", w.ran);
	shrink_free(b);

	size_t ran = w.ran;
	b = begin(&w);
	work(&w, b, false, SIZE_MAX);
	tap_ok(same(a, b) && w.ran == ran, "what ran is not run again");
	shrink_free(b);
	shrink_free(a);
}

static void test_resumed(void)
{
	cleanup(world_done) struct world w = world_of(60, 12, 9);
	plant_mixed(&w);
	sweep(&w, 8);
	struct shrink *a = begin(&w);
	work(&w, a, false, 5);
	size_t cut = w.ran;
	struct shrink *b = begin(&w);
	work(&w, b, false, SIZE_MAX);
	tap_ok(cut > 0 && all_hold(&w, b), "cut short after %zu runs, and gone on with: %zu", cut,
	       w.ran);
	struct search_result r = shrink_result(a, 0);
	tap_ok(r.end == SEARCH_GOING || r.end == SEARCH_FOUND, "what is known so far is told");
	shrink_free(a);
	shrink_free(b);
}

static void test_names(void)
{
	cleanup(world_done) struct world w = world_of(5, 1, 0);
	uint32_t all[] = { 0, 1, 2, 3, 4 };
	play(&w, "canonical", "canonical", "sweep", all, 5);
	struct shrink_ask ask = { .test = 4, .before = { all + 1, 2 }, .nth = 2 };
	cleanup(order_done) struct order o = ORDER_NULL;
	int r = shrink_order(&ask, &w.history, &o);
	tap_ok(!r && strlen(o.name) == 11 && o.name[0] == 'x' && text_ends(o.name, "-2"), "%s",
	       o.name ? o.name : "no name");
	tap_ok(o.tests_len == 3 && o.tests[2] == 4 && o.role == ROLE_SHRINK &&
		       text_eq(o.shuffle, "given"),
	       "the tests, then the one");
	if (!o.name)
		return;
	play(&w, o.name, "shuffled", "shrink", all, 3); /* another list has its name */
	cleanup(order_done) struct order other = ORDER_NULL;
	tap_ok(!shrink_order(&ask, &w.history, &other) && strlen(other.name) == 19 &&
		       text_starts(other.name, "x") && !strncmp(o.name, other.name, 9),
	       "not that of another list");
	cleanup(order_done) struct order alone = ORDER_NULL;
	tap_ok(!shrink_order(&(struct shrink_ask){ .test = 1, .nth = 1 }, &w.history, &alone) &&
		       alone.view == VIEW_ISOLATED && alone.tests_len == 1,
	       "alone");
}

/* Shapes of four real suites, three tests each, five seeds: searches and sweep, in processes, against a
 * plain script's. */
static void test_cost(void)
{
	static const struct {
		const char *name;
		uint32_t tests;
		unsigned polluters, links, cleaners;
	} rows[] = {
		{ "one polluter of 39", 39, 1, 1, 0 },
		{ "twelve of 48, and a cleaner", 48, 12, 1, 1 },
		{ "two of 232", 232, 2, 1, 0 },
		{ "a pair of 9", 9, 1, 2, 0 },
	};
	for (size_t i = 0; i < countof(rows); i++) {
		size_t runs = 0;
		size_t script = 0;
		bool ok = true;
		for (uint64_t seed = 1; seed <= 30; seed++) {
			cleanup(world_done) struct world w = world_of(rows[i].tests, 3, seed * 77);
			uint32_t pool[SIM_TESTS];
			for (uint32_t t = 0; t < w.tests; t++)
				pool[t] = t;
			sim_shuffle(&w.sims[0], pool);
			for (size_t v = 0; v < w.len; v++) {
				struct sim *s = &w.sims[v];
				s->test = pool[v];
				for (unsigned p = 0; p < rows[i].polluters; p++)
					add_chain(s, rows[i].links, pool + 3 + p * rows[i].links);
				for (unsigned p = 0; p < s->chains_len && rows[i].cleaners; p++) {
					s->chains[p].cleaners[0] = pool[w.tests - 1];
					s->chains[p].cleaners_len = 1;
				}
			}
			sweep(&w, 5);
			struct shrink *s = begin(&w);
			work(&w, s, false, SIZE_MAX);
			for (size_t v = 0; v < w.len; v++) {
				struct search_result r = shrink_result(s, v);
				ok = ok && (r.end == SEARCH_UNSEEN ||
					    (r.end == SEARCH_FOUND && sim_holds(&w.sims[v], &r.set)));
				if (r.end != SEARCH_FOUND)
					continue;
				struct sim again = w.sims[v];
				cleanup(sim_sweep_done) struct sim_sweep seen =
					sim_sweep(&again, 5, true);
				script += sim_script(&again, &seen);
			}
			runs += w.ran + 8;
			script += 6;
			shrink_free(s);
		}
		tap_ok(ok, "%s: the sets are right", rows[i].name);
		tap_ok(runs * 10 <= script * 6, "%s: %zu runs, a script %zu", rows[i].name, runs,
		       script);
	}
}

/* Of a history that answers everything. */
static int recall(struct world *w, bool *ret)
{
	struct shrink *s = shrink_new(&(struct shrink_setup){ 0 });
	if (!s)
		return -ENOMEM;
	const struct shrink_ask *asks;
	size_t len = 1;
	int r = 0;
	for (size_t i = 0; i < w->len && !r; i++)
		r = shrink_add(s, &w->history, w->sims[i].test, SEARCH_EITHER);
	while (!r && len && !(r = shrink_round(s, &asks, &len))) {
		for (size_t i = 0; i < len; i++) {
			cleanup(order_done) struct order o = ORDER_NULL;
			r = r ? r : shrink_order(&asks[i], &w->history, &o);
			const struct played *p = o.name ? history_find(&w->history, o.name) : NULL;
			shrink_tell(s, i, p ? played_outcome(p, asks[i].test) : OUTCOME_ABSENT);
		}
	}
	*ret = !r && shrink_result(s, 0).end == SEARCH_FOUND;
	shrink_free(s);
	return r;
}

static void test_no_memory(void)
{
	cleanup(world_done) struct world w = world_of(12, 2, 4);
	add_chain(&w.sims[0], 2, (uint32_t[]){ 5, 8 });
	add_chain(&w.sims[1], 1, (uint32_t[]){ 9 });
	sweep(&w, 5);
	struct shrink *s = begin(&w);
	work(&w, s, false, SIZE_MAX);
	shrink_free(s);
	unsigned wrong = 0;
	int n = 1;
	for (; fault_walk_on(n); n++) {
		bool found = false;
		int r = recall(&w, &found);
		wrong += fault_walk_hit() ? r != -ENOMEM : r || !found;
	}
	tap_ok(!wrong && n > 50, "no memory, at each of %d allocations", n - 1);
}

int main(void)
{
	test_shared();
	test_rounds();
	test_resumed();
	test_names();
	test_cost();
	test_no_memory();
	return tap_done();
}
