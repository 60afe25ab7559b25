#include "runner/report/shrink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runner/printable.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

#define SET_MAX 10 /* tests of a set that are shown, without -v */

static int no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "tell what was found: no memory");
}

int shrink_status(const struct shrink_report *r)
{
	bool flaky = false;
	bool open = false;
	for (size_t i = 0; i < shrink_len(r->shrink); i++) {
		enum search_end end = shrink_result(r->shrink, i).end;
		flaky = flaky || end == SEARCH_FLAKY;
		open = open || end == SEARCH_GOING || end == SEARCH_BOUND || end == SEARCH_UNSEEN;
	}
	return r->interrupted ? STATUS_INTERRUPTED
	       : open         ? STATUS_INCOMPLETE
	       : flaky        ? STATUS_FAILED
			      : 0;
}

/* ---- what it costs ---- */

/* Of the orders that say most of what one of a search takes: those of searches; tests alone; all. */
static double order_seconds(const struct history *h)
{
	double sum[3] = { 0 };
	size_t n[3] = { 0 };
	for (size_t i = 0; i < h->len; i++) {
		const struct played *p = &h->orders[i];
		int kind = p->order.role == ROLE_SHRINK     ? 0
			   : p->order.view == VIEW_ISOLATED ? 1
							    : 2;
		if (p->complete) {
			sum[kind] += p->seconds;
			n[kind]++;
		}
	}
	for (int kind = 0; kind < 3; kind++)
		if (n[kind])
			return sum[kind] / (double)n[kind];
	return 0;
}

void shrink_tell_cost(const struct shrink_cost *cost, const struct history *h, FILE *out)
{
	fprintf(out,
		"%zu test%s to search for: about %zu order%s, %.0f s one after another; at most "
		"%zu orders\n",
		cost->tests, cost->tests == 1 ? "" : "s", cost->runs, cost->runs == 1 ? "" : "s",
		(double)cost->runs * order_seconds(h), cost->runs_max);
}

/* ---- for people ---- */

static int put_id(const struct shrink_report *r, const char *before, uint32_t test, FILE *out)
{
	cleanup_free char *id = quoted(r->history->roster.ids.at[test]);
	if (!id)
		return -ENOMEM;
	fprintf(out, "%s%s\n", before, id);
	return 0;
}

static int put_set(const struct shrink_report *r, const struct search_result *result, FILE *out)
{
	size_t len = result->set.len;
	size_t shown = r->verbose || len <= SET_MAX + 1 ? len : SET_MAX;
	const char *first = result->kind == SEARCH_SETTERS ? "  needs " : "  after ";
	for (size_t i = 0; i < shown; i++)
		if (put_id(r, i ? "   then " : first, result->set.tests[i], out))
			return -ENOMEM;
	if (shown < len)
		fprintf(out, "   then %zu more (-v shows them)\n", len - shown);
	return 0;
}

static void put_end(const struct search_result *result, FILE *out)
{
	const char *does = result->kind == SEARCH_SETTERS ? "passes" : "fails";
	switch (result->end) {
	case SEARCH_FOUND:
		fprintf(out, "  %s %u of %u so, each in a fresh cell, and not without any of them",
			does, result->hits, result->of);
		break;
	case SEARCH_NEVER_HERMETIC:
		fprintf(out, "  never hermetic: fails alone, too, %u of %u", result->hits,
			result->of);
		break;
	case SEARCH_FLAKY:
		fprintf(out, "  flaky, not order: where it was seen it %s %u of %u", does,
			result->hits, result->of);
		break;
	case SEARCH_UNSEEN:
		fputs("  no order of this run shows it both pass and fail", out);
		break;
	case SEARCH_BOUND:
	case SEARCH_GOING:
		fputs(result->end == SEARCH_BOUND ? "  the search has come to its bound"
						  : "  the search has not ended",
		      out);
		if (result->any)
			fprintf(out, "; the best so far %s %u of %u, fewer may do", does,
				result->hits, result->of);
		break;
	case SEARCH_END_N:
		break;
	}
	fprintf(out, " (%zu run%s)\n", result->runs, result->runs == 1 ? "" : "s");
}

static int put_replay(const struct shrink_report *r, const struct search_result *result, FILE *out)
{
	cleanup(order_done) struct order o = ORDER_NULL;
	if (shrink_order_found(result, r->history, &o))
		return -ENOMEM;
	cleanup_free char *file = shrink_file(&o);
	cleanup_free char *run = quoted(r->run);
	if (!file || !run)
		return -ENOMEM;
	fprintf(out, "  replay: fumehood replay %s %s (ids: %s)\n", run, o.name, file);
	return 0;
}

int shrink_write_text(const struct shrink_report *r, FILE *out, struct err *e)
{
	size_t n = shrink_len(r->shrink);
	size_t found = 0;
	for (size_t i = 0; i < n; i++) {
		const struct search_result result = shrink_result(r->shrink, i);
		found += result.end == SEARCH_FOUND;
		if (r->quiet)
			continue;
		if (put_id(r, "", result.test, out) || (result.any && put_set(r, &result, out)))
			return no_memory(e);
		put_end(&result, out);
		if (result.any && put_replay(r, &result, out))
			return no_memory(e);
	}
	if (n)
		fprintf(out, "found for %zu of %zu test%s%s\n", found, n, n == 1 ? "" : "s",
			r->interrupted ? "; interrupted: the same command goes on from here" : "");
	else
		fputs("no test of this run depends on order\n", out);
	return 0;
}

/* ---- for programs ---- */

static bool add_set(cJSON *row, const struct shrink_report *r, const struct search_result *result)
{
	cleanup(strv_done) struct strv ids = STRV_NULL;
	for (size_t i = 0; i < result->set.len; i++)
		if (strv_add(&ids, r->history->roster.ids.at[result->set.tests[i]]))
			return false;
	return json_add(row, "set", json_texts((const char *const *)ids.at));
}

static bool add_order(cJSON *row, const struct shrink_report *r, const struct search_result *result)
{
	cleanup(order_done) struct order o = ORDER_NULL;
	if (!result->any)
		return cJSON_AddNullToObject(row, "order") && cJSON_AddNullToObject(row, "file");
	if (shrink_order_found(result, r->history, &o))
		return false;
	cleanup_free char *file = shrink_file(&o);
	return file && cJSON_AddStringToObject(row, "order", o.name) &&
	       cJSON_AddStringToObject(row, "file", file);
}

static bool add_search(cJSON *array, const struct shrink_report *r, size_t at)
{
	const struct search_result result = shrink_result(r->shrink, at);
	cJSON *row = cJSON_CreateObject();
	return row && cJSON_AddItemToArray(array, row) &&
	       !json_add_name(row, "test", r->history->roster.ids.at[result.test]) &&
	       cJSON_AddStringToObject(row, "search", search_end_names[result.end]) &&
	       cJSON_AddStringToObject(row, "kind", search_kind_names[result.kind]) &&
	       add_set(row, r, &result) && cJSON_AddNumberToObject(row, "hits", result.hits) &&
	       cJSON_AddNumberToObject(row, "of", result.of) &&
	       cJSON_AddNumberToObject(row, "runs", (double)result.runs) &&
	       add_order(row, r, &result);
}

int shrink_write_json(const struct shrink_report *r, FILE *out, struct err *e)
{
	cleanup_json cJSON *tree = cJSON_CreateObject();
	bool ok = tree && cJSON_AddNumberToObject(tree, "version", 1) &&
		  !json_add_name(tree, "run", r->run) &&
		  cJSON_AddNumberToObject(tree, "exit", shrink_status(r)) &&
		  cJSON_AddBoolToObject(tree, "interrupted", r->interrupted);
	cJSON *array = ok ? cJSON_AddArrayToObject(tree, "searches") : NULL;
	ok = array;
	for (size_t i = 0; i < shrink_len(r->shrink) && ok; i++)
		ok = add_search(array, r, i);
	cleanup_free char *text = ok ? cJSON_Print(tree) : NULL;
	if (!text)
		return no_memory(e);
	fprintf(out, "%s\n", text);
	return 0;
}
