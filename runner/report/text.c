#include "sandbox/base/text.h"

#include <errno.h>
#include <stdlib.h>

#include "runner/judge/summary.h"
#include "runner/printable.h"
#include "runner/report/page.h"
#include "runner/report/report.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

static void failures(struct page *p)
{
	const struct summary *s = p->s;
	if (!s->failures_len)
		return;
	page_heading(p, "Failed tests", s->failures_len);
	for (size_t i = 0; i < page_shown(p, s->failures_len); i++) {
		const struct summary_failure *f = &s->failures[i];
		fprintf(p->out, "%s%s%s ", page_style(p, STYLE_RED), outcome_name(f->outcome),
			page_style(p, STYLE_PLAIN));
		page_put(p, quoted(f->test));
		if (f->phase)
			page_printable(p, " (", f->phase, ")");
		cleanup_free char *line = telling_line(f->message ? f->message : "");
		p->no_memory |= !line;
		fprintf(p->out, "%s%s\n", line && *line ? "\n    " : "", line ? line : "");
	}
	page_rest(p, s->failures_len);
	fputs("\n", p->out);
}

static void verdict(struct page *p)
{
	const struct verdict *v = &p->s->verdict;
	cleanup_free char *sentence = report_sentence(p->s);
	p->no_memory |= !sentence;
	bool clean = v->reasons.len == 0 && !p->s->leaks.len;
	enum style color = v->reasons.len ? STYLE_RED : clean ? STYLE_GREEN : STYLE_YELLOW;
	fprintf(p->out, "%s%s%s", page_style(p, color), sentence ? sentence : "",
		page_style(p, STYLE_PLAIN));
	if (v->reasons.len)
		fprintf(p->out, " Exit status %d: %s.", v->status, v->reasons.at[0]);
	fputs("\n", p->out);
}

static int write_text(const struct summary *s, const struct report_look *look, FILE *out,
		      struct err *e)
{
	struct page p = { .s = s, .look = look, .out = out };
	if (!look->quiet) {
		failures(&p);
		page_changes(&p, "Damage", &s->damage, STYLE_RED);
		page_changes(&p, "Left behind", &s->leaks, STYLE_YELLOW);
		page_changes(&p, "Written outside of the state folders, and undone or held",
			     &s->writes, STYLE_YELLOW);
		page_changes(&p, "Changed by no test", &s->unattributed, STYLE_YELLOW);
		page_survivors(&p);
		page_accepted(&p);
		page_lines(&p, "Likely causes", look->hints);
		page_lines(&p, "To know", (const char *const *)s->notes.at);
	}
	verdict(&p);
	if (!look->quiet) {
		if (s->verdict.status == STATUS_NO_TESTS && !s->tests_len)
			fputs(PAGE_NO_TESTS "\n", out);
		page_isolation(&p);
		fputs("run folder: ", out);
		page_put(&p, quoted(s->run));
		fputs("\n", out);
	}
	return p.no_memory ? err_set(e, ENOMEM, "write the summary: no memory") : 0;
}

const struct report_format report_text = { .name = "text", .write = write_text };
