#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "runner/conclusion.h"
#include "runner/ledger.h"
#include "runner/report/check.h"
#include "runner/report/matrix.h"
#include "runner/report/report.h"
#include "runner/terminal.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/tap.h"

/* Each folder of CHECK_DATA is a check that was run (--seeds 3 --shuffle shuffle); beside its ledger stand
 * the reports that it must give. FUMEHOOD_BLESS=1 writes them anew, to be read before they are kept. */
static const char *const runs[] = { "mixed", "clean", "cut" };

static const struct terminal screen = { .live = true, .color = true, .fd = -1, .width = 80 };

static int matrix(const struct check_report *c, const struct report_look *look, FILE *out,
		  struct err *e)
{
	(void)look;
	return matrix_write(c->classes, out, e);
}

static const struct {
	const char *file;
	int (*write)(const struct check_report *c, const struct report_look *look, FILE *out,
		     struct err *e);
	struct report_look look;
} reports[] = {
	{ "file.txt", check_write_text, { 0 } },
	{ "screen.txt", check_write_text, { .terminal = &screen, .verbose = true } },
	{ "quiet.txt", check_write_text, { .terminal = &screen, .quiet = true } },
	{ "findings.json", check_write_json, { 0 } },
	{ "matrix.json", matrix, { 0 } },
};

static int64_t now_ms(void)
{
	return 0;
}

static const struct plan_ask ask = { .seeds = 3, .shuffle = PLAN_SHUFFLE };
static const struct campaign_setup setup = {
	.ask = &ask, .facts = { .lanes = 2 }, .shrink = true, .now_ms = now_ms
};

/* One run, read back. */
struct reading {
	struct ledger ledger;
	struct campaign campaign;
	struct conclusion conclusion;
};

static void reading_done(struct reading *r)
{
	conclusion_done(&r->conclusion);
	campaign_done(&r->campaign);
	ledger_done(&r->ledger);
}

static int read_run(const char *run, struct reading *r, struct err *e)
{
	char path[512];
	snprintf(path, sizeof(path), CHECK_DATA "/%s", run);
	*r = (struct reading){ .ledger = LEDGER_NULL };
	campaign_init(&r->campaign, &setup);
	int err = ledger_open(path, &r->ledger, e);
	err = err ? err : ledger_each(&r->ledger, campaign_line, &r->campaign, e);
	err = err ? err : campaign_recall(&r->campaign, e);
	return err ? err : conclusion_draw(&r->campaign, &r->ledger, false, &r->conclusion, e);
}

static struct check_report report_of(const struct reading *r)
{
	return (struct check_report){
		.summary = &r->conclusion.summary,
		.history = &r->campaign.history,
		.classes = &r->campaign.classes,
		.findings = &r->conclusion.findings,
		.run = "20261130T221242Z-7695",
		.skipped = &r->conclusion.skipped,
		.searched = true,
	};
}

/* Readers of a key that stands twice differ on which of them counts. */
static size_t twice(const cJSON *tree)
{
	size_t n = 0;
	const cJSON *item;
	cJSON_ArrayForEach(item, tree)
	{
		n += cJSON_IsObject(tree) &&
		     cJSON_GetObjectItemCaseSensitive(tree, item->string) != item;
		n += twice(item);
	}
	return n;
}

static void test_keys(const char *run, const struct reading *reading)
{
	const struct check_report report = report_of(reading);
	cleanup_free char *text = NULL;
	size_t len = 0;
	struct err e = ERR_NULL;
	FILE *out = open_memstream(&text, &len);
	check_write_json(&report, &(struct report_look){ 0 }, out, &e);
	fclose(out);
	cleanup_json cJSON *tree = cJSON_Parse(text);
	tap_ok(tree && twice(tree) == 0, "%s: no key stands twice", run);
}

static void compare(const char *run, const struct reading *reading, size_t i)
{
	const struct check_report report = report_of(reading);
	cleanup_free char *text = NULL;
	size_t len = 0;
	struct err e = ERR_NULL;
	FILE *out = open_memstream(&text, &len);
	int r = reports[i].write(&report, &reports[i].look, out, &e);
	fclose(out);
	char path[512];
	snprintf(path, sizeof(path), CHECK_DATA "/%s/%s", run, reports[i].file);
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

/* Lines that people read stay on their screens; only an id may be longer. */
static void test_width(const char *run, const struct reading *reading)
{
	const struct check_report report = report_of(reading);
	cleanup_free char *text = NULL;
	size_t len = 0;
	struct err e = ERR_NULL;
	FILE *out = open_memstream(&text, &len);
	check_write_text(&report, &(struct report_look){ 0 }, out, &e);
	fclose(out);
	int wide = 0;
	char *rest = text;
	for (char *line; (line = strsep(&rest, "\n"));)
		wide += strlen(line) > 80 && !text_starts(line, "FH") &&
			!text_starts(line, "details:");
	tap_ok(wide == 0, "%s: no line is wider than 80 columns", run);
}

static void test_faults(void)
{
	int wrong = 0;
	int n = 1;
	for (; fault_walk_on(n); n++) {
		struct err e = ERR_NULL;
		cleanup(reading_done) struct reading reading;
		cleanup_free char *text = NULL;
		size_t len = 0;
		int r = read_run("cut", &reading, &e);
		const struct check_report report = report_of(&reading);
		FILE *out = r ? NULL : open_memstream(&text, &len);
		for (size_t i = 0; i < countof(reports) && out && !r; i++)
			r = reports[i].write(&report, &reports[i].look, out, &e);
		if (out)
			fclose(out);
		wrong += fault_walk_hit() ? (r == 0 && out) || (r && !e.text[0]) : r != 0;
	}
	tap_ok(wrong == 0 && n > 100, "each of the faults is told");
}

int main(void)
{
	for (size_t k = 0; k < countof(runs); k++) {
		struct err e = ERR_NULL;
		cleanup(reading_done) struct reading reading;
		int r = read_run(runs[k], &reading, &e);
		if (!tap_ok(r == 0, "%s is read %s", runs[k], e.text))
			continue;
		free(reading.conclusion.summary.run);
		reading.conclusion.summary.run = strdup("/runs/a b");
		for (size_t i = 0; i < countof(reports); i++)
			compare(runs[k], &reading, i);
		test_width(runs[k], &reading);
		test_keys(runs[k], &reading);
	}
	test_faults();
	return tap_done();
}
