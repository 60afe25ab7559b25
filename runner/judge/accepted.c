#include "runner/judge/accepted.h"

#include <stdio.h>

#include "runner/judge/summary.h"

int accepted_read(const cJSON *about, struct accepted *ret)
{
	const cJSON *config = cJSON_GetObjectItemCaseSensitive(about, "config");
	const char *started = json_text(about, "started");
	snprintf(ret->day, sizeof(ret->day), "%.10s", started ? started : "");
	int r = ignores_load(cJSON_GetObjectItemCaseSensitive(config, "ignore"), &ret->ignore);
	return r ? r
		 : ignores_load(cJSON_GetObjectItemCaseSensitive(config, "expected_state"),
				&ret->expected_state);
}

void accepted_done(struct accepted *a)
{
	ignores_done(&a->ignore);
	ignores_done(&a->expected_state);
	*a = ACCEPTED_NULL;
}

bool accepted_has(const struct accepted *a, const char *code, const char *test, const char *key)
{
	return ignores_find(&a->ignore, a->day, code, test, key) < a->ignore.len ||
	       ignores_find(&a->expected_state, a->day, code, test, key) < a->expected_state.len;
}

bool accepted_takes(struct accepted *a, const char *code, const char *test, const char *key)
{
	struct ignores *const lists[] = { &a->ignore, &a->expected_state };
	for (size_t i = 0; i < 2; i++) {
		size_t rule = ignores_find(lists[i], a->day, code, test, key);
		if (rule == lists[i]->len)
			continue;
		lists[i]->at[rule].hits++;
		return true;
	}
	return false;
}

void accepted_filter(struct accepted *a, struct summary_changes *list)
{
	size_t left = 0;
	for (size_t i = 0; i < list->len; i++) {
		struct summary_change *c = &list->at[i];
		if (accepted_takes(a, c->code, c->test, c->key))
			summary_change_done(c);
		else
			list->at[left++] = *c;
	}
	list->len = left;
}
