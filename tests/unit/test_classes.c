#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/judge/classes.h"
#include "runner/judge/history.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/plays.h"
#include "tests/lib/tap.h"

/* ---- the precedence ---- */

#define KNOWN     .alone = OUTCOME_PASSED, .canonical = OUTCOME_PASSED
#define MIXED     .passed = 3, .failed = 1, .firm = true
#define ALL_MARKS 0xff

static const struct {
	const char *name;
	struct class_facts facts;
	enum class class;
} precedence[] = {
	/* each row by itself */
	{ "absent", { KNOWN, .passed = 3, .absent = 1 }, CLASS_ABSENT },
	{ "never seen", { .alone = OUTCOME_N, .canonical = OUTCOME_N }, CLASS_ABSENT },
	{ "stable_fail", { .failed = 3 }, CLASS_STABLE_FAIL },
	{ "stable_fail, once skipped", { .failed = 3, .untold = 1 }, CLASS_STABLE_FAIL },
	{ "stable_skip", { .untold = 3 }, CLASS_STABLE_SKIP },
	{ "nondeterministic: one order, two sides",
	  { KNOWN, MIXED, .disagrees = true },
	  CLASS_NONDETERMINISTIC },
	{ "nondeterministic: nothing repeats",
	  { KNOWN, .passed = 3, .failed = 1 },
	  CLASS_NONDETERMINISTIC },
	{ "nondeterministic: shrink could not repeat it",
	  { KNOWN, MIXED, .marks = MARK_UNREPEATED },
	  CLASS_NONDETERMINISTIC },
	{ "damage", { KNOWN, .passed = 3, .marks = MARK_DAMAGE }, CLASS_DAMAGE },
	{ "fixture_mutation", { KNOWN, .passed = 3, .marks = MARK_FIXTURE }, CLASS_FIXTURE_MUTATION },
	{ "victim", { KNOWN, MIXED }, CLASS_VICTIM },
	{ "victim in the canonical order",
	  { .alone = OUTCOME_PASSED, .canonical = OUTCOME_FAILED, MIXED },
	  CLASS_VICTIM },
	{ "victim that is skipped, not failed",
	  { KNOWN, .passed = 3, .untold = 2, .firm = true },
	  CLASS_VICTIM },
	{ "victim: alone xfailed",
	  { .alone = OUTCOME_XFAILED, .canonical = OUTCOME_PASSED, MIXED },
	  CLASS_VICTIM },
	{ "order_sensitive",
	  { .alone = OUTCOME_N, .canonical = OUTCOME_PASSED, MIXED },
	  CLASS_ORDER_SENSITIVE },
	{ "order_sensitive: passes only after others",
	  { .alone = OUTCOME_FAILED, .canonical = OUTCOME_FAILED, MIXED },
	  CLASS_ORDER_SENSITIVE },
	{ "leaks_across_workers",
	  { KNOWN, .passed = 3, .parallel_red = true },
	  CLASS_LEAKS_ACROSS_WORKERS },
	{ "brittle", { .alone = OUTCOME_FAILED, .canonical = OUTCOME_PASSED, MIXED }, CLASS_BRITTLE },
	{ "brittle: alone skipped",
	  { .alone = OUTCOME_SKIPPED, .canonical = OUTCOME_PASSED, .passed = 3, .untold = 3, .firm = true },
	  CLASS_BRITTLE },
	{ "brittle: alone xpassed",
	  { .alone = OUTCOME_XPASSED, .canonical = OUTCOME_XFAILED, .passed = 3, .untold = 3, .firm = true },
	  CLASS_BRITTLE },
	{ "repeat_sensitive", { KNOWN, .passed = 3, .again_red = true }, CLASS_REPEAT_SENSITIVE },
	{ "polluter", { KNOWN, .passed = 3, .marks = MARK_HARMS }, CLASS_POLLUTER },
	{ "leaky", { KNOWN, .passed = 3, .marks = MARK_LEAKS }, CLASS_LEAKY },
	{ "environment_sensitive: varied",
	  { KNOWN, .passed = 3, .varied_differs = true },
	  CLASS_ENVIRONMENT_SENSITIVE },
	{ "environment_sensitive: host",
	  { KNOWN, .passed = 3, .marks = MARK_HOST },
	  CLASS_ENVIRONMENT_SENSITIVE },
	{ "stable_pass", { KNOWN, .passed = 3 }, CLASS_STABLE_PASS },
	{ "a cleaner is no finding", { KNOWN, .passed = 3, .marks = MARK_CLEANS }, CLASS_STABLE_PASS },
	/* pairs: the first row wins */
	{ "absent before stable_fail", { .failed = 3, .absent = 1 }, CLASS_ABSENT },
	{ "absent before all",
	  { KNOWN, MIXED, .absent = 1, .disagrees = true, .parallel_red = true, .again_red = true,
	    .varied_differs = true, .marks = ALL_MARKS },
	  CLASS_ABSENT },
	{ "stable_fail before all below",
	  { .failed = 3,
	    .disagrees = true,
	    .parallel_red = true,
	    .again_red = true,
	    .varied_differs = true,
	    .marks = ALL_MARKS },
	  CLASS_STABLE_FAIL },
	{ "stable_skip before damage", { .untold = 3, .marks = MARK_DAMAGE }, CLASS_STABLE_SKIP },
	{ "nondeterministic before damage",
	  { KNOWN, MIXED, .disagrees = true, .marks = MARK_DAMAGE },
	  CLASS_NONDETERMINISTIC },
	{ "damage before fixture_mutation",
	  { KNOWN, .passed = 3, .marks = MARK_DAMAGE | MARK_FIXTURE },
	  CLASS_DAMAGE },
	{ "damage before victim", { KNOWN, MIXED, .marks = MARK_DAMAGE }, CLASS_DAMAGE },
	{ "fixture_mutation before victim",
	  { KNOWN, MIXED, .marks = MARK_FIXTURE },
	  CLASS_FIXTURE_MUTATION },
	{ "victim before leaks_across_workers", { KNOWN, MIXED, .parallel_red = true }, CLASS_VICTIM },
	{ "order_sensitive before repeat_sensitive",
	  { .alone = OUTCOME_N, .canonical = OUTCOME_PASSED, MIXED, .again_red = true },
	  CLASS_ORDER_SENSITIVE },
	{ "leaks_across_workers before repeat_sensitive",
	  { KNOWN, .passed = 3, .parallel_red = true, .again_red = true },
	  CLASS_LEAKS_ACROSS_WORKERS },
	{ "brittle, though parallel red",
	  { .alone = OUTCOME_FAILED, .canonical = OUTCOME_PASSED, MIXED, .parallel_red = true },
	  CLASS_BRITTLE },
	{ "brittle before polluter",
	  { .alone = OUTCOME_FAILED, .canonical = OUTCOME_PASSED, MIXED, .marks = MARK_HARMS },
	  CLASS_BRITTLE },
	{ "repeat_sensitive before polluter",
	  { KNOWN, .passed = 3, .again_red = true, .marks = MARK_HARMS },
	  CLASS_REPEAT_SENSITIVE },
	{ "polluter before leaky",
	  { KNOWN, .passed = 3, .marks = MARK_HARMS | MARK_LEAKS },
	  CLASS_POLLUTER },
	{ "leaky before environment_sensitive",
	  { KNOWN, .passed = 3, .marks = MARK_LEAKS, .varied_differs = true },
	  CLASS_LEAKY },
};

static void test_precedence(void)
{
	bool met[CLASS_N] = { false };
	for (size_t i = 0; i < countof(precedence); i++) {
		enum class class = class_of(&precedence[i].facts);
		met[class] = true;
		tap_ok(class == precedence[i].class, "%s: %s", precedence[i].name,
		       class_rows[class].name);
	}
	for (int i = 0; i < CLASS_N; i++)
		tap_ok(met[i] && class_find(class_rows[i].name) == (enum class)i, "%s has a row",
		       class_rows[i].name);
	tap_ok(class_find("flaky") == CLASS_N, "there is no class flaky");
}

static void test_codes(void)
{
	struct class_facts f = { .alone = OUTCOME_FAILED, .canonical = OUTCOME_FAILED, MIXED };
	tap_ok(text_eq(class_code(CLASS_ORDER_SENSITIVE, &f), "FH208"), "never hermetic");
	f.alone = OUTCOME_N;
	tap_ok(text_eq(class_code(CLASS_ORDER_SENSITIVE, &f), "FH203"), "order_sensitive");
	f.alone = OUTCOME_FAILED;
	f.canonical = OUTCOME_PASSED;
	tap_ok(text_eq(class_code(CLASS_BRITTLE, &f), "FH202"), "brittle");
	tap_ok(text_eq(class_code(CLASS_NONDETERMINISTIC, &f), "FH204"), "nondeterministic");
	f.marks = MARK_EXTERNAL;
	tap_ok(text_eq(class_code(CLASS_NONDETERMINISTIC, &f), "FH210"),
	       "external service suspected");
	tap_ok(!class_code(CLASS_STABLE_PASS, &f), "stable_pass is no finding");
}

/* ---- the tables of the documents ---- */

/* A test among others in many orders, no two of them alike: what came of it in each. */
struct sweep {
	const char *source;
	const char *canonical; /* a letter a run */
	const char *shuffled;  /* a letter a seed, from 1 */
	const char *alone;     /* a letter a run */
	const char *parallel;
	unsigned marks;
	enum class class;
};

static const struct sweep sweeps[] = {
	/* the matrix of outcome vectors: all passed, none passed, mixed */
	{ "stable_pass: passed in every seed", "PP", "PPPPPPPPPPPPPPPPPPPP", "", "", 0,
	  CLASS_STABLE_PASS },
	{ "stable_fail: passed in none", "FF", "FFFFFFFFFFFFFFFFFFFF", "", "", 0, CLASS_STABLE_FAIL },
	{ "order_sensitive: mixed", "PP", "PPFPPPFPPPPPPFPPPPPP", "", "", 0, CLASS_ORDER_SENSITIVE },
	{ "what is not passed counts as not passed: errors", "PP", "PPEPPPEP", "", "", 0,
	  CLASS_ORDER_SENSITIVE },
	{ "... of teardown", "PP", "PPTPPPTP", "", "", 0, CLASS_ORDER_SENSITIVE },
	{ "... skipped", "PP", "PPSPPPSP", "", "", 0, CLASS_ORDER_SENSITIVE },
	{ "... crashed, timed out", "PP", "PPCPPPOP", "", "", 0, CLASS_ORDER_SENSITIVE },
	{ "absent in some seeds", "PP", "PPAPPPPP", "", "", 0, CLASS_ABSENT },
	{ "absent, and failing", "FF", "FFAF", "", "", 0, CLASS_ABSENT },
	/* three views: alone, canonical, shuffled */
	{ "setup-dependent: alone fails, all else passes", "PP", "PPP", "FFF", "", 0, CLASS_BRITTLE },
	{ "order-sensitive: a seed fails, canonical passes", "PP", "PFF", "P", "", 0, CLASS_VICTIM },
	{ "seed-or-patch: canonical fails", "FF", "FFF", "F", "", 0, CLASS_STABLE_FAIL },
	{ "stable", "PP", "PPP", "P", "", 0, CLASS_STABLE_PASS },
	{ "fixture-mutation", "PP", "PPP", "P", "", MARK_FIXTURE, CLASS_FIXTURE_MUTATION },
	{ "fixture-mutation wins over order-sensitive", "PP", "PFF", "P", "", MARK_FIXTURE,
	  CLASS_FIXTURE_MUTATION },
	/* default order, shuffle, xdist */
	{ "red: a functional miss", "FF", "FFF", "", "F", 0, CLASS_STABLE_FAIL },
	{ "green, red: order coupling", "PP", "FPPF", "", "", 0, CLASS_ORDER_SENSITIVE },
	{ "green, red at seed 17 alone, and once: not sure yet", "PP", "PPPPPPPPPPPPPPPPFPPP", "",
	  "", 0, CLASS_NONDETERMINISTIC },
	{ "green, green, red: a leak across processes", "PP", "PPPP", "", "F", 0,
	  CLASS_LEAKS_ACROSS_WORKERS },
	{ "green three times", "PP", "PPPP", "", "P", 0, CLASS_STABLE_PASS },
	/* solo and suite */
	{ "solo green, suite red", "FF", "FFFF", "P", "", 0, CLASS_VICTIM },
	{ "solo red, suite green", "PP", "PPPP", "FFF", "", 0, CLASS_BRITTLE },
	{ "intermittent in both", "PF", "PFPF", "PF", "", 0, CLASS_NONDETERMINISTIC },
	{ "intermittent alone", "PP", "PPPP", "PFP", "", 0, CLASS_NONDETERMINISTIC },
	{ "two or more seeds fail, the fixed order passes", "PP", "PPPFPPPPPPPPPPPPPPPPPPPPPPPFPP",
	  "", "", 0, CLASS_ORDER_SENSITIVE },
	/* what the tables leave open */
	{ "the victim of the canonical order", "FFF", "PPPP", "P", "", 0, CLASS_VICTIM },
	{ "... that failed in it twice only", "FF", "PPPP", "P", "", 0, CLASS_NONDETERMINISTIC },
	{ "brittle, shuffled before its setter, too", "PP", "PFPF", "F", "", 0, CLASS_BRITTLE },
	{ "alone red but once, all else green: not sure yet", "PP", "PPPP", "F", "", 0,
	  CLASS_NONDETERMINISTIC },
	{ "skipped unless another came before", "PP", "PPSS", "S", "", 0, CLASS_BRITTLE },
	{ "always skipped", "SS", "SSSS", "S", "", 0, CLASS_STABLE_SKIP },
	{ "expected to fail, and does", "xx", "xxxx", "x", "", 0, CLASS_STABLE_PASS },
	{ "expected to fail, and passes now and then", "xx", "xXxX", "x", "", 0, CLASS_VICTIM },
	{ "the canonical order disagrees with itself", "PF", "PPPP", "P", "", 0,
	  CLASS_NONDETERMINISTIC },
	{ "fails after another, alone and canonical too", "FF", "PFPP", "F", "", 0,
	  CLASS_ORDER_SENSITIVE },
};

/* The test "v" among six others, which stand otherwise for each n below 720. */
static void shuffled(unsigned n, char ret[32])
{
	char others[] = "abcdefg";
	size_t len = 0;
	for (unsigned left = 6; left; left--) {
		unsigned at = n % left;
		n /= left;
		ret[len++] = others[at];
		ret[len++] = ' ';
		memmove(others + at, others + at + 1, strlen(others + at));
	}
	snprintf(ret + len, 32 - len, "v");
}

static void play_one(struct history *h, const char *order, enum view view, enum role role,
		     unsigned n, int seed, char letter)
{
	char tests[32] = "v";
	char outcomes[] = "PPPPPP?";
	outcomes[6] = letter;
	if (view != VIEW_ISOLATED)
		shuffled(n, tests);
	play(h, &(struct deed){ order, tests, view == VIEW_ISOLATED ? outcomes + 6 : outcomes, view,
				role, seed, NULL, NULL, 1 });
}

static void play_sweep(struct history *h, const struct sweep *s)
{
	char name[32];
	for (unsigned i = 0; s->canonical[i]; i++) {
		snprintf(name, sizeof(name), i ? "canonical-%u" : "canonical", i + 1);
		play_one(h, name, VIEW_CANONICAL, ROLE_SWEEP, 0, 0, s->canonical[i]);
	}
	for (unsigned i = 0; s->shuffled[i]; i++) {
		snprintf(name, sizeof(name), "s%u", i + 1);
		play_one(h, name, VIEW_SHUFFLED, ROLE_SWEEP, i + 1, (int)i + 1, s->shuffled[i]);
	}
	for (unsigned i = 0; s->alone[i]; i++) {
		snprintf(name, sizeof(name), i ? "alone-6+%u" : "alone-6", i + 1);
		play_one(h, name, VIEW_ISOLATED, i ? ROLE_CONFIRM : ROLE_SWEEP, 0, 0, s->alone[i]);
	}
	if (s->parallel[0])
		play_one(h, "parallel", VIEW_PARALLEL, ROLE_SWEEP, 0, 0, s->parallel[0]);
}

static void test_sweeps(void)
{
	for (size_t i = 0; i < countof(sweeps); i++) {
		const struct sweep *s = &sweeps[i];
		cleanup(history_done) struct history h = HISTORY_NULL;
		cleanup(classes_done) struct classes c = CLASSES_NULL;
		cleanup(marks_done) struct marks marks = MARKS_NULL;
		play_sweep(&h, s);
		uint32_t v = roster_find(&h.roster, "v");
		marks_set(&marks, v, s->marks);
		int r = classes_judge(&h, &marks, true, &c);
		tap_ok(!r && c.tests[v].class == s->class && c.counts[s->class] >= 1, "%s: %s",
		       s->source, class_rows[c.tests[v].class].name);
		char vector[64];
		snprintf(vector, sizeof(vector), "%s%s%s", s->canonical, s->shuffled, s->parallel);
		tap_ok(c.columns_len == strlen(vector) &&
			       !memcmp(classes_vector(&c, v), vector, c.columns_len),
		       "  its vector is %s", vector);
		tap_ok(c.tests[v].eligible == (s->class == CLASS_STABLE_PASS), "  evidence");
		tap_ok(c.tests[roster_find(&h.roster, "a")].class == CLASS_STABLE_PASS,
		       "  and the others pass");
	}
}

/* ---- what stands beside a class ---- */

static void test_numbers(void)
{
	/* The vector of the second document, of 20 seeds. */
	static const struct sweep s = { "", "PP", "PPFPPPFPPPPPPFPPPPPP", "P", "", 0, 0 };
	cleanup(history_done) struct history h = HISTORY_NULL;
	cleanup(classes_done) struct classes c = CLASSES_NULL;
	play_sweep(&h, &s);
	classes_judge(&h, NULL, true, &c);
	const struct judged *t = &c.tests[roster_find(&h.roster, "v")];
	double score = 0;
	tap_ok(t->ran == 22 && t->bad == 3 && classes_score(t, &score) && score == 3 / 22., "score");
	tap_ok(t->random_ran == 20 && t->random_bad == 3, "random orders");
	tap_ok(h.orders[t->first_red].order.seed == 3 && t->first_bad == t->first_red,
	       "first red seed");
	tap_ok(t->class == CLASS_VICTIM && t->waits[WAIT_RED] == CLASSES_NONE &&
		       t->waits[WAIT_GREEN] == CLASSES_NONE,
	       "its class is final");
	const struct judged few = { .ran = 2, .bad = 1 };
	tap_ok(!classes_score(&few, &score), "two runs make no score");
}

static const struct judged *judge_deeds(struct history *h, struct classes *c,
					const struct deed *deeds, size_t n, const char *test)
{
	for (size_t i = 0; i < n; i++)
		play(h, &deeds[i]);
	if (classes_judge(h, NULL, true, c))
		return NULL;
	return &c->tests[roster_find(&h->roster, test)];
}

static void test_crash(void)
{
	static const struct deed deeds[] = {
		{ "canonical", "*a b c d", "PPPP", VIEW_CANONICAL, ROLE_SWEEP, .seconds = 1 },
		{ "canonical-2", "*a b c d", "PPPP", VIEW_CANONICAL, ROLE_SWEEP, .seconds = 1 },
		{ "s1", "d c a b", "PCAA", VIEW_SHUFFLED, ROLE_SWEEP, 1, .end = "crashed" },
		{ "s2", "c d b a", "OAAA", VIEW_SHUFFLED, ROLE_SWEEP, 2, .end = "crashed" },
	};
	cleanup(history_done) struct history h = HISTORY_NULL;
	cleanup(classes_done) struct classes c = CLASSES_NULL;
	const struct judged *a = judge_deeds(&h, &c, deeds, countof(deeds), "a");
	uint32_t culprit = roster_find(&h.roster, "c");
	tap_ok(a->class == CLASS_STABLE_PASS && a->absent == 2 && a->absent_after == culprit,
	       "absent behind a crash is not the test's fault");
	tap_ok(!a->eligible, "... and still no evidence");
	tap_ok(!memcmp(classes_vector(&c, roster_find(&h.roster, "a")), "PPAA", 4), "... but told");
	tap_ok(c.tests[culprit].class == CLASS_ORDER_SENSITIVE, "who crashed is");
}

static void test_vanished(void)
{
	static const struct deed deeds[] = {
		{ "canonical", "*m.py::a m.py::b n.py::c", "PPP", VIEW_CANONICAL, ROLE_SWEEP },
		{ "canonical-2", "*m.py::a n.py::c", "PP", VIEW_CANONICAL, ROLE_SWEEP },
		{ "s1", "m.py n.py::c", "eP", VIEW_SHUFFLED, ROLE_SWEEP, 1 },
		{ "s2", "*m.py n.py::c", "eP", VIEW_SHUFFLED, ROLE_SWEEP, 2 },
	};
	cleanup(history_done) struct history h = HISTORY_NULL;
	cleanup(classes_done) struct classes c = CLASSES_NULL;
	const struct judged *b = judge_deeds(&h, &c, deeds, countof(deeds), "m.py::b");
	tap_ok(b->class == CLASS_ABSENT && b->facts.absent == 1, "an id that vanished is absent");
	tap_ok(!memcmp(classes_vector(&c, roster_find(&h.roster, "m.py::b")), "PA.A", 4),
	       "who was not asked for is not absent");
	const struct judged *a = &c.tests[roster_find(&h.roster, "m.py::a")];
	uint32_t module = roster_find(&h.roster, "m.py");
	tap_ok(a->class == CLASS_STABLE_PASS && a->absent_after == module,
	       "who was not collected names its module");
	tap_ok(c.tests[module].class == CLASS_ABSENT && text_eq(c.tests[module].phase, "collect"),
	       "a module that is broken in some orders is told");
}

static void test_repeated(void)
{
	static const struct deed deeds[] = {
		{ "canonical", "a b c", "PPP", VIEW_CANONICAL, ROLE_SWEEP },
		{ "canonical-2", "a b c", "PPP", VIEW_CANONICAL, ROLE_SWEEP },
		{ "repeated", "a b c", "PPPFPF", VIEW_REPEATED, ROLE_SWEEP, .seconds = 4 },
		{ "repeated+2", "a b c", "PPPFPP", VIEW_REPEATED, ROLE_CONFIRM, .seconds = 4 },
	};
	cleanup(history_done) struct history h = HISTORY_NULL;
	cleanup(classes_done) struct classes c = CLASSES_NULL;
	const struct judged *b = judge_deeds(&h, &c, deeds, countof(deeds), "b");
	tap_ok(b->class == CLASS_REPEAT_SENSITIVE && b->waits[WAIT_RED] == 2,
	       "passes, then fails; once more");
	tap_ok(c.tests[roster_find(&h.roster, "c")].class == CLASS_NONDETERMINISTIC,
	       "only now and then");
	tap_ok(!memcmp(classes_vector(&c, roster_find(&h.roster, "b")), "PPF", 3),
	       "the vector shows the worse of two");
	cleanup(reruns_done) struct reruns open = { 0 };
	tap_ok(!classes_open(&c, &open) && open.len == 1 && open.at[0].order == 2 &&
		       open.at[0].have == 2 && open.at[0].runs == 3 && open.at[0].tests == 1,
	       "one rerun settles it");
}

static void test_varied(void)
{
	static const struct deed deeds[] = {
		{ "canonical", "a b c", "PPF", VIEW_CANONICAL, ROLE_SWEEP },
		{ "canonical-2", "a b c", "PPF", VIEW_CANONICAL, ROLE_SWEEP },
		{ "vary-tz-x", "a b c", "PFP", VIEW_CANONICAL, ROLE_SWEEP, .vary = "tz=x" },
		{ "vary-tz-y", "a b c", "PPF", VIEW_CANONICAL, ROLE_SWEEP, .vary = "tz=y" },
	};
	cleanup(history_done) struct history h = HISTORY_NULL;
	cleanup(classes_done) struct classes c = CLASSES_NULL;
	const struct judged *b = judge_deeds(&h, &c, deeds, countof(deeds), "b");
	tap_ok(b->class == CLASS_ENVIRONMENT_SENSITIVE && b->facts.failed == 0,
	       "a varied dimension disagrees, and is no order");
	tap_ok(c.tests[2].class == CLASS_STABLE_FAIL && c.tests[2].facts.varied_differs,
	       "a test that only passes in another time zone fails");
	tap_ok(c.tests[0].class == CLASS_STABLE_PASS, "nothing to say");
}

static void test_same_order(void)
{
	/* Of two tests there are two orders: five seeds are not five orders. */
	static const struct deed deeds[] = {
		{ "canonical", "*a b", "PP", VIEW_CANONICAL, ROLE_SWEEP },
		{ "canonical-2", "*a b", "PP", VIEW_CANONICAL, ROLE_SWEEP },
		{ "s1", "b a", "PF", VIEW_SHUFFLED, ROLE_SWEEP, 1 },
		{ "s2", "b a", "PF", VIEW_SHUFFLED, ROLE_SWEEP, 2 },
		{ "s3", "b a", "PF", VIEW_SHUFFLED, ROLE_SWEEP, 3 },
	};
	for (size_t n = 4; n <= countof(deeds); n++) {
		cleanup(history_done) struct history h = HISTORY_NULL;
		cleanup(classes_done) struct classes c = CLASSES_NULL;
		const struct judged *a = judge_deeds(&h, &c, deeds, n, "a");
		tap_ok(a->class == (n < 5 ? CLASS_NONDETERMINISTIC : CLASS_ORDER_SENSITIVE),
		       "%zu runs of one order", n - 2);
		tap_ok((a->waits[WAIT_RED] == 2) == (n < 5), "  what is open");
	}
}

/* ---- what would settle it ---- */

static void test_open(void)
{
	static const struct deed deeds[] = {
		{ "canonical", "a b c d", "PPPF", VIEW_CANONICAL, ROLE_SWEEP, .seconds = 5 },
		{ "s1", "d b c a", "PFPP", VIEW_SHUFFLED, ROLE_SWEEP, 1, .seconds = 4 },
		{ "alone-2", "c", "F", VIEW_ISOLATED, ROLE_SWEEP, .seconds = 1 },
		{ "s2", "c d b a", "PAAA", VIEW_SHUFFLED, ROLE_SWEEP, 2, .end = "interrupted" },
		{ "s3", "c d b a", "PFFF", VIEW_SHUFFLED, ROLE_SWEEP, 3, .end = "" },
	};
	cleanup(history_done) struct history h = HISTORY_NULL;
	cleanup(classes_done) struct classes c = CLASSES_NULL;
	const struct judged *a = judge_deeds(&h, &c, deeds, countof(deeds), "a");
	tap_ok(a->class == CLASS_STABLE_PASS && c.columns_len == 2,
	       "orders that were cut short or never ended tell nothing");
	cleanup(reruns_done) struct reruns open = { 0 };
	int r = classes_open(&c, &open);
	/* b fails in s1 and d in canonical, c alone; the passes are of canonical and of s1. */
	tap_ok(!r && open.len == 3 && open.at[0].order == 2 && open.at[1].order == 1 &&
		       open.at[2].order == 0,
	       "the cheapest first");
	tap_ok(open.at[0].runs == 3 && open.at[0].have == 1 && open.at[0].tests == 1, "alone-2");
	tap_ok(open.at[1].runs == 3 && open.at[1].tests == 2, "s1: for b, and for the pass of d");
	tap_ok(open.at[2].runs == 3 && open.at[2].tests == 3, "canonical: for d, b and c");
	cleanup_free uint32_t *alone = NULL;
	size_t len = 0;
	tap_ok(!classes_isolates(&c, false, &alone, &len) && len == 2 && alone[0] == 1 &&
		       alone[1] == 3,
	       "what varied has to run alone");
	cleanup_free uint32_t *all = NULL;
	tap_ok(!classes_isolates(&c, true, &all, &len) && len == 3, "or all, but who did");
}

static void test_confirmed(void)
{
	static const struct deed deeds[] = {
		{ "canonical", "a b", "PP", VIEW_CANONICAL, ROLE_SWEEP },
		{ "canonical-2", "a b", "PP", VIEW_CANONICAL, ROLE_SWEEP },
		{ "s1", "b a", "PF", VIEW_SHUFFLED, ROLE_SWEEP, 1 },
		{ "alone-0", "a", "P", VIEW_ISOLATED, ROLE_SWEEP },
		{ "s1+2", "b a", "PF", VIEW_SHUFFLED, ROLE_CONFIRM, 1 },
		{ "s1+3", "b a", "PF", VIEW_SHUFFLED, ROLE_CONFIRM, 1 },
		{ "x1234abcd-1", "a b", "PP", VIEW_SHUFFLED, ROLE_SHRINK },
		{ "x5678abcd-1", "b a", "PP", VIEW_SHUFFLED, ROLE_SHRINK },
	};
	static const enum class classes[] = { 0,
					      0,
					      CLASS_STABLE_PASS,
					      CLASS_NONDETERMINISTIC,
					      CLASS_NONDETERMINISTIC,
					      CLASS_NONDETERMINISTIC,
					      CLASS_VICTIM,
					      CLASS_VICTIM,
					      CLASS_NONDETERMINISTIC };
	for (size_t n = 2; n <= countof(deeds); n++) {
		cleanup(history_done) struct history h = HISTORY_NULL;
		cleanup(classes_done) struct classes c = CLASSES_NULL;
		const struct judged *a = judge_deeds(&h, &c, deeds, n, "a");
		tap_ok(a->class == classes[n], "after %s: %s", deeds[n - 1].order,
		       class_rows[a->class].name);
	}
}

/* ---- controls ---- */

static struct rerun open_of(const struct reruns *open, const struct history *h, const char *order)
{
	for (size_t i = 0; i < open->len; i++)
		if (text_eq(h->orders[open->at[i].order].order.name, order))
			return open->at[i];
	return (struct rerun){ 0 };
}

/* Two victims of one test and one of another; none fails in all of s1, s2, s3. */
static const struct deed controls[] = {
	{ "canonical", "a b c d e", "PPPPP", VIEW_CANONICAL, ROLE_SWEEP },
	{ "canonical-2", "a b c d e", "PPPPP", VIEW_CANONICAL, ROLE_SWEEP },
	{ "s1", "e a d c b", "PFPPP", VIEW_SHUFFLED, ROLE_SWEEP, 1 },
	{ "s2", "d c e a b", "PPPFF", VIEW_SHUFFLED, ROLE_SWEEP, 2 },
	{ "s3", "d e c b a", "PPFFP", VIEW_SHUFFLED, ROLE_SWEEP, 3 },
	{ "s4", "b e c d a", "PPFPP", VIEW_SHUFFLED, ROLE_SWEEP, 4 },
	{ "alone-0", "a", "P", VIEW_ISOLATED, ROLE_SWEEP },
	{ "alone-1", "b", "P", VIEW_ISOLATED, ROLE_SWEEP },
	{ "alone-2", "c", "P", VIEW_ISOLATED, ROLE_SWEEP },
	{ "alone-3", "d", "P", VIEW_ISOLATED, ROLE_SWEEP },
	/* what they wait for, but for b alone */
	{ "canonical+3", "a b c d e", "PPPPP", VIEW_CANONICAL, ROLE_CONFIRM },
	{ "s2+2", "d c e a b", "PPPFF", VIEW_SHUFFLED, ROLE_CONFIRM, 2 },
	{ "s3+2", "d e c b a", "PPFFP", VIEW_SHUFFLED, ROLE_CONFIRM, 3 },
	{ "alone-0+2", "a", "P", VIEW_ISOLATED, ROLE_CONFIRM },
	{ "alone-0+3", "a", "P", VIEW_ISOLATED, ROLE_CONFIRM },
	{ "alone-2+2", "c", "P", VIEW_ISOLATED, ROLE_CONFIRM },
	{ "alone-2+3", "c", "F", VIEW_ISOLATED, ROLE_CONFIRM },
};

static void test_controls(void)
{
	cleanup(history_done) struct history h = HISTORY_NULL;
	cleanup(classes_done) struct classes c = CLASSES_NULL;
	cleanup(reruns_done) struct reruns open = { 0 };
	const struct judged *a = judge_deeds(&h, &c, controls, 10, "a");
	tap_ok(a->class == CLASS_VICTIM && judged_waits(a) && !judged_waits(&c.tests[3]) &&
		       !classes_open(&c, &open) && open.len == 6,
	       "what seems to depend on order is tried again; what does not is left alone");
	tap_ok(open_of(&open, &h, "canonical").runs == 3 && open_of(&open, &h, "alone-0").runs == 3 &&
		       open_of(&open, &h, "alone-1").runs == 3 &&
		       open_of(&open, &h, "alone-2").runs == 3,
	       "alone, and as the suite stands, three times");
	tap_ok(open_of(&open, &h, "s2").runs == 2 && open_of(&open, &h, "s2").tests == 2 &&
		       open_of(&open, &h, "s3").runs == 2 && open_of(&open, &h, "s3").tests == 1,
	       "two other orders show all three");
	cleanup(classes_done) struct classes unsearched = CLASSES_NULL;
	cleanup(reruns_done) struct reruns more = { 0 };
	tap_ok(!classes_judge(&h, NULL, false, &unsearched) && !classes_open(&unsearched, &more) &&
		       more.len == 6 && open_of(&more, &h, "s2").runs == 4,
	       "where no set will be searched for, they repeat more often");

	cleanup(history_done) struct history all = HISTORY_NULL;
	cleanup(classes_done) struct classes now = CLASSES_NULL;
	a = judge_deeds(&all, &now, controls, countof(controls), "a");
	tap_ok(a->class == CLASS_VICTIM && !judged_waits(a), "a is sure");
	tap_ok(judged_waits(&now.tests[1]) && now.tests[1].class == CLASS_VICTIM, "b is not yet");
	tap_ok(now.tests[2].class == CLASS_NONDETERMINISTIC && !judged_waits(&now.tests[2]),
	       "c did both alone: order is not why");
}

static void test_faults(void)
{
	cleanup(history_done) struct history h = HISTORY_NULL;
	play_sweep(&h, &sweeps[6]);
	int wrong = 0;
	int n = 1;
	for (; fault_walk_on(n); n++) {
		cleanup(classes_done) struct classes c = CLASSES_NULL;
		cleanup(reruns_done) struct reruns open = { 0 };
		cleanup_free uint32_t *alone = NULL;
		size_t len;
		int r = classes_judge(&h, NULL, true, &c);
		r = r ? r : classes_open(&c, &open);
		r = r ? r : classes_isolates(&c, true, &alone, &len);
		wrong += fault_walk_hit() ? r == 0 : r != 0;
	}
	tap_ok(!wrong && n > 10, "each of %d faults is told", n);
}

int main(void)
{
	test_precedence();
	test_codes();
	test_sweeps();
	test_numbers();
	test_crash();
	test_vanished();
	test_repeated();
	test_varied();
	test_same_order();
	test_open();
	test_confirmed();
	test_controls();
	test_faults();
	return tap_done();
}
