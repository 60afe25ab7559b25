#include "runner/judge/accepted.h"
#include "runner/judge/history.h"
#include "runner/judge/marks.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "tests/lib/tap.h"

#define LEAK "\"domain\":\"files\",\"kind\":\"leak\",\"zone\":\"tmp\","

static const char *const lines[] = {
	"{\"kind\":\"begin\",\"order\":\"o\",\"view\":\"canonical\",\"role\":\"sweep\",\"tests\":null}",
	"{\"kind\":\"test\",\"order\":\"o\",\"test\":\"a\",\"outcome\":\"passed\",\"deltas\":["
	"{" LEAK "\"what\":\"created\",\"key\":\"/tmp/a\",\"damage\":false}]}",
	"{\"kind\":\"test\",\"order\":\"o\",\"test\":\"b\",\"outcome\":\"passed\",\"deltas\":["
	"{" LEAK "\"what\":\"created\",\"key\":\"/tmp/b\",\"damage\":false,\"cleans\":\"a\"}]}",
	"{\"kind\":\"test\",\"order\":\"o\",\"test\":\"c\",\"outcome\":\"passed\",\"deltas\":["
	"{" LEAK "\"what\":\"changed\",\"key\":\"/tmp/c\",\"damage\":true}]}",
	"{\"kind\":\"test\",\"order\":\"o\",\"test\":\"d\",\"outcome\":\"passed\",\"deltas\":["
	"{\"domain\":\"files\",\"kind\":\"touch\",\"zone\":\"tmp\",\"what\":\"changed\",\"key\":\"/tmp/d\","
	"\"damage\":true}]}",
	"{\"kind\":\"test\",\"order\":\"o\",\"test\":\"e\",\"outcome\":\"passed\",\"deltas\":["
	"{\"domain\":\"files\",\"kind\":\"leak\",\"zone\":\"state\",\"what\":\"created\",\"key\":\"/s/e\"}]}",
};

/* What each test is marked by when these rules hold. */
static const struct {
	const char *rules; /* of run.json */
	unsigned a, b, c;
} cases[] = {
	{ "{}", MARK_LEAKS, MARK_LEAKS | MARK_CLEANS, MARK_DAMAGE },
	{ "{\"ignore\":[{\"code\":\"FH101\",\"reason\":\"x\"}]}", 0, MARK_CLEANS, MARK_DAMAGE },
	{ "{\"ignore\":[{\"code\":\"FH101\",\"test\":\"b\",\"reason\":\"x\"}]}", MARK_LEAKS,
	  MARK_CLEANS, MARK_DAMAGE },
	{ "{\"ignore\":[{\"code\":\"FH105\",\"key\":\"/tmp/c\",\"reason\":\"x\"}]}", MARK_LEAKS,
	  MARK_LEAKS | MARK_CLEANS, 0 },
	{ "{\"ignore\":[{\"code\":\"FH101\",\"expires\":\"2026-11-30\",\"reason\":\"x\"}]}",
	  MARK_LEAKS, MARK_LEAKS | MARK_CLEANS, MARK_DAMAGE },
	{ "{\"expected_state\":[{\"key\":\"/tmp/a\",\"reason\":\"x\"}]}", 0,
	  MARK_LEAKS | MARK_CLEANS, MARK_DAMAGE },
};

static void read_rules(const char *rules, struct accepted *ret)
{
	cleanup_free char *text = NULL;
	if (asprintf(&text, "{\"started\":\"2026-12-01T00:00:00Z\",\"config\":%s}", rules) < 0)
		return;
	cleanup_json cJSON *about = cJSON_Parse(text);
	tap_ok(about && accepted_read(about, ret) == 0, "rules: %s", rules);
}

static void test_accepted(void)
{
	for (size_t i = 0; i < countof(cases); i++) {
		cleanup(accepted_done) struct accepted accepted = ACCEPTED_NULL;
		cleanup(history_done) struct history h = HISTORY_NULL;
		cleanup(marks_done) struct marks m = { .accepted = &accepted };
		struct err e = ERR_NULL;
		int r = 0;
		read_rules(cases[i].rules, &accepted);
		for (size_t k = 0; k < countof(lines); k++) {
			cleanup_json cJSON *line = cJSON_Parse(lines[k]);
			const char *kind = json_text(line, "kind");
			r = r ? r : history_line(&h, kind, line, &e);
			r = r ? r : marks_line(&m, &h, kind, line, &e);
		}
		tap_ok(!r && marks_of(&m, 0) == cases[i].a && marks_of(&m, 1) == cases[i].b &&
			       marks_of(&m, 2) == cases[i].c,
		       "  who is marked: %x %x %x %s", marks_of(&m, 0), marks_of(&m, 1),
		       marks_of(&m, 2), e.text);
		tap_ok(!marks_of(&m, 3) && !marks_of(&m, 4),
		       "  what was put back, or may be written, marks nobody");
		tap_ok(!accepted.ignore.len || !accepted.ignore.at[0].hits, "  nothing is counted");
	}
}

int main(void)
{
	test_accepted();
	return tap_done();
}
