#pragma once
/*
 * earlier: a run that is there, taken up again by a command whose first word names
 * it: its folder, its run.json, and a config as it was then with the options of
 * this call on top.
 *
 * Owns all three. Writes nothing.
 */
#include "runner/config.h"

struct earlier {
	struct config words; /* what stands on the command line of this call */
	struct config config;
	char *path;
	cJSON *about; /* run.json */
};
#define EARLIER_NULL ((struct earlier){ .words = CONFIG_NULL, .config = CONFIG_NULL })

/* `name`: of the command, for errors. A run that is given by its path is found from anywhere. */
int earlier_find(struct earlier *ret, enum config_command command, const char *name, int argc,
		 const char *const *argv, struct err *e);
void earlier_done(struct earlier *earlier);
