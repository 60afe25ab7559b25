#include "runner/report/differences.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runner/judge/diff.h"
#include "runner/judge/history.h"
#include "runner/printable.h"
#include "runner/report/page.h"
#include "runner/report/report.h"
#include "runner/report/tree.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

#define DIFF_VERSION 1

static const char *id_of(const struct differences *d, const struct diff_test *t)
{
	const struct classes *c = t->after == ROSTER_NONE ? d->before->classes : d->after->classes;
	return c->history->roster.ids.at[t->after == ROSTER_NONE ? t->before : t->after];
}

/* NULL: the test is not there. */
static const struct judged *judged_of(const struct diff_side *side, uint32_t test)
{
	return test == ROSTER_NONE ? NULL : &side->classes->tests[test];
}

static const char *class_name(const struct judged *t)
{
	return t ? class_rows[t->class].name : NULL;
}

static int no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "write the differences: no memory");
}

/* ---- for people ---- */

static void vector(struct page *p, const struct diff_side *side, uint32_t test)
{
	if (test != ROSTER_NONE)
		fprintf(p->out, "      %.*s\n", (int)side->classes->columns_len,
			classes_vector(side->classes, test));
}

static void test_line(struct page *p, const struct differences *d, const struct diff_test *t)
{
	const char *was = class_name(judged_of(d->before, t->before));
	const char *is = class_name(judged_of(d->after, t->after));
	fputs("  ", p->out);
	page_put(p, quoted(id_of(d, t)));
	fprintf(p->out, "  %s%s%s\n", was ? was : "", was && is ? " -> " : "", is ? is : "");
	if (!p->look->verbose)
		return;
	vector(p, d->before, t->before);
	vector(p, d->after, t->after);
}

static void tests(struct page *p, const struct differences *d, enum diff_kind kind, const char *title)
{
	size_t n = d->diff->counts[kind];
	if (!n)
		return;
	size_t first = 0;
	while (d->diff->tests[first].kind != kind)
		first++;
	page_heading(p, title, n);
	size_t shown = page_shown(p, n);
	for (size_t i = 0; i < shown; i++)
		test_line(p, d, &d->diff->tests[first + i]);
	if (shown < n)
		fprintf(p->out, "  … and %zu more: see them with -v or --json\n", n - shown);
	fputs("\n", p->out);
}

static void sentence(const struct page *p, const struct diff *d)
{
	int status = diff_status(d);
	fputs(page_style(p, status ? STYLE_RED : STYLE_GREEN), p->out);
	for (int i = 0; i < DIFF_N; i++)
		fprintf(p->out, "%s%zu %s", i ? ", " : "", d->counts[i], diff_names[i]);
	fprintf(p->out, "; %zu newly left behind, %zu no longer.%s\n", d->fresh.len, d->gone.len,
		page_style(p, STYLE_PLAIN));
	if (d->added_red)
		fprintf(p->out, "%zu of the added do not pass in every order.\n", d->added_red);
	fprintf(p->out, "exit status %d\n", status);
}

int differences_write_text(const struct differences *d, const struct report_look *look, FILE *out,
			   struct err *e)
{
	static const char *const titles[DIFF_N] = {
		[DIFF_REGRESSED] = "Regressed",
		[DIFF_FIXED] = "Fixed",
		[DIFF_ADDED] = "Added",
		[DIFF_REMOVED] = "Removed",
		[DIFF_CHANGED] = "Of another class, and neither better nor worse",
	};
	struct page p = { .s = d->after->summary, .look = look, .out = out };
	if (!look->quiet) {
		page_lines(&p, "Not the same in both runs",
			   (const char *const *)d->diff->conditions.at);
		for (int i = 0; i < DIFF_N; i++)
			tests(&p, d, (enum diff_kind)i, titles[i]);
		page_changes(&p, "Newly left behind or damaged", &d->diff->fresh, STYLE_YELLOW);
		page_changes(&p, "No longer left behind or damaged", &d->diff->gone, STYLE_GREEN);
	}
	sentence(&p, d->diff);
	return p.no_memory ? no_memory(e) : 0;
}

/* ---- for programs ---- */

static bool add_side(cJSON *row, const char *key, const struct diff_side *side, uint32_t test)
{
	const struct judged *t = judged_of(side, test);
	if (!t)
		return json_add(row, key, cJSON_CreateNull());
	cleanup_free char *vector =
		strndup(classes_vector(side->classes, test), side->classes->columns_len);
	cJSON *object = cJSON_AddObjectToObject(row, key);
	return vector && object && cJSON_AddStringToObject(object, "class", class_name(t)) &&
	       cJSON_AddStringToObject(object, "vector", vector);
}

static bool add_tests(cJSON *tree, const struct differences *d)
{
	cJSON *array = cJSON_AddArrayToObject(tree, "tests");
	for (size_t i = 0; array && i < d->diff->tests_len; i++) {
		const struct diff_test *t = &d->diff->tests[i];
		cJSON *row = cJSON_CreateObject();
		if (!row || !cJSON_AddItemToArray(array, row) ||
		    json_add_name(row, "test", id_of(d, t)) ||
		    !cJSON_AddStringToObject(row, "kind", diff_names[t->kind]) ||
		    !add_side(row, "before", d->before, t->before) ||
		    !add_side(row, "after", d->after, t->after))
			return false;
	}
	return array;
}

static bool add_counts(cJSON *tree, const struct diff *d)
{
	cJSON *counts = cJSON_AddObjectToObject(tree, "counts");
	bool ok = counts;
	for (int i = 0; i < DIFF_N && ok; i++)
		ok = cJSON_AddNumberToObject(counts, diff_names[i], (double)d->counts[i]);
	return ok && cJSON_AddNumberToObject(counts, "added_red", (double)d->added_red);
}

int differences_write_json(const struct differences *d, FILE *out, struct err *e)
{
	cleanup_json cJSON *tree = cJSON_CreateObject();
	bool ok = tree && cJSON_AddNumberToObject(tree, "version", DIFF_VERSION) &&
		  cJSON_AddNumberToObject(tree, "exit", diff_status(d->diff)) &&
		  !json_add_name(tree, "before", d->before->summary->run) &&
		  !json_add_name(tree, "after", d->after->summary->run) &&
		  tree_texts(tree, "conditions", (const char *const *)d->diff->conditions.at) &&
		  add_counts(tree, d->diff) && add_tests(tree, d) &&
		  tree_changes(cJSON_AddArrayToObject(tree, "newly_left"), &d->diff->fresh) &&
		  tree_changes(cJSON_AddArrayToObject(tree, "no_longer_left"), &d->diff->gone);
	cleanup_free char *text = ok ? cJSON_Print(tree) : NULL;
	if (!text)
		return no_memory(e);
	fprintf(out, "%s\n", text);
	return 0;
}
