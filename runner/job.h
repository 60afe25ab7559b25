#pragma once
/*
 * job: what every command that runs a suite does around it: find the framework,
 * prepare the cell, make the run folder and run.json, and say why nothing spoke.
 *
 * Owns what it made. Borrows the config.
 */
#include "runner/about.h"
#include "runner/drive/lanes.h"
#include "runner/drive/layer.h"
#include "runner/drive/prepare.h"
#include "runner/ledger.h"
#include "sandbox/base/text.h"

struct adapter;
struct config;
struct err;

struct job {
	const struct config *config;
	const struct adapter *adapter;
	struct prepared prepared;
	struct layer layer;
	struct ledger ledger;
	struct about about;
};
#define JOB_NULL \
	((struct job){ .prepared = PREPARED_NULL, .layer = LAYER_NULL, .ledger = LEDGER_NULL })

/* In place: parts of it point at others. `command`: for the hint when there is nothing to run. */
int job_prepare(struct job *job, const struct config *c, const char *command, struct err *e);
/* A new run folder with its run.json; plan: names of the orders, NULL-terminated, borrowed. */
int job_begin(struct job *job, enum config_command command, const char *const *plan, struct err *e);
/* An earlier run goes on, whose run.json is `earlier`, borrowed. */
int job_continue(struct job *job, enum config_command command, const char *path,
		 const cJSON *earlier, struct err *e);
/* Writes run.json again, with what is known now. */
int job_save_about(struct job *job, struct err *e);
void job_done(struct job *job);

/* Orders from here on hang when they take so much longer than the canonical one did, unless --timeout
 * says when. */
#define JOB_HANG_TIMES 10
#define JOB_HANG_MS    60000
void job_limit(struct job *job, double canonical_seconds);

struct order_setup job_order_setup(struct job *job);

/* Runs what the source has to run, of a job with many orders, and shows how far it is. */
int job_run(struct job *job, const struct lanes_source *source, const struct roster *roster,
	    struct progress *progress, struct lanes_result *ret, struct err *e);

/* No adapter spoke in that order, and nothing else ended it: shows the end of its output on stderr,
 * sets the err and returns it. */
int job_explain_silence(const struct job *job, const char *order, const struct order_result *result,
			struct err *e);
/* The end of an order's output and likely causes, to stderr. */
void job_show_tail(const struct job *job, const char *order);
/* Adds likely causes that stand in a failure's text. 0 or -ENOMEM. */
int job_hints(const struct job *job, const char *text, struct strv *ret);
