#include "sandbox/base/json.h"

#include <errno.h>
#include <stdlib.h>

#include "runner/judge/summary.h"
#include "runner/report/report.h"
#include "runner/report/tree.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

static bool add_verdict(cJSON *tree, const struct summary *s)
{
	cleanup_free char *sentence = report_sentence(s);
	cJSON *verdict = cJSON_AddObjectToObject(tree, "verdict");
	return sentence && verdict && cJSON_AddNumberToObject(verdict, "exit", s->verdict.status) &&
	       tree_texts(verdict, "reasons", (const char *const *)s->verdict.reasons.at) &&
	       cJSON_AddStringToObject(verdict, "sentence", sentence);
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

static int write_json(const struct summary *s, const struct report_look *look, FILE *out,
		      struct err *e)
{
	cleanup_json cJSON *tree = cJSON_CreateObject();
	bool ok = tree && cJSON_AddNumberToObject(tree, "version", FINDINGS_VERSION) &&
		  add_verdict(tree, s) &&
		  tree_copy(tree, "isolation",
			    cJSON_GetObjectItemCaseSensitive(s->about, "isolation")) &&
		  cJSON_AddNumberToObject(tree, "seconds", s->seconds) && tree_counts(tree, s) &&
		  add_failures(tree, s);
	cJSON *findings = ok ? cJSON_AddArrayToObject(tree, "findings") : NULL;
	ok = ok && tree_changes(findings, &s->damage) && tree_changes(findings, &s->leaks) &&
	     tree_changes(findings, &s->writes) && tree_changes(findings, &s->unattributed) &&
	     tree_accepted(tree, s) && tree_survivors(tree, s) &&
	     tree_texts(tree, "hints", look->hints) &&
	     tree_texts(tree, "notes", (const char *const *)s->notes.at) &&
	     !json_add_name(tree, "run", s->run);
	cleanup_free char *text = ok ? cJSON_Print(tree) : NULL;
	if (!text)
		return err_set(e, ENOMEM, "write the summary: no memory");
	fprintf(out, "%s\n", text);
	return 0;
}

const struct report_format report_json = { .name = "json", .write = write_json };
