#include "runner/report/page.h"

#include <stdlib.h>
#include <string.h>

#include "runner/judge/rules.h"
#include "runner/judge/summary.h"
#include "runner/printable.h"
#include "runner/report/fold.h"
#include "runner/report/report.h"
#include "sandbox/base/cleanup.h"

#define LIST_MAX 20 /* lines of one list on a terminal */

const char *page_style(const struct page *p, enum style style)
{
	return p->look->terminal ? terminal_style(p->look->terminal, style) : "";
}

void page_heading(const struct page *p, const char *title, size_t n)
{
	fprintf(p->out, "%s%s (%zu)%s\n", page_style(p, STYLE_BOLD), title, n,
		page_style(p, STYLE_PLAIN));
}

size_t page_shown(const struct page *p, size_t n)
{
	bool all = p->look->verbose || !p->look->terminal || !p->look->terminal->live;
	return all || n <= LIST_MAX ? n : LIST_MAX;
}

void page_put(struct page *p, char *text)
{
	p->no_memory |= !text;
	fputs(text ? text : "", p->out);
	free(text);
}

void page_printable(struct page *p, const char *before, const char *text, const char *after)
{
	fputs(before, p->out);
	page_put(p, printable(text));
	fputs(after, p->out);
}

void page_rest(struct page *p, size_t n)
{
	if (page_shown(p, n) == n)
		return;
	fprintf(p->out, "  … and %zu more: see ", n - page_shown(p, n));
	page_put(p, quoted(p->s->run));
	fputs("/summary.txt, or run with -v\n", p->out);
}

/* "FH101 tests/test_a.py::test_x  created /tmp/upload.lock (file, 12 bytes)" */
static void change(struct page *p, const struct summary_change *c, size_t below, enum style color)
{
	fprintf(p->out, "%s%s%s ", page_style(p, color), c->code, page_style(p, STYLE_PLAIN));
	page_put(p, c->test ? quoted(c->test) : strdup("-"));
	fputs("  ", p->out);
	page_put(p, rule_clause(c->domain, c->what, c->key));
	cleanup_free char *detail = rule_detail(c->domain, c->before, c->after);
	p->no_memory |= !detail;
	if (detail && *detail)
		fprintf(p->out, " (%s)", detail);
	if (below)
		fprintf(p->out, " and %zu below it", below);
	if (c->fixture)
		page_printable(p, ", by fixture ", c->fixture, "");
	/* Most often a process that was alive and wrote nothing: the ledger keeps it. */
	for (size_t i = 0; p->look->verbose && i < c->suspects.len; i++) {
		fputs(i ? ", " : ", or by what is left of ", p->out);
		page_put(p, quoted(c->suspects.at[i]));
	}
	if (c->during) {
		fputs(", while this ran: ", p->out);
		page_put(p, quoted(c->during));
	}
	if (c->when)
		page_printable(p, ", ", c->when, "");
	if (c->restored)
		fputs(", put back", p->out);
	if (c->restored_why)
		page_printable(p, ", not put back: ", c->restored_why, "");
	fputs("\n", p->out);
}

void page_changes(struct page *p, const char *title, const struct summary_changes *list,
		  enum style color)
{
	cleanup(fold_done) struct fold fold = FOLD_NULL;
	if (!list->len)
		return;
	if (fold_changes(list, &fold)) {
		p->no_memory = true;
		return;
	}
	page_heading(p, title, list->len);
	bool all = p->look->verbose;
	size_t n = all ? list->len : fold.len;
	size_t left = page_shown(p, n);
	for (size_t i = 0; i < list->len && left; i++) {
		if (fold.folded[i] && !all)
			continue;
		change(p, &list->at[i], all ? 0 : fold.below[i], color);
		left--;
	}
	page_rest(p, n);
	fputs("\n", p->out);
}

void page_survivors(struct page *p)
{
	const struct summary *s = p->s;
	if (!s->survivors_len)
		return;
	page_heading(p, "Alive when the command had ended, and ended with the cell",
		     s->survivors_len);
	for (size_t i = 0; i < page_shown(p, s->survivors_len); i++) {
		page_put(p, quoted(s->survivors[i].key));
		fputs("  started by ", p->out);
		page_put(p, s->survivors[i].test ? quoted(s->survivors[i].test) : strdup("no test"));
		fputs("\n", p->out);
	}
	page_rest(p, s->survivors_len);
	fputs("\n", p->out);
}

void page_lines(struct page *p, const char *title, const char *const *texts)
{
	if (!texts || !*texts)
		return;
	fprintf(p->out, "%s%s%s\n", page_style(p, STYLE_BOLD), title, page_style(p, STYLE_PLAIN));
	for (; *texts; texts++) {
		page_printable(p, "  ", *texts, "\n");
	}
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
		page_printable(p, before, part->string, "");
		before = ", ";
	}
	page_printable(p, " ", first->valuestring ? first->valuestring : "unknown", "");
	if (reason)
		page_printable(p, ": ", reason, "");
}

/* "isolation: 15 of 17 verified; net off (asked); time reduced: there is no such namespace" */
/* "FH101 tests/a.py::* /tmp/x: a reason. 3 taken out." */
static void accepted_rule(struct page *p, const struct ignore *rule)
{
	const char *day = p->s->accepted.day;
	fprintf(p->out, "  %s", rule->code ? rule->code : "state");
	if (rule->test)
		page_printable(p, " ", rule->test, "");
	if (rule->key)
		page_printable(p, " ", rule->key, "");
	page_printable(p, ": ", rule->reason, "");
	if (!ignore_applies(rule, day))
		fprintf(p->out, ". It expired on %s and took nothing out.\n", rule->expires);
	else if (rule->expires)
		fprintf(p->out, ". %zu taken out, until %s.\n", rule->hits, rule->expires);
	else
		fprintf(p->out, ". %zu taken out.\n", rule->hits);
}

void page_accepted(struct page *p)
{
	const struct accepted *a = &p->s->accepted;
	const struct ignores *const lists[] = { &a->ignore, &a->expected_state };
	if (!a->ignore.len && !a->expected_state.len)
		return;
	page_heading(p, "Accepted in fumehood.json", a->ignore.len + a->expected_state.len);
	for (size_t i = 0; i < countof(lists); i++)
		for (size_t k = 0; k < lists[i]->len; k++)
			accepted_rule(p, &lists[i]->at[k]);
	fputs("\n", p->out);
}

void page_isolation(struct page *p)
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
