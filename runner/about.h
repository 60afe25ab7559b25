#pragma once
/*
 * about: run.json, what a run was of and in which world it ran. Written when
 * the run begins and again when its cell has been seen.
 */
#include "runner/config.h"
#include "sandbox/base/json.h"

struct adapter;
struct isolation;
struct layer;
struct ledger;
struct prepared;
struct err;

struct about {
	const struct config *config;
	enum config_command command;
	const struct adapter *adapter;
	const struct prepared *prepared;
	const struct layer *layer;         /* under the suite's cells */
	const struct isolation *isolation; /* NULL: not known yet */
	const char *const *plan;           /* names of the orders, NULL-terminated */
	char started[32];                  /* UTC; empty: now is taken */
	const cJSON *earlier; /* run.json of the part of the run that was cut short: what is not known
				 now is taken from it; NULL: none */
};

/* Adds "isolation", and "isolation_why" for what is not verified. False: no memory. */
bool about_isolation(cJSON *tree, const struct isolation *isolation);
/* What two runs must share to be compared. NULL: no memory. */
cJSON *about_environment(const struct prepared *p);
int about_save(struct about *about, struct ledger *ledger, struct err *e);
