#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runner/judge/findings.h"
#include "runner/judge/history.h"
#include "runner/judge/summary.h"
#include "runner/plan/bound.h"
#include "runner/report/check.h"
#include "runner/report/report.h"
#include "runner/report/tree.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

static bool add_verdict(cJSON *tree, const struct check_report *c, size_t random)
{
	cleanup_free char *sentence = check_sentence(c);
	const struct verdict *v = &c->summary->verdict;
	cJSON *verdict = cJSON_AddObjectToObject(tree, "verdict");
	if (!sentence || !verdict || !cJSON_AddNumberToObject(verdict, "exit", v->status) ||
	    !tree_texts(verdict, "reasons", (const char *const *)v->reasons.at) ||
	    !cJSON_AddStringToObject(verdict, "sentence", sentence))
		return false;
	return random ? cJSON_AddNumberToObject(verdict, "bound", bound_of(random)) != NULL
		      : cJSON_AddNullToObject(verdict, "bound") != NULL;
}

static bool add_orders(cJSON *tree, const struct check_counts *n)
{
	cJSON *orders = cJSON_AddObjectToObject(tree, "orders");
	return orders && cJSON_AddNumberToObject(orders, "all", (double)n->orders) &&
	       cJSON_AddNumberToObject(orders, "sweep", (double)n->sweep) &&
	       cJSON_AddNumberToObject(orders, "isolated", (double)n->isolated) &&
	       cJSON_AddNumberToObject(orders, "confirm", (double)n->confirm) &&
	       cJSON_AddNumberToObject(orders, "shrink", (double)n->shrink) &&
	       cJSON_AddNumberToObject(orders, "wave", (double)n->wave) &&
	       cJSON_AddNumberToObject(orders, "random", (double)n->random) &&
	       cJSON_AddNumberToObject(orders, "executions", (double)n->executions);
}

static bool add_classes(cJSON *tree, const struct classes *c)
{
	cJSON *classes = cJSON_AddObjectToObject(tree, "classes");
	bool ok = classes;
	for (int i = 0; i < CLASS_N && ok; i++)
		ok = cJSON_AddNumberToObject(classes, class_rows[i].name, (double)c->counts[i]);
	return ok;
}

static bool add_ids(cJSON *row, const char *key, const struct check_report *c,
		    const struct search_set *set)
{
	cJSON *array = cJSON_AddArrayToObject(row, key);
	bool ok = array;
	for (size_t i = 0; i < set->len && ok; i++) {
		cleanup_free char *clean =
			text_utf8(c->history->roster.ids.at[set->tests[i]], &(bool){ false });
		cJSON *text = clean ? cJSON_CreateString(clean) : NULL;
		ok = text && cJSON_AddItemToArray(array, text);
	}
	return ok;
}

static bool add_search(cJSON *row, const struct check_report *c, const struct finding *f)
{
	const struct search_result *r = &f->search;
	if (!f->searched)
		return true;
	if (!cJSON_AddStringToObject(row, "search", search_end_names[r->end]) ||
	    !cJSON_AddStringToObject(row, "kind", search_kind_names[r->kind]))
		return false;
	cJSON *confirmed = cJSON_AddObjectToObject(row, "confirmed");
	return confirmed && cJSON_AddNumberToObject(confirmed, "hits", r->hits) &&
	       cJSON_AddNumberToObject(confirmed, "of", r->of) &&
	       cJSON_AddStringToObject(confirmed, "how", "cold") &&
	       (!r->any || add_ids(row, "prefix", c, &r->set));
}

static bool add_row(cJSON *array, const struct check_report *c, const struct finding *f)
{
	const struct judged *j = &c->classes->tests[f->test];
	const char *vector = classes_vector(c->classes, f->test);
	cleanup_free char *letters = strndup(vector, c->classes->columns_len);
	cleanup_free char *replay = check_replay(c, f);
	double score;
	cJSON *row = cJSON_CreateObject();
	if (!row || !cJSON_AddItemToArray(array, row) || !letters || !replay ||
	    !cJSON_AddStringToObject(row, "id", f->id) ||
	    !cJSON_AddStringToObject(row, "code", f->code) ||
	    !cJSON_AddStringToObject(row, "class", class_rows[f->class].name) ||
	    json_add_name(row, "test", c->history->roster.ids.at[f->test]) ||
	    !cJSON_AddStringToObject(row, "vector", letters))
		return false;
	if (!json_add(row, "score",
		      classes_score(j, &score) ? cJSON_CreateNumber(score) : cJSON_CreateNull()))
		return false;
	const char *order = f->order == CLASSES_NONE ? NULL : c->history->orders[f->order].order.name;
	return !json_add_name(row, "order", order) && !json_add_name(row, "phase", j->phase) &&
	       !json_add_name(row, "message", f->message) && add_search(row, c, f) &&
	       !json_add_name(row, "replay", replay);
}

static bool add_findings(cJSON *tree, const struct check_report *c)
{
	const struct summary *s = c->summary;
	cJSON *array = cJSON_AddArrayToObject(tree, "findings");
	bool ok = array;
	for (size_t i = 0; i < c->findings->len && ok; i++)
		ok = add_row(array, c, &c->findings->at[i]);
	return ok && tree_changes(array, &s->damage) && tree_changes(array, &s->leaks) &&
	       tree_changes(array, &s->writes) && tree_changes(array, &s->unattributed);
}

int check_write_json(const struct check_report *c, const struct report_look *look, FILE *out,
		     struct err *e)
{
	const struct summary *s = c->summary;
	const struct check_counts n = check_counts(c);
	cleanup_json cJSON *tree = cJSON_CreateObject();
	bool ok = tree && cJSON_AddNumberToObject(tree, "version", FINDINGS_VERSION) &&
		  add_verdict(tree, c, n.random) &&
		  tree_copy(tree, "isolation",
			    cJSON_GetObjectItemCaseSensitive(s->about, "isolation")) &&
		  cJSON_AddNumberToObject(tree, "seconds", n.seconds) && add_orders(tree, &n) &&
		  add_classes(tree, c->classes) && add_findings(tree, c) && tree_accepted(tree, s) &&
		  tree_survivors(tree, s) && tree_texts(tree, "hints", look->hints) &&
		  tree_texts(tree, "skipped", (const char *const *)c->skipped->at) &&
		  tree_texts(tree, "notes", (const char *const *)s->notes.at) &&
		  !json_add_name(tree, "run", s->run);
	cleanup_free char *text = ok ? cJSON_Print(tree) : NULL;
	if (!text)
		return err_set(e, ENOMEM, "write the summary: no memory");
	fprintf(out, "%s\n", text);
	return 0;
}
