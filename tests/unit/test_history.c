#include <errno.h>
#include <string.h>

#include "runner/judge/history.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "tests/lib/tap.h"

static int say(struct history *h, const char *text, struct err *e)
{
	cleanup_json cJSON *line = cJSON_Parse(text);
	return history_line(h, json_text(line, "kind"), line, e);
}

#define BEGIN(name, more)                                                                          \
	"{\"kind\":\"begin\",\"order\":\"" name "\",\"view\":\"shuffled\",\"role\":\"sweep\"" more \
	"}"
#define TEST(order, id, outcome) \
	"{\"kind\":\"test\",\"order\":\"" order "\",\"test\":\"" id "\",\"outcome\":\"" outcome "\"}"
#define END(order) \
	"{\"kind\":\"end\",\"order\":\"" order "\",\"outcome\":\"complete\",\"seconds\":2}"

static void test_orders(void)
{
	cleanup(history_done) struct history h = HISTORY_NULL;
	struct err e = ERR_NULL;
	int r = say(&h, BEGIN("s17", ",\"shuffle\":\"shuffle\",\"seed\":17,\"tests\":[\"b\",\"a\"]"),
		    &e);
	r = r ? r : say(&h, "{\"kind\":\"session\",\"order\":\"s17\",\"can\":[\"repeat\",7]}", &e);
	r = r ? r : say(&h, "{\"kind\":\"order\",\"order\":\"s17\",\"tests\":[\"b\",\"a\"]}", &e);
	r = r ? r : say(&h, TEST("s17", "b", "passed"), &e);
	r = r ? r : say(&h, BEGIN("canonical", ",\"tests\":null"), &e); /* another lane's */
	r = r ? r : say(&h, TEST("canonical", "a", "failed"), &e);
	r = r ? r : say(&h, TEST("s17", "a", "crashed"), &e);
	r = r ? r : say(&h, END("s17"), &e);
	tap_ok(!r, "lines of two lanes: %s", e.text);
	const struct played *p = history_find(&h, "s17");
	uint32_t a = roster_find(&h.roster, "a");
	uint32_t b = roster_find(&h.roster, "b");
	tap_ok(p->ended && p->complete && p->seconds == 2 && p->order.seed == 17 &&
		       text_eq(p->order.shuffle, "shuffle"),
	       "what it was");
	tap_ok(p->asked_len == 2 && p->asked[0] == b && p->collected_len == 2, "what was asked for");
	tap_ok(p->order.tests_len == 2 && p->order.tests[0] == b, "what ran");
	tap_ok(played_outcome(p, a) == OUTCOME_CRASHED && played_outcome(p, b) == OUTCOME_PASSED,
	       "what came of it");
	tap_ok(played_again(p, a) == OUTCOME_N, "nothing ran twice");
	const struct played *c = history_find(&h, "canonical");
	tap_ok(c->order.as_collected && !c->ended && played_outcome(c, b) == OUTCOME_N,
	       "one that has not ended");
	tap_ok(!history_find(&h, "s18"), "one that never began");
	tap_ok(h.can.len == 1 && strv_has(&h.can, "repeat"), "what the adapter can");

	r = say(&h, BEGIN("canonical", ",\"tests\":null"), &e);
	c = history_find(&h, "canonical");
	tap_ok(!r && h.len == 2 && !c->order.tests_len, "one that begins again has no past");
}

/* What no ledger of ours says. */
static void test_wild(void)
{
	char longest[400];
	snprintf(longest, sizeof(longest), BEGIN("%0*d", ""), 201, 0);
	const char *const lines[] = {
		BEGIN("", ""),
		BEGIN("../x", ""),
		BEGIN("a/b", ""),
		BEGIN(".", ""),
		BEGIN("a b", ""),
		BEGIN("\\u001b[2J", ""),
		BEGIN("\u202e", ""),
		longest,
		BEGIN("s1", ",\"seed\":-1"),
		BEGIN("s1", ",\"seed\":1e300"),
		BEGIN("s1", ",\"seed\":1e999"),
	};
	for (size_t i = 0; i < countof(lines); i++) {
		cleanup(history_done) struct history h = HISTORY_NULL;
		struct err e = ERR_NULL;
		int r = say(&h, lines[i], &e);
		tap_ok(r == -EINVAL && e.status == STATUS_DATA, "%.60s: %s", lines[i], e.text);
	}
}

/* What the suite has beside the plan. */
static void test_others(void)
{
	cleanup(history_done) struct history h = HISTORY_NULL;
	struct err e = ERR_NULL;
	int r = say(&h, BEGIN("s1", ",\"tests\":[\"a\"]"), &e);
	r = r ? r
	      : say(&h,
		    "{\"kind\":\"order\",\"order\":\"s1\",\"tests\":[\"a\"],\"others\":[\"b\",5]}",
		    &e);
	const struct played *p = history_find(&h, "s1");
	tap_ok(!r && p->announced && p->collected_len == 1, "what a session announced: %s", e.text);
	tap_ok(p->others_len == 1 && p->others[0] == roster_find(&h.roster, "b"),
	       "and what else it has");
}

/* Where a test did not pass, when it is not told in a word: the first phase that failed, in any way. */
static void test_phases(void)
{
	static const struct {
		const char *line;
		enum phase phase;
	} rows[] = {
		{ "{\"phase\":\"collect\"}", PHASE_COLLECT },
		{ "{\"phases\":{\"setup\":\"error_setup\"}}", PHASE_SETUP },
		{ "{\"phases\":{\"setup\":\"passed\",\"call\":\"failed\",\"teardown\":\"error_teardown\"}}",
		  PHASE_CALL },
		{ "{\"phases\":{\"setup\":\"passed\",\"call\":\"passed\",\"teardown\":\"error_teardown\"}}",
		  PHASE_TEARDOWN },
		{ "{\"phases\":{\"setup\":\"passed\",\"call\":\"skipped\"}}", PHASE_NONE },
		{ "{}", PHASE_NONE },
	};
	for (size_t i = 0; i < countof(rows); i++) {
		cleanup_json cJSON *line = cJSON_Parse(rows[i].line);
		tap_ok(phase_of(line) == rows[i].phase, "phase of %s", rows[i].line);
	}
}

static void test_twice(void)
{
	cleanup(history_done) struct history h = HISTORY_NULL;
	struct err e = ERR_NULL;
	int r = say(&h,
		    "{\"kind\":\"begin\",\"order\":\"repeated\",\"view\":\"repeated\",\"role\":\"sweep\"}",
		    &e);
	r = r ? r : say(&h, TEST("repeated", "a", "passed"), &e);
	r = r ? r : say(&h, TEST("repeated", "a (again)", "failed"), &e);
	const struct played *p = history_find(&h, "repeated");
	tap_ok(!r && h.roster.ids.len == 1, "the second run is of the same test: %s", e.text);
	tap_ok(played_outcome(p, 0) == OUTCOME_PASSED && played_again(p, 0) == OUTCOME_FAILED,
	       "both");
}

static void test_bad(void)
{
	static const struct {
		const char *line, *error;
	} rows[] = {
		{ TEST("x", "a", "passed"), "no begin before it" },
		{ "{\"kind\":\"begin\",\"order\":\"x\",\"view\":\"odd\",\"role\":\"sweep\"}",
		  "no view" },
		{ "{\"kind\":\"begin\",\"view\":\"canonical\",\"role\":\"sweep\"}", "no order" },
		{ TEST("good", "a", "fine"), "no known outcome" },
		{ "{\"kind\":\"end\",\"order\":\"good\"}", "no outcome" },
	};
	for (size_t i = 0; i < countof(rows); i++) {
		cleanup(history_done) struct history h = HISTORY_NULL;
		struct err e = ERR_NULL;
		say(&h, BEGIN("good", ""), &e);
		int r = say(&h, rows[i].line, &e);
		tap_ok(r < 0 && e.status == STATUS_DATA && strstr(e.text, rows[i].error), "%s: %s",
		       rows[i].line, e.text);
	}
}

static void test_groups(void)
{
	static const struct {
		const char *id;
		size_t module, class;
	} rows[] = {
		{ "t/a.py::test", 6, 6 },
		{ "t/a.py::B::test", 6, 9 },
		{ "t/a.py::B::C::t[x::y]", 6, 12 },
		{ "t/a.py::t[x::y]", 6, 6 },
		{ "alone", 5, 5 },
	};
	for (size_t i = 0; i < countof(rows); i++)
		tap_ok(roster_module_len(rows[i].id) == rows[i].module &&
			       roster_class_len(rows[i].id) == rows[i].class,
		       "groups of %s", rows[i].id);
}

int main(void)
{
	test_orders();
	test_wild();
	test_others();
	test_phases();
	test_twice();
	test_bad();
	test_groups();
	return tap_done();
}
