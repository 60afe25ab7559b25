#include <stdlib.h>
#include <string.h>

#include "runner/config.h"
#include "runner/progress.h"
#include "sandbox/base/cleanup.h"
#include "tests/lib/tap.h"

/* Colour and liveness, from the setting and the environment; on what is no terminal. */
static const struct {
	int color;
	const char *const *env;
	bool is_color, is_live;
	int width;
} terminals[] = {
#define ENV(...) ((const char *const[]){ __VA_ARGS__, NULL })
	{ CONFIG_COLOR_AUTO, ENV("A=1"), false, false, 80 },
	{ CONFIG_COLOR_ALWAYS, ENV("NO_COLOR=1"), true, false, 80 },
	{ CONFIG_COLOR_NEVER, ENV("FORCE_COLOR=1"), false, false, 80 },
	{ CONFIG_COLOR_AUTO, ENV("FORCE_COLOR=1"), true, false, 80 },
	{ CONFIG_COLOR_AUTO, ENV("FORCE_COLOR=0"), false, false, 80 },
	{ CONFIG_COLOR_AUTO, ENV("CLICOLOR_FORCE=1"), true, false, 80 },
	{ CONFIG_COLOR_AUTO, ENV("CLICOLOR_FORCE=1", "NO_COLOR=1"), false, false, 80 },
	{ CONFIG_COLOR_AUTO, ENV("CLICOLOR_FORCE=1", "NO_COLOR="), true, false, 80 },
	{ CONFIG_COLOR_AUTO, ENV("FUMEHOOD_FORCE_TTY=100"), true, true, 100 },
	{ CONFIG_COLOR_AUTO, ENV("FUMEHOOD_FORCE_TTY=1"), true, true, 80 },
	{ CONFIG_COLOR_AUTO, ENV("FUMEHOOD_FORCE_TTY=100", "CLICOLOR=0"), false, true, 100 },
	{ CONFIG_COLOR_AUTO, ENV("FUMEHOOD_FORCE_TTY=100", "TERM=dumb"), false, false, 100 },
	{ CONFIG_COLOR_AUTO, ENV("FUMEHOOD_FORCE_TTY=100", "NO_COLOR=1"), false, true, 100 },
};

static const char *const *table;

static char *env(const char *name)
{
	size_t len = strlen(name);
	for (const char *const *at = table; *at; at++)
		if (strncmp(*at, name, len) == 0 && (*at)[len] == '=')
			return (char *)*at + len + 1;
	return NULL;
}

static void test_terminals(void)
{
	for (size_t i = 0; i < countof(terminals); i++) {
		table = terminals[i].env;
		struct terminal t = terminal_of(-1, terminals[i].color, env);
		tap_ok(t.color == terminals[i].is_color && t.live == terminals[i].is_live &&
			       terminal_width(&t) == terminals[i].width,
		       "terminal %zu: %s", i, table[0]);
	}
}

static int64_t now;

static int64_t fake_clock(void)
{
	return now;
}

struct step {
	int64_t at_ms;
	const char *line; /* NULL: time passes */
};
#define LINE(kind, order, more) "{\"kind\":\"" kind "\",\"order\":\"" order "\"" more "}"
#define BEGIN                   LINE("begin", "o", ",\"lane\":0")
#define ORDER                   LINE("order", "o", ",\"tests\":[\"a\",\"b\\u001b\",\"\xe6\xb5\x8b\xe8\xaf\x95\"]")
#define TEST(order, n, outcome, deltas)                                                           \
	LINE("test", order,                                                                       \
	     ",\"n\":" #n ",\"test\":\"t" #n "\",\"outcome\":\"" outcome "\",\"deltas\":[" deltas \
	     "]")
#define FAILED(n) TEST("o", n, "failed", "")
#define LEAKED(n) \
	TEST("o", n, "passed", "{\"kind\":\"touch\"},{\"kind\":\"leak\"},{\"kind\":\"leak\"}")
#define ENDED(order, seconds) LINE("end", order, ",\"seconds\":" #seconds)

static const struct {
	const char *name;
	bool live, color;
	int width;
	struct step steps[8];
	const char *shown;
} runs[] = {
	{ "a bar",
	  true,
	  false,
	  70,
	  { { 1, BEGIN }, { 100, ORDER }, { 200, FAILED(0) }, { 210, LEAKED(1) }, { 65000, NULL } },
	  "\r[....................] 0/3  0:00  a\033[K"
	  "\r[######..............] 1/3  1 failed  0:00  b\\x1b\033[K"
	  "\r[#############.......] 2/3  1 failed  1 leaking  1:05  \xe6\xb5\x8b\xe8\xaf\x95\033[K"
	  "\r\033[K" },
	{ "a narrow bar",
	  true,
	  false,
	  21,
	  { { 1, BEGIN }, { 100, ORDER }, { 200, FAILED(1) } },
	  "\r0/3  0:00  a\033[K"
	  "\r1/3  1 failed  0:00 \033[K"
	  "\r\033[K" },
	{ "a wide name is cut between characters",
	  true,
	  false,
	  24,
	  { { 1, BEGIN }, { 100, ORDER }, { 200, FAILED(1) } },
	  "\r0/3  0:00  a\033[K"
	  "\r1/3  1 failed  0:00  \xe6\xb5\x8b\033[K"
	  "\r\033[K" },
	{ "colour",
	  true,
	  true,
	  70,
	  { { 1, BEGIN }, { 100, ORDER }, { 200, LEAKED(0) } },
	  "\r\033[32m[....................] 0/3  0:00  a\033[0m\033[K"
	  "\r\033[33m[######..............] 1/3  1 leaking  0:00  b\\x1b\033[0m\033[K"
	  "\r\033[K" },
	{ "collecting",
	  true,
	  false,
	  70,
	  { { 100, NULL } },
	  "\r[....................] collecting  0:00\033[K\r\033[K" },
	{ "the last test is shown, however quick it was",
	  true,
	  false,
	  70,
	  { { 1, BEGIN }, { 10, ORDER }, { 20, LEAKED(0) }, { 30, LEAKED(1) }, { 40, FAILED(2) } },
	  "\r[####################] 3/3  1 failed  2 leaking  0:00\033[K"
	  "\r\033[K" },
	{ "lines",
	  false,
	  false,
	  0,
	  { { 1, BEGIN }, { 9000, ORDER }, { 10000, FAILED(0) }, { 19999, LEAKED(1) }, { 20000, NULL } },
	  "fumehood: 1/3  1 failed  0:10\nfumehood: 2/3  1 failed  1 leaking  0:20\n" },
	{ "a test that failed in two orders is one",
	  false,
	  false,
	  0,
	  { { 1, BEGIN },
	    { 2, ORDER },
	    { 3, FAILED(1) },
	    { 4, ENDED("o", 1) },
	    { 5, LINE("begin", "p", "") },
	    { 6, TEST("p", 1, "failed", "") },
	    { 10000, NULL } },
	  "fumehood: 1/2 orders  1 failed  0:10  about 0:00 left\n" },
	{ "no line for a short run",
	  false,
	  false,
	  0,
	  { { 1, BEGIN }, { 10, ORDER }, { 20, FAILED(0) } },
	  NULL },
};

static void test_runs(void)
{
	for (size_t i = 0; i < countof(runs); i++) {
		cleanup_free char *shown = NULL;
		size_t len = 0;
		FILE *out = open_memstream(&shown, &len);
		struct terminal t = {
			.live = runs[i].live, .color = runs[i].color, .fd = -1, .width = runs[i].width
		};
		struct progress p;
		now = 0;
		progress_begin(&p, out, &t, fake_clock);
		for (const struct step *step = runs[i].steps; step->at_ms; step++) {
			cleanup_json cJSON *line = step->line ? cJSON_Parse(step->line) : NULL;
			now = step->at_ms;
			if (line)
				progress_see(&p, line);
			else
				progress_tick(&p);
		}
		progress_done(&p);
		fclose(out);
		tap_ok(text_eq(shown, runs[i].shown ? runs[i].shown : ""), "%s: %s", runs[i].name,
		       shown);
	}
	struct progress silent = { .now_ms = fake_clock };
	tap_ok(progress_due_ms(&silent) == -1, "nothing is due where nothing is said");
}

/* Two lanes; ten seconds an order, of which one test of two has gone in one of them. */
static void test_lanes(void)
{
	static const struct step steps[] = { { 0, LINE("begin", "canonical", ",\"lane\":0") },
					     { 0, ENDED("canonical", 10) },
					     { 10000, LINE("begin", "s1", ",\"lane\":0") },
					     { 11000, LINE("begin", "s\\u001b", ",\"lane\":1") },
					     { 12000,
					       LINE("order", "s1", ",\"tests\":[\"a\",\"b\"]") },
					     { 14000, TEST("s1", 0, "failed", "") } };
	static const struct {
		const char *name;
		struct progress_left left;
		const char *counts;
	} cases[] = {
		/* 6 s are left of s1, 5 of the other, and in two lanes: */
		{ "nothing is to come", { 0 }, "1/3 orders  1 failed  0:16  about 0:06 left" },
		{ "orders like the one that ended",
		  { .orders = 4 },
		  "1/7 orders  1 failed  0:16  about 0:26 left" },
		{ "orders of which more is known",
		  { .orders = 4, .seconds = 100, .more = true },
		  "1/7+ orders  1 failed  0:16  about 0:56 left" },
	};
	for (size_t i = 0; i < countof(cases); i++) {
		cleanup_free char *shown = NULL;
		size_t len = 0;
		FILE *out = open_memstream(&shown, &len);
		struct progress p;
		now = 0;
		progress_begin(&p, out, &(struct terminal){ .fd = -1 }, fake_clock);
		progress_expect(&p, &cases[i].left, 2);
		for (size_t k = 0; k < countof(steps); k++) {
			cleanup_json cJSON *line = cJSON_Parse(steps[k].line);
			p.told_ms = now = steps[k].at_ms; /* nothing is due */
			progress_see(&p, line);
		}
		now = 16000;
		progress_tell_lanes(&p);
		progress_done(&p);
		fclose(out);
		char wanted[512];
		snprintf(wanted, sizeof(wanted),
			 "fumehood: %s\n"
			 "  lane 0: s1  1/2  b  for 0:02\n"
			 "  lane 1: s\\x1b  collecting  for 0:05\n",
			 cases[i].counts);
		if (!tap_ok(text_eq(shown, wanted), "%s", cases[i].name))
			printf("# %s\n", shown);
	}
}

int main(void)
{
	test_terminals();
	test_runs();
	test_lanes();
	return tap_done();
}
