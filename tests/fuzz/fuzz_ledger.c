#include <assert.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "runner/judge/classes.h"
#include "runner/judge/history.h"
#include "runner/judge/summary.h"
#include "runner/judge/suspicions.h"
#include "runner/ledger.h"
#include "runner/report/matrix.h"
#include "runner/report/report.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put(int dir, const char *name, const void *bytes, size_t len)
{
	cleanup_close int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int r = fd_write_full(fd, bytes, len);
	assert(r == 0);
}

static void write_report(const struct summary *s, const struct report_format *format, char **ret)
{
	const struct report_look look = { 0 };
	size_t len = 0;
	FILE *out = open_memstream(ret, &len);
	int r = format->write(s, &look, out, NULL);
	assert(r == 0);
	fclose(out);
}

struct known {
	struct history history;
	struct marks marks;
	struct suspicions suspicions;
};

static int keep_line(void *with, const char *kind, const cJSON *line, struct err *e)
{
	struct known *k = with;
	int r = history_line(&k->history, kind, line, e);
	r = r ? r : marks_line(&k->marks, &k->history, kind, line, e);
	return r ? r : suspicions_line(&k->suspicions, &k->history, kind, line, e);
}

/* What the lines say of orders: a class for each test, and a matrix that is JSON. */
static void judge(const struct known *k)
{
	cleanup(classes_done) struct classes c = CLASSES_NULL;
	cleanup(reruns_done) struct reruns open = { 0 };
	cleanup_free uint32_t *alone = NULL;
	cleanup_free char *text = NULL;
	size_t len = 0;
	int r = classes_judge(&k->history, &k->marks, true, &c);
	r = r ? r : classes_open(&c, &open);
	r = r ? r : suspicions_open(&k->suspicions, &c, &alone, &len);
	FILE *out = open_memstream(&text, &len);
	r = r ? r : matrix_write(&c, out, NULL);
	fclose(out);
	assert(r == 0);
	cleanup_json cJSON *tree = cJSON_Parse(text);
	assert(tree);
}

/* What is refused in the middle is judged by nobody. */
static void judge_orders(const struct ledger *l)
{
	struct known k = { HISTORY_NULL, MARKS_NULL, SUSPICIONS_NULL };
	struct err e = ERR_NULL;
	int r = ledger_each(l, keep_line, &k, &e);
	assert(e.code == -r);
	if (r == 0)
		judge(&k);
	history_done(&k.history);
	marks_done(&k.marks);
	suspicions_done(&k.suspicions);
}

/* A ledger: refused with a reason, or reported without a byte that drives a terminal. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char about[] = "{\"version\":1,\"isolation\":{\"net\":\"reduced\"}}";
	char folder[] = "/tmp/fumehood-fuzz.XXXXXX";
	char *made = mkdtemp(folder);
	assert(made);
	cleanup(ledger_done) struct ledger l = LEDGER_NULL;
	cleanup(summary_done) struct summary s = SUMMARY_NULL;
	struct err e = ERR_NULL;
	int r = ledger_open(folder, &l, &e);
	assert(r == 0);
	put(l.dir, "run.json", about, strlen(about));
	put(l.dir, "ledger.jsonl", data, size);
	r = summary_read(&l, &s, &e);
	assert(e.code == -r);
	if (r == 0) {
		cleanup_free char *text = NULL;
		cleanup_free char *json = NULL;
		write_report(&s, &report_text, &text);
		write_report(&s, &report_json, &json);
		for (const char *c = text; *c; c++)
			assert((unsigned char)*c >= ' ' || *c == '\n');
	}
	judge_orders(&l);
	unlinkat(l.dir, "run.json", 0);
	unlinkat(l.dir, "ledger.jsonl", 0);
	rmdir(folder);
	return 0;
}
