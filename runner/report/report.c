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

/* "2 failed, 1 passed": what there is of it. */
struct part {
	size_t n;
	const char *word;
	const char *plural; /* NULL: the word does */
};

static int add_parts(struct buf *out, const struct part *parts, size_t len)
{
	const char *comma = "";
	int r = 0;
	for (size_t i = 0; i < len && !r; i++) {
		if (!parts[i].n)
			continue;
		bool many = parts[i].n > 1 && parts[i].plural;
		r = buf_printf(out, "%s%zu %s", comma, parts[i].n,
			       many ? parts[i].plural : parts[i].word);
		comma = ", ";
	}
	return r;
}

static int add_outcomes(struct buf *out, const struct summary *s)
{
	const size_t *n = s->outcomes;
	const struct part parts[] = {
		{ n[OUTCOME_FAILED], "failed", NULL },
		{ n[OUTCOME_CRASHED], "crashed", NULL },
		{ n[OUTCOME_TIMEOUT], "timed out", NULL },
		{ n[OUTCOME_ERROR_SETUP] + n[OUTCOME_ERROR_TEARDOWN], "error", "errors" },
		{ n[OUTCOME_ABSENT], "did not run", NULL },
		{ n[OUTCOME_PASSED], "passed", NULL },
		{ n[OUTCOME_XPASSED], "xpassed", NULL },
		{ n[OUTCOME_XFAILED], "xfailed", NULL },
		{ n[OUTCOME_SKIPPED], "skipped", NULL },
	};
	int r = s->tests_len ? add_parts(out, parts, countof(parts)) : buf_puts(out, "no tests");
	return r || !s->ends_len ? r : buf_printf(out, " in %.1f s", s->seconds);
}

char *report_sentence(const struct summary *s)
{
	const struct part found[] = {
		{ s->leaks.len, "thing left behind", "things left behind" },
		{ s->damage.len, "damaged", NULL },
		{ s->unattributed.len, "changed by no test", NULL },
	};
	cleanup(buf_done) struct buf out = BUF_NULL;
	int r = add_outcomes(&out, s);
	r = r ? r : buf_puts(&out, "; ");
	size_t before = out.len;
	r = r ? r : add_parts(&out, found, countof(found));
	if (!r && out.len == before)
		r = buf_puts(&out, "nothing left behind");
	return r || buf_puts(&out, ".") ? NULL : take_ptr(&out.at);
}
