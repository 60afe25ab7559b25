#include "runner/report/effects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "runner/about.h"
#include "runner/judge/rules.h"
#include "runner/printable.h"
#include "runner/terminal.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"

#define EFFECTS_VERSION 1
#define LIST_MAX        20 /* rows that people are shown, unless they ask for all */

static int no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "tell what the command did: no memory");
}

/* ---- for people ---- */

struct page {
	const struct effects *effects;
	const struct effects_look *look;
	FILE *out;
	bool no_memory;
};

static const char *style(const struct page *p, enum style style)
{
	return p->look->terminal ? terminal_style(p->look->terminal, style) : "";
}

/* Prints a text that was made for it, and keeps in mind when it could not be made. */
static void put(struct page *p, char *text)
{
	p->no_memory |= !text;
	fputs(text ? text : "", p->out);
	free(text);
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* "2 created (1200 bytes), 1 deleted (3 bytes)" */
static void totals(struct page *p, const struct changes_total *total)
{
	const char *between = "";
	for (size_t i = 0; i < CHANGES_CLASS_N; i++) {
		const struct changes_total *t = &total[i];
		if (!t->count)
			continue;
		fprintf(p->out, "%s%ju %s", between, (uintmax_t)t->count, changes_class_names[i]);
		if (i != CHANGES_ATTRIBUTES)
			fprintf(p->out, " (%ju byte%s)", (uintmax_t)t->bytes, plural(t->bytes));
		between = ", ";
	}
}

static void row(struct page *p, const cJSON *row)
{
	static const enum style styles[] = {
		[CHANGES_CREATED] = STYLE_GREEN,
		[CHANGES_CHANGED] = STYLE_YELLOW,
		[CHANGES_DELETED] = STYLE_RED,
		[CHANGES_ATTRIBUTES] = STYLE_YELLOW,
	};
	size_t change = 0;
	while (change < CHANGES_ATTRIBUTES &&
	       !text_eq(json_text(row, "class"), changes_class_names[change]))
		change++;
	cleanup_free char *key = NULL;
	if (json_get_name(row, "key", &key) || !key) {
		p->no_memory = true;
		return;
	}
	fprintf(p->out, "  %s", style(p, styles[change]));
	put(p, rule_clause("files", json_text(row, "what"), key));
	fputs(style(p, STYLE_PLAIN), p->out);
	cleanup_free char *detail =
		rule_detail("files", cJSON_GetObjectItemCaseSensitive(row, "before"),
			    cJSON_GetObjectItemCaseSensitive(row, "after"));
	p->no_memory |= !detail;
	if (detail && *detail)
		fprintf(p->out, " (%s)", detail);
	uint64_t below = (uint64_t)json_number(row, "below", 0);
	if (below)
		fprintf(p->out, " and %ju below it", (uintmax_t)below);
	fputs("\n", p->out);
}

static bool is_of(const cJSON *row, size_t zone)
{
	return text_eq(json_text(row, "zone"), changes_zone_names[zone]);
}

/* The rows of one zone, a new folder with all that is new below it in one. */
static uint64_t rows_of(struct page *p, size_t zone, uint64_t *left)
{
	const struct changes *c = p->effects->changes;
	uint64_t told = 0;
	uint64_t skip = 0;
	const cJSON *item;
	cJSON_ArrayForEach(item, c->rows)
	{
		if (skip) {
			skip--;
			told += is_of(item, zone);
			continue;
		}
		if (!is_of(item, zone))
			continue;
		if (!p->look->verbose) {
			if (!*left)
				continue;
			--*left;
			skip = (uint64_t)json_number(item, "below", 0);
		}
		row(p, item);
		told++;
	}
	return told;
}

static void zone(struct page *p, size_t zone, uint64_t *left)
{
	const struct changes_total *total = p->effects->changes->totals[zone];
	uint64_t all = 0;
	for (size_t i = 0; i < CHANGES_CLASS_N; i++)
		all += total[i].count;
	if (!all)
		return;
	fprintf(p->out, "%s%s%s: ", style(p, STYLE_BOLD), changes_zone_names[zone],
		style(p, STYLE_PLAIN));
	totals(p, total);
	fputs("\n", p->out);
	uint64_t told = rows_of(p, zone, left);
	if (told < all)
		fprintf(p->out, "  … and %ju more%s\n", (uintmax_t)(all - told),
			p->look->verbose ? "" : ": -v lists them");
}

static void survivors(struct page *p)
{
	const struct cell_event *end = p->effects->end;
	size_t n = end->survivors_len < CELL_SURVIVORS_MAX ? end->survivors_len : CELL_SURVIVORS_MAX;
	if (!n)
		return;
	fprintf(p->out, "%sleft running, and ended%s: ", style(p, STYLE_BOLD), style(p, STYLE_PLAIN));
	for (size_t i = 0; i < n; i++) {
		fputs(i ? ", " : "", p->out);
		put(p, quoted(end->survivors[i].comm));
	}
	if (n < end->survivors_len)
		fprintf(p->out, " and %zu more", end->survivors_len - n);
	fputs("\n", p->out);
}

static void kept(struct page *p)
{
	const struct keeps *keeps = p->effects->keeps;
	for (size_t i = 0; i < keeps->len; i++) {
		const struct keep *keep = &keeps->at[i];
		if (!keep->done)
			continue;
		fprintf(p->out, "%skept%s ", style(p, STYLE_BOLD), style(p, STYLE_PLAIN));
		put(p, quoted(keep->path));
		if (!text_eq(keep->path, keep->to)) {
			fputs(" as ", p->out);
			put(p, quoted(keep->to));
		}
		fprintf(p->out, ": %ju file%s, %ju byte%s\n", (uintmax_t)keep->files,
			plural(keep->files), (uintmax_t)keep->bytes, plural(keep->bytes));
	}
	for (size_t i = 0; i < keeps->left_out.len; i++) {
		fputs("not kept: ", p->out);
		put(p, printable(keeps->left_out.at[i]));
		fputs("\n", p->out);
	}
	if (keeps->left_out_len > keeps->left_out.len)
		fprintf(p->out, "not kept: %ju more\n",
			(uintmax_t)(keeps->left_out_len - keeps->left_out.len));
}

static const char *signal_of(const struct cell_event *end)
{
	return WIFSIGNALED(end->wait_status) ? sigabbrev_np(WTERMSIG(end->wait_status)) : NULL;
}

/* "fumehood: status 0; 2 created (12 bytes)" */
static void head(struct page *p)
{
	const struct effects *x = p->effects;
	struct changes_total sum[CHANGES_CLASS_N] = { 0 };
	for (size_t i = 0; i < CHANGES_ZONES_N; i++)
		for (size_t k = 0; k < CHANGES_CLASS_N; k++) {
			sum[k].count += x->changes->totals[i][k].count;
			sum[k].bytes += x->changes->totals[i][k].bytes;
		}
	const char *signal = signal_of(x->end);
	fprintf(p->out, "%sfumehood: ", style(p, STYLE_BOLD));
	if (x->end->timed_out)
		fputs("the time limit passed", p->out);
	else if (signal)
		fprintf(p->out, "ended by SIG%s", signal);
	else
		fprintf(p->out, "status %d", x->status);
	fputs("; ", p->out);
	totals(p, sum);
	fprintf(p->out, "%s%s\n", x->changes->len ? "" : "nothing changed", style(p, STYLE_PLAIN));
}

int effects_write_text(const struct effects *effects, const struct effects_look *look, FILE *out,
		       struct err *e)
{
	struct page p = { .effects = effects, .look = look, .out = out };
	uint64_t left = LIST_MAX;
	head(&p);
	for (size_t i = 0; i < CHANGES_ZONES_N; i++)
		zone(&p, i, &left);
	survivors(&p);
	kept(&p);
	for (const char *const *note = effects->notes; note && *note; note++) {
		fputs("note: ", out);
		put(&p, printable(*note));
		fputs("\n", out);
	}
	return p.no_memory ? no_memory(e) : 0;
}

/* ---- for programs ---- */

static cJSON *zones_json(const struct changes *c)
{
	cleanup_json cJSON *zones = cJSON_CreateObject();
	for (size_t i = 0; i < CHANGES_ZONES_N; i++) {
		cJSON *zone = cJSON_AddObjectToObject(zones, changes_zone_names[i]);
		for (size_t k = 0; k < CHANGES_CLASS_N; k++) {
			const struct changes_total *total = &c->totals[i][k];
			cJSON *object = cJSON_AddObjectToObject(zone, changes_class_names[k]);
			if (!cJSON_AddNumberToObject(object, "count", (double)total->count) ||
			    !cJSON_AddNumberToObject(object, "bytes", (double)total->bytes))
				return NULL;
		}
	}
	return take_ptr(&zones);
}

static cJSON *processes_json(const struct cell_event *end)
{
	cleanup_json cJSON *list = cJSON_CreateArray();
	for (size_t i = 0; list && i < end->survivors_len && i < CELL_SURVIVORS_MAX; i++) {
		const struct cell_survivor *s = &end->survivors[i];
		cJSON *object = cJSON_CreateObject();
		cJSON_AddItemToArray(list, object);
		if (json_add_name(object, "name", s->comm) ||
		    !cJSON_AddNumberToObject(object, "pid", s->pid))
			return NULL;
	}
	return take_ptr(&list);
}

static cJSON *kept_json(const struct keeps *keeps)
{
	cleanup_json cJSON *list = cJSON_CreateArray();
	for (size_t i = 0; list && i < keeps->len; i++) {
		const struct keep *keep = &keeps->at[i];
		if (!keep->done)
			continue;
		cJSON *object = cJSON_CreateObject();
		cJSON_AddItemToArray(list, object);
		if (json_add_name(object, "path", keep->path) ||
		    json_add_name(object, "to", keep->to) ||
		    !cJSON_AddNumberToObject(object, "files", (double)keep->files) ||
		    !cJSON_AddNumberToObject(object, "bytes", (double)keep->bytes))
			return NULL;
	}
	return take_ptr(&list);
}

static cJSON *signal_json(const struct cell_event *end)
{
	char name[32];
	const char *signal = signal_of(end);
	if (!signal)
		return cJSON_CreateNull();
	snprintf(name, sizeof(name), "SIG%s", signal);
	return cJSON_CreateString(name);
}

int effects_write_json(const struct effects *effects, FILE *out, struct err *e)
{
	cleanup_json cJSON *tree = cJSON_CreateObject();
	uint64_t listed = (uint64_t)cJSON_GetArraySize(effects->changes->rows);
	if (!tree || !cJSON_AddNumberToObject(tree, "version", EFFECTS_VERSION) ||
	    !cJSON_AddStringToObject(tree, "fumehood", FUMEHOOD_VERSION) ||
	    !json_add(tree, "command", json_texts(effects->command)) ||
	    json_add_name(tree, "project", effects->project) ||
	    json_add_name(tree, "cwd", effects->cwd) ||
	    !cJSON_AddNumberToObject(tree, "status", effects->status) ||
	    !json_add(tree, "signal", signal_json(effects->end)) ||
	    !cJSON_AddBoolToObject(tree, "timed_out", effects->end->timed_out) ||
	    !cJSON_AddNumberToObject(tree, "seconds", effects->seconds) ||
	    !json_add(tree, "zones", zones_json(effects->changes)) ||
	    !json_add(tree, "changes", cJSON_CreateArrayReference(effects->changes->rows->child)) ||
	    !cJSON_AddNumberToObject(tree, "unlisted", (double)(effects->changes->len - listed)) ||
	    !json_add(tree, "processes", processes_json(effects->end)) ||
	    !cJSON_AddNumberToObject(tree, "processes_len", effects->end->survivors_len) ||
	    !json_add(tree, "kept", kept_json(effects->keeps)) ||
	    !json_add(tree, "not_kept", json_texts((const char *const *)effects->keeps->left_out.at)) ||
	    !cJSON_AddNumberToObject(tree, "not_kept_len", (double)effects->keeps->left_out_len) ||
	    !json_add(tree, "notes", json_texts(effects->notes)) ||
	    !about_isolation(tree, effects->isolation))
		return no_memory(e);
	cleanup_free char *text = json_line(tree);
	if (!text)
		return no_memory(e);
	fprintf(out, "%s\n", text);
	return 0;
}
