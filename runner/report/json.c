#include "sandbox/base/json.h"

#include <errno.h>
#include <stdlib.h>

#include "runner/judge/summary.h"
#include "runner/report/report.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

#define REPORT_VERSION 1

/* Adds a copy; NULL adds null. */
static bool add_copy(cJSON *object, const char *key, const cJSON *tree)
{
	return json_add(object, key, tree ? cJSON_Duplicate(tree, true) : cJSON_CreateNull());
}

static bool add_texts(cJSON *object, const char *key, const char *const *texts)
{
	return json_add(object, key, json_texts(texts));
}

static bool add_verdict(cJSON *tree, const struct summary *s)
{
	cleanup_free char *sentence = report_sentence(s);
	cJSON *verdict = cJSON_AddObjectToObject(tree, "verdict");
	return sentence && verdict && cJSON_AddNumberToObject(verdict, "exit", s->verdict.status) &&
	       add_texts(verdict, "reasons", (const char *const *)s->verdict.reasons.at) &&
	       cJSON_AddStringToObject(verdict, "sentence", sentence);
}

static bool add_counts(cJSON *tree, const struct summary *s)
{
	cJSON *counts = cJSON_AddObjectToObject(tree, "tests");
	bool ok = counts && cJSON_AddNumberToObject(counts, "all", (double)s->tests_len);
	for (int i = 0; i < OUTCOME_N && ok; i++)
		ok = cJSON_AddNumberToObject(counts, outcome_name((enum outcome)i),
					     (double)s->outcomes[i]);
	return ok;
}

static bool add_failures(cJSON *tree, const struct summary *s)
{
	cJSON *array = cJSON_AddArrayToObject(tree, "failures");
	bool ok = array;
	for (size_t i = 0; i < s->failures_len && ok; i++) {
		const struct summary_failure *f = &s->failures[i];
		cJSON *row = cJSON_CreateObject();
		ok = row && cJSON_AddItemToArray(array, row) &&
		     !json_add_name(row, "test", f->test) &&
		     cJSON_AddStringToObject(row, "outcome", outcome_name(f->outcome)) &&
		     !json_add_name(row, "phase", f->phase) &&
		     !json_add_name(row, "message", f->message);
	}
	return ok;
}

static bool add_restored(cJSON *row, const struct summary_change *c)
{
	if (c->restored_why && json_add_name(row, "restored_why", c->restored_why))
		return false;
	return !(c->restored || c->restored_why) ||
	       cJSON_AddBoolToObject(row, "restored", c->restored);
}

static bool add_findings(cJSON *array, const struct summary_changes *list)
{
	bool ok = array;
	for (size_t i = 0; i < list->len && ok; i++) {
		const struct summary_change *c = &list->at[i];
		char id[REPORT_ID_LEN];
		cJSON *row = cJSON_CreateObject();
		ok = row && cJSON_AddItemToArray(array, row) &&
		     cJSON_AddStringToObject(row, "id", report_id(c, id)) &&
		     cJSON_AddStringToObject(row, "code", c->code) &&
		     !json_add_name(row, "test", c->test) &&
		     !json_add_name(row, "during", c->during) &&
		     !json_add_name(row, "fixture", c->fixture) &&
		     !json_add_name(row, "domain", c->domain) &&
		     !json_add_name(row, "what", c->what) && !json_add_name(row, "key", c->key) &&
		     !json_add_name(row, "zone", c->zone) && add_copy(row, "before", c->before) &&
		     add_copy(row, "after", c->after) && !json_add_name(row, "when", c->when) &&
		     add_texts(row, "suspects", (const char *const *)c->suspects.at) &&
		     add_restored(row, c);
	}
	return ok;
}

static bool add_survivors(cJSON *tree, const struct summary *s)
{
	cJSON *array = cJSON_AddArrayToObject(tree, "survivors");
	bool ok = array;
	for (size_t i = 0; i < s->survivors_len && ok; i++) {
		cJSON *row = cJSON_CreateObject();
		ok = row && cJSON_AddItemToArray(array, row) &&
		     !json_add_name(row, "key", s->survivors[i].key) &&
		     !json_add_name(row, "test", s->survivors[i].test);
	}
	return ok;
}

static int write_json(const struct summary *s, const struct report_look *look, FILE *out,
		      struct err *e)
{
	cleanup_json cJSON *tree = cJSON_CreateObject();
	bool ok = tree && cJSON_AddNumberToObject(tree, "version", REPORT_VERSION) &&
		  add_verdict(tree, s) &&
		  add_copy(tree, "isolation",
			   cJSON_GetObjectItemCaseSensitive(s->about, "isolation")) &&
		  cJSON_AddNumberToObject(tree, "seconds", s->seconds) && add_counts(tree, s) &&
		  add_failures(tree, s);
	cJSON *findings = ok ? cJSON_AddArrayToObject(tree, "findings") : NULL;
	ok = ok && add_findings(findings, &s->damage) && add_findings(findings, &s->leaks) &&
	     add_findings(findings, &s->writes) && add_findings(findings, &s->unattributed) &&
	     add_survivors(tree, s) && add_texts(tree, "hints", look->hints) &&
	     add_texts(tree, "notes", (const char *const *)s->notes.at) &&
	     !json_add_name(tree, "run", s->run);
	cleanup_free char *text = ok ? cJSON_Print(tree) : NULL;
	if (!text)
		return err_set(e, ENOMEM, "write the summary: no memory");
	fprintf(out, "%s\n", text);
	return 0;
}

const struct report_format report_json = { .name = "json", .write = write_json };
