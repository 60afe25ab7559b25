#include <errno.h>
#include <string.h>

#include "runner/plan/given.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/tap.h"

static const char *const ids[] = { "tests/test_a.py::test_one",
				   "tests/test_a.py::test_two[a \"b\"\n]",
				   "tests/test_b.py::TestC::test_\xc3\xa9" };

/* An order file of that suite: the numbers it means, or an error. */
static const struct {
	const char *text;
	const char *numbers;
	const char *error;
	const char *hint;
} cases[] = {
	{ "[\"tests/test_b.py::TestC::test_\xc3\xa9\", \"tests/test_a.py::test_one\"]", "2 0 " },
	{ "\xef\xbb\xbf// ours\r\n[\r\n  \"tests/test_a.py::test_one\", /* first */\r\n"
	  "  \"tests/test_a.py::test_two[a \\\"b\\\"\\n]\"\r\n]\r\n",
	  "0 1 " },
	{ "[\n \"tests/test_a.py::test_one\",\n  \"tests/test_a.py::test_tow\"]", NULL,
	  "o.json:3:3: the suite has no test \"tests/test_a.py::test_tow\"",
	  "did you mean \"tests/test_a.py::test_one\"?" },
	{ "[\"x\", \"tests/test_a.py::test_one\", \"y\", \"z\"]", NULL,
	  "o.json:1:2: the suite has no test \"x\", nor 2 more of its ids", "ids are written as" },
	{ "[\"tests/test_a.py::test_one\",\n\"tests/test_a.py::test_one\"]", NULL,
	  "o.json:2:1: \"tests/test_a.py::test_one\" stands there twice", "" },
	{ "[\"tests/test_a.py::test_one\",\n 7]", NULL,
	  "o.json:2:2: the id of a test must be a text" },
	{ "[\"\"]", NULL, "o.json:1:2: the id of a test must be a text" },
	{ "[]", NULL, "o.json:1:1: the order names no test" },
	{ "{\"a\": 1}", NULL, "o.json:1:1: an order is a list of ids",
	  "such as [\"tests/test_a.py::test_x\"" },
	{ "[\"a\",\n b]", NULL, "o.json:2:2: this is no JSON" },
	{ "", NULL, "o.json:1:1: this is no JSON" },
};

static void fill(struct roster *r)
{
	uint32_t number;
	for (size_t i = 0; i < countof(ids); i++)
		roster_add(r, ids[i], &number);
}

static int read_all(const char *text, const struct roster *roster, uint32_t **ret, size_t *ret_len,
		    struct err *e)
{
	cleanup(given_done) struct given given = GIVEN_NULL;
	int r = given_parse("o.json", text, strlen(text), &given, e);
	return r ? r : given_tests(&given, roster, ret, ret_len, e);
}

static void test_cases(const struct roster *roster)
{
	for (size_t i = 0; i < countof(cases); i++) {
		cleanup_free uint32_t *tests = NULL;
		size_t n = 0;
		char numbers[64] = "";
		struct err e = ERR_NULL;
		int r = read_all(cases[i].text, roster, &tests, &n, &e);
		for (size_t j = 0; j < n; j++)
			snprintf(numbers + strlen(numbers), 8, "%u ", tests[j]);
		bool ok = cases[i].numbers
				  ? !r && text_eq(numbers, cases[i].numbers)
				  : r < 0 && e.status == STATUS_DATA &&
					    text_starts(e.text, cases[i].error) &&
					    text_starts(e.hint, cases[i].hint ? cases[i].hint : "");
		tap_ok(ok, "%s: %s%s (%s)", cases[i].text, numbers, e.text, e.hint);
	}
}

static void test_write(const struct roster *roster)
{
	static const uint32_t order[] = { 2, 0, 1 };
	cleanup_free char *text = given_write(roster, order, countof(order));
	cleanup_free char *none = given_write(roster, NULL, 0);
	cleanup_free uint32_t *tests = NULL;
	size_t n = 0;
	struct err e = ERR_NULL;
	int r = read_all(text, roster, &tests, &n, &e);
	tap_ok(!r && n == countof(order) && !memcmp(tests, order, sizeof(order)),
	       "what is written reads back: %s", text);
	tap_ok(text_eq(none, "[]\n"), "an order of no test");
	tap_ok(given_load("/nonexistent/o.json", &(struct given){ 0 }, &e) == -ENOENT &&
		       e.status == STATUS_DATA,
	       "%s", e.text);
}

static void walk_faults(const struct roster *roster)
{
	for (int n = 1; fault_walk_on(n); n++) {
		cleanup_free uint32_t *tests = NULL;
		size_t len = 0;
		struct err e = ERR_NULL;
		int r = read_all(cases[1].text, roster, &tests, &len, &e);
		cleanup_free char *text = r ? NULL : given_write(roster, tests, len);
		tap_ok(!fault_walk_hit() || r < 0 || !text, "call %d fails: %s", n, e.text);
	}
}

int main(void)
{
	cleanup(roster_done) struct roster roster = ROSTER_NULL;
	fill(&roster);
	test_cases(&roster);
	test_write(&roster);
	walk_faults(&roster);
	return tap_done();
}
