#include "runner/drive/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "probe/event.h"
#include "probe/fingerprint.h"
#include "probe/suspect.h"
#include "probe/undo.h"
#include "runner/drive/chronicle.h"
#include "runner/drive/drop.h"
#include "runner/drive/lineage.h"
#include "runner/drive/record.h"
#include "runner/drive/scopes.h"
#include "runner/drive/wire.h"
#include "sandbox/base/barrier.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fault.h"
#include "sandbox/base/fd.h"

#define DRAIN_MAX       65536 /* packets read after the command ended */
#define NOBODY          (-1)
#define MESSAGE_LEN_MAX (4U << 20)
#define WORKERS         4 /* of an order in view parallel */

#define INTERRUPTED_DURING "interrupted during this test"
#define INTERRUPTED_BEFORE "interrupted before this test"

enum phase {
	PHASE_IDLE,      /* nobody has said hello, or the last session is done */
	PHASE_HELLO,     /* collecting */
	PHASE_COLLECTED, /* between tests, and none is announced */
	PHASE_TEST,
	PHASE_CROWD, /* tests run at once, in processes of the framework's, and nobody looks */
	PHASE_N,
};
static const char *const phase_names[PHASE_N] = { "idle", "collecting", "between tests",
						  "in a test", "running tests at once" };

struct session {
	const struct session_setup *setup;
	struct wire wire;
	struct chronicle chronicle;
	struct scopes scopes;
	struct suspects suspects;
	struct lineage lineage;
	enum phase phase;
	bool collecting;            /* since hello, and all the while that no test is known */
	char *reading;              /* ... this part of the suite; NULL: none that was named */
	int speaker;                /* index of the connection of the session's adapter, or -1 */
	int test;                   /* running, or NOBODY */
	struct window window;       /* of the running test, so far */
	bool lost;                  /* the session's adapter went away in the middle */
	bool closed;                /* ... while its process lived on */
	bool crashed;               /* that happened in this or an earlier session */
	bool interrupted;           /* so the runner said */
	char *broken;               /* why the order ended as a protocol error; NULL: it did not */
	struct delta_list between;  /* of no test */
	struct delta_list last;     /* what only the last scan by content saw */
	struct strv basetemps;      /* where frameworks keep the tests' own folders */
	struct vantage_zone *zones; /* the vantage's, and those */
};

/* ---- looking and answering ---- */

static int look(struct session *s, struct err *e)
{
	struct delta_list new = DELTA_LIST_NULL;
	struct delta_list *to = scopes_deltas(&s->scopes, &s->window.deltas);
	int r = fingerprint_look(s->chronicle.prints, scopes_by(&s->scopes, s->test), &new,
				 &s->window.met, e);
	fault_point("boundary-look");
	if (!r)
		r = suspects_name(&s->suspects, s->chronicle.prints, s->setup->vantage, s->test,
				  chronicle_name, &s->chronicle, &new, e);
	if (!r && to != &s->window.deltas && delta_list_undone(&s->window.deltas, &new))
		r = err_set(e, ENOMEM, "keep what a fixture put back");
	if (!r && delta_list_append(to, &new))
		r = err_set(e, ENOMEM, "keep what changed");
	delta_list_done(&new);
	return r;
}

/* A look at what no test did. */
static int look_between(struct session *s, struct err *e)
{
	struct delta_list new = DELTA_LIST_NULL;
	int r = fingerprint_look(s->chronicle.prints, DELTA_STOOD, &new, NULL, e);
	if (!r && delta_list_append(&s->between, &new))
		r = err_set(e, ENOMEM, "keep what changed");
	delta_list_done(&new);
	return r;
}

/* Leaks that the next test shall not start from. */
static bool may_restore(const struct delta *d)
{
	return record_kind(d) == DELTA_LEAK && !text_eq(d->zone, "state");
}

static int restore(struct session *s, struct delta_list *left, struct err *e)
{
	if (!s->setup->restore)
		return 0;
	int r = undo_all(s->chronicle.prints, s->setup->vantage, may_restore, left, &s->between, e);
	fault_point("boundary-restored");
	return r ? err_in(e, "restore") : 0;
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
static int act_collecting(struct session *s, const struct event *ev, struct err *e);
static int act_uncollectable(struct session *s, const struct event *ev, struct err *e);
static int act_start(struct session *s, const struct event *ev, struct err *e);
static int act_scope(struct session *s, const struct event *ev, struct err *e);
static int act_finish(struct session *s, const struct event *ev, struct err *e);
static int act_outcome(struct session *s, const struct event *ev, struct err *e);
static int act_done(struct session *s, const struct event *ev, struct err *e);
static int act_hangup(struct session *s, const struct event *ev, struct err *e);

/* An act may move on to another phase than the row says. */
static const struct step {
	int (*act)(struct session *s, const struct event *ev, struct err *e);
	enum phase then;
} steps[PHASE_N][EVENT_KIND_N] = {
	[PHASE_IDLE][EVENT_HELLO] = { act_hello, PHASE_HELLO },
	[PHASE_HELLO][EVENT_COLLECTING] = { act_collecting, PHASE_HELLO },
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
	[PHASE_CROWD][EVENT_FINISH] = { act_outcome, PHASE_CROWD },
	[PHASE_CROWD][EVENT_DONE] = { act_done, PHASE_IDLE },
	[PHASE_CROWD][EVENT_HANGUP] = { act_hangup, PHASE_IDLE },
};

/* The row of a part of the suite that could not be collected. */
static int tell_uncollected(struct session *s, const char *id, enum outcome outcome,
			    const char *why, struct err *e)
{
	int test = suite_add(&s->chronicle.suite, id);
	if (test == -EEXIST)
		return 0;
	if (test < 0)
		return err_set(e, ENOMEM, "keep a test's id");
	cleanup_json cJSON *packet = cJSON_CreateObject();
	cJSON_AddStringToObject(packet, "phase", "collect");
	return chronicle_test(&s->chronicle, test, outcome, packet, why, &s->window, e);
}

/* The session went before a test was known: what it was at is the one to blame. */
static int settle_collecting(struct session *s, enum outcome outcome, struct err *e)
{
	char why[160];
	s->collecting = false;
	if (outcome == OUTCOME_ABSENT || s->broken)
		return 0;
	snprintf(why, sizeof(why), "%s %s",
		 outcome == OUTCOME_TIMEOUT ? "the time limit of the run passed"
		 : s->closed                ? "the test process closed its connection"
					    : "the test process ended",
		 s->reading ? "while this was collected" : "in a conftest.py or a plugin");
	return tell_uncollected(s, s->reading ? s->reading : ".", outcome, why, e);
}

/* The rest of the present session will not run. The running test, if any, ended as `outcome`. */
static int settle(struct session *s, enum outcome outcome, const char *message, const char *why,
		  struct err *e)
{
	int r = s->collecting ? settle_collecting(s, outcome, e) : 0;
	if (!r && s->test != NOBODY) {
		s->scopes.nest_len = 0; /* whatever was being set up is the test's now */
		s->setup->vantage->amid = true;
		r = outcome == OUTCOME_ABSENT ? look_between(s, e) : look(s, e);
		s->setup->vantage->amid = false;
		if (!r && outcome != OUTCOME_ABSENT)
			r = restore(s, &s->window.deltas, e);
		if (!r)
			r = chronicle_test(&s->chronicle, s->test, outcome, NULL, message,
					   &s->window, e);
		s->test = NOBODY;
	}
	bool due = !order_collects(s->setup->order);
	for (size_t i = s->chronicle.suite.session_at; !r && due && i < s->chronicle.suite.ids.len;
	     i++)
		if (!s->chronicle.suite.ran[i])
			r = chronicle_test(&s->chronicle, (int)i, OUTCOME_ABSENT, NULL, why,
					   &s->window, e);
	s->chronicle.suite.session_at = s->chronicle.suite.ids.len;
	s->phase = PHASE_IDLE;
	return r;
}

static int settle_crash(struct session *s, struct err *e)
{
	s->crashed = true;
	const char *during = s->closed ? "the test process closed its connection during this test"
				       : "the test process ended during this test";
	const char *before = s->closed ? "the test process closed its connection before this test"
				       : "the test process ended before this test";
	return settle(s, OUTCOME_CRASHED, s->broken ? s->broken : during,
		      s->broken ? s->broken : before, e);
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

/* What an adapter has to be able to do for an order; NULL: nothing beyond running it. */
static const char *need_of(const struct order *o)
{
	if (o->view == VIEW_PARALLEL)
		return "parallel";
	if (o->view == VIEW_REPEATED)
		return "repeat";
	if (text_eq(o->shuffle, "native") && o->as_collected)
		return "native";
	return o->as_collected || order_collects(o) ? NULL : "reorder";
}

/* A test that came to the suite since it was planned is told, where that is not most of the suite. */
static bool wants_others(const struct order *o)
{
	return o->role == ROLE_SWEEP && o->view != VIEW_ISOLATED && !o->as_collected &&
	       !order_collects(o);
}

/* What the session that begins is to do. */
static int put_plan(const struct session *s, const char *need, const char *name, struct err *e)
{
	const struct suite *suite = &s->chronicle.suite;
	cleanup(strv_done) struct strv ids = STRV_NULL;
	cleanup_json cJSON *plan = cJSON_CreateObject();
	bool collect = order_collects(s->setup->order);
	bool whole = !suite_plan(suite, &ids) && cJSON_AddNumberToObject(plan, "v", 1) &&
		     cJSON_AddStringToObject(plan, "mode", collect ? "collect" : "run");
	if (whole && !suite->all && !collect)
		whole = json_add(plan, "tests", json_texts((const char *const *)ids.at));
	if (whole && wants_others(s->setup->order))
		whole = cJSON_AddTrueToObject(plan, "others");
	const struct {
		const char *need;
		double value;
	} wishes[] = { { "repeat", 2 },
		       { "parallel", WORKERS },
		       { "native", (double)s->setup->order->seed } };
	for (size_t i = 0; i < countof(wishes) && whole; i++)
		if (text_eq(need, wishes[i].need))
			whole = cJSON_AddNumberToObject(plan, need, wishes[i].value);
	cleanup_free char *text = whole ? json_line(plan) : NULL;
	return text ? drop_put(s->setup->vantage->scratch, name, text, e)
		    : err_set(e, ENOMEM, "plan a session: no memory");
}

static int act_hello(struct session *s, const struct event *ev, struct err *e)
{
	struct vantage *v = s->setup->vantage;
	v->pid = s->wire.conns[s->speaker].pid;
	v->inner = inner_pid(v->pid);
	if (suite_session(&s->chronicle.suite, s->setup->project, ev->rootdir))
		return err_set(e, ENOMEM, "begin a session");
	char name[32];
	snprintf(name, sizeof(name), "plan-%d.json", s->chronicle.suite.sessions);
	const char *need = need_of(s->setup->order);
	int r = chronicle_session(&s->chronicle, ev->packet, v->inner, e);
	s->collecting = true;
	free(take_ptr(&s->reading));
	if (!r && need && !event_can(ev, need)) {
		char why[64];
		snprintf(why, sizeof(why), "the adapter cannot do what this order needs: %s", need);
		return break_off(s, why, e);
	}
	r = r ? r : put_plan(s, need, name, e);
	if (r)
		return r;
	char answer[64];
	snprintf(answer, sizeof(answer), "{\"t\":\"plan\",\"file\":\"%s\"}", name);
	/* A cell without namespaces goes on with the connection that there is. */
	if (!event_can(ev, "handover") || wire_hand_over(&s->wire, (size_t)s->speaker, answer))
		wire_answer(&s->wire, (size_t)s->speaker, answer);
	return 0;
}

/* Whether the runner has been interrupted; its word may still lie in the channel. */
static bool is_interrupted(struct session *s)
{
	struct session_news news;
	if (!s->interrupted &&
	    recv(s->setup->channel, &news, sizeof(news), MSG_PEEK | MSG_DONTWAIT) == sizeof(news))
		s->interrupted = news.interrupted;
	return s->interrupted;
}

/* Nobody waits for an answer. */
static int act_collecting(struct session *s, const struct event *ev, struct err *e)
{
	free(take_ptr(&s->reading));
	s->reading = ev->test ? strdup(ev->test) : NULL;
	return ev->test && !s->reading ? err_set(e, ENOMEM, "keep what is collected") : 0;
}

static int act_uncollectable(struct session *s, const struct event *ev, struct err *e)
{
	go(s);
	if (is_interrupted(s)) /* it need not be the module's fault */
		return 0;
	return tell_uncollected(s, ev->test, ev->outcome, json_text(ev->packet, "why"), e);
}

/* A framework's own folder for the tests' folders may change. One that holds a whole zone is not
 * believed: naming it would hide every leak there. */
static int allow_basetemp(struct session *s, const char *basetemp, struct err *e)
{
	struct vantage *v = s->setup->vantage;
	if (!basetemp || strv_has(&s->basetemps, basetemp))
		return 0;
	for (size_t i = 0; i < v->zones_len; i++)
		if (path_below(v->zones[i].path, basetemp))
			return 0;
	struct vantage_zone *zones = calloc(v->zones_len + 1, sizeof(*zones));
	if (!zones || strv_add(&s->basetemps, basetemp)) {
		free(zones);
		return err_set(e, ENOMEM, "keep a framework's own folder");
	}
	memcpy(zones, v->zones, v->zones_len * sizeof(*zones));
	const char *path = s->basetemps.at[s->basetemps.len - 1];
	zones[v->zones_len++] = (struct vantage_zone){ path, "state" };
	v->zones = zones;
	free(s->zones);
	s->zones = zones;
	return 0;
}

static int act_collected(struct session *s, const struct event *ev, struct err *e)
{
	int r = allow_basetemp(s, json_text(ev->packet, "basetemp"), e);
	if (r)
		return r;
	cleanup_json cJSON *file = NULL;
	struct err why = ERR_NULL;
	if (drop_take(s->setup->vantage->scratch, ev->file, &file, &why)) {
		return break_off(s, why.text, e);
	}
	const cJSON *test;
	cJSON_ArrayForEach(test, cJSON_GetObjectItemCaseSensitive(file, "tests"))
	{
		const char *id = json_text(test, "id");
		int number = id ? suite_add(&s->chronicle.suite, id) : -EPROTO;
		if (number == -EEXIST || number == -EPROTO) {
			return break_off(s,
					 id ? "two tests were announced under one id"
					    : "a test was announced without an id",
					 e);
		}
		if (number < 0)
			return err_set(e, ENOMEM, "keep a test's id");
	}
	if (s->setup->order->view == VIEW_PARALLEL)
		s->phase = PHASE_CROWD;
	s->collecting = false;
	go(s);
	return chronicle_order(&s->chronicle, ev->packet,
			       cJSON_GetObjectItemCaseSensitive(file, "others"), e);
}

static int act_start(struct session *s, const struct event *ev, struct err *e)
{
	s->test = suite_find(&s->chronicle.suite, ev->test);
	if (s->test < 0) {
		s->test = NOBODY;
		return break_off(s, "a test began that was not announced", e);
	}
	if (s->chronicle.suite.ran[s->test]) {
		s->test = NOBODY;
		return break_off(s, "a test began that has run already", e);
	}
	int r = look_between(s, e);
	if (!r)
		go(s);
	return r;
}

static int act_scope(struct session *s, const struct event *ev, struct err *e)
{
	bool closing = ev->kind == EVENT_SCOPE_CLOSE;
	s->setup->vantage->amid = true;
	int r = look(s, e);
	s->setup->vantage->amid = false;
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
	r = closing ? restore(s, &scope->held, e) : 0;
	if (r)
		return r;
	go(s);
	return closing ? chronicle_scope(&s->chronicle, scope, e)
		       : chronicle_held(&s->chronicle, scope, &s->window, e);
}

/* The message in a file, cut where a line of the ledger could not hold it. */
static const char *message_of(const cJSON *file)
{
	char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(file, "message"));
	if (!text || strlen(text) <= MESSAGE_LEN_MAX)
		return text;
	size_t len = MESSAGE_LEN_MAX;
	while (len && (text[len] & 0xc0) == 0x80) /* in the middle of a letter */
		len--;
	text[len] = '\0';
	return text;
}

/* Writes what became of a test, w as of chronicle_test(). */
static int tell_outcome(struct session *s, int test, const struct event *ev, struct window *w,
			struct err *e)
{
	cleanup_json cJSON *file = NULL; /* a message too long for a packet */
	struct err why = ERR_NULL;
	const char *message = NULL;
	if (ev->file && drop_take(s->setup->vantage->scratch, ev->file, &file, &why))
		message = why.text;
	else if (ev->file)
		message = message_of(file);
	return chronicle_test(&s->chronicle, test, ev->outcome, ev->packet, message, w, e);
}

/* Among tests that run at once: only how it ended. */
static int act_outcome(struct session *s, const struct event *ev, struct err *e)
{
	int test = suite_find(&s->chronicle.suite, ev->test);
	if (test < 0 || ev->next)
		return break_off(s,
				 test < 0 ? "a test finished that was not announced"
					  : "no test follows another where tests run at once",
				 e);
	if (s->chronicle.suite.ran[test])
		return break_off(s, "a test finished that has run already", e);
	go(s);
	if (ev->outcome == OUTCOME_CRASHED && is_interrupted(s))
		return chronicle_test(&s->chronicle, test, OUTCOME_ABSENT, NULL, INTERRUPTED_DURING,
				      NULL, e);
	return tell_outcome(s, test, ev, NULL, e);
}

static int act_finish(struct session *s, const struct event *ev, struct err *e)
{
	int test = s->test;
	if (suite_find(&s->chronicle.suite, ev->test) != test) {
		return break_off(s, "a test finished that was not the one running", e);
	}
	if (s->scopes.nest_len) {
		return break_off(s, "a test finished while a fixture was being set up or closed", e);
	}
	int r = look(s, e);
	if (!r)
		r = restore(s, &s->window.deltas, e);
	if (r)
		return r;
	int next = ev->next ? suite_find(&s->chronicle.suite, ev->next) : NOBODY;
	bool again = next >= 0 && (next == test || s->chronicle.suite.ran[next]);
	s->test = next < 0 || again ? NOBODY : next;
	s->phase = next < 0 ? PHASE_COLLECTED : PHASE_TEST;
	if (ev->next && next < 0)
		r = break_off(s, "the next test named is not one that was announced", e);
	else if (again)
		r = break_off(s, "the next test named has run already", e);
	else
		go(s); /* the suite goes on while the line is written */
	if (r)
		return r;
	if (ev->outcome == OUTCOME_CRASHED && is_interrupted(s))
		return chronicle_test(&s->chronicle, test, OUTCOME_ABSENT, NULL, INTERRUPTED_DURING,
				      &s->window, e);
	return tell_outcome(s, test, ev, &s->window, e);
}

static int act_done(struct session *s, const struct event *ev, struct err *e)
{
	bool interrupted = is_interrupted(s);
	const char *why = json_text(ev->packet, "why");
	cleanup_free char *before = NULL;
	if (asprintf(&before, "the session ended before this test%s%s", why ? ": " : "",
		     why ? why : "") < 0)
		return err_set(e, ENOMEM, "end a session");
	int r = settle(s, OUTCOME_ABSENT,
		       interrupted ? INTERRUPTED_DURING : "the session ended during this test",
		       interrupted ? INTERRUPTED_BEFORE : before, e);
	for (size_t i = 0; !r && i < s->scopes.len; i++)
		r = chronicle_scope(&s->chronicle, &s->scopes.at[i], e);
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
	return chronicle_refused(&s->chronicle, inner_pid(news->pid), why, s->test, e);
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
	else if (barrier("lineage"))
		why = lineage_refuse(&s->lineage, news->pid, s->setup->warden);
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
	if (lineage_add(&s->lineage, news->pid, s->setup->warden))
		return err_set(e, ENOMEM, "begin a session");
	int r = s->lost ? settle_crash(s, e) : 0;
	s->lost = false;
	return r ? r : step(s, ev, e);
}

static int hangup(struct session *s, size_t conn, struct err *e)
{
	bool speaker = s->speaker == (int)conn;
	s->closed = speaker && !lineage_is_ending(s->wire.conns[conn].pid);
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
	if (news->kind == WIRE_CROWD) {
		int r = refuse(s, news, "it says nothing, and others wait to connect", e);
		return r ? r : hangup(s, news->conn, e);
	}
	bool speaker = s->speaker == (int)news->conn;
	if (speaker && news->pid != s->wire.conns[news->conn].pid && barrier("sender"))
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

/* The command has ended; what it sent before is still to be heard. */
static int close_order(struct session *s, const struct session_news *end, struct err *e)
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
		r = settle(s, OUTCOME_ABSENT, INTERRUPTED_DURING, INTERRUPTED_BEFORE, e);
	else if (s->lost)
		r = settle_crash(s, e);
	if (!r)
		r = look_between(s, e);
	if (!r)
		r = fingerprint_look_full(s->chronicle.prints, DELTA_STOOD, &s->last, e);
	for (size_t i = 0; !r && i < s->scopes.len; i++)
		r = chronicle_scope(&s->chronicle, &s->scopes.at[i], e);
	const struct chronicle_end told = {
		.outcome = end->interrupted ? "interrupted"
			   : end->timed_out ? "timeout"
			   : s->broken      ? "protocol"
			   : s->crashed     ? "crashed"
					    : "complete",
		.why = s->broken,
		.wait_status = end->wait_status,
		.between = &s->between,
		.last = &s->last,
	};
	if (!r)
		r = chronicle_finish(&s->chronicle, &told, e);
	return r ? r : chronicle_say(&s->chronicle, SESSION_OVER, e);
}

static int run(struct session *s, struct err *e)
{
	const struct session_setup *setup = s->setup;
	int r = fingerprint_new(setup->vantage, setup->sensors, &s->chronicle.prints, e);
	if (!r)
		fingerprint_put_aside(s->chronicle.prints, &s->between);
	if (!r) /* learns what stands before the command runs */
		r = fingerprint_look(s->chronicle.prints, DELTA_STOOD, &s->between, NULL, e);
	if (!r)
		r = chronicle_say(&s->chronicle, SESSION_READY, e);
	delta_list_done(&s->between);
	while (!r) {
		struct wire_news news;
		int likely = s->phase == PHASE_TEST ? s->speaker : -1;
		r = wire_next(&s->wire, setup->channel, likely, true, &news, e);
		if (!r && news.kind != WIRE_OTHER) {
			r = hear(s, &news, e);
			continue;
		}
		struct session_news told;
		ssize_t n = r ? 0 : fd_read_full(setup->channel, &told, sizeof(told));
		if (!r && n != sizeof(told))
			return err_set(e, EPIPE, "the runner is gone");
		if (r || told.ended)
			return r ? r : close_order(s, &told, e);
		s->interrupted = told.interrupted;
	}
	return r;
}

int session_run(const struct session_setup *setup, struct err *e)
{
	struct session s = {
		.setup = setup,
		.suspects = SUSPECTS_NULL,
		.lineage = LINEAGE_NULL,
		.phase = PHASE_IDLE,
		.speaker = -1,
		.test = NOBODY,
	};
	wire_init(&s.wire, setup->listener);
	chronicle_init(&s.chronicle, setup);
	int r = suite_ask(&s.chronicle.suite, setup->order, setup->roster);
	r = r ? err_set(e, ENOMEM, "keep what is to run: no memory") : run(&s, e);
	wire_done(&s.wire);
	chronicle_done(&s.chronicle);
	scopes_done(&s.scopes);
	suspects_done(&s.suspects);
	lineage_done(&s.lineage);
	window_done(&s.window);
	delta_list_done(&s.between);
	delta_list_done(&s.last);
	strv_done(&s.basetemps);
	free(s.zones);
	free(s.broken);
	free(s.reading);
	return r;
}
