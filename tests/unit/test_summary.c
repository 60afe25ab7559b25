#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "runner/judge/summary.h"
#include "runner/ledger.h"
#include "runner/report/report.h"
#include "runner/terminal.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/tap.h"

/* Each folder of SUMMARY_DATA is a run; beside its ledger stand the reports that it must give.
 * FUMEHOOD_BLESS=1 writes them anew, to be read before they are kept. */
static const struct {
	const char *run;
	const char *reports; /* of which run it has, too; NULL: its own */
} runs[] = {
	{ "clean", NULL }, { "mixed", NULL },    { "many", NULL },
	{ "crash", NULL }, { "torn", NULL },     { "empty", NULL },
	{ "sweep", NULL }, { "lanes", "sweep" }, { "accepted", NULL },
};

static const struct terminal screen = { .live = true, .color = true, .fd = -1, .width = 100 };
static const char *const hints[] = { "a hint\x1b", NULL };
static const struct {
	const char *file;
	const struct report_format *format;
	struct report_look look;
} reports[] = {
	{ "file.txt", &report_text, { .hints = hints } },
	{ "screen.txt", &report_text, { .terminal = &screen } },
	{ "quiet.txt", &report_text, { .terminal = &screen, .quiet = true } },
	{ "findings.json", &report_json, { .hints = hints } },
};

static void compare(const char *run, const struct summary *s, size_t i)
{
	cleanup_free char *text = NULL;
	size_t len = 0;
	struct err e = ERR_NULL;
	FILE *out = open_memstream(&text, &len);
	int r = reports[i].format->write(s, &reports[i].look, out, &e);
	fclose(out);
	char path[512];
	snprintf(path, sizeof(path), SUMMARY_DATA "/%s/%s", run, reports[i].file);
	if (getenv("FUMEHOOD_BLESS")) {
		FILE *kept = fopen(path, "we");
		fputs(text, kept);
		fclose(kept);
	}
	cleanup_free char *expected = NULL;
	r = r ? r : fd_load(AT_FDCWD, path, 1 << 20, &expected, NULL, &e);
	if (!tap_ok(r == 0 && text_eq(text, expected), "%s/%s: %s", run, reports[i].file, e.text))
		fprintf(stderr, "%s", text);
}

/* Reading and writing the richest run, with each call failing in turn. */
static void test_faults(void)
{
	cleanup(ledger_done) struct ledger l = LEDGER_NULL;
	cleanup_free char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int wrong = ledger_open(SUMMARY_DATA "/mixed", &l, NULL);
	int n = 1;
	for (; fault_walk_on(n); n++) {
		cleanup(summary_done) struct summary s = SUMMARY_NULL;
		struct err e = ERR_NULL;
		int r = summary_read(&l, &s, &e);
		for (size_t i = 0; i < countof(reports) && !r; i++)
			r = reports[i].format->write(&s, &reports[i].look, out, &e);
		wrong += fault_walk_hit() ? r == 0 || !e.text[0] : r != 0;
	}
	fclose(out);
	tap_ok(wrong == 0 && n > 100, "each of %d faults is told", n);
}

int main(void)
{
	for (size_t k = 0; k < countof(runs); k++) {
		char path[512];
		snprintf(path, sizeof(path), SUMMARY_DATA "/%s", runs[k].run);
		cleanup(ledger_done) struct ledger l = LEDGER_NULL;
		cleanup(summary_done) struct summary s = SUMMARY_NULL;
		struct err e = ERR_NULL;
		int r = ledger_open(path, &l, &e);
		r = r ? r : summary_read(&l, &s, &e);
		if (!tap_ok(r == 0, "%s is read %s", runs[k].run, e.text))
			continue;
		free(s.run);
		s.run = strdup("/runs/a b");
		for (size_t i = 0; i < countof(reports); i++)
			compare(runs[k].reports ? runs[k].reports : runs[k].run, &s, i);
	}
	test_faults();
	return tap_done();
}
