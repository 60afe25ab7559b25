#include "sandbox/base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runner/judge/rules.h"
#include "runner/judge/summary.h"
#include "runner/printable.h"
#include "runner/report/fold.h"
#include "runner/report/report.h"
#include "runner/terminal.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

#define LIST_MAX 20 /* lines of one list on a terminal */

struct page {
	const struct summary *s;
	const struct report_look *look;
	FILE *out;
	bool no_memory;
};

static const char *style(const struct page *p, enum style style)
{
	return p->look->terminal ? terminal_style(p->look->terminal, style) : "";
}

static void heading(const struct page *p, const char *title, size_t n)
{
	fprintf(p->out, "%s%s (%zu)%s\n", style(p, STYLE_BOLD), title, n, style(p, STYLE_PLAIN));
}

/* How many of n lines are shown; the rest is told with rest(). */
static size_t shown(const struct page *p, size_t n)
{
	bool all = p->look->verbose || !p->look->terminal || !p->look->terminal->live;
	return all || n <= LIST_MAX ? n : LIST_MAX;
}

/* Prints a text that was made for it, and keeps in mind when it could not be made. */
static void put(struct page *p, char *text)
{
	p->no_memory |= !text;
	fputs(text ? text : "", p->out);
	free(text);
}

static void put_printable(struct page *p, const char *before, const char *text, const char *after)
{
	fputs(before, p->out);
	put(p, printable(text));
	fputs(after, p->out);
}

static void rest(struct page *p, size_t n)
{
	if (shown(p, n) == n)
		return;
	fprintf(p->out, "  … and %zu more: see ", n - shown(p, n));
	put(p, quoted(p->s->run));
	fputs("/summary.txt, or run with -v\n", p->out);
}

static void failures(struct page *p)
{
	const struct summary *s = p->s;
	if (!s->failures_len)
		return;
	heading(p, "Failed tests", s->failures_len);
	for (size_t i = 0; i < shown(p, s->failures_len); i++) {
		const struct summary_failure *f = &s->failures[i];
		fprintf(p->out, "%s%s%s ", style(p, STYLE_RED), outcome_name(f->outcome),
			style(p, STYLE_PLAIN));
		put(p, quoted(f->test));
		if (f->phase)
			put_printable(p, " (", f->phase, ")");
		cleanup_free char *line = telling_line(f->message ? f->message : "");
		p->no_memory |= !line;
		fprintf(p->out, "%s%s\n", line && *line ? "\n    " : "", line ? line : "");
	}
	rest(p, s->failures_len);
	fputs("\n", p->out);
}

/* "FH101 tests/test_a.py::test_x  created /tmp/upload.lock (file, 12 bytes)" */
static void change(struct page *p, const struct summary_change *c, size_t below, enum style color)
{
	fprintf(p->out, "%s%s%s ", style(p, color), c->code, style(p, STYLE_PLAIN));
	put(p, c->test ? quoted(c->test) : strdup("-"));
	fputs("  ", p->out);
	put(p, rule_clause(c->domain, c->what, c->key));
	cleanup_free char *detail = rule_detail(c->domain, c->before, c->after);
	p->no_memory |= !detail;
	if (detail && *detail)
		fprintf(p->out, " (%s)", detail);
	if (below)
		fprintf(p->out, " and %zu below it", below);
	if (c->fixture)
		put_printable(p, ", by fixture ", c->fixture, "");
	/* Most often a process that was alive and wrote nothing: the ledger keeps it. */
	for (size_t i = 0; p->look->verbose && i < c->suspects.len; i++) {
		fputs(i ? ", " : ", or by what is left of ", p->out);
		put(p, quoted(c->suspects.at[i]));
	}
	if (c->during) {
		fputs(", while this ran: ", p->out);
		put(p, quoted(c->during));
	}
	if (c->when)
		put_printable(p, ", ", c->when, "");
	if (c->restored)
		fputs(", put back", p->out);
	if (c->restored_why)
		put_printable(p, ", not put back: ", c->restored_why, "");
	fputs("\n", p->out);
}

static void changes(struct page *p, const char *title, const struct summary_changes *list,
		    enum style color)
{
	cleanup(fold_done) struct fold fold = FOLD_NULL;
	if (!list->len)
		return;
	if (fold_changes(list, &fold)) {
		p->no_memory = true;
		return;
	}
	heading(p, title, list->len);
	bool all = p->look->verbose;
	size_t n = all ? list->len : fold.len;
	size_t left = shown(p, n);
	for (size_t i = 0; i < list->len && left; i++) {
		if (fold.folded[i] && !all)
			continue;
		change(p, &list->at[i], all ? 0 : fold.below[i], color);
		left--;
	}
	rest(p, n);
	fputs("\n", p->out);
}

static void survivors(struct page *p)
{
	const struct summary *s = p->s;
	if (!s->survivors_len)
		return;
	heading(p, "Alive when the command had ended, and ended with the cell", s->survivors_len);
	for (size_t i = 0; i < shown(p, s->survivors_len); i++) {
		put(p, quoted(s->survivors[i].key));
		fputs("  started by ", p->out);
		put(p, s->survivors[i].test ? quoted(s->survivors[i].test) : strdup("no test"));
		fputs("\n", p->out);
	}
	rest(p, s->survivors_len);
	fputs("\n", p->out);
}

static void lines(struct page *p, const char *title, const char *const *texts)
{
	if (!texts || !*texts)
		return;
	fprintf(p->out, "%s%s%s\n", style(p, STYLE_BOLD), title, style(p, STYLE_PLAIN));
	for (; *texts; texts++) {
		put_printable(p, "  ", *texts, "\n");
	}
	fputs("\n", p->out);
}

static void verdict(struct page *p)
{
	const struct verdict *v = &p->s->verdict;
	cleanup_free char *sentence = report_sentence(p->s);
	p->no_memory |= !sentence;
	bool clean = v->reasons.len == 0 && !p->s->leaks.len;
	enum style color = v->reasons.len ? STYLE_RED : clean ? STYLE_GREEN : STYLE_YELLOW;
	fprintf(p->out, "%s%s%s", style(p, color), sentence ? sentence : "", style(p, STYLE_PLAIN));
	if (v->reasons.len)
		fprintf(p->out, " Exit status %d: %s.", v->status, v->reasons.at[0]);
	fputs("\n", p->out);
}

/* Of one state, for one reason? */
static bool is_alike(const cJSON *why, const cJSON *a, const cJSON *b)
{
	return text_eq(a->valuestring, b->valuestring) &&
	       text_eq(json_text(why, a->string), json_text(why, b->string));
}

/* "; net off (asked)", "; ipc, uts reduced: …": the part and those behind it that are like it. */
static void isolation_parts(struct page *p, const cJSON *why, const cJSON *first)
{
	const char *reason = json_text(why, first->string);
	const char *before = "; ";
	for (const cJSON *part = first; part; part = part->next) {
		if (!is_alike(why, first, part))
			continue;
		put_printable(p, before, part->string, "");
		before = ", ";
	}
	put_printable(p, " ", first->valuestring ? first->valuestring : "unknown", "");
	if (reason)
		put_printable(p, ": ", reason, "");
}

/* "isolation: 15 of 17 verified; net off (asked); time reduced: there is no such namespace" */
static void isolation(struct page *p)
{
	const cJSON *parts = cJSON_GetObjectItemCaseSensitive(p->s->about, "isolation");
	const cJSON *why = cJSON_GetObjectItemCaseSensitive(p->s->about, "isolation_why");
	size_t verified = 0;
	const cJSON *part;
	if (!parts)
		return;
	cJSON_ArrayForEach(part, parts)
	{
		verified += text_eq(part->valuestring, "verified");
	}
	fprintf(p->out, "isolation: %zu of %d verified", verified, cJSON_GetArraySize(parts));
	cJSON_ArrayForEach(part, parts)
	{
		const cJSON *alike = parts->child;
		while (alike != part && !is_alike(why, alike, part))
			alike = alike->next;
		if (alike == part && !text_eq(part->valuestring, "verified"))
			isolation_parts(p, why, part);
	}
	fputs("\n", p->out);
}

static int write_text(const struct summary *s, const struct report_look *look, FILE *out,
		      struct err *e)
{
	struct page p = { .s = s, .look = look, .out = out };
	if (!look->quiet) {
		failures(&p);
		changes(&p, "Damage", &s->damage, STYLE_RED);
		changes(&p, "Left behind", &s->leaks, STYLE_YELLOW);
		changes(&p, "Written outside of the state folders, and undone or held", &s->writes,
			STYLE_YELLOW);
		changes(&p, "Changed by no test", &s->unattributed, STYLE_YELLOW);
		survivors(&p);
		lines(&p, "Likely causes", look->hints);
		lines(&p, "To know", (const char *const *)s->notes.at);
	}
	verdict(&p);
	if (!look->quiet) {
		isolation(&p);
		fputs("run folder: ", out);
		put(&p, quoted(s->run));
		fputs("\n", out);
	}
	return p.no_memory ? err_set(e, ENOMEM, "write the summary: no memory") : 0;
}

const struct report_format report_text = { .name = "text", .write = write_text };
