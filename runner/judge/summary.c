#include "runner/judge/summary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/judge/summary_lines.h"
#include "runner/ledger.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

void summary_change_done(struct summary_change *c)
{
	free(c->test);
	free(c->during);
	free(c->fixture);
	free(c->domain);
	free(c->what);
	free(c->key);
	free(c->zone);
	free(c->when);
	free(c->restored_why);
	cJSON_Delete(c->before);
	cJSON_Delete(c->after);
	strv_done(&c->suspects);
	*c = (struct summary_change){ 0 };
}

void summary_survivor_done(struct summary_survivor *alive)
{
	free(alive->key);
	free(alive->test);
	*alive = (struct summary_survivor){ 0 };
}

static void changes_done(struct summary_changes *list)
{
	for (size_t i = 0; i < list->len; i++)
		summary_change_done(&list->at[i]);
	free(list->at);
}

void summary_done(struct summary *s)
{
	free(s->run);
	cJSON_Delete(s->about);
	for (size_t i = 0; i < s->failures_len; i++) {
		free(s->failures[i].test);
		free(s->failures[i].message);
	}
	free(s->failures);
	changes_done(&s->leaks);
	changes_done(&s->damage);
	changes_done(&s->writes);
	changes_done(&s->unattributed);
	for (size_t i = 0; i < s->survivors_len; i++)
		summary_survivor_done(&s->survivors[i]);
	free(s->survivors);
	strv_done(&s->notes);
	verdict_done(&s->verdict);
	accepted_done(&s->accepted);
	*s = SUMMARY_NULL;
}

static int no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "read the ledger: no memory");
}

/* ---- the verdict ---- */

static bool among(const cJSON *array, const char *text)
{
	const cJSON *item;
	cJSON_ArrayForEach(item, array)
	{
		if (text_eq(item->valuestring, text))
			return true;
	}
	return false;
}

/* The parts of the isolation that are missing and were not accepted. */
static void read_isolation(struct summary *s, const cJSON *accepted)
{
	char *reduced = s->facts.reduced;
	const cJSON *part;
	cJSON_ArrayForEach(part, cJSON_GetObjectItemCaseSensitive(s->about, "isolation"))
	{
		size_t len = strlen(reduced);
		if (text_eq(part->valuestring, "reduced") && !among(accepted, part->string))
			snprintf(reduced + len, sizeof(s->facts.reduced) - len, "%s%s",
				 len ? ", " : "", part->string);
	}
}

static int read_about(struct summary *s)
{
	const cJSON *config = cJSON_GetObjectItemCaseSensitive(s->about, "config");
	struct status_facts *f = &s->facts;
	f->leaks_fail = among(cJSON_GetObjectItemCaseSensitive(config, "fail_on"), "leak");
	s->contain = json_true(config, "contain");
	f->exit_zero = json_true(config, "exit_zero");
	f->bisect_exit = json_true(config, "bisect_exit");
	read_isolation(s, cJSON_GetObjectItemCaseSensitive(config, "accept_reduced"));
	const cJSON *off;
	cJSON_ArrayForEach(off, cJSON_GetObjectItemCaseSensitive(config, "without"))
	{
		if (strv_addf(&s->notes, "not looked at, as asked: %s", off->valuestring))
			return -ENOMEM;
	}
	const cJSON *note;
	cJSON_ArrayForEach(note, cJSON_GetObjectItemCaseSensitive(s->about, "notes"))
	{
		if (cJSON_IsString(note) && strv_add(&s->notes, note->valuestring))
			return -ENOMEM;
	}
	return 0;
}

static size_t count_files(const struct summary_changes *list)
{
	size_t n = 0;
	for (size_t i = 0; i < list->len; i++)
		n += text_eq(list->at[i].domain, "files");
	return n;
}

static int judge(struct summary *s)
{
	struct status_facts *f = &s->facts;
	f->damage = s->damage.len;
	f->leaks = s->leaks.len;
	if (s->contain)
		f->writes = s->writes.len + count_files(&s->leaks) + count_files(&s->damage) +
			    count_files(&s->unattributed);
	f->tests = s->tests_len - s->outcomes[OUTCOME_ABSENT];
	f->failed = s->failures_len;
	f->absent = s->outcomes[OUTCOME_ABSENT];
	f->unfinished = !s->ends_len || s->ends_len < s->begins_len;
	return status_judge(f, &s->verdict);
}

static void accept(struct summary *s)
{
	struct summary_changes *const lists[] = { &s->leaks, &s->damage, &s->writes,
						  &s->unattributed };
	for (size_t i = 0; i < countof(lists); i++)
		accepted_filter(&s->accepted, lists[i]);
}

int summary_read(const struct ledger *l, struct summary *ret, struct err *e)
{
	cleanup(summary_done) struct summary s = SUMMARY_NULL;
	s.run = strdup(l->path);
	if (!s.run)
		return no_memory(e);
	int r = ledger_load(l, "run.json", &s.about, e);
	if (!r && (read_about(&s) || accepted_read(s.about, &s.accepted)))
		r = no_memory(e);
	cleanup(summary_lines_done) struct summary_lines lines = SUMMARY_LINES_OF(&s);
	r = r ? r : ledger_each(l, summary_line, &lines, e);
	if (!r && summary_lines_end(&lines))
		r = no_memory(e);
	accept(&s);
	if (!r && judge(&s))
		r = no_memory(e);
	if (!r)
		*ret = take(&s, SUMMARY_NULL);
	return r;
}
