#include "runner/drive/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "probe/event.h"
#include "probe/fingerprint.h"
#include "probe/sensor.h"
#include "probe/suspect.h"
#include "runner/drive/drop.h"
#include "runner/drive/record.h"
#include "runner/drive/scopes.h"
#include "runner/drive/suite.h"
#include "runner/drive/wire.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fault.h"
#include "sandbox/base/fd.h"

#define REFUSED_MAX 32    /* refused packets told one by one; the rest are counted */
#define DRAIN_MAX   65536 /* packets read after the command ended */
#define NOBODY      (-1)

enum phase {
	PHASE_IDLE,      /* nobody has said hello, or the last session is done */
	PHASE_HELLO,     /* collecting */
	PHASE_COLLECTED, /* between tests, and none is announced */
	PHASE_TEST,
	PHASE_N,
};
static const char *const phase_names[PHASE_N] = { "idle", "collecting", "between tests", "in a test" };

struct session {
	const struct session_setup *setup;
	struct wire wire;
	struct fingerprint *prints;
	struct suite suite;
	struct scopes scopes;
	struct names names;
	enum phase phase;
	int speaker;               /* index of the connection of the session's adapter, or -1 */
	int test;                  /* running, or NOBODY */
	bool lost;                 /* the session's adapter went away in the middle */
	bool crashed;              /* that happened in this or an earlier session */
	char *broken;              /* why the order ended as a protocol error; NULL: it did not */
	struct delta_list deltas;  /* of the running test so far */
	struct delta_list between; /* of no test */
	struct delta_list last;    /* what only the last scan by content saw */
	struct met_list met;
	struct suspects suspects;
	cJSON *held; /* what fixtures made during the running test */
	struct timespec start;
	uint64_t refused;
};

/* ---- lines ---- */

static int send_line(struct session *s, const char *line, struct err *e)
{
	if (!line)
		return err_set(e, ENOMEM, "write a ledger line");
	if (fd_write_full(s->setup->channel, line, strlen(line)) ||
	    fd_write_full(s->setup->channel, "\n", 1))
		return err_sys(e, "send a ledger line to the runner");
	return 0;
}

/* Sends and frees. */
static int send_tree(struct session *s, cJSON *tree, struct err *e)
{
	cleanup_free char *line = tree ? json_line(tree) : NULL;
	cJSON_Delete(tree);
	return send_line(s, line, e);
}

static cJSON *new_line(const struct session *s, const char *kind)
{
	cJSON *tree = cJSON_CreateObject();
	cJSON_AddNumberToObject(tree, "v", 1);
	cJSON_AddStringToObject(tree, "kind", kind);
	cJSON_AddStringToObject(tree, "order", s->setup->order);
	return tree;
}

static const char *test_name(const void *with, int number)
{
	const struct session *s = with;
	return number >= 0 && (size_t)number < s->suite.ids.len ? s->suite.ids.at[number] : NULL;
}

static int send_order(struct session *s, const cJSON *hello_or_collected, struct err *e)
{
	cJSON *line = new_line(s, "order");
	cJSON_AddStringToObject(line, "view", s->setup->view);
	cJSON_AddNullToObject(line, "shuffle");
	cJSON_AddNullToObject(line, "seed");
	cJSON_AddFalseToObject(line, "warm");
	cJSON_AddNumberToObject(line, "lane", 0);
	cJSON_AddNumberToObject(line, "session", s->suite.sessions);
	const cJSON *said = cJSON_GetObjectItemCaseSensitive(hello_or_collected, "said");
	if (said)
		cJSON_AddItemToObject(line, "said", cJSON_Duplicate(said, true));
	cJSON *tests = cJSON_AddArrayToObject(line, "tests");
	for (size_t i = s->suite.session_at; tests && i < s->suite.ids.len; i++)
		cJSON_AddItemToArray(tests, cJSON_CreateString(s->suite.ids.at[i]));
	return send_tree(s, line, e);
}

/* The line of one test. packet may be NULL: the test did not finish. */
static int send_test(struct session *s, int test, enum outcome outcome, const cJSON *packet,
		     const char *message, struct err *e)
{
	cJSON *line = new_line(s, "test");
	cJSON_AddNumberToObject(line, "n", test);
	json_add_name(line, "test", s->suite.ids.at[test]);
	cJSON_AddStringToObject(line, "outcome", outcome_name(outcome));
	static const char *const copied[] = { "phase", "phases", "us", "message", "output" };
	for (size_t i = 0; i < countof(copied); i++) {
		const cJSON *item = cJSON_GetObjectItemCaseSensitive(packet, copied[i]);
		if (item)
			cJSON_AddItemToObject(line, copied[i], cJSON_Duplicate(item, true));
	}
	if (message) {
		cJSON_DeleteItemFromObjectCaseSensitive(line, "message");
		cJSON_AddStringToObject(line, "message", message);
	}
	if (outcome != OUTCOME_ABSENT) {
		cJSON *deltas = record_deltas(&s->deltas, test, &s->names, NULL);
		for (cJSON *held = s->held ? s->held->child : NULL; held && deltas;) {
			cJSON *next = held->next;
			cJSON_AddItemToArray(deltas, cJSON_DetachItemViaPointer(s->held, held));
			held = next;
		}
		cJSON_AddItemToObject(line, "state", record_state(s->prints, s->setup->sensors));
		cJSON_AddItemToObject(line, "deltas", deltas);
		cJSON_AddItemToObject(line, "met", record_met(&s->met, &s->names));
	}
	s->suite.ran[test] = true;
	cJSON_Delete(take_ptr(&s->held));
	delta_list_done(&s->deltas);
	met_list_done(&s->met);
	return send_tree(s, line, e);
}

static bool still_leaks(const struct delta *d)
{
	return record_kind(d) == DELTA_LEAK;
}

/* What a fixture left behind when it closed, or never closed. */
static int send_scope(struct session *s, struct scope *scope, struct err *e)
{
	cJSON *deltas = record_deltas(&scope->held, scope->number, &s->names, still_leaks);
	delta_list_done(&scope->held);
	if (deltas && !deltas->child) {
		cJSON_Delete(deltas);
		return 0;
	}
	cJSON *line = new_line(s, "scope");
	cJSON_AddStringToObject(line, "fixture", scope->fixture);
	cJSON_AddStringToObject(line, "scope", scope->scope);
	json_add_name(line, "test", test_name(s, scope->first));
	cJSON_AddBoolToObject(line, "closed", scope->closed);
	cJSON_AddItemToObject(line, "deltas", deltas);
	return send_tree(s, line, e);
}

/* ---- looking and answering ---- */

static int look(struct session *s, struct err *e)
{
	struct delta_list new = DELTA_LIST_NULL;
	struct delta_list *to = scopes_deltas(&s->scopes, &s->deltas);
	int r = fingerprint_look(s->prints, scopes_by(&s->scopes, s->test), &new, &s->met, e);
	fault_point("boundary-look");
	if (!r)
		r = suspects_name(&s->suspects, s->prints, s->setup->vantage, s->test, test_name, s,
				  &new, e);
	if (!r && delta_list_append(to, &new))
		r = err_set(e, ENOMEM, "keep what changed");
	delta_list_done(&new);
	return r;
}

/* A look at what no test did. */
static int look_between(struct session *s, struct err *e)
{
	struct delta_list new = DELTA_LIST_NULL;
	int r = fingerprint_look(s->prints, DELTA_STOOD, &new, NULL, e);
	if (!r && delta_list_append(&s->between, &new))
		r = err_set(e, ENOMEM, "keep what changed");
	delta_list_done(&new);
	return r;
}

static void go(struct session *s)
{
	fault_point("boundary-answer");
	/* A speaker that does not read has gone, which its connection will tell. */
	wire_answer(&s->wire, (size_t)s->speaker, "{\"t\":\"go\"}");
}

static void say_stop(struct session *s)
{
	cleanup_json cJSON *answer = cJSON_CreateObject();
	cJSON_AddStringToObject(answer, "t", "stop");
	cJSON_AddStringToObject(answer, "why", s->broken);
	cleanup_free char *line = json_line(answer);
	if (line)
		wire_answer(&s->wire, (size_t)s->speaker, line);
}

/* The adapter broke the protocol: it is told, and what comes later is no evidence. */
static int break_off(struct session *s, const char *why, struct err *e)
{
	s->broken = strdup(why);
	if (!s->broken)
		return err_set(e, ENOMEM, "end the order");
	s->lost = true;
	s->phase = PHASE_IDLE;
	say_stop(s);
	return 0;
}

/* ---- the acts of the phase table ---- */

static int act_hello(struct session *s, const struct event *ev, struct err *e);
static int act_collected(struct session *s, const struct event *ev, struct err *e);
static int act_uncollectable(struct session *s, const struct event *ev, struct err *e);
static int act_start(struct session *s, const struct event *ev, struct err *e);
static int act_scope(struct session *s, const struct event *ev, struct err *e);
static int act_finish(struct session *s, const struct event *ev, struct err *e);
static int act_done(struct session *s, const struct event *ev, struct err *e);
static int act_hangup(struct session *s, const struct event *ev, struct err *e);

/* An act may move on to another phase than the row says. */
static const struct step {
	int (*act)(struct session *s, const struct event *ev, struct err *e);
	enum phase then;
} steps[PHASE_N][EVENT_KIND_N] = {
	[PHASE_IDLE][EVENT_HELLO] = { act_hello, PHASE_HELLO },
	[PHASE_HELLO][EVENT_UNCOLLECTABLE] = { act_uncollectable, PHASE_HELLO },
	[PHASE_HELLO][EVENT_COLLECTED] = { act_collected, PHASE_COLLECTED },
	[PHASE_HELLO][EVENT_DONE] = { act_done, PHASE_IDLE },
	[PHASE_HELLO][EVENT_HANGUP] = { act_hangup, PHASE_IDLE },
	[PHASE_COLLECTED][EVENT_START] = { act_start, PHASE_TEST },
	[PHASE_COLLECTED][EVENT_SCOPE_OPEN] = { act_scope, PHASE_COLLECTED },
	[PHASE_COLLECTED][EVENT_SCOPE_CLOSE] = { act_scope, PHASE_COLLECTED },
	[PHASE_COLLECTED][EVENT_DONE] = { act_done, PHASE_IDLE },
	[PHASE_COLLECTED][EVENT_HANGUP] = { act_hangup, PHASE_IDLE },
	[PHASE_TEST][EVENT_SCOPE_OPEN] = { act_scope, PHASE_TEST },
	[PHASE_TEST][EVENT_SCOPE_CLOSE] = { act_scope, PHASE_TEST },
	[PHASE_TEST][EVENT_FINISH] = { act_finish, PHASE_TEST },
	[PHASE_TEST][EVENT_DONE] = { act_done, PHASE_IDLE },
	[PHASE_TEST][EVENT_HANGUP] = { act_hangup, PHASE_TEST },
};

/* The rest of the present session will not run. The running test, if any, ended as `outcome`. */
static int settle(struct session *s, enum outcome outcome, const char *message, const char *why,
		  struct err *e)
{
	int r = 0;
	if (s->test != NOBODY) {
		s->scopes.nest_len = 0; /* whatever was being set up is the test's now */
		r = outcome == OUTCOME_ABSENT ? look_between(s, e) : look(s, e);
		if (!r)
			r = send_test(s, s->test, outcome, NULL, message, e);
		s->test = NOBODY;
	}
	for (size_t i = s->suite.session_at; !r && i < s->suite.ids.len; i++)
		if (!s->suite.ran[i])
			r = send_test(s, (int)i, OUTCOME_ABSENT, NULL, why, e);
	s->suite.session_at = s->suite.ids.len;
	s->phase = PHASE_IDLE;
	return r;
}

static int settle_crash(struct session *s, struct err *e)
{
	s->crashed = true;
	return settle(s, OUTCOME_CRASHED,
		      s->broken ? s->broken : "the test process ended during this test",
		      s->broken ? s->broken : "the test process ended before this test", e);
}

/* The number of a process in its innermost pid namespace. 0: it is gone. */
static pid_t inner_pid(pid_t pid)
{
	char path[32];
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	cleanup_free char *status = NULL;
	if (fd_load(AT_FDCWD, path, 65536, &status, NULL, NULL))
		return 0;
	const char *line = strstr(status, "\nNSpid:");
	if (!line)
		return 0;
	const char *end = strchrnul(line + 1, '\n');
	const char *last = memrchr(line, '\t', (size_t)(end - line));
	return last ? (pid_t)strtol(last + 1, NULL, 10) : 0;
}

static int act_hello(struct session *s, const struct event *ev, struct err *e)
{
	struct vantage *v = s->setup->vantage;
	v->pid = s->wire.conns[s->speaker].pid;
	v->inner = inner_pid(v->pid);
	if (suite_session(&s->suite, s->setup->project, ev->rootdir))
		return err_set(e, ENOMEM, "begin a session");
	char name[32];
	snprintf(name, sizeof(name), "plan-%d.json", s->suite.sessions);
	int r = drop_put(v->scratch, name, "{\"v\":1,\"mode\":\"run\"}\n", e);
	if (r)
		return r;
	char answer[64];
	snprintf(answer, sizeof(answer), "{\"t\":\"plan\",\"file\":\"%s\"}", name);
	wire_answer(&s->wire, (size_t)s->speaker, answer);
	cJSON *line = new_line(s, "session");
	static const char *const copied[] = { "adapter", "version", "python",
					      "rootdir", "said",    "plugins" };
	for (size_t i = 0; i < countof(copied); i++) {
		const cJSON *item = cJSON_GetObjectItemCaseSensitive(ev->packet, copied[i]);
		if (item)
			cJSON_AddItemToObject(line, copied[i], cJSON_Duplicate(item, true));
	}
	return send_tree(s, line, e);
}

static int act_uncollectable(struct session *s, const struct event *ev, struct err *e)
{
	int test = suite_add(&s->suite, ev->test);
	if (test == -EEXIST) {
		go(s);
		return 0;
	}
	if (test < 0)
		return err_set(e, ENOMEM, "keep a test's id");
	cleanup_json cJSON *packet = cJSON_CreateObject();
	cJSON_AddStringToObject(packet, "phase", "collect");
	go(s);
	return send_test(s, test, ev->outcome, packet, json_text(ev->packet, "why"), e);
}

static int act_collected(struct session *s, const struct event *ev, struct err *e)
{
	cleanup_json cJSON *file = NULL;
	struct err why = ERR_NULL;
	if (drop_take(s->setup->vantage->scratch, ev->file, &file, &why)) {
		return break_off(s, why.text, e);
	}
	const cJSON *test;
	cJSON_ArrayForEach(test, cJSON_GetObjectItemCaseSensitive(file, "tests"))
	{
		const char *id = json_text(test, "id");
		int number = id ? suite_add(&s->suite, id) : -EPROTO;
		if (number == -EEXIST || number == -EPROTO) {
			return break_off(s,
					 id ? "two tests were announced under one id"
					    : "a test was announced without an id",
					 e);
		}
		if (number < 0)
			return err_set(e, ENOMEM, "keep a test's id");
	}
	go(s);
	return send_order(s, ev->packet, e);
}

static int act_start(struct session *s, const struct event *ev, struct err *e)
{
	s->test = suite_find(&s->suite, ev->test);
	if (s->test < 0) {
		s->test = NOBODY;
		return break_off(s, "a test began that was not announced", e);
	}
	int r = look_between(s, e);
	if (!r)
		go(s);
	return r;
}

/* The running test's line shows what was made in it for a wider fixture. */
static int show_held(struct session *s, struct scope *scope, struct err *e)
{
	for (size_t i = 0; i < scope->held.len; i++)
		scope->held.at[i].kind = DELTA_HELD;
	cJSON *rows = record_deltas(&scope->held, scope->number, &s->names, NULL);
	for (size_t i = 0; i < scope->held.len; i++)
		scope->held.at[i].kind = DELTA_LEAK; /* unless it is gone by the end */
	if (!rows)
		return err_set(e, ENOMEM, "keep what a fixture holds");
	for (cJSON *row = rows->child; row; row = row->next)
		cJSON_AddStringToObject(row, "fixture", scope->fixture);
	if (!s->held) {
		s->held = rows;
		return 0;
	}
	while (rows->child)
		cJSON_AddItemToArray(s->held, cJSON_DetachItemViaPointer(rows, rows->child));
	cJSON_Delete(rows);
	return 0;
}

static int act_scope(struct session *s, const struct event *ev, struct err *e)
{
	bool closing = ev->kind == EVENT_SCOPE_CLOSE;
	int r = look(s, e);
	if (r)
		return r;
	if (!ev->at_end) {
		r = scopes_begin(&s->scopes, ev->fixture, ev->scope, closing, s->test);
		if (r == -EPROTO)
			return break_off(s, "a fixture closed that was not open, or nests too deep",
					 e);
		if (r)
			return err_set(e, ENOMEM, "keep a fixture");
		go(s);
		return 0;
	}
	struct scope *scope;
	if (scopes_end(&s->scopes, ev->fixture, ev->scope, closing, &scope)) {
		return break_off(s, "a fixture ended that was not the innermost one begun", e);
	}
	go(s);
	return closing ? send_scope(s, scope, e) : show_held(s, scope, e);
}

static int act_finish(struct session *s, const struct event *ev, struct err *e)
{
	int test = s->test;
	if (suite_find(&s->suite, ev->test) != test) {
		return break_off(s, "a test finished that was not the one running", e);
	}
	if (s->scopes.nest_len) {
		return break_off(s, "a test finished while a fixture was being set up or closed", e);
	}
	int r = look(s, e);
	if (r)
		return r;
	int next = ev->next ? suite_find(&s->suite, ev->next) : NOBODY;
	s->test = next < 0 ? NOBODY : next;
	s->phase = next < 0 ? PHASE_COLLECTED : PHASE_TEST;
	if (ev->next && next < 0)
		r = break_off(s, "the next test named is not one that was announced", e);
	else
		go(s); /* the suite goes on while the line is written */
	return r ? r : send_test(s, test, ev->outcome, ev->packet, NULL, e);
}

static int act_done(struct session *s, const struct event *ev, struct err *e)
{
	(void)ev;
	int r = settle(s, OUTCOME_ABSENT, "the session ended during this test",
		       "the session ended before this test", e);
	for (size_t i = 0; !r && i < s->scopes.len; i++)
		r = send_scope(s, &s->scopes.at[i], e);
	return r;
}

static int act_hangup(struct session *s, const struct event *ev, struct err *e)
{
	(void)ev;
	(void)e;
	s->lost = true; /* who is to blame is known when the command has ended or goes on */
	s->phase = PHASE_IDLE;
	return 0;
}

/* ---- the loop ---- */

static int refuse(struct session *s, const struct wire_news *news, const char *why, struct err *e)
{
	if (s->refused++ >= REFUSED_MAX)
		return 0;
	cJSON *line = new_line(s, "refused");
	cJSON_AddNumberToObject(line, "pid", inner_pid(news->pid));
	cJSON_AddStringToObject(line, "why", why);
	json_add_name(line, "during", test_name(s, s->test));
	return send_tree(s, line, e);
}

static int step(struct session *s, const struct event *ev, struct err *e)
{
	const struct step *step = &steps[s->phase][ev->kind];
	if (!step->act) {
		char why[128];
		snprintf(why, sizeof(why), "the adapter sent %s while the suite is %s",
			 event_kind_name(ev->kind), phase_names[s->phase]);
		return break_off(s, why, e);
	}
	s->phase = step->then;
	return step->act(s, ev, e);
}

/* A packet on a connection that is not the speaker's: only a hello at the right time is heard. */
static int stranger(struct session *s, const struct wire_news *news, const struct event *ev,
		    struct err *e)
{
	const char *why = NULL;
	if (ev->kind != EVENT_HELLO)
		why = "the first packet on a connection has to be hello";
	else if (s->phase != PHASE_IDLE)
		why = "a session is open: a second hello is refused";
	else if (s->broken)
		why = "the order ended as a protocol error";
	if (why) {
		int r = refuse(s, news, why, e);
		wire_drop(&s->wire, news->conn);
		if (s->speaker > (int)news->conn)
			s->speaker--;
		return r;
	}
	if (s->speaker >= 0) { /* of a session that is done */
		wire_drop(&s->wire, (size_t)s->speaker);
		s->speaker = (int)news->conn - (s->speaker < (int)news->conn);
	} else {
		s->speaker = (int)news->conn;
	}
	s->wire.conns[s->speaker].pid = news->pid;
	int r = s->lost ? settle_crash(s, e) : 0;
	s->lost = false;
	return r ? r : step(s, ev, e);
}

static int hangup(struct session *s, size_t conn, struct err *e)
{
	bool speaker = s->speaker == (int)conn;
	wire_drop(&s->wire, conn);
	if (s->speaker >= (int)conn)
		s->speaker = speaker ? -1 : s->speaker - 1;
	if (!speaker || s->phase == PHASE_IDLE)
		return 0;
	return step(s, &(struct event){ .kind = EVENT_HANGUP }, e);
}

static int hear(struct session *s, const struct wire_news *news, struct err *e)
{
	if (news->kind == WIRE_HANGUP)
		return hangup(s, news->conn, e);
	bool speaker = s->speaker == (int)news->conn;
	if (speaker && news->pid != s->wire.conns[news->conn].pid)
		return refuse(s, news, "another process spoke on the adapter's connection", e);

	cleanup(event_done) struct event ev = EVENT_NULL;
	struct err why = ERR_NULL;
	if (news->len > EVENT_LEN_MAX)
		err_set(&why, EPROTO, "a packet is over %d bytes", EVENT_LEN_MAX);
	else
		event_parse(&ev, news->bytes, news->len, &why);
	if (why.code && speaker) {
		return break_off(s, why.text, e);
	}
	if (why.code) {
		int r = refuse(s, news, why.text, e);
		return r ? r : hangup(s, news->conn, e);
	}
	if (!speaker)
		return stranger(s, news, &ev, e);
	if (s->broken) {
		say_stop(s);
		return 0;
	}
	return step(s, &ev, e);
}

/* Changes of no test, with the time they belong to. Only files have a state before the first test
 * that the start of the cell could have known; elsewhere a session's own doings are no news. */
static bool is_of_files(const struct delta *d)
{
	return text_eq(d->domain, "files") && record_kind(d) == DELTA_LEAK;
}

static cJSON *unattributed(const struct session *s)
{
	const struct {
		const struct delta_list *list;
		const char *when;
	} times[] = { { &s->between, "outside any test" },
		      { &s->last, "seen by the last scan alone" } };
	cJSON *all = cJSON_CreateArray();
	for (size_t i = 0; i < countof(times); i++) {
		cJSON *rows = record_deltas(times[i].list, DELTA_STOOD, &s->names, is_of_files);
		for (cJSON *row = rows ? rows->child : NULL; row;) {
			cJSON *next = row->next;
			cJSON_AddStringToObject(row, "when", times[i].when);
			cJSON_AddItemToArray(all, cJSON_DetachItemViaPointer(rows, row));
			row = next;
		}
		cJSON_Delete(rows);
	}
	return all;
}

static cJSON *survivors(struct session *s, struct err *e)
{
	struct delta_list alive = DELTA_LIST_NULL;
	cJSON *array = cJSON_CreateArray();
	int r = fingerprint_survivors(s->prints, &alive, e);
	for (size_t i = 0; !r && i < alive.len; i++) {
		cJSON *row = cJSON_CreateObject();
		cJSON_AddItemToArray(array, row);
		cJSON_AddStringToObject(row, "domain", alive.at[i].domain);
		json_add_name(row, "key", alive.at[i].key);
		json_add_name(row, "test", test_name(s, alive.at[i].owner));
	}
	delta_list_done(&alive);
	if (r)
		cJSON_Delete(take_ptr(&array));
	return array;
}

/* What could not be seen, by domain: never silence. */
static cJSON *blind_spots(const struct session *s)
{
	cJSON *object = cJSON_CreateObject();
	for (const struct sensor *const *row = s->setup->sensors; *row; row++) {
		const char *why = fingerprint_blind(s->prints, (*row)->domain);
		if (why)
			cJSON_AddStringToObject(object, (*row)->domain, why);
	}
	return object;
}

static double seconds_since(struct timespec start)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) / 1e9;
}

static int send_end(struct session *s, const struct session_end *end, struct err *e)
{
	cJSON *alive = survivors(s, e);
	if (!alive)
		return -e->code;
	const char *outcome = end->interrupted ? "interrupted"
			      : end->timed_out ? "timeout"
			      : s->broken      ? "protocol"
			      : s->crashed     ? "crashed"
					       : "complete";
	int status = end->wait_status;
	cJSON *line = new_line(s, "end");
	cJSON_AddStringToObject(line, "outcome", outcome);
	cJSON_AddNumberToObject(line, "exit",
				WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	if (s->broken)
		cJSON_AddStringToObject(line, "why", s->broken);
	cJSON_AddNumberToObject(line, "seconds", seconds_since(s->start));
	const char *why = NULL;
	cJSON_AddStringToObject(line, "tracker", fingerprint_tracker(s->prints, &why));
	if (why)
		cJSON_AddStringToObject(line, "tracker_why", why);
	cJSON_AddNumberToObject(line, "refused", (double)s->refused);
	cJSON_AddItemToObject(line, "blind", blind_spots(s));
	cJSON_AddItemToObject(line, "survivors", alive);
	cJSON_AddItemToObject(line, "unattributed", unattributed(s));
	return send_tree(s, line, e);
}

/* The command has ended; what it sent before is still to be heard. */
static int close_order(struct session *s, const struct session_end *end, struct err *e)
{
	struct wire_news news;
	int r = 0;
	for (int i = 0; !r && i < DRAIN_MAX; i++) {
		r = wire_next(&s->wire, -1, -1, false, &news, e);
		if (!r && news.kind == WIRE_OTHER)
			break;
		if (!r)
			r = hear(s, &news, e);
	}
	if (r)
		return r;
	if (s->phase != PHASE_IDLE) /* a left process holds the connection open */
		s->lost = true;
	if (s->lost && end->timed_out)
		r = settle(s, OUTCOME_TIMEOUT, "the time limit of the run passed during this test",
			   "the time limit of the run passed before this test", e);
	else if (s->lost && end->interrupted)
		r = settle(s, OUTCOME_ABSENT, "interrupted during this test",
			   "interrupted before this test", e);
	else if (s->lost)
		r = settle_crash(s, e);
	if (!r)
		r = look_between(s, e);
	if (!r)
		r = fingerprint_look_full(s->prints, DELTA_STOOD, &s->last, e);
	for (size_t i = 0; !r && i < s->scopes.len; i++)
		r = send_scope(s, &s->scopes.at[i], e);
	if (!r)
		r = send_end(s, end, e);
	return r ? r : send_line(s, SESSION_OVER, e);
}

static int run(struct session *s, struct err *e)
{
	const struct session_setup *setup = s->setup;
	int r = fingerprint_new(setup->vantage, setup->sensors, &s->prints, e);
	if (!r) /* learns what stands before the command runs */
		r = fingerprint_look(s->prints, DELTA_STOOD, &s->between, NULL, e);
	if (!r)
		r = send_line(s, SESSION_READY, e);
	delta_list_done(&s->between);
	while (!r) {
		struct wire_news news;
		int likely = s->phase == PHASE_TEST ? s->speaker : -1;
		r = wire_next(&s->wire, setup->channel, likely, true, &news, e);
		if (!r && news.kind != WIRE_OTHER) {
			r = hear(s, &news, e);
			continue;
		}
		struct session_end end;
		ssize_t n = r ? 0 : fd_read_full(setup->channel, &end, sizeof(end));
		if (!r && n != sizeof(end))
			return err_set(e, EPIPE, "the runner is gone");
		return r ? r : close_order(s, &end, e);
	}
	return r;
}

int session_run(const struct session_setup *setup, struct err *e)
{
	struct session s = {
		.setup = setup, .suite = SUITE_NULL, .speaker = -1, .test = NOBODY, .phase = PHASE_IDLE
	};
	s.names = (struct names){ test_name, &s };
	clock_gettime(CLOCK_MONOTONIC, &s.start);
	wire_init(&s.wire, setup->listener);
	int r = run(&s, e);
	wire_done(&s.wire);
	fingerprint_free(s.prints);
	suite_done(&s.suite);
	scopes_done(&s.scopes);
	delta_list_done(&s.deltas);
	delta_list_done(&s.between);
	delta_list_done(&s.last);
	met_list_done(&s.met);
	suspects_done(&s.suspects);
	cJSON_Delete(s.held);
	free(s.broken);
	return r;
}
