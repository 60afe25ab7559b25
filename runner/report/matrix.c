#include "runner/report/matrix.h"

#include <errno.h>
#include <string.h>

#include "runner/judge/classes.h"
#include "runner/judge/history.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/json.h"

#define MATRIX_VERSION 1

static int no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "write the matrix: no memory");
}

static bool add_outcome(cJSON *row, const char *key, enum outcome outcome)
{
	return json_add(row, key,
			outcome == OUTCOME_N ? cJSON_CreateNull()
					     : cJSON_CreateString(outcome_name(outcome)));
}

static bool add_vector(cJSON *row, const struct classes *c, uint32_t test)
{
	cleanup_free char *vector = strndup(classes_vector(c, test), c->columns_len);
	return vector && cJSON_AddStringToObject(row, "vector", vector);
}

static bool add_score(cJSON *row, const struct judged *t)
{
	double score;
	return json_add(row, "score",
			classes_score(t, &score) ? cJSON_CreateNumber(score) : cJSON_CreateNull());
}

/* The name of an order, or null. */
static bool add_order(cJSON *row, const char *key, const struct classes *c, uint32_t order)
{
	const char *name = order == CLASSES_NONE ? NULL : c->history->orders[order].order.name;
	return !json_add_name(row, key, name);
}

static bool fill_row(cJSON *row, const struct classes *c, uint32_t test)
{
	const struct judged *t = &c->tests[test];
	char *const *ids = c->history->roster.ids.at;
	const char *after = t->absent_after == CLASSES_NONE ? NULL : ids[t->absent_after];
	return !json_add_name(row, "id", ids[test]) &&
	       cJSON_AddStringToObject(row, "class", class_rows[t->class].name) &&
	       cJSON_AddStringToObject(row, "evidence", t->eligible ? "eligible" : "excluded") &&
	       add_outcome(row, "alone", t->facts.alone) &&
	       add_outcome(row, "canonical", t->facts.canonical) && add_vector(row, c, test) &&
	       add_score(row, t) && cJSON_AddNumberToObject(row, "absent", t->absent) &&
	       !json_add_name(row, "absent_after", after) &&
	       add_order(row, "first_bad", c, t->first_bad) &&
	       add_order(row, "first_red", c, t->first_red) &&
	       !json_add_name(row, "phase", t->phase);
}

static char *orders_text(const struct classes *c)
{
	cleanup_json cJSON *orders = cJSON_CreateArray();
	bool ok = orders;
	for (size_t i = 0; i < c->columns_len && ok; i++) {
		const char *name = c->history->orders[c->columns[i]].order.name;
		ok = cJSON_AddItemToArray(orders, cJSON_CreateString(name));
	}
	return ok ? json_line(orders) : NULL;
}

int matrix_write(const struct classes *c, FILE *out, struct err *e)
{
	cleanup_free char *orders = orders_text(c);
	if (!orders)
		return no_memory(e);
	fprintf(out, "{\"version\":%d,\"orders\":%s,\n \"tests\":[", MATRIX_VERSION, orders);
	bool first = true;
	for (uint32_t i = 0; i < c->len; i++) {
		if (!c->tests[i].due)
			continue;
		cleanup_json cJSON *row = cJSON_CreateObject();
		cleanup_free char *text = row && fill_row(row, c, i) ? json_line(row) : NULL;
		if (!text)
			return no_memory(e);
		fprintf(out, "%s%s", first ? "\n  " : ",\n  ", text);
		first = false;
	}
	fputs("]}\n", out);
	return ferror(out) ? err_sys(e, "write the matrix") : 0;
}
