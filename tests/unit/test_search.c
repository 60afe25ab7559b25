#include <errno.h>

#include "runner/shrink/search.h"
#include "sandbox/base/text.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/sim.h"
#include "tests/lib/tap.h"

static struct search *start(struct sim *s, const struct sim_sweep *w, enum search_kind kind)
{
	(void)s;
	return search_new(&(struct search_setup){
		.test = s->test, .kind = kind, .seen = w->seen, .seen_len = w->len });
}

/* Somebody else, not drawn before in this chain. */
static uint32_t draw(struct sim *s, unsigned chain)
{
	for (;;) {
		uint32_t t = (uint32_t)sim_random(s, s->tests);
		bool used = t == s->test;
		for (unsigned i = 0; i < s->chains[chain].len; i++)
			used = used || s->chains[chain].at[i] == t;
		if (!used)
			return t;
	}
}

static void plant(struct sim *s, unsigned chains, unsigned links, unsigned cleaners)
{
	s->chains_len = chains;
	for (unsigned c = 0; c < chains; c++) {
		for (unsigned i = 0; i < links; i++) {
			s->chains[c].at[i] = draw(s, c);
			s->chains[c].len++;
		}
		for (unsigned i = 0; i < cleaners; i++)
			s->chains[c].cleaners[s->chains[c].cleaners_len++] = draw(s, c);
	}
}

struct shape {
	const char *name;
	uint32_t tests;
	unsigned chains, links, cleaners, flaky, arbitrary;
	bool brittle;
};

static struct sim sim_of(const struct shape *shape, uint64_t seed)
{
	struct sim s = { .tests = shape->tests,
			 .brittle = shape->brittle,
			 .flaky = shape->flaky,
			 .arbitrary = shape->arbitrary,
			 .random = seed * 7919 + 1 };
	s.test = (uint32_t)sim_random(&s, s.tests);
	plant(&s, shape->chains, shape->links, shape->cleaners);
	return s;
}

static void test_random(void)
{
	static const struct shape shapes[] = {
		{ "one polluter", 40, 1, 1, 0, 0, 0, false },
		{ "one polluter among many", 400, 1, 1, 0, 0, 0, false },
		{ "several polluters", 60, 5, 1, 0, 0, 0, false },
		{ "twelve polluters and cleaners", 60, 12, 1, 4, 0, 0, false },
		{ "one polluter, one cleaner", 100, 1, 1, 1, 0, 0, false },
		{ "a pair", 9, 1, 2, 0, 0, 0, false },
		{ "a pair among many", 200, 1, 2, 0, 0, 0, false },
		{ "pairs", 90, 4, 2, 0, 0, 0, false },
		{ "pairs and cleaners", 90, 4, 2, 2, 0, 0, false },
		{ "three in turn", 50, 2, 3, 0, 0, 0, false },
		{ "one setter", 60, 1, 1, 0, 0, 0, true },
		{ "setters", 60, 3, 1, 0, 0, 0, true },
		{ "setters, undone", 60, 3, 1, 2, 0, 0, true },
		{ "pairs of setters", 60, 3, 2, 0, 0, 0, true },
		{ "no rule at all", 30, 0, 0, 0, 0, 8, false },
		{ "hardly a rule", 60, 0, 0, 0, 0, 3, false },
	};
	for (size_t i = 0; i < countof(shapes); i++) {
		unsigned found = 0;
		unsigned unseen = 0;
		unsigned wrong = 0;
		size_t runs = 0;
		size_t script = 0;
		for (uint64_t seed = 0; seed < 200; seed++) {
			struct sim s = sim_of(&shapes[i], seed);
			cleanup(sim_sweep_done) struct sim_sweep w = sim_sweep(&s, 5, seed % 2);
			struct search *search = start(&s, &w, SEARCH_EITHER);
			sim_search(&s, search);
			struct search_result r = search_result(search);
			if (r.end == SEARCH_FOUND) {
				found++;
				wrong += !sim_holds(&s, &r.set) || r.hits < 3 || r.hits != r.of;
				runs += r.runs;
				script += sim_script(&s, &w);
			} else {
				unseen += r.end == SEARCH_UNSEEN;
				bool never = r.end == SEARCH_NEVER_HERMETIC && s.brittle;
				unseen += never;
				wrong += r.end != SEARCH_UNSEEN && !never;
			}
			search_free(search);
		}
		tap_ok(!wrong && found > 20,
		       "%s: %u found, %u unseen, %u wrong; %zu runs, a script %zu", shapes[i].name,
		       found, unseen, wrong, runs, script);
	}
}

static void finish(struct sim *s, struct search *search, struct search_result *ret)
{
	sim_search(s, search);
	*ret = search_result(search);
}

/* Nineteen of the twenty-three tests before it, in their order: as in one real suite. */
static void test_chain(void)
{
	struct sim s = { .tests = 242, .test = 123, .brittle = true, .chains_len = 1 };
	for (uint32_t t = 100; t < 123; t++)
		if (t % 6)
			s.chains[0].at[s.chains[0].len++] = t;
	cleanup(sim_sweep_done) struct sim_sweep w = sim_sweep(&s, 5, true);
	struct search *search = start(&s, &w, SEARCH_SETTERS);
	struct search_result r;
	finish(&s, search, &r);
	size_t script = sim_script(&s, &w);
	tap_ok(r.end == SEARCH_FOUND && r.set.len == s.chains[0].len && sim_holds(&s, &r.set),
	       "a chain of %zu setters of %u", r.set.len, s.chains[0].len);
	tap_ok(r.runs * 2 < script, "%zu runs, a script %zu", r.runs, script);
	search_free(search);
}

static void test_flaky(void)
{
	static const struct {
		unsigned chains, flaky, most; /* sets found, of 100 */
	} rows[] = {
		{ 0, 10, 0 },
		{ 0, 50, 10 },
		{ 0, 80, 10 }, /* fails as it likes */
		{ 1, 70, 10 }, /* the polluter works three times of ten */
	};
	for (size_t i = 0; i < countof(rows); i++) {
		unsigned flaky = 0;
		unsigned found = 0;
		for (uint64_t seed = 0; seed < 100; seed++) {
			struct shape shape = { .tests = 50,
					       .chains = rows[i].chains,
					       .links = 1,
					       .flaky = rows[i].flaky };
			struct sim s = sim_of(&shape, seed);
			cleanup(sim_sweep_done) struct sim_sweep w = sim_sweep(&s, 8, true);
			w.seen[w.len - 1].passed = true; /* alone it was lucky */
			struct search *search = start(&s, &w, SEARCH_POLLUTERS);
			struct search_result r;
			finish(&s, search, &r);
			flaky += r.end == SEARCH_FLAKY && r.of >= 3 && r.hits < r.of;
			found += r.end == SEARCH_FOUND;
			search_free(search);
		}
		tap_ok(found <= rows[i].most && flaky > 20,
		       "flaky, %u chains, %u %%: %u of 100 said, %u sets found", rows[i].chains,
		       rows[i].flaky, flaky, found);
	}
}

/* What it says when there is no set, or none yet. */
static void test_ends(void)
{
	static const uint32_t before[] = { 0, 1, 2, 3 };
	static const struct sighting failed[] = { { before, 4, false }, { before, 2, true } };
	// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
	static const struct {
		const char *name;
		struct sim sim;
		enum search_kind kind;
		size_t seen, runs_max;
		enum search_end end;
		size_t set;
		unsigned hits, of;
	} rows[] = {
		{ "fails alone", { .brittle = true }, SEARCH_POLLUTERS, 2, 0, SEARCH_NEVER_HERMETIC, 0, 3, 3 },
		{ "fails alone, never passes",
		  { .brittle = true },
		  SEARCH_EITHER,
		  1,
		  0,
		  SEARCH_NEVER_HERMETIC,
		  0,
		  3,
		  3 },
		{ "passes alone, no setter wanted", { 0 }, SEARCH_SETTERS, 2, 0, SEARCH_UNSEEN, 0, 3, 3 },
		{ "nothing was seen", { 0 }, SEARCH_EITHER, 0, 0, SEARCH_UNSEEN, 0, 0, 0 },
		{ "does not do it again", { 0 }, SEARCH_EITHER, 2, 0, SEARCH_FLAKY, 0, 1, 3 },
		{ "a set of two",
		  { .chains_len = 1, .chains = { { 2, { 1, 3 }, 0, { 0 } } } },
		  SEARCH_EITHER,
		  2,
		  0,
		  SEARCH_FOUND,
		  2,
		  3,
		  3 },
		{ "the bound, with a set",
		  { .chains_len = 1, .chains = { { 2, { 1, 3 }, 0, { 0 } } } },
		  SEARCH_EITHER,
		  2,
		  6,
		  SEARCH_BOUND,
		  4,
		  3,
		  3 },
		{ "the bound, without",
		  { .chains_len = 1, .chains = { { 3, { 0, 1, 3 }, 0, { 0 } } } },
		  SEARCH_EITHER,
		  2,
		  2,
		  SEARCH_BOUND,
		  0,
		  0,
		  0 },
	};
	for (size_t i = 0; i < countof(rows); i++) {
		struct sim s = rows[i].sim;
		s.tests = 5;
		s.test = 4;
		struct search *search =
			search_new(&(struct search_setup){ .test = 4,
							   .kind = rows[i].kind,
							   .seen = failed,
							   .seen_len = rows[i].seen,
							   .runs_max = rows[i].runs_max });
		struct search_result r;
		finish(&s, search, &r);
		tap_ok(r.end == rows[i].end && r.set.len == rows[i].set && r.any == (r.set.len > 0) &&
			       r.hits == rows[i].hits && r.of == rows[i].of &&
			       (!rows[i].runs_max || r.runs <= rows[i].runs_max),
		       "%s: %s, %zu tests, %u of %u, %zu runs", rows[i].name,
		       search_end_names[r.end], r.set.len, r.hits, r.of, r.runs);
		search_free(search);
	}
}

/* What did it to another test is tried first, and costs as many runs as confirm it. */
static void test_hint(void)
{
	struct sim s = { .tests = 100,
			 .test = 50,
			 .random = 5,
			 .chains_len = 2,
			 .chains = { { 1, { 70 }, 0, { 0 } }, { 1, { 90 }, 0, { 0 } } } };
	cleanup(sim_sweep_done) struct sim_sweep w = sim_sweep(&s, 20, true);
	static const uint32_t sets[][2] = { { 3, 4 }, { 50, 1 }, { 90, 0 } };
	const struct search_set hints[] = { { sets[0], 2 }, { sets[1], 2 }, { sets[2], 1 } };
	struct search *search = start(&s, &w, SEARCH_EITHER);
	struct search_result r;
	tap_ok(!search_hint(search, hints, countof(hints)), "hints");
	size_t left = search_left(search);
	finish(&s, search, &r);
	tap_ok(r.end == SEARCH_FOUND && r.set.len == 1 && r.set.tests[0] == 90 && r.runs <= 5,
	       "%zu runs, %zu were expected", r.runs, left);
	search_free(search);
}

/* What the sweep and its confirmations saw of a list is not asked again; but what is given out ran by
 * itself. */
static void test_seen(void)
{
	static const uint32_t before[] = { 0, 1, 2, 3 };
	static const struct sighting seen[] = {
		{ before, 4, false }, { before, 4, false }, { before, 4, false },
		{ NULL, 0, true },    { before, 2, true },
	};
	static const struct {
		unsigned links;
		uint32_t at[4];
		size_t whole; /* runs of all four */
	} rows[] = { { 2, { 0, 3 }, 0 }, { 4, { 0, 1, 2, 3 }, 3 } };
	for (size_t i = 0; i < countof(rows); i++) {
		struct sim s = { .tests = 5, .test = 4, .chains_len = 1 };
		s.chains[0].len = rows[i].links;
		memcpy(s.chains[0].at, rows[i].at, sizeof(rows[i].at));
		struct search *search = search_new(&(struct search_setup){
			.test = 4, .kind = SEARCH_POLLUTERS, .seen = seen, .seen_len = countof(seen) });
		const struct search_ask *asks;
		size_t len;
		size_t whole = 0;
		while (search_ask(search, &asks, &len) > 0) {
			for (size_t k = 0; k < len; k++) {
				const struct search_set *set = &asks[k].before;
				whole += set->len == 4;
				search_tell(search, k, sim_run(&s, set->tests, set->len));
			}
		}
		struct search_result r = search_result(search);
		tap_ok(r.end == SEARCH_FOUND && whole == rows[i].whole && sim_holds(&s, &r.set),
		       "%u of four: %zu runs of all", rows[i].links, whole);
		search_free(search);
	}
}

/* The answers are all the state there is: told them again, a search asks the same. */
static void test_asked_again(void)
{
	struct shape shape = { .tests = 60, .chains = 3, .links = 2 };
	struct sim s = sim_of(&shape, 4);
	cleanup(sim_sweep_done) struct sim_sweep w = sim_sweep(&s, 6, false);
	struct search *a = start(&s, &w, SEARCH_EITHER);
	struct search *b = start(&s, &w, SEARCH_EITHER);
	bool same = true;
	for (;;) {
		const struct search_ask *x;
		const struct search_ask *y;
		size_t len[2];
		int r = search_ask(a, &x, &len[0]);
		same = same && r == search_ask(b, &y, &len[1]) && len[0] == len[1];
		if (!same || r <= 0)
			break;
		for (size_t i = len[0]; i-- > 0;) {
			const struct search_set *set = &x[i].before;
			same = same && set->len == y[i].before.len && x[i].nth == y[i].nth &&
			       !memcmp(set->tests, y[i].before.tests, set->len * sizeof(*set->tests));
			search_tell(a, i, sim_run(&s, set->tests, set->len));
		}
		for (size_t i = 0; i < len[0]; i++)
			search_tell(b, i, sim_run(&s, y[i].before.tests, y[i].before.len));
	}
	tap_ok(same && search_result(a).end == SEARCH_FOUND, "the same questions, to the end");
	search_free(a);
	search_free(b);
}

static int search_whole(struct sim s, const struct sim_sweep *w, enum search_end *ret)
{
	static const uint32_t far[] = { 7 };
	struct search *search = start(&s, w, SEARCH_EITHER);
	if (!search)
		return -ENOMEM;
	const struct search_ask *asks;
	size_t len;
	int r = search_hint(search, &(struct search_set){ far, 1 }, 1);
	while (!r && (r = search_ask(search, &asks, &len)) > 0) {
		for (size_t i = 0; i < len; i++)
			search_tell(search, i, sim_run(&s, asks[i].before.tests, asks[i].before.len));
		r = 0;
	}
	*ret = search_result(search).end;
	search_free(search);
	return r;
}

static void test_no_memory(void)
{
	struct shape shape = { .tests = 12, .chains = 2, .links = 2 };
	struct sim s = sim_of(&shape, 1);
	cleanup(sim_sweep_done) struct sim_sweep w = sim_sweep(&s, 6, false);
	unsigned wrong = 0;
	int n = 1;
	for (; fault_walk_on(n); n++) {
		enum search_end end = SEARCH_GOING;
		int r = search_whole(s, &w, &end);
		wrong += fault_walk_hit() ? r != -ENOMEM : r || end != SEARCH_FOUND;
	}
	tap_ok(!wrong && n > 30, "no memory, at each of %d allocations", n - 1);
}

int main(void)
{
	test_random();
	test_chain();
	test_flaky();
	test_ends();
	test_hint();
	test_seen();
	test_asked_again();
	test_no_memory();
	return tap_done();
}
