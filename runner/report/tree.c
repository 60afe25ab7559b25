#include "runner/report/tree.h"

#include "runner/judge/summary.h"
#include "runner/report/report.h"

bool tree_copy(cJSON *object, const char *key, const cJSON *tree)
{
	return json_add(object, key, tree ? cJSON_Duplicate(tree, true) : cJSON_CreateNull());
}

bool tree_texts(cJSON *object, const char *key, const char *const *texts)
{
	return json_add(object, key, json_texts(texts));
}

bool tree_counts(cJSON *tree, const struct summary *s)
{
	cJSON *counts = cJSON_AddObjectToObject(tree, "tests");
	bool ok = counts && cJSON_AddNumberToObject(counts, "all", (double)s->tests_len);
	for (int i = 0; i < OUTCOME_N && ok; i++)
		ok = cJSON_AddNumberToObject(counts, outcome_name((enum outcome)i),
					     (double)s->outcomes[i]);
	return ok;
}

static bool add_restored(cJSON *row, const struct summary_change *c)
{
	if (c->restored_why && json_add_name(row, "restored_why", c->restored_why))
		return false;
	return !(c->restored || c->restored_why) ||
	       cJSON_AddBoolToObject(row, "restored", c->restored);
}

bool tree_changes(cJSON *array, const struct summary_changes *list)
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
		     !json_add_name(row, "zone", c->zone) && tree_copy(row, "before", c->before) &&
		     tree_copy(row, "after", c->after) && !json_add_name(row, "when", c->when) &&
		     tree_texts(row, "suspects", (const char *const *)c->suspects.at) &&
		     add_restored(row, c);
	}
	return ok;
}

static bool add_rules(cJSON *array, const struct ignores *list, const char *day)
{
	for (size_t i = 0; i < list->len; i++) {
		const struct ignore *rule = &list->at[i];
		cJSON *row = cJSON_CreateObject();
		if (!row || !cJSON_AddItemToArray(array, row) ||
		    json_add_name(row, "code", rule->code) ||
		    json_add_name(row, "test", rule->test) || json_add_name(row, "key", rule->key) ||
		    json_add_name(row, "reason", rule->reason) ||
		    json_add_name(row, "expires", rule->expires) ||
		    !cJSON_AddBoolToObject(row, "expired", !ignore_applies(rule, day)) ||
		    !cJSON_AddNumberToObject(row, "taken_out", (double)rule->hits))
			return false;
	}
	return true;
}

bool tree_accepted(cJSON *tree, const struct summary *s)
{
	const struct accepted *a = &s->accepted;
	cJSON *object = cJSON_AddObjectToObject(tree, "accepted");
	cJSON *rules = object && cJSON_AddStringToObject(object, "day", a->day)
			       ? cJSON_AddArrayToObject(object, "rules")
			       : NULL;
	return rules && add_rules(rules, &a->ignore, a->day) &&
	       add_rules(rules, &a->expected_state, a->day);
}

bool tree_survivors(cJSON *tree, const struct summary *s)
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
