/* lanes_run [OPTIONS of run] -- CMD: the orders of a file in as many lanes as asked, for the tests.
 * LANES is how many, ORDERS the file: an array of {"name", "view", "shuffle", "seed", "vary", "tests"};
 * no "tests": as collected. Prints a line for each order that ended, and one for the whole. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "runner/config.h"
#include "runner/drive/lanes.h"
#include "runner/job.h"
#include "runner/progress.h"
#include "runner/terminal.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/clock.h"
#include "sandbox/base/fault.h"
#include "sandbox/base/fd.h"

struct work {
	struct job job;
	struct roster roster;
	struct order *orders;
	size_t len;
	size_t at;
};

static int bad(struct err *e)
{
	return err_set(e, EINVAL, "ORDERS is no file of orders");
}

static size_t name_find(const char *const *names, size_t n, const char *name)
{
	size_t i = 0;
	while (i < n && names[i] && !text_eq(names[i], name))
		i++;
	return i;
}

static int read_order(struct work *w, const cJSON *row, struct order *o, struct err *e)
{
	const char *view = json_text(row, "view");
	const char *shuffle = json_text(row, "shuffle");
	const cJSON *tests = cJSON_GetObjectItemCaseSensitive(row, "tests");
	const cJSON *text;
	o->name = strdup(json_text(row, "name"));
	o->view = view ? (enum view)name_find(view_names, VIEW_N, view) : VIEW_CANONICAL;
	o->shuffle = shuffle ? shuffle_names[name_find(shuffle_names, 99, shuffle)] : NULL;
	o->seeded = cJSON_HasObjectItem(row, "seed");
	o->seed = (uint64_t)json_number(row, "seed", 0);
	o->as_collected = !tests;
	o->tests = calloc((size_t)cJSON_GetArraySize(tests) + 1, sizeof(*o->tests));
	if (!o->name || !o->tests || o->view == VIEW_N)
		return bad(e);
	cJSON_ArrayForEach(text, cJSON_GetObjectItemCaseSensitive(row, "vary"))
	{
		strv_add(&o->vary, text->valuestring);
	}
	cJSON_ArrayForEach(text, tests)
	{
		roster_add(&w->roster, text->valuestring, &o->tests[o->tests_len++]);
	}
	return 0;
}

static int read_orders(struct work *w, struct err *e)
{
	cleanup_free char *text = NULL;
	size_t len = 0;
	cleanup_json cJSON *rows = NULL;
	int r = fd_load(AT_FDCWD, getenv("ORDERS"), 1 << 20, &text, &len, e);
	r = r ? r : json_parse("ORDERS", text, len, &rows, e);
	if (r)
		return r;
	w->len = (size_t)cJSON_GetArraySize(rows);
	w->orders = calloc(w->len + 1, sizeof(*w->orders));
	for (size_t i = 0; w->orders && i < w->len && !r; i++)
		r = read_order(w, cJSON_GetArrayItem(rows, (int)i), &w->orders[i], e);
	return r;
}

static int next(void *with, const struct order **ret, struct err *e)
{
	(void)e;
	struct work *w = with;
	if (w->at == w->len)
		return 0;
	*ret = &w->orders[w->at++];
	return 1;
}

static int ended(void *with, const struct order *order, const struct order_result *result,
		 struct err *e)
{
	(void)with;
	(void)e;
	printf("%s %s%s%s\n", order->name, result->spoke ? "spoke" : "silent",
	       result->timed_out ? " timeout" : "", result->interrupted ? " interrupted" : "");
	fflush(stdout);
	return 0;
}

static void left(void *with, struct progress_left *ret)
{
	const struct work *w = with;
	*ret = (struct progress_left){ .orders = w->len - w->at };
}

static unsigned lanes_of(const char *text)
{
	return text ? (unsigned)strtoul(text, NULL, 10) : 1;
}

static int run(struct work *w, const struct config *c, struct err *e)
{
	static const char *const plan[] = { NULL };
	int r = job_prepare(&w->job, c, "run", e);
	r = r ? r : job_begin(&w->job, CONFIG_RUN, plan, e);
	r = r ? r : read_orders(w, e);
	if (r)
		return r;
	struct terminal terminal = terminal_of(STDERR_FILENO, c->color, getenv);
	struct progress progress;
	progress_begin(&progress, c->quiet ? NULL : stderr, &terminal, clock_ms);
	const struct order_setup setup = job_order_setup(&w->job);
	const struct lanes_setup lanes = { .order = &setup,
					   .lanes = lanes_of(getenv("LANES")),
					   .ledger = &w->job.ledger,
					   .roster = &w->roster,
					   .progress = &progress };
	const struct lanes_source source = { .next = next, .ended = ended, .left = left, .with = w };
	struct lanes_result result = { 0 };
	r = lanes_run(&lanes, &source, &result, e);
	progress_done(&progress);
	if (!r)
		printf("%s\n", result.interrupted ? "interrupted" : "done");
	return r;
}

int main(int argc, char **argv)
{
	cleanup(config_done) struct config c = CONFIG_NULL;
	struct work w = { .job = JOB_NULL, .roster = ROSTER_NULL };
	struct err e = ERR_NULL;
	fault_arm();
	int r = config_load(&c, CONFIG_RUN, argc, (const char *const *)argv, &e);
	r = r ? r : run(&w, &c, &e);
	if (r)
		fprintf(stderr, "error: %s\n", e.text);
	for (size_t i = 0; i < w.len; i++)
		order_done(&w.orders[i]);
	free(w.orders);
	roster_done(&w.roster);
	job_done(&w.job);
	return r ? 70 : 0;
}
