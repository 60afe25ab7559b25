#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runner/plan/given.h"
#include "runner/plan/plan.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/tap.h"

#define TESTS_MAX 10000

/* A suite of n tests, ten a file. */
struct suite {
	struct roster roster;
	uint32_t tests[TESTS_MAX];
	double seconds[TESTS_MAX];
	struct plan_facts facts;
};

static void suite_make(struct suite *s, size_t n, double seconds)
{
	*s = (struct suite){ .roster = ROSTER_NULL };
	for (size_t i = 0; i < n; i++) {
		char id[64];
		snprintf(id, sizeof(id), "tests/test_%zu.py::test_%zu", i / 10, i);
		roster_add(&s->roster, id, &s->tests[i]);
		s->seconds[i] = 0.5 * seconds / (double)n;
	}
	s->facts = (struct plan_facts){ .tests = s->tests,
					.tests_len = n,
					.test_seconds = s->seconds,
					.seconds = seconds,
					.lanes = 2 };
}

static void suite_done(struct suite *s)
{
	roster_done(&s->roster);
}

/* Names of orders, those of a row told by its ends: "canonical reverse s1..s3". */
static char *names_of(const struct plan *p, char *text, size_t size)
{
	size_t len = 0;
	text[0] = '\0';
	for (size_t i = 0; i < p->len && len < size; i++) {
		const char *name = p->orders[i].name;
		size_t stem = strcspn(name, "0123456789");
		size_t j = i;
		while (name[stem] && j + 1 < p->len &&
		       strcspn(p->orders[j + 1].name, "0123456789") == stem &&
		       !strncmp(p->orders[j + 1].name, name, stem) &&
		       strtoull(p->orders[j + 1].name + stem, NULL, 10) ==
			       strtoull(p->orders[j].name + stem, NULL, 10) + 1)
			j++;
		len += (size_t)snprintf(text + len, size - len, "%s%s", i ? " " : "", name);
		if (j > i)
			len += (size_t)snprintf(text + len, size - len, "..%s", p->orders[j].name);
		i = j;
	}
	return text;
}

/* Each order is made of the suite's tests, each once; alone ones are of one. */
static bool is_sound(const struct plan *p, const struct suite *s)
{
	static bool seen[TESTS_MAX];
	for (size_t i = 0; i < p->len; i++) {
		const struct order *o = &p->orders[i];
		if (o->role != ROLE_SWEEP || (o->as_collected && o->tests_len) ||
		    (!o->as_collected && !o->tests_len) ||
		    (o->view == VIEW_ISOLATED && o->tests_len != 1))
			return false;
		memset(seen, 0, sizeof(seen));
		for (size_t j = 0; j < o->tests_len; j++) {
			if (o->tests[j] >= s->facts.tests_len || seen[o->tests[j]])
				return false;
			seen[o->tests[j]] = true;
		}
	}
	return true;
}

static bool says(const struct strv *notes, const char *piece)
{
	for (size_t i = 0; i < notes->len; i++)
		if (strstr(notes->at[i], piece))
			return true;
	return false;
}

#define LONG 100 /* seconds of a canonical run */

static const struct {
	const char *what;
	size_t tests;
	double seconds;
	struct plan_ask ask;
	const char *names;
	size_t random;
	size_t more;
	bool isolate_later;
	const char *says; /* a piece of a note; NULL: there is none */
} plans[] = {
	{ "default", 40, 5, { 0 }, "canonical reverse s1..s3 canonical-2 s4..s20 alone-0..alone-39", 20 },
	{ "default, at the limit",
	  300,
	  5,
	  { 0 },
	  "canonical reverse s1..s3 canonical-2 s4..s20 alone-0..alone-299",
	  20 },
	{ "default, many tests",
	  301,
	  5,
	  { 0 },
	  "canonical reverse s1..s3 canonical-2 s4..s20",
	  20,
	  0,
	  true,
	  "of 301 tests only those that vary, or are suspected of a leak, are run alone" },
	{ "default, long",
	  40,
	  LONG,
	  { 0 },
	  "canonical reverse s1..s3",
	  3,
	  0,
	  true,
	  "takes 100 s, so the plan is short: canonical again, 17 random orders and each test alone "
	  "are left out. --profile nightly" },
	{ "long, with a budget",
	  40,
	  LONG,
	  { .budget_ms = 60000 },
	  "canonical reverse s1..s3 canonical-2 s4..s20 alone-0..alone-39",
	  20 },
	{ "long, with a profile",
	  40,
	  LONG,
	  { .profile = PLAN_RELEASE, .isolated = PLAN_ISOLATED_NONE },
	  "canonical reverse s1..s3 canonical-2 s4..s100",
	  100 },
	{ "long, with seeds",
	  40,
	  LONG,
	  { .seeds = 5, .isolated = PLAN_ISOLATED_NONE },
	  "canonical reverse s1..s3 canonical-2 s4..s5",
	  5 },
	{ "few",
	  9,
	  1,
	  { 0 },
	  "canonical reverse s1..s3 canonical-2 pairs-1..pairs-10 s4..s10 alone-0..alone-8",
	  10,
	  0,
	  false,
	  "the suite is small (9 tests): a bound from random orders means little" },
	{ "even fewer", 2, 1, { 0 }, "canonical reverse canonical-2 alone-0..alone-1", 0, 0, false, "means little" },
	{ "one", 1, 1, { 0 }, "canonical canonical-2 alone-0" },
	{ "none", 0, 0, { 0 }, "" },
	{ "few, with seeds",
	  9,
	  1,
	  { .seeds = 4, .isolated = PLAN_ISOLATED_NONE },
	  "canonical reverse s1..s3 canonical-2 s4",
	  4,
	  0,
	  false,
	  "means little" },
	{ "pr",
	  40,
	  5,
	  { .profile = PLAN_PR },
	  "canonical reverse s1..s3 canonical-2",
	  3,
	  17,
	  true,
	  "17 more random orders are run when something shows in the first 3" },
	{ "pr, with seeds",
	  40,
	  5,
	  { .profile = PLAN_PR, .seeds = 4 },
	  "canonical reverse s1..s3 canonical-2 s4",
	  4,
	  0,
	  true },
	{ "nightly",
	  301,
	  5,
	  { .profile = PLAN_NIGHTLY },
	  "canonical reverse s1..s3 canonical-2 s4..s20 alone-0..alone-300",
	  20 },
	{ "critical",
	  301,
	  5,
	  { .profile = PLAN_CRITICAL },
	  "canonical reverse s1..s3 canonical-2 s4..s300",
	  300,
	  0,
	  true,
	  "only those that vary" },
	{ "a bound",
	  40,
	  5,
	  { .bound = 0.03, .isolated = PLAN_ISOLATED_VARIED },
	  "canonical reverse s1..s3 canonical-2 s4..s99",
	  99,
	  0,
	  true },
	{ "seeds by name",
	  40,
	  5,
	  { .named = { (char *[]){ (char[]){ "17" }, (char[]){ "9007199254740991" } }, 2, 2 },
	    .isolated = PLAN_ISOLATED_NONE },
	  "canonical reverse s17 s9007199254740991 canonical-2",
	  2 },
	{ "python",
	  40,
	  5,
	  { .shuffle = PLAN_SHUFFLE_PYTHON, .seeds = 4, .isolated = PLAN_ISOLATED_NONE },
	  "canonical reverse py1..py3 canonical-2 py4",
	  4 },
	{ "modules",
	  40,
	  5,
	  { .shuffle = PLAN_SHUFFLE_MODULES, .seeds = 3, .isolated = PLAN_ISOLATED_NONE },
	  "canonical reverse mod1..mod3 canonical-2",
	  3,
	  0,
	  false,
	  "orders of shuffle-modules are some of all orders" },
	{ "classes",
	  40,
	  5,
	  { .shuffle = PLAN_SHUFFLE_CLASSES, .seeds = 1, .isolated = PLAN_ISOLATED_NONE },
	  "canonical reverse cls1 canonical-2",
	  1,
	  0,
	  false,
	  "some of all orders" },
	{ "shuffle",
	  9,
	  5,
	  { .shuffle = PLAN_SHUFFLE, .isolated = PLAN_ISOLATED_NONE },
	  "canonical reverse s1..s3 canonical-2 s4..s20",
	  20,
	  0,
	  false,
	  "means little" },
	{ "pairs",
	  22,
	  5,
	  { .shuffle = PLAN_SHUFFLE_PAIRS, .isolated = PLAN_ISOLATED_NONE },
	  "canonical reverse canonical-2 pairs-1..pairs-22",
	  0,
	  0,
	  false,
	  "each test runs right behind each other one once, in 22 orders of pairs" },
	{ "some pairs",
	  22,
	  5,
	  { .shuffle = PLAN_SHUFFLE_PAIRS, .seeds = 5, .isolated = PLAN_ISOLATED_NONE },
	  "canonical reverse canonical-2 pairs-1..pairs-5",
	  0,
	  0,
	  false,
	  "5 of the 22 orders of pairs" },
	{ "reverse", 40, 5, { .shuffle = PLAN_SHUFFLE_REVERSE }, "canonical reverse canonical-2", 0, 0, true },
	{ "canonical", 40, 5, { .shuffle = PLAN_SHUFFLE_CANONICAL }, "canonical canonical-2", 0, 0, true },
	{ "views",
	  40,
	  5,
	  { .seeds = 4, .repeated = true, .parallel = true, .isolated = PLAN_ISOLATED_NONE },
	  "canonical reverse s1..s3 canonical-2 repeated s4",
	  4,
	  0,
	  false,
	  "parallel is left out" },
	{ "dimensions",
	  40,
	  5,
	  { .seeds = 1,
	    .vary = { (char *[]){ (char[]){ "tz" }, (char[]){ "hashseed" } }, 2, 2 },
	    .isolated = PLAN_ISOLATED_NONE },
	  "canonical reverse s1 canonical-2 vary-hashseed-1..vary-hashseed-2 vary-tz-EST5EDT "
	  "vary-tz-Pacific-Kiritimati",
	  1 },
	{ "serial",
	  40,
	  5,
	  { .seeds = 1,
	    .serial = { .at = { { (char[]){ "tests/test_0.py::*" }, (char[]){ "one database" } },
				{ (char[]){ "none*" }, (char[]){ "x" } } },
			.len = 2 } },
	  "canonical reverse s1 canonical-2 alone-10..alone-39",
	  1,
	  0,
	  false,
	  "serial: 10 tests stay together in every order (tests/test_0.py::*): one database" },
};

static void test_plans(void)
{
	static struct suite suite;
	for (size_t i = 0; i < countof(plans); i++) {
		cleanup(plan_done) struct plan p = PLAN_NULL;
		struct err e = ERR_NULL;
		char names[512];
		suite_make(&suite, plans[i].tests, plans[i].seconds);
		int r = plan_make(&plans[i].ask, &suite.facts, &suite.roster, &p, &e);
		tap_ok(!r && text_eq(names_of(&p, names, sizeof(names)), plans[i].names),
		       "%s: %s%s", plans[i].what, names, e.text);
		tap_ok(is_sound(&p, &suite) && p.random_len == plans[i].random &&
			       p.more_len == plans[i].more &&
			       p.isolate_later == plans[i].isolate_later,
		       "%s: %zu random ones, %zu more", plans[i].what, p.random_len, p.more_len);
		tap_ok(plans[i].says ? says(&p.notes, plans[i].says) : !p.notes.len, "%s: %s",
		       plans[i].what, p.notes.len ? p.notes.at[0] : "");
		suite_done(&suite);
	}
}

static const struct {
	struct plan_ask ask;
	const char *error;
} refused[] = {
	{ { .seeds = 3, .bound = 0.1 }, "--seeds, --seed and --bound exclude each other" },
	{ { .shuffle = PLAN_SHUFFLE_PAIRS, .bound = 0.1 }, "the orders of pairs are not random" },
	{ { .shuffle = PLAN_SHUFFLE_REVERSE, .seeds = 2 }, "there is one order of reverse" },
	{ { .order = (char[]){ "x" }, .seeds = 2 }, "--order excludes --seeds" },
	{ { .order = (char[]){ "x" }, .profile = PLAN_PR }, "--order excludes --seeds" },
	{ { .order = (char[]){ "x" }, .select = (char[]){ "touched" } }, "--select and --order" },
	{ { .select = (char[]){ "touched" }, .shuffle = PLAN_SHUFFLE_NATIVE },
	  "--select and --shuffle" },
	{ { .bound = 0.0001 }, "a bound of 0.01 % takes 29956 orders; there can be 10000" },
	{ { .shuffle = PLAN_SHUFFLE_NATIVE },
	  "--shuffle native: the suite has no shuffle of its own" },
	{ { .seeds = 10000 }, "the plan is too large: there is room for 2516 orders of 10000 tests" },
};

static void test_refused(void)
{
	static struct suite suite;
	suite_make(&suite, TESTS_MAX, 5);
	for (size_t i = 0; i < countof(refused); i++) {
		cleanup(plan_done) struct plan p = PLAN_NULL;
		struct err e = ERR_NULL;
		int r = plan_make(&refused[i].ask, &suite.facts, &suite.roster, &p, &e);
		tap_ok(r < 0 && e.code == -r && e.status == STATUS_USAGE &&
			       text_starts(e.text, refused[i].error),
		       "%s (%s)", e.text, e.hint);
	}
	suite_done(&suite);
}

static void test_native(void)
{
	static struct suite suite;
	cleanup(plan_done) struct plan p = PLAN_NULL;
	struct err e = ERR_NULL;
	const struct plan_ask ask = { .shuffle = PLAN_SHUFFLE_NATIVE,
				      .seeds = 2,
				      .isolated = PLAN_ISOLATED_NONE,
				      .parallel = true };
	char names[128];
	suite_make(&suite, 20, 1);
	suite.facts.native_known = suite.facts.parallel_known = true;
	int r = plan_make(&ask, &suite.facts, &suite.roster, &p, &e);
	tap_ok(!r && text_eq(names_of(&p, names, sizeof(names)),
			     "canonical reverse native1..native2 canonical-2 parallel"),
	       "%s", names);
	tap_ok(p.orders[2].as_collected && p.orders[2].seed == 1 &&
		       text_eq(p.orders[2].shuffle, "native"),
	       "the framework is given the seed");
	suite_done(&suite);
}

static bool is_not_turkish(const char *vary)
{
	return !strstr(vary, "tr_TR");
}

static void test_locales(void)
{
	static struct suite suite;
	cleanup(plan_done) struct plan p = PLAN_NULL;
	struct err e = ERR_NULL;
	const struct plan_ask ask = { .shuffle = PLAN_SHUFFLE_CANONICAL,
				      .vary = { (char *[]){ (char[]){ "locale" } }, 1, 1 } };
	char names[128];
	suite_make(&suite, 20, 1);
	suite.facts.can_vary = is_not_turkish;
	int r = plan_make(&ask, &suite.facts, &suite.roster, &p, &e);
	tap_ok(!r && text_eq(names_of(&p, names, sizeof(names)), "canonical canonical-2 vary-locale-C") &&
		       strv_has(&p.notes, "--vary locale: tr_TR.UTF-8 is not there, and left out"),
	       "a locale that is not there is left out: %s", names);
	suite_done(&suite);
}

static void test_selected(void)
{
	static struct suite suite;
	cleanup(strv_done) struct strv touched = STRV_NULL;
	cleanup(plan_done) struct plan p = PLAN_NULL;
	cleanup(plan_done) struct plan none = PLAN_NULL;
	struct err e = ERR_NULL;
	const struct plan_ask ask = { .select = (char[]){ "touched:main" }, .seeds = 4 };
	char names[256];
	suite_make(&suite, 100, 10);
	suite.facts.touched = &touched;
	int r = plan_make(&ask, &suite.facts, &suite.roster, &none, &e);
	tap_ok(!r && !none.len && says(&none.notes, "no test lies in a file that was changed"),
	       "nothing was touched");
	strv_add(&touched, "tests/test_3.py");
	strv_add(&touched, "tests/test_3");
	strv_add(&touched, "README.md");
	r = plan_make(&ask, &suite.facts, &suite.roster, &p, &e);
	tap_ok(!r && text_eq(names_of(&p, names, sizeof(names)),
			     "canonical reverse s1..s3 canonical-2 s4 alone-30..alone-39"),
	       "%s", names);
	bool some = says(&p.notes, "--select touched:main: 10 of 100 tests");
	for (size_t i = 0; i < p.len; i++) {
		const struct order *o = &p.orders[i];
		some &= !o->as_collected && (o->view == VIEW_ISOLATED || o->tests_len == 10);
		for (size_t j = 0; j < o->tests_len; j++)
			some &= o->tests[j] / 10 == 3;
	}
	tap_ok(some, "every order holds the touched tests alone");
	suite_done(&suite);
}

static void test_given(void)
{
	static const char text[] = "[\"tests/test_2.py::test_21\", \"tests/test_0.py::test_3\"]";
	static struct suite suite;
	cleanup(given_done) struct given given = GIVEN_NULL;
	cleanup(plan_done) struct plan p = PLAN_NULL;
	struct err e = ERR_NULL;
	const struct plan_ask ask = { .order = (char[]){ "o.json" } };
	char names[128];
	suite_make(&suite, 30, LONG);
	int r = given_parse("o.json", text, sizeof(text) - 1, &given, &e);
	suite.facts.given = &given;
	r = r ? r : plan_make(&ask, &suite.facts, &suite.roster, &p, &e);
	tap_ok(!r && text_eq(names_of(&p, names, sizeof(names)), "canonical given canonical-2") &&
		       p.isolate_later,
	       "%s%s", names, e.text);
	const uint32_t *tests = p.len == 3 ? p.orders[1].tests : NULL;
	tap_ok(tests && p.orders[1].tests_len == 2 && tests[0] == 21 && tests[1] == 3 &&
		       says(&p.notes, "o.json holds 2 of 30 tests"),
	       "the given order");
	suite_done(&suite);
}

static void test_parts(void)
{
	static struct suite suite;
	cleanup(plan_done) struct plan more = PLAN_NULL;
	cleanup(plan_done) struct plan none = PLAN_NULL;
	cleanup(plan_done) struct plan alone = PLAN_NULL;
	struct err e = ERR_NULL;
	const struct plan_ask pr = {
		.profile = PLAN_PR,
		.serial = { .at = { { (char[]){ "*::test_7" }, (char[]){ "x" } } }, .len = 1 }
	};
	const struct plan_ask other = { 0 };
	const uint32_t varied[] = { 12, 7, 3 };
	char names[128];
	suite_make(&suite, 40, 10);
	int r = plan_more(&pr, &suite.facts, &suite.roster, &more, &e);
	tap_ok(!r && text_eq(names_of(&more, names, sizeof(names)), "s4..s20") &&
		       more.random_len == 17,
	       "the second part of pr: %s", names);
	r = plan_more(&other, &suite.facts, &suite.roster, &none, &e);
	tap_ok(!r && !none.len, "other plans have none");
	r = plan_isolated(&pr, &suite.facts, &suite.roster, varied, countof(varied), &alone, &e);
	tap_ok(!r && text_eq(names_of(&alone, names, sizeof(names)), "alone-12 alone-3") &&
		       says(&alone.notes, "serial tests are not run alone: 1"),
	       "what varied: %s", names);
	tap_ok(alone.seconds[0] > 5.12 && alone.seconds[0] < 5.13, "one alone takes %.3f s",
	       alone.seconds[0]);
	suite_done(&suite);
}

static void test_unrun(void)
{
	static struct suite suite;
	cleanup(plan_done) struct plan p = PLAN_NULL;
	cleanup(strv_done) struct strv notes = STRV_NULL;
	struct err e = ERR_NULL;
	const struct plan_ask ask = { .isolated = PLAN_ISOLATED_NONE };
	bool ran[23] = { false };
	suite_make(&suite, 40, 10);
	int r = plan_make(&ask, &suite.facts, &suite.roster, &p, &e);
	memset(ran, true, sizeof(ran));
	tap_ok(!r && p.len == countof(ran) && !plan_unrun(&p, ran, "x", &notes) && !notes.len,
	       "all was run");
	ran[22] = ran[21] = false;
	plan_unrun(&p, ran, "the budget of 20m is spent", &notes);
	memset(ran + 5, false, sizeof(ran) - 5);
	plan_unrun(&p, ran, "interrupted", &notes);
	tap_ok(notes.len == 2 && text_eq(notes.at[0],
					 "the budget of 20m is spent: 2 of 23 orders were not run "
					 "(s19, s20)"),
	       "%s", notes.at[0]);
	tap_ok(text_eq(notes.at[1], "interrupted: 18 of 23 orders were not run (canonical-2, s4, s5 and "
				    "15 more)"),
	       "%s", notes.at[1]);
	suite_done(&suite);
}

static void test_same(void)
{
	static struct suite suite;
	cleanup(plan_done) struct plan a = PLAN_NULL;
	cleanup(plan_done) struct plan b = PLAN_NULL;
	const struct plan_ask ask = { .seeds = 64 };
	struct err e = ERR_NULL;
	bool same;
	suite_make(&suite, TESTS_MAX, 5);
	same = !plan_make(&ask, &suite.facts, &suite.roster, &a, &e) &&
	       !plan_make(&ask, &suite.facts, &suite.roster, &b, &e) && a.len == b.len &&
	       a.len == 67;
	for (size_t i = 0; i < a.len && same; i++)
		same = text_eq(a.orders[i].name, b.orders[i].name) &&
		       a.orders[i].tests_len == b.orders[i].tests_len &&
		       (!a.orders[i].tests_len ||
			!memcmp(a.orders[i].tests, b.orders[i].tests, 4 * a.orders[i].tests_len));
	tap_ok(same && is_sound(&a, &suite), "64 orders of %d tests, twice the same", TESTS_MAX);
	suite_done(&suite);
}

static void walk_faults(void)
{
	static struct suite suite;
	const struct plan_ask ask = { .seeds = 2,
				      .isolated = PLAN_ISOLATED_NONE,
				      .repeated = true,
				      .parallel = true,
				      .vary = { (char *[]){ (char[]){ "umask" } }, 1, 1 } };
	suite_make(&suite, 10, 5);
	for (int n = 1; fault_walk_on(n); n++) {
		cleanup(plan_done) struct plan p = PLAN_NULL;
		struct err e = ERR_NULL;
		int r = plan_make(&ask, &suite.facts, &suite.roster, &p, &e);
		tap_ok(!fault_walk_hit() || r == -ENOMEM, "call %d fails: %s", n, e.text);
	}
	suite_done(&suite);
}

int main(void)
{
	test_plans();
	test_refused();
	test_native();
	test_locales();
	test_selected();
	test_given();
	test_parts();
	test_unrun();
	test_same();
	walk_faults();
	return tap_done();
}
