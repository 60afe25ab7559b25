#include <stdio.h>
#include <string.h>

#include "runner/config.h"
#include "runner/ignores.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/tap.h"

static const struct {
	const char *pattern, *text;
	bool fits;
} patterns[] = {
	{ "a", "a", true },
	{ "a", "ab", false },
	{ "a", "", false },
	{ "", "", true },
	{ "*", "", true },
	{ "*", "a/b::c", true },
	{ "a*", "a", true },
	{ "*b", "aab", true },
	{ "*b", "aba", false },
	{ "a*b*c", "a-b-b-c", true },
	{ "a*b*c", "a-c-b", false },
	{ "a?c", "abc", true },
	{ "a?c",
	  "a\xc3\xa4"
	  "c",
	  true }, /* a character, not a byte */
	{ "a?c",
	  "a\xff"
	  "c",
	  true },
	{ "?", "", false },
	{ "??", "\xc3\xa4", false },
	/* parameters */
	{ "t.py::x[1-*]", "t.py::x[1-a b]", true },
	{ "t.py::x[1-*]", "t.py::x1", false },
	{ "t.py::x[a]", "t.py::xa", false },
	{ "t.py::x[[]", "t.py::x[[]", true },
	{ "t.py::x[*]", "t.py::x[]", true },
	{ "a\\*", "a*", false },
	{ "**a", "ba", true },
	{ "*a*a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false },
};

static void test_patterns(void)
{
	for (size_t i = 0; i < countof(patterns); i++)
		tap_ok(ignore_pattern_fits(patterns[i].pattern, patterns[i].text) == patterns[i].fits,
		       "%s %s %s", patterns[i].pattern, patterns[i].fits ? "fits" : "does not fit",
		       patterns[i].text);
}

#define FILE_OF(rules) "{\"version\": 1,\n" rules "}"

static const struct {
	const char *text, *error, *hint;
} files[] = {
	{ FILE_OF("\"ignore\": []"), NULL, NULL },
	{ FILE_OF("\"ignore\": [{\"code\": \"FH101\", \"reason\": \"x\"}]"), NULL, NULL },
	{ FILE_OF("\"ignore\": [{\"code\": \"FH101\", \"reason\": \"x\", \"test\": \"*\", \"key\": \"/a\", "
		  "\"expires\": \"2028-02-29\"}]"),
	  NULL, NULL },
	{ FILE_OF("\"expected_state\": [{\"key\": \"/a\", \"reason\": \"x\"}]"), NULL, NULL },
	{ FILE_OF("\"ignore\": {}"), "f:2:1: \"ignore\" must be a list", "" },
	{ FILE_OF("\"ignore\": [1]"), "a rule must be an object with \"code\" and \"reason\"", "" },
	{ FILE_OF("\"ignore\": [\n {\"code\": \"FH101\"}]"), "f:2:1: a rule has no \"reason\"", "" },
	{ FILE_OF("\"ignore\": [{\"reason\": \"x\"}]"), "a rule has no \"code\"", "" },
	{ FILE_OF("\"ignore\": [{\"code\": \"FH101\", \"reason\": \"\"}]"),
	  "f:2:30: \"reason\" must be a text", "" },
	{ FILE_OF("\"ignore\": [{\"code\": \"FH10\", \"reason\": \"x\"}]"),
	  "f:2:13: there is no code FH10", "did you mean FH10" },
	{ FILE_OF("\"ignore\": [{\"code\": \"fh101\", \"reason\": \"x\"}]"),
	  "there is no code fh101", "" },
	{ FILE_OF("\"ignore\": [{\"code\": \"FH*\", \"reason\": \"x\"}]"), "there is no code FH*",
	  "" },
	{ FILE_OF("\"ignore\": [{\"cod\": \"FH101\", \"reason\": \"x\"}]"),
	  "f:2:13: ", "did you mean" },
	{ FILE_OF("\"ignore\": [{\"code\": \"FH101\", \"reason\": \"x\", \"expires\": \"2027-02-29\"}]"),
	  "\"expires\": 2027-02-29 is no day: write it as 2027-01-31", "" },
	{ FILE_OF("\"ignore\": [{\"code\": \"FH101\", \"reason\": \"x\", \"expires\": \"2027-1-31\"}]"),
	  "is no day", "" },
	{ FILE_OF("\"ignore\": [{\"code\": \"FH101\", \"reason\": \"x\", \"expires\": \"2027-00-10\"}]"),
	  "is no day", "" },
	{ FILE_OF("\"ignore\": [{\"code\": \"FH101\", \"reason\": \"x\", \"expires\": \"2027-01-311\"}]"),
	  "is no day", "" },
	{ FILE_OF("\"ignore\": [{\"code\": \"FH101\", \"reason\": \"x\", \"test\": 1}]"),
	  "\"test\" must be a text", "" },
	{ FILE_OF("\"expected_state\": [{\"reason\": \"x\"}]"), "a rule has no \"key\"", "" },
	{ FILE_OF("\"expected_state\": [{\"key\": \"/a\", \"reason\": \"x\", \"code\": \"FH101\"}]"),
	  "f:2:49: ", "" },
};

static void test_files(void)
{
	for (size_t i = 0; i < countof(files); i++) {
		cleanup(config_done) struct config c = CONFIG_NULL;
		struct err e = ERR_NULL;
		int r = config_file(&c, "f", files[i].text, strlen(files[i].text), "/", &e);
		bool as_told = files[i].error ? r < 0 && e.status == STATUS_DATA &&
							strstr(e.text, files[i].error) &&
							strstr(e.hint, files[i].hint)
					      : r == 0;
		tap_ok(as_told, "%s: %s (%s)", files[i].text, e.text, e.hint);
	}
}

static const char rules[] = FILE_OF(
	"\"ignore\": [{\"code\": \"FH101\", \"test\": \"t.py::x[*]\", \"key\": \"/tmp/*.lock\", "
	"\"reason\": \"a\", \"expires\": \"2026-11-30\"},"
	"{\"code\": \"FH201\", \"test\": \"*y\", \"reason\": \"b\"},"
	"{\"code\": \"FH105\", \"reason\": \"c\", \"expires\": \"2026-11-29\"}],"
	"\"expected_state\": [{\"key\": \"/tmp/cache/*\", \"reason\": \"d\"}]");

static const struct {
	const char *code, *test, *key, *day;
	size_t ignore, state; /* which rule */
} findings[] = {
	{ "FH101", "t.py::x[1]", "/tmp/a.lock", "2026-11-30", 0, 1 },
	{ "FH101", "t.py::x[1]", "/tmp/a.lock", "2026-12-01", 3, 1 }, /* it is over */
	{ "FH101", "t.py::x", "/tmp/a.lock", "2026-11-30", 3, 1 },
	{ "FH102", "t.py::x[1]", "/tmp/a.lock", "2026-11-30", 3, 1 },
	{ "FH101", NULL, "/tmp/a.lock", "2026-11-30", 3, 1 },
	{ "FH201", "t.py::y", NULL, "2026-11-30", 1, 1 },
	{ "FH203", "t.py::y", NULL, "2026-11-30", 3, 1 },
	{ "FH105", "t.py::z", "/tmp/cache/a", "2026-11-29", 2, 1 }, /* damage is no state */
	{ "FH105", "t.py::z", "/tmp/cache/a", "2026-11-30", 3, 1 },
	{ "FH102", "t.py::z", "/tmp/cache/a", "2026-11-30", 3, 0 },
	{ "FH191", NULL, "/tmp/cache/a", "2026-11-30", 3, 0 },
	{ "FH171", "t.py::z", "/tmp/cache/a", "2026-11-30", 3, 1 },
	{ "FH201", "t.py::z", "/tmp/cache/a", "2026-11-30", 3, 1 },
};

static void test_findings(void)
{
	cleanup(config_done) struct config c = CONFIG_NULL;
	struct err e = ERR_NULL;
	tap_ok(config_file(&c, "f", rules, strlen(rules), "/", &e) == 0, "rules are read %s", e.text);
	/* By way of run.json they are the same. */
	cleanup_json cJSON *json = ignores_json(&c.ignore);
	cleanup(ignores_done) struct ignores again = IGNORES_NULL;
	tap_ok(ignores_load(json, &again) == 0 && again.len == 3 && text_eq(again.at[0].reason, "a"),
	       "and read back");
	for (size_t i = 0; i < countof(findings); i++) {
		size_t ignore = ignores_find(&again, findings[i].day, findings[i].code,
					     findings[i].test, findings[i].key);
		size_t state = ignores_find(&c.expected_state, findings[i].day, findings[i].code,
					    findings[i].test, findings[i].key);
		tap_ok(ignore == findings[i].ignore && state == findings[i].state,
		       "%s of %s, %s on %s", findings[i].code,
		       findings[i].test ? findings[i].test : "-",
		       findings[i].key ? findings[i].key : "-", findings[i].day);
	}
}

static void test_faults(void)
{
	int wrong = 0;
	int n = 1;
	for (; fault_walk_on(n); n++) {
		cleanup(config_done) struct config c = CONFIG_NULL;
		cleanup(ignores_done) struct ignores again = IGNORES_NULL;
		int r = config_file(&c, "f", rules, strlen(rules), "/", NULL);
		cleanup_json cJSON *json = r ? NULL : ignores_json(&c.ignore);
		r = r ? r : json ? ignores_load(json, &again) : -1;
		wrong += fault_walk_hit() ? r == 0 : r != 0;
	}
	tap_ok(!wrong && n > 20, "each of %d faults is told", n);
}

int main(void)
{
	test_patterns();
	test_files();
	test_findings();
	test_faults();
	return tap_done();
}
