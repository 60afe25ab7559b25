#include "runner/report/report.h"

#include <string.h>

#include "runner/judge/summary.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/digest.h"

char *report_id(const struct summary_change *c, char id[REPORT_ID_LEN])
{
	const char *const parts[] = { c->code, c->test, c->fixture, c->domain, c->what, c->key };
	struct digest all[countof(parts)] = { 0 };
	for (size_t i = 0; i < countof(parts); i++)
		if (parts[i])
			all[i] = digest_bytes(parts[i], strlen(parts[i]));
	char hex[DIGEST_HEX];
	snprintf(id, REPORT_ID_LEN, "%s-%.8s", c->code,
		 digest_hex(digest_bytes(all, sizeof(all)), hex));
	return id;
}

struct part {
	size_t n;
	const char *one, *many;
};

static int add_parts(struct buf *out, const struct part *parts, size_t len)
{
	int r = 0;
	bool first = true;
	for (size_t i = 0; i < len && !r; i++) {
		if (!parts[i].n)
			continue;
		r = buf_printf(out, "%s%zu %s", first ? "" : ", ", parts[i].n,
			       parts[i].n == 1 ? parts[i].one : parts[i].many);
		first = false;
	}
	return r;
}

char *report_sentence(const struct summary *s)
{
	const size_t *n = s->outcomes;
	size_t failed = n[OUTCOME_FAILED] + n[OUTCOME_CRASHED] + n[OUTCOME_TIMEOUT];
	size_t errors = n[OUTCOME_ERROR_SETUP] + n[OUTCOME_ERROR_TEARDOWN];
	const struct part outcomes[] = {
		{ failed, "failed", "failed" },
		{ errors, "with an error around it", "with errors around them" },
		{ n[OUTCOME_ABSENT], "did not run", "did not run" },
		{ n[OUTCOME_XPASSED], "passed against expectation", "passed against expectation" },
		{ n[OUTCOME_PASSED], "passed", "passed" },
		{ n[OUTCOME_XFAILED], "failed as expected", "failed as expected" },
		{ n[OUTCOME_SKIPPED], "skipped", "skipped" },
	};
	const struct part found[] = {
		{ s->leaks.len, "thing left behind", "things left behind" },
		{ s->damage.len, "thing damaged", "things damaged" },
		{ s->unattributed.len, "change of no test", "changes of no test" },
	};
	cleanup(buf_done) struct buf out = BUF_NULL;
	int r = s->tests_len ? buf_printf(&out, "%zu test%s in %.1f s: ", s->tests_len,
					  s->tests_len == 1 ? "" : "s", s->seconds)
			     : buf_puts(&out, "no tests");
	r = r ? r : add_parts(&out, outcomes, countof(outcomes));
	r = r ? r : buf_puts(&out, "; ");
	size_t before = out.len;
	r = r ? r : add_parts(&out, found, countof(found));
	if (!r && out.len == before)
		r = buf_puts(&out, "nothing left behind");
	return r || buf_puts(&out, ".") ? NULL : take_ptr(&out.at);
}
