#include "runner/drive/chronicle.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "probe/sensor.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/clock.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fault.h"
#include "sandbox/base/fd.h"

#define REFUSED_MAX 32 /* refused packets told one by one; the rest are counted */

void window_done(struct window *w)
{
	delta_list_done(&w->deltas);
	met_list_done(&w->met);
	cJSON_Delete(take_ptr(&w->held));
}

const char *chronicle_name(const void *with, int number)
{
	const struct chronicle *c = with;
	return number >= 0 && (size_t)number < c->suite.ids.len ? c->suite.ids.at[number] : NULL;
}

void chronicle_init(struct chronicle *c, const struct session_setup *setup)
{
	*c = (struct chronicle){ .setup = setup, .suite = SUITE_NULL, .names = { chronicle_name, c } };
	c->began = clock_seconds();
}

void chronicle_done(struct chronicle *c)
{
	suite_done(&c->suite);
	fingerprint_free(c->prints);
	c->prints = NULL;
}

int chronicle_say(struct chronicle *c, const char *line, struct err *e)
{
	if (!line)
		return err_set(e, ENOMEM, "write a ledger line");
	fault_point("looker-says");
	if (fd_write_full(c->setup->channel, line, strlen(line)) ||
	    fd_write_full(c->setup->channel, "\n", 1))
		return err_sys(e, "send a ledger line to the runner");
	return 0;
}

/* Sends and frees. */
static int say(struct chronicle *c, cJSON *tree, struct err *e)
{
	cleanup_free char *line = tree ? json_line(tree) : NULL;
	cJSON_Delete(tree);
	return chronicle_say(c, line, e);
}

static cJSON *line_new(const struct chronicle *c, const char *kind)
{
	cJSON *tree = cJSON_CreateObject();
	cJSON_AddNumberToObject(tree, "v", 1);
	cJSON_AddStringToObject(tree, "kind", kind);
	json_add_name(tree, "order", c->setup->order->name);
	return tree;
}

static void copy_members(cJSON *to, const cJSON *from, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const cJSON *item = cJSON_GetObjectItemCaseSensitive(from, names[i]);
		if (item)
			cJSON_AddItemToObject(to, names[i], cJSON_Duplicate(item, true));
	}
}

/* Moves the rows of an array that may be NULL. */
static void move_rows(cJSON *to, cJSON *from)
{
	while (from && from->child)
		cJSON_AddItemToArray(to, cJSON_DetachItemViaPointer(from, from->child));
}

static cJSON *survivors(const struct chronicle *c)
{
	cleanup(delta_list_done) struct delta_list alive = DELTA_LIST_NULL;
	if (fingerprint_survivors(c->prints, &alive, NULL))
		return NULL;
	cJSON *array = cJSON_CreateArray();
	for (size_t i = 0; i < alive.len; i++) {
		cJSON *row = cJSON_CreateObject();
		cJSON_AddStringToObject(row, "domain", alive.at[i].domain);
		json_add_name(row, "key", alive.at[i].key);
		json_add_name(row, "test", chronicle_name(c, alive.at[i].owner));
		cJSON_AddItemToArray(array, row);
	}
	return array;
}

int chronicle_session(struct chronicle *c, const cJSON *hello, pid_t pid, struct err *e)
{
	static const char *const copied[] = { "adapter", "version", "python", "rootdir",
					      "can",     "said",    "plugins" };
	cJSON *line = line_new(c, "session");
	copy_members(line, hello, copied, countof(copied));
	cJSON_AddNumberToObject(line, "pid", pid);
	cleanup_json cJSON *beside = c->suite.sessions > 1 ? survivors(c) : NULL;
	if (beside && beside->child)
		cJSON_AddItemToObject(line, "beside", take_ptr(&beside));
	return say(c, line, e);
}

static void add_said(cJSON *line, const char *text)
{
	cJSON *said = cJSON_GetObjectItemCaseSensitive(line, "said");
	if (!cJSON_IsArray(said)) {
		cJSON_DeleteItemFromObjectCaseSensitive(line, "said");
		said = cJSON_AddArrayToObject(line, "said");
	}
	cJSON_AddItemToArray(said, cJSON_CreateString(text));
}

static int add_others(const struct chronicle *c, cJSON *line, const cJSON *others)
{
	cleanup_json cJSON *ids = cJSON_CreateArray();
	const cJSON *id;
	cJSON_ArrayForEach(id, others)
	{
		cleanup_free char *full = NULL;
		if (!cJSON_IsString(id) || !*id->valuestring)
			continue;
		if (suite_name(&c->suite, id->valuestring, &full))
			return -ENOMEM;
		cJSON_AddItemToArray(ids, cJSON_CreateString(full));
	}
	return !ids || !ids->child || json_add(line, "others", take_ptr(&ids)) ? 0 : -ENOMEM;
}

int chronicle_order(struct chronicle *c, const cJSON *collected, const cJSON *others, struct err *e)
{
	static const char *const copied[] = { "said", "plugins" };
	cJSON *line = line_new(c, "order");
	cJSON_AddStringToObject(line, "view", view_names[c->setup->order->view]);
	order_add_shuffle(c->setup->order, line);
	cJSON_AddFalseToObject(line, "warm");
	cJSON_AddNumberToObject(line, "lane", c->setup->lane);
	cJSON_AddNumberToObject(line, "session", c->suite.sessions);
	copy_members(line, collected, copied, countof(copied));
	if (c->setup->order->view == VIEW_PARALLEL)
		add_said(line,
			 "tests ran at once, in view parallel: what they left was not looked at");
	cJSON *tests = cJSON_AddArrayToObject(line, "tests");
	for (size_t i = c->suite.session_at; tests && i < c->suite.ids.len; i++)
		cJSON_AddItemToArray(tests, cJSON_CreateString(c->suite.ids.at[i]));
	if (add_others(c, line, others)) {
		cJSON_Delete(line);
		return err_set(e, ENOMEM, "write what a session has");
	}
	return say(c, line, e);
}

static int add_seen(struct chronicle *c, cJSON *line, int test, struct window *w, struct err *e)
{
	cJSON *deltas = record_deltas(&w->deltas, test, &c->names, NULL);
	if (!deltas)
		return err_set(e, ENOMEM, "write what a test left");
	move_rows(deltas, w->held);
	cJSON_AddItemToObject(line, "state", record_state(c->prints, c->setup->sensors));
	cJSON_AddItemToObject(line, "deltas", deltas);
	cJSON_AddItemToObject(line, "met", record_met(&w->met, &c->names));
	window_done(w);
	return 0;
}

int chronicle_test(struct chronicle *c, int test, enum outcome outcome, const cJSON *packet,
		   const char *message, struct window *w, struct err *e)
{
	static const char *const copied[] = { "phase", "phases", "us", "message", "output" };
	cleanup_json cJSON *line = line_new(c, "test");
	cJSON_AddNumberToObject(line, "n", test);
	json_add_name(line, "test", c->suite.ids.at[test]);
	cJSON_AddStringToObject(line, "outcome", outcome_name(outcome));
	copy_members(line, packet, copied, countof(copied));
	if (message) {
		cJSON_DeleteItemFromObjectCaseSensitive(line, "message");
		json_add_name(line, "message", message);
	}
	int r = outcome == OUTCOME_ABSENT || !w ? 0 : add_seen(c, line, test, w, e);
	c->suite.ran[test] = true;
	return r ? r : say(c, take_ptr(&line), e);
}

static bool still_leaks(const struct delta *d)
{
	return record_kind(d) == DELTA_LEAK;
}

int chronicle_scope(struct chronicle *c, struct scope *scope, struct err *e)
{
	cleanup_json cJSON *deltas =
		record_deltas(&scope->held, scope->number, &c->names, still_leaks);
	delta_list_done(&scope->held);
	if (!deltas)
		return err_set(e, ENOMEM, "write what a fixture left");
	if (!deltas->child)
		return 0;
	cJSON *line = line_new(c, "scope");
	json_add_name(line, "fixture", scope->fixture);
	json_add_name(line, "scope", scope->scope);
	json_add_name(line, "test", chronicle_name(c, scope->first));
	cJSON_AddBoolToObject(line, "closed", scope->closed);
	cJSON_AddItemToObject(line, "deltas", take_ptr(&deltas));
	return say(c, line, e);
}

int chronicle_held(struct chronicle *c, struct scope *scope, struct window *w, struct err *e)
{
	for (size_t i = 0; i < scope->held.len; i++)
		scope->held.at[i].kind = DELTA_HELD;
	cleanup_json cJSON *rows = record_deltas(&scope->held, scope->number, &c->names, NULL);
	for (size_t i = 0; i < scope->held.len; i++)
		scope->held.at[i].kind = DELTA_LEAK; /* unless it is gone by the end */
	if (!w->held)
		w->held = cJSON_CreateArray();
	if (!rows || !w->held)
		return err_set(e, ENOMEM, "write what a fixture holds");
	for (cJSON *row = rows->child; row; row = row->next)
		json_add_name(row, "fixture", scope->fixture);
	move_rows(w->held, rows);
	return 0;
}

int chronicle_refused(struct chronicle *c, pid_t pid, const char *why, int test, struct err *e)
{
	if (c->refused++ >= REFUSED_MAX)
		return 0;
	cJSON *line = line_new(c, "refused");
	cJSON_AddNumberToObject(line, "pid", pid);
	json_add_name(line, "why", why);
	json_add_name(line, "during", chronicle_name(c, test));
	return say(c, line, e);
}

/* Only files have a state before the first test that the start of the cell could have known;
 * elsewhere a session's own doings are no news. Nor is what may change, in the zone `state`. */
static bool is_news(const struct delta *d)
{
	return text_eq(d->domain, "files") && !text_eq(d->zone, "state") && still_leaks(d);
}

static cJSON *unattributed(const struct chronicle *c, const struct chronicle_end *end)
{
	const struct {
		const struct delta_list *list;
		const char *when;
	} times[] = { { end->between, "outside any test" },
		      { end->last, "seen by the last scan alone" } };
	cleanup_json cJSON *all = cJSON_CreateArray();
	for (size_t i = 0; all && i < countof(times); i++) {
		cleanup_json cJSON *rows =
			record_deltas(times[i].list, DELTA_STOOD, &c->names, is_news);
		if (!rows)
			return NULL;
		for (cJSON *row = rows->child; row; row = row->next)
			cJSON_AddStringToObject(row, "when", times[i].when);
		move_rows(all, rows);
	}
	return take_ptr(&all);
}

/* What could not be seen, by domain: never silence. */
static cJSON *blind_spots(const struct chronicle *c)
{
	cJSON *object = cJSON_CreateObject();
	for (const struct sensor *const *row = c->setup->sensors; *row; row++) {
		const char *why = fingerprint_blind(c->prints, (*row)->domain);
		if (why)
			cJSON_AddStringToObject(object, (*row)->domain, why);
	}
	return object;
}

int chronicle_finish(struct chronicle *c, const struct chronicle_end *end, struct err *e)
{
	cleanup_json cJSON *alive = survivors(c);
	cleanup_json cJSON *nobodys = unattributed(c, end);
	cleanup(strv_done) struct strv missing = STRV_NULL;
	if (!alive || !nobodys || suite_missing(&c->suite, &missing))
		return err_set(e, ENOMEM, "write the end of the order");
	int status = end->wait_status;
	cJSON *line = line_new(c, "end");
	cJSON_AddStringToObject(line, "outcome", end->outcome);
	cJSON_AddNumberToObject(line, "exit",
				WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	if (end->why)
		json_add_name(line, "why", end->why);
	cJSON_AddNumberToObject(line, "seconds", clock_seconds() - c->began);
	const char *why = NULL;
	const char *tracker = fingerprint_tracker(c->prints, &why);
	json_add_name(line, "tracker", tracker);
	json_add_name(line, "tracker_why", why);
	cJSON_AddNumberToObject(line, "refused", (double)c->refused);
	cJSON_AddItemToObject(line, "blind", blind_spots(c));
	if (missing.len)
		json_add(line, "missing", json_texts((const char *const *)missing.at));
	cJSON_AddItemToObject(line, "survivors", take_ptr(&alive));
	cJSON_AddItemToObject(line, "unattributed", take_ptr(&nobodys));
	return say(c, line, e);
}
