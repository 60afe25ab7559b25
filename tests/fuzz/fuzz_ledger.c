#include <assert.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "runner/judge/summary.h"
#include "runner/ledger.h"
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
	unlinkat(l.dir, "run.json", 0);
	unlinkat(l.dir, "ledger.jsonl", 0);
	rmdir(folder);
	return 0;
}
