#include "runner/plan/order.h"

#include <stdlib.h>

const char *const view_names[VIEW_N] = {
	[VIEW_CANONICAL] = "canonical", [VIEW_SHUFFLED] = "shuffled", [VIEW_ISOLATED] = "isolated",
	[VIEW_REPEATED] = "repeated",   [VIEW_PARALLEL] = "parallel",
};

const char *const role_names[ROLE_N] = {
	[ROLE_SWEEP] = "sweep", [ROLE_CONFIRM] = "confirm", [ROLE_SHRINK] = "shrink",
	[ROLE_WAVE] = "wave",   [ROLE_REPLAY] = "replay",
};

const char *const shuffle_names[] = { "shuffle",         "python",          "native",
				      "shuffle-modules", "shuffle-classes", "reverse",
				      "pairs",           "given",           NULL };

bool order_collects(const struct order *o)
{
	return !o->as_collected && !o->tests_len;
}

void order_done(struct order *o)
{
	free(o->name);
	free(o->tests);
	strv_done(&o->vary);
	*o = ORDER_NULL;
}

void order_add_shuffle(const struct order *o, cJSON *line)
{
	if (o->shuffle)
		cJSON_AddStringToObject(line, "shuffle", o->shuffle);
	else
		cJSON_AddNullToObject(line, "shuffle");
	if (o->seeded)
		cJSON_AddNumberToObject(line, "seed", (double)o->seed);
	else
		cJSON_AddNullToObject(line, "seed");
}
