#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probe/event.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"
#include "tests/lib/tap.h"

#define P(rest) "{\"v\":1,\"t\":" rest "}"
#define FINISH  "\"finish\",\"test\":\"a\",\"outcome\":\"passed\""

static const struct {
	const char *packet;
	const char *error; /* NULL: it is good */
	struct event is;
} cases[] = {
	{ P("\"hello\",\"adapter\":\"sh\",\"version\":\"1\",\"rootdir\":\"/w\",\"can\":[\"reorder\"]"),
	  NULL,
	  { .kind = EVENT_HELLO, .rootdir = "/w" } },
	{ P("\"collected\",\"file\":\"collected.json\",\"basetemp\":\"/tmp/b\""),
	  NULL,
	  { .kind = EVENT_COLLECTED, .file = "collected.json" } },
	{ P("\"uncollectable\",\"id\":\"a.py\",\"why\":\"E\\n\""),
	  NULL,
	  { .kind = EVENT_UNCOLLECTABLE, .test = "a.py", .outcome = OUTCOME_ERROR_SETUP } },
	{ P("\"uncollectable\",\"id\":\"a.py\",\"why\":\"no X\",\"outcome\":\"skipped\""),
	  NULL,
	  { .kind = EVENT_UNCOLLECTABLE, .test = "a.py", .outcome = OUTCOME_SKIPPED } },
	{ P("\"collecting\",\"id\":\"a.py\""), NULL, { .kind = EVENT_COLLECTING, .test = "a.py" } },
	{ P("\"collecting\",\"id\":null"), NULL, { .kind = EVENT_COLLECTING } },
	{ P("\"collecting\""), "packet collecting: \"id\" is missing", EVENT_NULL },
	{ P("\"start\",\"test\":\"a::b[\\n]\""), NULL, { .kind = EVENT_START, .test = "a::b[\n]" } },
	{ P("\"start\",\"test\":\"\\\\u0000\""), NULL, { .kind = EVENT_START, .test = "\\u0000" } },
	{ P("\"start\",\"test\":\"a\",\"file\":\"../of/no/concern\""),
	  NULL,
	  { .kind = EVENT_START, .test = "a" } },
	{ P("\"scope_open\",\"test\":\"a\",\"fixture\":\"db\",\"scope\":\"module\",\"at\":\"begin\""),
	  NULL,
	  { .kind = EVENT_SCOPE_OPEN, .test = "a", .fixture = "db", .scope = "module" } },
	{ P("\"scope_close\",\"test\":\"a\",\"fixture\":\"db\",\"scope\":\"class\",\"at\":\"end\""),
	  NULL,
	  { .kind = EVENT_SCOPE_CLOSE, .test = "a", .fixture = "db", .scope = "class", .at_end = true } },
	{ P("\"finish\",\"test\":\"a\",\"outcome\":\"error_teardown\",\"next\":\"b\","
	    "\"phases\":{\"call\":\"passed\"},\"us\":{\"call\":12},\"message\":\"m\""),
	  NULL,
	  { .kind = EVENT_FINISH, .test = "a", .next = "b", .outcome = OUTCOME_ERROR_TEARDOWN } },
	{ P(FINISH ",\"next\":null,\"file\":\"1.json\""),
	  NULL,
	  { .kind = EVENT_FINISH, .test = "a", .file = "1.json", .outcome = OUTCOME_PASSED } },
	{ P("\"done\"") "\n", NULL, { .kind = EVENT_DONE } },

	{ "", "packet: it is no JSON object", EVENT_NULL },
	{ "{\"\\", "packet: it is no JSON object", EVENT_NULL },
	{ "[]", "packet: it is no JSON object", EVENT_NULL },
	{ "{} {}", "packet: it is no JSON object", EVENT_NULL },
	{ P("\"start\",\"test\":\"\xff\""), "packet: it is no UTF-8, or holds a NUL", EVENT_NULL },
	{ P("\"start\",\"test\":\"a\\u0000b\""), "packet: it is no UTF-8, or holds a NUL",
	  EVENT_NULL },
	{ P("\"start\",\"test\":\"\\udcff\""), "packet: it is no JSON object", EVENT_NULL },
	{ "{\"t\":\"done\"}", "packet: \"v\" is not 1", EVENT_NULL },
	{ "{\"v\":2,\"t\":\"done\"}", "packet: \"v\" is not 1", EVENT_NULL },
	{ "{\"v\":1}", "packet: no packet is called \"\"", EVENT_NULL },
	{ P("\"hangup\""), "packet: no packet is called \"hangup\"", EVENT_NULL },
	{ P("\"hello\",\"adapter\":\"sh\",\"version\":\"1\""),
	  "packet hello: \"rootdir\" is missing", EVENT_NULL },
	{ P("\"hello\",\"adapter\":\"sh\",\"version\":\"1\",\"rootdir\":\"w\""),
	  "packet hello: \"rootdir\" is not an absolute path", EVENT_NULL },
	{ P("\"hello\",\"adapter\":\"sh\",\"version\":\"1\",\"rootdir\":\"/w\",\"can\":[1]"),
	  "packet hello: \"can\" is not an array of texts", EVENT_NULL },
	{ P("\"collected\",\"file\":\"../x\""),
	  "packet collected: \"file\" is not a name in the drop folder", EVENT_NULL },
	{ P("\"collected\",\"file\":\"a/b\""),
	  "packet collected: \"file\" is not a name in the drop folder", EVENT_NULL },
	{ P("\"uncollectable\",\"id\":\"a\",\"why\":\"\",\"outcome\":\"passed\""),
	  "packet uncollectable: \"outcome\" is not error_setup or skipped", EVENT_NULL },
	{ P("\"done\",\"why\":1"), "packet done: \"why\" is not a text", EVENT_NULL },
	{ P("\"start\""), "packet start: \"test\" is missing", EVENT_NULL },
	{ P("\"start\",\"test\":\"\""), "packet start: \"test\" is not an id", EVENT_NULL },
	{ P("\"start\",\"test\":1"), "packet start: \"test\" is not an id", EVENT_NULL },
	{ P("\"scope_open\",\"test\":\"a\",\"fixture\":\"f\",\"scope\":\"s\",\"at\":\"middle\""),
	  "packet scope_open: \"at\" is not \"begin\" or \"end\"", EVENT_NULL },
	{ P("\"finish\",\"test\":\"a\",\"outcome\":\"green\""),
	  "packet finish: \"outcome\" is not an outcome", EVENT_NULL },
	{ P("\"finish\",\"test\":\"a\",\"outcome\":\"absent\""),
	  "packet finish: \"outcome\" is not an outcome", EVENT_NULL },
	{ P(FINISH ",\"next\":\"\""), "packet finish: \"next\" is not an id or null", EVENT_NULL },
	{ P(FINISH ",\"phases\":{\"dinner\":\"passed\"}"),
	  "packet finish: \"phases\" is not outcomes of setup, call and teardown", EVENT_NULL },
	{ P(FINISH ",\"us\":{\"call\":-1}"),
	  "packet finish: \"us\" is not microseconds of setup, call and teardown", EVENT_NULL },
	{ P(FINISH ",\"us\":{\"call\":1e999}"),
	  "packet finish: \"us\" is not microseconds of setup, call and teardown", EVENT_NULL },
	{ P(FINISH ",\"us\":[1]"),
	  "packet finish: \"us\" is not microseconds of setup, call and teardown", EVENT_NULL },
	{ P(FINISH ",\"message\":7"), "packet finish: \"message\" is not a text", EVENT_NULL },
};

static bool same(const struct event *a, const struct event *b)
{
	return a->kind == b->kind && text_eq(a->test, b->test) && text_eq(a->next, b->next) &&
	       text_eq(a->file, b->file) && text_eq(a->fixture, b->fixture) &&
	       text_eq(a->scope, b->scope) && text_eq(a->rootdir, b->rootdir) &&
	       a->at_end == b->at_end && a->outcome == b->outcome;
}

static void test_parse(void)
{
	for (size_t i = 0; i < countof(cases); i++) {
		cleanup(event_done) struct event ev = EVENT_NULL;
		struct err e = ERR_NULL;
		int r = event_parse(&ev, cases[i].packet, strlen(cases[i].packet), &e);
		bool good = cases[i].error ? r == -EPROTO && text_eq(e.text, cases[i].error)
					   : r == 0 && ev.packet;
		tap_ok(good && same(&ev, &cases[i].is), "%s: %s", cases[i].packet, e.text);
	}
}

static int parse_sized(size_t id_len)
{
	cleanup_free char *packet = NULL;
	if (asprintf(&packet, P("\"start\",\"test\":\"%0*d\""), (int)id_len, 0) < 0)
		return -ENOMEM;
	cleanup(event_done) struct event ev = EVENT_NULL;
	return event_parse(&ev, packet, strlen(packet), NULL);
}

static void test_bounds(void)
{
	tap_ok(parse_sized(EVENT_ID_LEN_MAX) == 0, "an id may have 16 KiB");
	tap_ok(parse_sized(EVENT_ID_LEN_MAX + 1) == -EPROTO, "a longer id is refused");

	cleanup_free char *packet = malloc(EVENT_LEN_MAX + 1);
	if (!packet)
		return;
	memset(packet, ' ', EVENT_LEN_MAX + 1);
	memcpy(packet, P("\"done\""), strlen(P("\"done\"")));
	cleanup(event_done) struct event ev = EVENT_NULL;
	struct err e = ERR_NULL;
	tap_ok(event_parse(&ev, packet, EVENT_LEN_MAX, &e) == 0, "a packet may have 64 KiB");
	tap_ok(event_parse(&ev, packet, EVENT_LEN_MAX + 1, &e) == -EPROTO &&
		       text_eq(e.text, "packet of 65537 bytes: at most 65536 are allowed"),
	       "a longer packet is refused: %s", e.text);
	packet[20] = '\0';
	tap_ok(event_parse(&ev, packet, 30, &e) == -EPROTO, "a NUL behind the object is refused");
}

static void test_words(void)
{
	char letters[OUTCOME_N + 1] = "";
	for (enum outcome o = 0; o < OUTCOME_N; o++)
		letters[o] = outcome_letter(o);
	tap_ok(text_eq(letters, "PFETSxXCOA"), "the letters of the outcomes: %s", letters);
	tap_ok(text_eq(outcome_name(OUTCOME_XFAILED), "xfailed") &&
		       text_eq(event_kind_name(EVENT_SCOPE_CLOSE), "scope_close") &&
		       text_eq(event_kind_name(EVENT_HANGUP), "hangup"),
	       "names of outcomes and kinds");
}

static void test_can(void)
{
	static const char packet[] = P("\"hello\",\"adapter\":\"sh\",\"version\":\"1\","
				       "\"rootdir\":\"/w\",\"can\":[\"reorder\",\"handover\"]");
	static const char plain[] =
		P("\"hello\",\"adapter\":\"sh\",\"version\":\"1\",\"rootdir\":\"/w\"");
	cleanup(event_done) struct event ev = EVENT_NULL;
	cleanup(event_done) struct event other = EVENT_NULL;
	tap_ok(!event_parse(&ev, packet, strlen(packet), NULL) && event_can(&ev, "handover") &&
		       !event_can(&ev, "hand"),
	       "what an adapter can");
	tap_ok(!event_parse(&other, plain, strlen(plain), NULL) && !event_can(&other, "handover"),
	       "one that says nothing of it can nothing");
}

int main(void)
{
	test_parse();
	test_can();
	test_bounds();
	test_words();
	return tap_done();
}
