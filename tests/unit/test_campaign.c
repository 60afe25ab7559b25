#include <stdio.h>

#include "runner/campaign.h"
#include "runner/judge/findings.h"
#include "runner/report/matrix.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"
#include "tests/lib/sim.h"
#include "tests/lib/tap.h"

/*
 * A suite that is simulated, run by so many lanes, whose orders end in any sequence.
 * Whatever the lanes do, and wherever it is cut short and goes on, the result is the
 * same.
 */
#define VICTIMS_MAX 8
#define LANES       7

struct world {
	struct sim sims[VICTIMS_MAX];
	size_t len;
	uint32_t tests;
	uint32_t coins;     /* so many of the tests, the first ones, fail as they like */
	unsigned percent;   /* ... so often */
	uint64_t luck;      /* of this world */
	struct strv ledger; /* lines */
	size_t ran;
};

/* The same whenever the order is run again after a kill, and else by chance. */
static bool coin_fails(const struct world *w, const char *order, uint32_t test)
{
	uint64_t of[] = { w->luck, test, digest_bytes(order, strlen(order)).low };
	return digest_bytes(of, sizeof(of)).low % 10000 < w->percent * 100;
}

static enum outcome outcome_in(const struct world *w, const char *order, const uint32_t *tests,
			       size_t at)
{
	if (tests[at] < w->coins)
		return coin_fails(w, order, tests[at]) ? OUTCOME_FAILED : OUTCOME_PASSED;
	for (size_t i = 0; i < w->len; i++)
		if (w->sims[i].test == tests[at])
			return sim_passes(&w->sims[i], tests, at) ? OUTCOME_PASSED : OUTCOME_FAILED;
	return OUTCOME_PASSED;
}

/* ---- the ledger ---- */

static void hear(struct campaign *c, const char *text)
{
	cleanup_json cJSON *json = cJSON_Parse(text);
	struct err e = ERR_NULL;
	if (campaign_line(c, json_text(json, "kind"), json, &e))
		tap_ok(false, "line %s: %s", text, e.text);
}

static void say(struct world *w, struct campaign *c, cJSON *line)
{
	cleanup_free char *text = json_line(line);
	cJSON_Delete(line);
	strv_add(&w->ledger, text);
	hear(c, text);
}

static cJSON *line_of(const char *kind, const struct order *o)
{
	cJSON *line = cJSON_CreateObject();
	cJSON_AddStringToObject(line, "kind", kind);
	cJSON_AddStringToObject(line, "order", o->name);
	return line;
}

static cJSON *ids(const uint32_t *tests, size_t len)
{
	cJSON *array = cJSON_CreateArray();
	for (size_t i = 0; i < len; i++) {
		char id[32];
		snprintf(id, sizeof(id), "m.py::t%u", tests[i]);
		cJSON_AddItemToArray(array, cJSON_CreateString(id));
	}
	return array;
}

/* The tests of an order as the simulation numbers them; the roster has them as they were collected. */
static uint32_t *tests_of(const struct world *w, const struct order *o, size_t *ret_len)
{
	*ret_len = o->as_collected ? w->tests : o->tests_len;
	uint32_t *tests = calloc(*ret_len + 1, sizeof(*tests));
	for (uint32_t i = 0; i < *ret_len; i++)
		tests[i] = o->as_collected ? i : o->tests[i];
	return tests;
}

static void begin(struct world *w, struct campaign *c, const struct order *o)
{
	cJSON *line = line_of("begin", o);
	cJSON_AddStringToObject(line, "view", view_names[o->view]);
	cJSON_AddStringToObject(line, "role", role_names[o->role]);
	if (o->seeded)
		cJSON_AddNumberToObject(line, "seed", (double)o->seed);
	if (!o->as_collected)
		cJSON_AddItemToObject(line, "tests", ids(o->tests, o->tests_len));
	say(w, c, line);
}

static void finish(struct world *w, struct campaign *c, const struct order *o)
{
	size_t len;
	cleanup_free uint32_t *tests = tests_of(w, o, &len);
	say(w, c, line_of("session", o));
	cJSON *line = line_of("order", o);
	cJSON_AddItemToObject(line, "tests", ids(tests, len));
	say(w, c, line);
	for (size_t i = 0; i < len; i++) {
		char id[32];
		snprintf(id, sizeof(id), "m.py::t%u", tests[i]);
		line = line_of("test", o);
		cJSON_AddStringToObject(line, "test", id);
		cJSON_AddStringToObject(line, "outcome",
					outcome_name(outcome_in(w, o->name, tests, i)));
		say(w, c, line);
	}
	line = line_of("end", o);
	cJSON_AddStringToObject(line, "outcome", "complete");
	cJSON_AddNumberToObject(line, "seconds", 1);
	say(w, c, line);
	w->ran++;
}

/* ---- lanes ---- */

static int64_t now_ms(void)
{
	return 0;
}

static uint64_t chance(uint64_t *random, uint64_t below)
{
	*random = *random * 6364136223846793005 + 1442695040888963407;
	return (*random >> 33) % below;
}

/* Runs what the campaign asks for until `orders_max` have ended; what runs then is lost. */
static void drive(struct world *w, struct campaign *c, unsigned lanes, uint64_t random,
		  size_t orders_max)
{
	const struct lanes_source source = campaign_source(c);
	const struct order *running[LANES];
	const struct order_result spoke = { .spoke = true };
	struct err e = ERR_NULL;
	unsigned n = 0;
	size_t ended = 0;
	for (;;) {
		while (n < lanes && source.next(source.with, &running[n], &e) == 1)
			begin(w, c, running[n++]);
		if (!n || ended == orders_max)
			return;
		unsigned at = (unsigned)chance(&random, n);
		const struct order *o = running[at];
		finish(w, c, o);
		running[at] = running[--n];
		source.ended(source.with, o, &spoke, &e);
		ended++;
	}
}

/* ---- the result ---- */

static char *result_of(struct campaign *c)
{
	struct err e = ERR_NULL;
	cleanup(findings_done) struct findings f = FINDINGS_NULL;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	tap_ok(campaign_judge(c, &e) == 0 && findings_make(&c->classes, c->shrink, &f) == 0 &&
		       matrix_write(&c->classes, out, &e) == 0,
	       "it is judged: %s", e.text);
	for (size_t i = 0; i < f.len; i++) {
		const struct search_result *r = &f.at[i].search;
		fprintf(out, "%s %s %s %u/%u:", f.at[i].id, class_rows[f.at[i].class].name,
			search_end_names[r->end], r->hits, r->of);
		for (size_t k = 0; k < r->set.len; k++)
			fprintf(out, " %u", r->set.tests[k]);
		fputs("\n", out);
	}
	fclose(out);
	return text;
}

static const struct plan_ask ask = { .seeds = 5 };
static const struct campaign_setup setup = {
	.ask = &ask, .facts = { .lanes = 1 }, .shrink = true, .now_ms = now_ms
};

/* The whole of it, cut short every `step` orders; 0: never. */
static char *campaign_of(struct world *w, unsigned lanes, uint64_t random, size_t step)
{
	for (;;) {
		cleanup(campaign_done) struct campaign c;
		campaign_init(&c, &setup);
		for (size_t i = 0; i < w->ledger.len; i++)
			hear(&c, w->ledger.at[i]);
		size_t before = w->ran;
		drive(w, &c, lanes, random++, step ? step : SIZE_MAX);
		if (!step || w->ran - before < step)
			return result_of(&c);
	}
}

static void world_done(struct world *w)
{
	strv_done(&w->ledger);
}

static struct world made(uint32_t tests)
{
	struct world w = { .tests = tests };
	return w;
}

/* victim: fails after the chain; brittle: needs it. */
static void depends(struct world *w, uint32_t test, bool brittle, unsigned len, const uint32_t *chain)
{
	struct sim *s = &w->sims[w->len++];
	*s = (struct sim){ .tests = w->tests, .test = test, .brittle = brittle, .chains_len = 1 };
	s->chains[0].len = len;
	for (unsigned i = 0; i < len; i++)
		s->chains[0].at[i] = chain[i];
}

/* Of those who suffer from t20 two fail in reverse; the third runs behind a cleaner everywhere. */
static struct world hiding(void)
{
	static const uint32_t victims[] = { 15, 16, 3 };
	struct world w = made(30);
	for (size_t i = 0; i < countof(victims); i++) {
		depends(&w, victims[i], false, 1, (uint32_t[]){ 20 });
		struct sim *s = &w.sims[i];
		for (uint32_t test = 8; test < w.tests; test++)
			if (test < 15 || test > 20)
				s->chains[0].cleaners[s->chains[0].cleaners_len++] = test;
	}
	return w;
}

static struct world suite(int n)
{
	if (n == 3)
		return hiding();
	struct world w = made(n == 2 ? 60 : 30);
	if (n == 0)
		return w;
	depends(&w, 3, false, 1, (uint32_t[]){ 20 });
	depends(&w, 4, false, 1, (uint32_t[]){ 20 });
	depends(&w, 9, true, 1, (uint32_t[]){ 5 });
	if (n == 1)
		return w;
	depends(&w, 12, false, 2, (uint32_t[]){ 40, 31 });
	depends(&w, 50, true, 4, (uint32_t[]){ 10, 11, 12, 13 });
	return w;
}

static int victims_in(const char *result)
{
	int n = 0;
	for (; (result = strstr(result, "victim found ")); result++)
		n += text_starts(result + strcspn(result, ":"), ": 20\n");
	return n;
}

static void test_found(void)
{
	cleanup(world_done) struct world w = suite(1);
	cleanup_free char *result = campaign_of(&w, 1, 1, 0);
	tap_ok(strstr(result, "victim found 3/3: 20\n") && strstr(result, "brittle found 3/3: 5\n"),
	       "the polluter and the setter are found");
	size_t asked = w.ran;
	cleanup_free char *again = campaign_of(&w, 1, 1, 0);
	tap_ok(text_eq(result, again) && w.ran == asked,
	       "what stands in the ledger is not run again");

	cleanup(world_done) struct world hides = suite(3);
	cleanup_free char *sure = campaign_of(&hides, 3, 1, 0);
	tap_ok(victims_in(sure) == 3, "who is hidden by cleaners is found in the wave");
	tap_ok(strstr(sure, "\"w") != NULL, "which is where it failed first");

	cleanup(world_done) struct world clean = suite(0);
	cleanup_free char *none = campaign_of(&clean, 2, 1, 0);
	tap_ok(!strstr(none, "FH"), "of a clean suite nothing is said");
}

static void test_the_same(void)
{
	for (int n = 1; n <= 3; n++) {
		cleanup(world_done) struct world w = suite(n);
		cleanup_free char *want = campaign_of(&w, 1, 1, 0);
		for (unsigned lanes = 2; lanes <= LANES; lanes++) {
			cleanup(world_done) struct world other = suite(n);
			cleanup_free char *is = campaign_of(&other, lanes, lanes, 0);
			tap_ok(text_eq(is, want) && other.ran == w.ran,
			       "suite %d, %u lanes: the same", n, lanes);
		}
		static const size_t steps[] = { 1, 2, 3, 5, 11, 23, 40 };
		for (size_t i = 0; i < countof(steps); i++) {
			cleanup(world_done) struct world cut = suite(n);
			cleanup_free char *is =
				campaign_of(&cut, 1 + (unsigned)i % LANES, i, steps[i]);
			tap_ok(text_eq(is, want), "suite %d, cut short every %zu orders: the same",
			       n, steps[i]);
		}
	}
}

/* With confirmations and controls, or without, as of a run that went on without them. */
static char *recalled(const struct world *w, bool confirmed)
{
	cleanup(campaign_done) struct campaign c;
	struct err e = ERR_NULL;
	campaign_init(&c, &setup);
	for (size_t i = 0; i < w->ledger.len; i++)
		if (confirmed || !strchr(w->ledger.at[i], '+'))
			hear(&c, w->ledger.at[i]);
	tap_ok(campaign_recall(&c, &e) == 0, "a run is read back: %s", e.text);
	return result_of(&c);
}

static void test_recall(void)
{
	cleanup(world_done) struct world w = suite(1);
	cleanup_free char *want = campaign_of(&w, 1, 1, 0);
	cleanup_free char *is = recalled(&w, true);
	tap_ok(text_eq(is, want), "it finds the same");
	cleanup_free char *less = recalled(&w, false);
	tap_ok(strstr(less, "victim found 3/3: 20\n") && strstr(less, "brittle found 3/3: 5\n"),
	       "its sets, too, where nothing was confirmed");
}

static int64_t late(void)
{
	return 1000000;
}

/* Orders that the budget leaves no time for are not begun; with more of it they are. */
static void test_budget(void)
{
	static const struct plan_ask brief = { .seeds = 5, .budget_ms = 1 };
	struct campaign_setup short_of_time = setup;
	short_of_time.ask = &brief;
	cleanup(world_done) struct world w = suite(1);
	{
		cleanup(campaign_done) struct campaign c;
		campaign_init(&c, &short_of_time);
		short_of_time.now_ms = late;
		drive(&w, &c, 2, 1, SIZE_MAX);
		tap_ok(c.budget_spent && w.ran == 0, "a budget that is spent: nothing is begun");
	}
	cleanup_free char *is = campaign_of(&w, 1, 1, 0);
	tap_ok(strstr(is, "victim found 3/3: 20\n") != NULL, "and all of it later");
}

/* ---- tests that fail as they like ---- */

static size_t told_of_coins(struct world *w, const struct campaign_setup *with)
{
	cleanup(campaign_done) struct campaign c;
	cleanup(findings_done) struct findings f = FINDINGS_NULL;
	struct err e = ERR_NULL;
	size_t told = 0;
	campaign_init(&c, with);
	drive(w, &c, 1, 1, SIZE_MAX);
	if (campaign_judge(&c, &e) || findings_make(&c.classes, c.shrink, &f))
		tap_ok(false, "it is judged: %s", e.text);
	for (size_t i = 0; i < f.len; i++)
		told += order_class(&c.classes.tests[f.at[i].test].facts) != CLASS_N &&
			f.at[i].test < w->coins;
	return told;
}

/* Of those that fail in so many of 100 runs: how many are said to depend on order? */
static void test_coins(const struct campaign_setup *with, const char *name)
{
	enum { WORLDS = 10, COINS = 10, TESTS = 20 };
	const char *more = getenv("COIN_WORLDS");
	unsigned worlds = more ? (unsigned)strtoul(more, NULL, 10) : WORLDS;
	size_t all = 0;
	size_t coins = 0;
	for (unsigned percent = 10; percent <= 90; percent += 10) {
		size_t told = 0;
		for (unsigned i = 0; i < worlds; i++) {
			cleanup(world_done) struct world w = {
				.tests = TESTS, .coins = COINS, .percent = percent, .luck = i
			};
			told += told_of_coins(&w, with);
		}
		printf("# %s, %u %%: %zu of %u\n", name, percent, told, worlds * COINS);
		all += told;
		coins += worlds * COINS;
	}
	tap_ok(all * 100 < coins, "%s: %zu of %zu coins are told", name, all, coins);
}

int main(void)
{
	test_found();
	test_the_same();
	test_recall();
	test_budget();
	struct campaign_setup unsearched = setup;
	unsearched.shrink = false;
	static const struct plan_ask usual = { .seeds = 20 };
	struct campaign_setup many = setup;
	many.ask = &usual;
	test_coins(&setup, "5 seeds");
	test_coins(&many, "20 seeds");
	test_coins(&unsearched, "5 seeds, no searches");
	return tap_done();
}
