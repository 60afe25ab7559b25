#include <string.h>

#include "runner/judge/diff.h"
#include "sandbox/base/err.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/plays.h"

/* One test "t" beside others: its letters in canonical, canonical-2, s1, s2. "": it is not there. */
static const struct {
	const char *before, *after;
	int kind; /* DIFF_N: nothing to tell */
	int status;
} rows[] = {
	{ "PPPP", "PPPP", DIFF_N, 0 },
	{ "PPPP", "FFFF", DIFF_REGRESSED, 1 },
	{ "PPPP", "PPFF", DIFF_REGRESSED, 1 }, /* the patch introduced coupling */
	{ "PPFF", "FFFF", DIFF_REGRESSED, 1 },
	{ "PPPP", "PPAP", DIFF_REGRESSED, 1 }, /* absent counts as not passed */
	{ "PPPP", "EEEE", DIFF_REGRESSED, 1 },
	{ "FFFF", "PPPP", DIFF_FIXED, 0 },
	{ "FFFF", "PPFF", DIFF_FIXED, 0 },
	{ "PPFF", "PPPP", DIFF_FIXED, 0 },
	{ "FFFF", "EEEE", DIFF_N, 0 },
	{ "PPFF", "PPEE", DIFF_N, 0 },
	{ "FFFF", "SSSS", DIFF_CHANGED, 0 }, /* skipped is not fixed */
	{ "PPPP", "SSSS", DIFF_CHANGED, 0 },
	{ "SSSS", "FFFF", DIFF_CHANGED, 0 },
	{ "PPFF", "PPFP", DIFF_CHANGED, 0 }, /* order_sensitive, nondeterministic */
	{ "", "PPPP", DIFF_ADDED, 0 },
	{ "", "PPFF", DIFF_ADDED, 1 },
	{ "", "FFFF", DIFF_ADDED, 1 },
	{ "", "SSSS", DIFF_ADDED, 0 },
	{ "PPPP", "", DIFF_REMOVED, 1 },
	{ "FFFF", "", DIFF_REMOVED, 1 }, /* a failing test that is deleted is not fixed */
};

static void play_side(struct history *h, const char *letters)
{
	static const struct {
		const char *order, *tests;
		enum view view;
		int seed;
	} orders[] = {
		{ "canonical", "a b t", VIEW_CANONICAL, 0 },
		{ "canonical-2", "a b t", VIEW_CANONICAL, 0 },
		{ "s1", "b a t", VIEW_SHUFFLED, 1 },
		{ "s2", "b t a", VIEW_SHUFFLED, 2 },
	};
	for (size_t i = 0; i < countof(orders); i++) {
		char tests[8];
		snprintf(tests, sizeof(tests), "%s", *letters ? orders[i].tests : "b a");
		char outcomes[] = "PPP";
		if (*letters)
			outcomes[(strchr(tests, 't') - tests) / 2] = letters[i];
		play(h, &(struct deed){ orders[i].order, tests, outcomes, orders[i].view,
					ROLE_SWEEP, orders[i].seed, NULL, NULL, 1 });
	}
}

static void test_row(size_t i)
{
	cleanup(history_done) struct history first = HISTORY_NULL;
	cleanup(history_done) struct history second = HISTORY_NULL;
	cleanup(classes_done) struct classes before = CLASSES_NULL;
	cleanup(classes_done) struct classes after = CLASSES_NULL;
	cleanup(diff_done) struct diff d = DIFF_NULL;
	struct summary s = SUMMARY_NULL;
	play_side(&first, rows[i].before);
	play_side(&second, rows[i].after);
	int r = classes_judge(&first, NULL, true, &before);
	r = r ? r : classes_judge(&second, NULL, true, &after);
	r = r ? r
	      : diff_make(&(struct diff_side){ &s, &before }, &(struct diff_side){ &s, &after }, &d);
	bool as_told = rows[i].kind == DIFF_N
			       ? d.tests_len == 0
			       : d.tests_len == 1 && d.counts[rows[i].kind] == 1 &&
					 d.tests[0].kind == (enum diff_kind)rows[i].kind;
	tap_ok(!r && as_told && diff_status(&d) == rows[i].status, "%s, %s: %s", rows[i].before,
	       rows[i].after, d.tests_len ? diff_names[d.tests[0].kind] : "the same");
}

static void test_conditions(const struct classes *none)
{
	static const struct {
		const char *before, *after, *said;
	} about[] = {
		{ "{\"command\":[\"a\"]}", "{\"command\":[\"a\"]}", NULL },
		{ "{\"command\":[\"a\"]}", "{\"command\":[\"a\",\"-x\"]}",
		  "command: [\"a\"] before, [\"a\",\"-x\"] after" },
		{ "{\"config\":{\"restore\":true}}", "{\"config\":{}}",
		  "restore: true before, nothing after" },
		{ "{\"config\":{}}", "{\"config\":{\"restore\":true}}",
		  "restore: nothing before, true after" },
		{ "{\"config\":{\"json\":true,\"lanes\":1}}", "{\"config\":{\"out\":\"x\"}}", NULL },
		{ "{\"environment\":{\"kernel\":\"6.1\"}}", "{\"environment\":{\"kernel\":\"6.2\"}}",
		  "kernel: \"6.1\" before, \"6.2\" after" },
		{ "{\"prepared\":{\"digest\":\"1\",\"path\":\"x\"}}",
		  "{\"prepared\":{\"digest\":\"2\",\"path\":\"x\"}}",
		  "prepared: \"1\" before, \"2\" after" },
		{ "{\"started\":\"a\"}", "{\"started\":\"b\"}", NULL },
	};
	for (size_t i = 0; i < countof(about); i++) {
		cleanup(diff_done) struct diff d = DIFF_NULL;
		cleanup_json cJSON *was = cJSON_Parse(about[i].before);
		cleanup_json cJSON *is = cJSON_Parse(about[i].after);
		struct summary before = { .about = was };
		struct summary after = { .about = is };
		int r = diff_make(&(struct diff_side){ &before, none },
				  &(struct diff_side){ &after, none }, &d);
		tap_ok(!r && d.conditions.len == (about[i].said != NULL) &&
			       (!about[i].said || text_eq(d.conditions.at[0], about[i].said)),
		       "%s, %s: %s", about[i].before, about[i].after,
		       d.conditions.len ? d.conditions.at[0] : "the same");
	}
}

static struct summary_change change_of(const char *code, char *test, char *key)
{
	return (struct summary_change){ .code = code,
					.test = test,
					.domain = (char *)"files",
					.what = (char *)"created",
					.key = key };
}

static void test_leaks(const struct classes *none)
{
	char a[] = "a";
	char b[] = "b";
	char x[] = "/x";
	char y[] = "/y";
	struct summary_change old[] = { change_of("FH101", a, x), change_of("FH101", a, y) };
	struct summary_change new[] = { change_of("FH101", a, y), change_of("FH101", b, x) };
	struct summary_change hurt[] = { change_of("FH105", a, x) };
	const struct summary before = { .leaks = { .at = old, .len = 2 } };
	const struct summary after = { .leaks = { .at = new, .len = 2 } };
	const struct summary worse = { .leaks = { .at = new, .len = 2 },
				       .damage = { .at = hurt, .len = 1 } };
	cleanup(diff_done) struct diff d = DIFF_NULL;
	int r = diff_make(&(struct diff_side){ &before, none }, &(struct diff_side){ &after, none },
			  &d);
	tap_ok(!r && d.fresh.len == 1 && text_eq(d.fresh.at[0].test, "b") && d.gone.len == 1 &&
		       text_eq(d.gone.at[0].key, "/x") && diff_status(&d) == 0,
	       "what is newly left, and what is not left any more");
	cleanup(diff_done) struct diff hurts = DIFF_NULL;
	r = diff_make(&(struct diff_side){ &after, none }, &(struct diff_side){ &worse, none },
		      &hurts);
	tap_ok(!r && hurts.fresh.len == 1 && hurts.damage == 1 && diff_status(&hurts) == 1,
	       "new damage is no small matter");
}

static void test_faults(void)
{
	cleanup(history_done) struct history h = HISTORY_NULL;
	cleanup(history_done) struct history second = HISTORY_NULL;
	cleanup(classes_done) struct classes before = CLASSES_NULL;
	cleanup(classes_done) struct classes after = CLASSES_NULL;
	play_side(&h, "PPPP");
	play_side(&second, "FFFF");
	classes_judge(&h, NULL, true, &before);
	classes_judge(&second, NULL, true, &after);
	cleanup_json cJSON *was = cJSON_Parse("{\"command\":[\"a\"]}");
	cleanup_json cJSON *is = cJSON_Parse("{\"command\":[\"b\"]}");
	char a[] = "a";
	struct summary_change leak[] = { change_of("FH101", a, a) };
	const struct summary one = { .about = was, .leaks = { .at = leak, .len = 1 } };
	const struct summary two = { .about = is, .damage = { .at = leak, .len = 1 } };
	int wrong = 0;
	int n = 1;
	for (; fault_walk_on(n); n++) {
		cleanup(diff_done) struct diff d = DIFF_NULL;
		int r = diff_make(&(struct diff_side){ &one, &before },
				  &(struct diff_side){ &two, &after }, &d);
		wrong += fault_walk_hit() ? r == 0 : r != 0;
	}
	tap_ok(!wrong && n > 5, "each of %d faults is told", n);
}

int main(void)
{
	for (size_t i = 0; i < countof(rows); i++)
		test_row(i);
	cleanup(history_done) struct history empty = HISTORY_NULL;
	cleanup(classes_done) struct classes none = CLASSES_NULL;
	tap_ok(classes_judge(&empty, NULL, true, &none) == 0, "a run without tests");
	test_conditions(&none);
	test_leaks(&none);
	test_faults();
	return tap_done();
}
