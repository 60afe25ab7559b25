#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runner/judge/findings.h"
#include "runner/judge/history.h"
#include "runner/judge/summary.h"
#include "runner/plan/bound.h"
#include "runner/printable.h"
#include "runner/report/check.h"
#include "runner/report/page.h"
#include "runner/report/report.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

#define COLUMNS 80
#define SET_MAX 5 /* tests of one set that are shown */

struct sheet {
	struct page page;
	const struct check_report *c;
};

static const char *id_of(const struct sheet *s, uint32_t test)
{
	return s->c->history->roster.ids.at[test];
}

/* ---- lines ---- */

/* A sentence over as many lines as it takes; ids in it stay whole, so that they can be pasted. */
static void wrapped(struct sheet *s, int indent, const char *text)
{
	int at = 0;
	while (*text) {
		int len = (int)strcspn(text, " ");
		if (at && at + 1 + len > COLUMNS) {
			fputs("\n", s->page.out);
			at = 0;
		}
		at += fprintf(s->page.out, "%*s%.*s", at ? 1 : indent, "", len, text);
		text += len + strspn(text + len, " ");
	}
	fputs("\n", s->page.out);
}

static void wrapped_printable(struct sheet *s, int indent, const char *text)
{
	cleanup_free char *shown = printable(text);
	s->page.no_memory |= !shown;
	wrapped(s, indent, shown ? shown : "");
}

static void title(struct sheet *s, const char *text)
{
	fprintf(s->page.out, "%s%s%s\n", page_style(&s->page, STYLE_BOLD), text,
		page_style(&s->page, STYLE_PLAIN));
}

/* ---- findings ---- */

/* What is told of a class of findings. */
static const struct {
	const char *title;
	const char *before; /* the word before the first test of a set */
	enum style style;
} classes_told[CLASS_N] = {
	[CLASS_VICTIM] = { "Fails after other tests", "after", STYLE_RED },
	[CLASS_ORDER_SENSITIVE] = { "Depends on the order of tests", "after", STYLE_RED },
	[CLASS_BRITTLE] = { "Passes only after other tests", "needs", STYLE_YELLOW },
	[CLASS_LEAKS_ACROSS_WORKERS] = { "Fails only in parallel", NULL, STYLE_RED },
	[CLASS_NONDETERMINISTIC] = { "Fails now and then", NULL, STYLE_RED },
	[CLASS_ABSENT] = { "Did not always run", NULL, STYLE_RED },
	[CLASS_STABLE_FAIL] = { "Fails in every order", NULL, STYLE_RED },
	[CLASS_REPEAT_SENSITIVE] = { "Fails when it is run twice", NULL, STYLE_YELLOW },
	[CLASS_ENVIRONMENT_SENSITIVE] = { "Depends on the environment", NULL, STYLE_YELLOW },
};

static void set(struct sheet *s, const struct finding *f)
{
	const struct search_set *set = &f->search.set;
	size_t shown = s->page.look->verbose || set->len <= SET_MAX + 1 ? set->len : SET_MAX;
	const char *before = f->search.kind == SEARCH_SETTERS ? "needs" : "after";
	for (size_t i = 0; i < shown; i++) {
		fprintf(s->page.out, "  %s ", i ? " then" : before);
		page_put(&s->page, quoted(id_of(s, set->tests[i])));
		fputs("\n", s->page.out);
	}
	if (shown < set->len)
		fprintf(s->page.out,
			"   then %zu more, in the order of findings.json (-v shows them)\n",
			set->len - shown);
}

/* How sure it is what the test depends on; "": there is nothing to add. NULL: no memory. */
static char *certainty(const struct sheet *s, const struct finding *f)
{
	const struct judged *j = &s->c->classes->tests[f->test];
	const struct search_result *r = &f->search;
	const char *does = r->kind == SEARCH_SETTERS ? "passes" : "fails";
	char *text = NULL;
	int n = 0;
	if (judged_waits(j))
		return strdup("whether order is why is not known yet: no order ran often enough");
	if (j->facts.disagrees)
		return strdup("one and the same order passed and failed");
	if (!f->searched)
		return strdup(s->c->searched || order_class(&s->c->classes->tests[f->test].facts) ==
							CLASS_N
				      ? ""
				      : "which tests do it was not searched for");
	if (r->end == SEARCH_FOUND)
		n = asprintf(&text, "%s so %u of %u times, each in a fresh cell", does, r->hits,
			     r->of);
	else if (r->end == SEARCH_NEVER_HERMETIC)
		n = asprintf(&text, "fails alone, too (%u of %u): it needs no other test to fail",
			     r->hits, r->of);
	else if (r->end == SEARCH_FLAKY)
		n = asprintf(&text, "flaky, not order: its failing orders do not repeat (%u of %u)",
			     r->hits, r->of);
	else if (r->any)
		n = asprintf(&text,
			     "%s so %u of %u times; the search did not end: fewer tests may do",
			     does, r->hits, r->of);
	else
		n = asprintf(&text, "the search for which tests do it did not end");
	return n < 0 ? NULL : text;
}

/* "not passed in 3 of 23 orders, first in reverse" */
static char *where(const struct sheet *s, const struct finding *f)
{
	const struct judged *j = &s->c->classes->tests[f->test];
	const char *first =
		f->order == CLASSES_NONE ? NULL : s->c->history->orders[f->order].order.name;
	bool alone = first && s->c->history->orders[f->order].order.view == VIEW_ISOLATED;
	bool wave = first && !j->bad && s->c->history->orders[f->order].order.role == ROLE_WAVE;
	cleanup(buf_done) struct buf out = BUF_NULL;
	int r = buf_puts(&out, "");
	if (!r && f->class == CLASS_ABSENT)
		r = buf_printf(&out, "was absent in %u order%s", j->absent,
			       j->absent == 1 ? "" : "s");
	else if (!r && alone)
		r = buf_printf(&out, "fails alone, and in %u of %u orders", j->bad, j->ran);
	else if (!r && j->bad)
		r = buf_printf(&out, "did not pass in %u of %u orders", j->bad, j->ran);
	else if (!r && wave)
		r = buf_printf(&out, "passed in all %u orders of the suite, and failed", j->ran);
	if (!r && first && !alone)
		r = buf_printf(&out, "%sfirst in %s", wave ? " " : out.len ? ", " : "", first);
	if (!r && first && j->phase && !text_eq(j->phase, "call"))
		r = buf_printf(&out, " (%s)", j->phase);
	return r ? NULL : take_ptr(&out.at);
}

static void said(struct sheet *s, const struct finding *f)
{
	cleanup_free char *line = telling_line(f->message ? f->message : "");
	s->page.no_memory |= !line;
	if (!line || !*line)
		return;
	int len = columns_cut(line, COLUMNS - 6);
	fprintf(s->page.out, "      %.*s\n", len, line);
}

static void finding(struct sheet *s, const struct finding *f)
{
	bool in_set = f->search.any && f->search.set.len;
	fprintf(s->page.out, "  %s%s%s%s ", in_set ? "  " : "",
		page_style(&s->page, classes_told[f->class].style), f->id,
		page_style(&s->page, STYLE_PLAIN));
	page_put(&s->page, quoted(id_of(s, f->test)));
	fputs("\n", s->page.out);
	cleanup_free char *search = certainty(s, f);
	cleanup_free char *place = where(s, f);
	s->page.no_memory |= !search || !place;
	if (search && *search)
		wrapped(s, 6, search);
	if (place && *place)
		wrapped(s, 6, place);
	if (s->page.look->verbose && s->c->classes->columns_len)
		fprintf(s->page.out, "      %.*s\n", (int)s->c->classes->columns_len,
			classes_vector(s->c->classes, f->test));
	said(s, f);
}

/* Those of one class. */
static void section(struct sheet *s, const struct finding *at, size_t n)
{
	page_heading(&s->page, classes_told[at->class].title, n);
	size_t shown = page_shown(&s->page, n);
	for (size_t i = 0; i < shown; i++) {
		if (at[i].search.any && (!i || !finding_same_set(&at[i - 1], &at[i])))
			set(s, &at[i]);
		finding(s, &at[i]);
	}
	page_rest(&s->page, n);
	fputs("\n", s->page.out);
}

static void sections(struct sheet *s)
{
	const struct findings *f = s->c->findings;
	size_t n;
	for (size_t i = 0; i < f->len; i += n) {
		for (n = 1; i + n < f->len && f->at[i + n].class == f->at[i].class;)
			n++;
		section(s, &f->at[i], n);
	}
}

/* ---- leaks ---- */

static bool harms(const struct sheet *s, const char *test)
{
	uint32_t number = test ? roster_find(&s->c->history->roster, test) : ROSTER_NONE;
	for (size_t i = 0; number != ROSTER_NONE && i < s->c->findings->len; i++) {
		const struct search_result *r = &s->c->findings->at[i].search;
		for (size_t k = 0; r->any && r->kind != SEARCH_SETTERS && k < r->set.len; k++)
			if (r->set.tests[k] == number)
				return true;
	}
	return false;
}

/* Those of tests that make others fail come first: the cause is most often among them. */
static void leaks(struct sheet *s)
{
	const struct summary_changes *all = &s->page.s->leaks;
	cleanup_free struct summary_change *at = calloc(all->len + 1, sizeof(*at));
	size_t len = 0;
	if (!at) {
		s->page.no_memory = true;
		return;
	}
	for (int others = 0; others < 2; others++)
		for (size_t i = 0; i < all->len; i++)
			if (harms(s, all->at[i].test) != others)
				at[len++] = all->at[i];
	const struct summary_changes sorted = { .at = at, .len = len, .cap = len };
	page_changes(&s->page, "Left behind", &sorted, STYLE_YELLOW);
}

/* ---- how sure ---- */

static void looked_at(struct sheet *s)
{
	const struct check_counts n = check_counts(s->c);
	cleanup(buf_done) struct buf out = BUF_NULL;
	char bound[BOUND_TEXT_LEN];
	int r = buf_printf(&out, "%zu test%s in %zu order%s: %zu of the suite", n.tests,
			   n.tests == 1 ? "" : "s", n.orders, n.orders == 1 ? "" : "s", n.sweep);
	if (!r && n.isolated)
		r = buf_printf(&out, ", %zu of one test alone", n.isolated);
	if (!r && n.confirm)
		r = buf_printf(&out, ", %zu again to see what repeats", n.confirm);
	if (!r && n.shrink)
		r = buf_printf(&out, ", %zu to find who does it", n.shrink);
	if (!r && n.wave)
		r = buf_printf(&out, ", %zu of others behind that", n.wave);
	r = r ? r
	      : buf_printf(&out, ". %zu executions of tests, %.1f s in cells.", n.executions,
			   n.seconds);
	s->page.no_memory |= r != 0;
	if (r)
		return;
	title(s, "How sure this is");
	wrapped(s, 2, out.at);
	if (n.sweep)
		wrapped(s, 2, bound_sentence(n.random, bound));
	for (size_t i = 0; i < s->c->skipped->len; i++)
		wrapped_printable(s, 2, s->c->skipped->at[i]);
	fputs("\n", s->page.out);
}

/* ---- what to do next ---- */

/* A command on a line of its own, and below it what it does. */
static void command(struct sheet *s, char *text, const char *does)
{
	fputs("  ", s->page.out);
	page_put(&s->page, text);
	fputs("\n", s->page.out);
	wrapped(s, 6, does);
}

static char *resume(const struct sheet *s)
{
	cleanup_free char *run = quoted(s->c->run);
	char *text = NULL;
	return run && asprintf(&text, "fumehood check --resume %s", run) >= 0 ? text : NULL;
}

/* Nothing was collected, and not for want of time. */
static bool is_empty(const struct sheet *s)
{
	const struct status_facts *facts = &s->page.s->facts;
	size_t collected = 0;
	for (size_t i = 0; i < s->c->history->len; i++)
		collected += s->c->history->orders[i].collected_len;
	return !facts->tests && !collected && !facts->interrupted && !facts->budget_spent;
}

static void next(struct sheet *s)
{
	const struct findings *f = s->c->findings;
	const struct status_facts *facts = &s->page.s->facts;
	bool cut_short = facts->interrupted || facts->budget_spent;
	bool empty = is_empty(s);
	if (!f->len && !cut_short && !empty)
		return;
	title(s, "What to do next");
	if (empty)
		wrapped(s, 2, PAGE_NO_TESTS);
	if (cut_short)
		command(s, resume(s), "goes on where this was cut short");
	if (f->len && f->at[0].class == CLASS_BRITTLE)
		command(s, check_replay(s->c, &f->at[0]), "shows it fail alone, and pass");
	else if (f->len && f->at[0].search.any)
		command(s, check_replay(s->c, &f->at[0]),
			"shows it fail again, with no more tests than those");
	else if (f->len)
		command(s, check_replay(s->c, &f->at[0]), "shows it again");
	if (f->len && !s->c->searched)
		fputs("  without --no-shrink it is told which tests make it fail\n", s->page.out);
	fputs("\n", s->page.out);
}

static void verdict(struct sheet *s)
{
	const struct verdict *v = &s->page.s->verdict;
	cleanup_free char *sentence = check_sentence(s->c);
	s->page.no_memory |= !sentence;
	enum style color = v->status || v->reasons.len ? STYLE_RED : STYLE_GREEN;
	fputs(page_style(&s->page, color), s->page.out);
	wrapped(s, 0, sentence ? sentence : "");
	fputs(page_style(&s->page, STYLE_PLAIN), s->page.out);
}

static void status(struct sheet *s)
{
	const struct verdict *v = &s->page.s->verdict;
	cleanup(buf_done) struct buf out = BUF_NULL;
	int r = buf_printf(&out, "exit status %d", v->status);
	for (size_t i = 0; i < v->reasons.len && !r; i++)
		r = buf_printf(&out, "%s%s", i ? "; " : ": ", v->reasons.at[i]);
	s->page.no_memory |= r != 0;
	wrapped_printable(s, 0, r ? "" : out.at);
}

int check_write_text(const struct check_report *c, const struct report_look *look, FILE *out,
		     struct err *e)
{
	struct sheet s = { .page = { .s = c->summary, .look = look, .out = out }, .c = c };
	verdict(&s);
	if (!look->quiet) {
		fputs("\n", out);
		sections(&s);
		page_changes(&s.page, "Damage", &c->summary->damage, STYLE_RED);
		leaks(&s);
		page_changes(&s.page, "Written outside of the state folders, and undone or held",
			     &c->summary->writes, STYLE_YELLOW);
		page_changes(&s.page, "Changed by no test", &c->summary->unattributed, STYLE_YELLOW);
		page_survivors(&s.page);
		page_lines(&s.page, "Likely causes", look->hints);
		page_lines(&s.page, "To know", (const char *const *)c->summary->notes.at);
		page_accepted(&s.page);
		looked_at(&s);
		next(&s);
		page_isolation(&s.page);
		fputs("details: summary.txt findings.json matrix.json logs/ in ", out);
		page_put(&s.page, quoted(c->summary->run));
		fputs("\n", out);
	}
	status(&s);
	return s.page.no_memory ? err_set(e, ENOMEM, "write the summary: no memory") : 0;
}
