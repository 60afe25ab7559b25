#include "runner/judge/summary.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/judge/history.h"
#include "runner/judge/rules.h"
#include "runner/ledger.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

static void change_done(struct summary_change *c)
{
	free(c->test);
	free(c->during);
	free(c->fixture);
	free(c->domain);
	free(c->what);
	free(c->key);
	free(c->zone);
	free(c->when);
	free(c->restored_why);
	cJSON_Delete(c->before);
	cJSON_Delete(c->after);
	strv_done(&c->suspects);
	*c = (struct summary_change){ 0 };
}

static void changes_done(struct summary_changes *list)
{
	for (size_t i = 0; i < list->len; i++)
		change_done(&list->at[i]);
	free(list->at);
}

void summary_done(struct summary *s)
{
	free(s->run);
	cJSON_Delete(s->about);
	for (size_t i = 0; i < s->failures_len; i++) {
		free(s->failures[i].test);
		free(s->failures[i].message);
	}
	free(s->failures);
	changes_done(&s->leaks);
	changes_done(&s->damage);
	changes_done(&s->writes);
	changes_done(&s->unattributed);
	for (size_t i = 0; i < s->survivors_len; i++) {
		free(s->survivors[i].key);
		free(s->survivors[i].test);
	}
	free(s->survivors);
	strv_done(&s->notes);
	verdict_done(&s->verdict);
	*s = SUMMARY_NULL;
}

static int no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "read the ledger: no memory");
}

static int bad_line(struct err *e, const char *kind, const char *what)
{
	err_set(e, EINVAL, "read the ledger: a line of kind %s has no %s", kind, what);
	return err_status(e, STATUS_DATA);
}

/* Room for one more item in an array, which has some up to the next power of two; NULL: no memory.
 * The item is zeroed. */
static void *grow(void *array, size_t *len, size_t item_len)
{
	void **at = array;
	if ((*len & (*len - 1)) == 0) {
		void *more = reallocarray(*at, *len ? *len * 2 : 1, item_len);
		if (!more)
			return NULL;
		*at = more;
	}
	return memset((char *)*at + (*len)++ * item_len, 0, item_len);
}

/* A text that may be absent. */
static int copy_text(const cJSON *object, const char *key, char **ret)
{
	const char *text = json_text(object, key);
	*ret = text ? strdup(text) : NULL;
	return text && !*ret ? -ENOMEM : 0;
}

/* ---- changes ---- */

static int copy_object(const cJSON *row, const char *key, cJSON **ret)
{
	const cJSON *object = cJSON_GetObjectItemCaseSensitive(row, key);
	*ret = cJSON_IsObject(object) ? cJSON_Duplicate(object, true) : NULL;
	return cJSON_IsObject(object) && !*ret ? -ENOMEM : 0;
}

static int read_suspects(const cJSON *row, struct strv *ret)
{
	const cJSON *suspect;
	cJSON_ArrayForEach(suspect, cJSON_GetObjectItemCaseSensitive(row, "suspects"))
	{
		if (cJSON_IsString(suspect) && strv_add(ret, suspect->valuestring))
			return -ENOMEM;
	}
	return 0;
}

/* A process of an earlier test was seen to do it: then it is that test's. */
static int read_writer(const cJSON *row, struct summary_change *c)
{
	const cJSON *writer = cJSON_GetObjectItemCaseSensitive(row, "writer");
	char *test = NULL;
	if (json_get_name(writer, "test", &test))
		return -ENOMEM;
	if (!test)
		return 0;
	c->during = c->test;
	c->test = test;
	strv_done(&c->suspects);
	return 0;
}

/* One row of "deltas" or "unattributed". `line` names the test and the fixture. */
static int add_change(struct summary_changes *list, const cJSON *line, const cJSON *row)
{
	struct summary_change *c = grow(&list->at, &list->len, sizeof(*c));
	if (!c || json_get_name(line, "test", &c->test) ||
	    copy_text(line, "fixture", &c->fixture) || copy_text(row, "domain", &c->domain) ||
	    copy_text(row, "what", &c->what) || json_get_name(row, "key", &c->key) ||
	    copy_text(row, "zone", &c->zone) || copy_text(row, "when", &c->when) ||
	    copy_object(row, "before", &c->before) || copy_object(row, "after", &c->after) ||
	    read_suspects(row, &c->suspects) || json_get_name(row, "restored_why", &c->restored_why))
		return -ENOMEM;
	c->restored = json_true(row, "restored");
	return read_writer(row, c);
}

/* In the zone `state` a suite may leave what it likes. */
static bool is_allowed(const cJSON *row)
{
	return text_eq(json_text(row, "zone"), "state");
}

/* Where a change goes; NULL: it is nothing to tell. */
static struct summary_changes *list_for(struct summary *s, const cJSON *row)
{
	assert(s);
	if (is_allowed(row))
		return NULL;
	if (text_eq(json_text(row, "kind"), "leak"))
		return json_true(row, "damage") ? &s->damage : &s->leaks;
	bool contained = s->contain && text_eq(json_text(row, "domain"), "files");
	return contained ? &s->writes : NULL;
}

static const char *code_in(const struct summary *s, const struct summary_changes *list,
			   const struct summary_change *c)
{
	if (list == &s->damage)
		return RULE_DAMAGE;
	return list == &s->writes ? RULE_WRITE : rule_of(c->domain, c->what, c->key)->code;
}

static int add_deltas(struct summary *s, const cJSON *line, struct err *e)
{
	const cJSON *row;
	cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(line, "deltas"))
	{
		if (!json_text(row, "kind") || !json_text(row, "domain") ||
		    !json_text(row, "key") || !json_text(row, "what"))
			return bad_line(e, json_text(line, "kind"), "whole delta");
		struct summary_changes *list = list_for(s, row);
		if (!list)
			continue;
		if (add_change(list, line, row))
			return no_memory(e);
		struct summary_change *c = &list->at[list->len - 1];
		c->code = code_in(s, list, c);
	}
	return 0;
}

/* ---- the kinds of lines ---- */

/* The texts of an array of run.json or of a line, once each. */
static int note_all(struct summary *s, const cJSON *object, const char *key)
{
	const cJSON *text;
	cJSON_ArrayForEach(text, cJSON_GetObjectItemCaseSensitive(object, key))
	{
		if (cJSON_IsString(text) && !strv_has(&s->notes, text->valuestring) &&
		    strv_add(&s->notes, text->valuestring))
			return -ENOMEM;
	}
	return 0;
}

static int read_session(struct summary *s, const cJSON *line, struct err *e)
{
	int beside = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(line, "beside"));
	if (note_all(s, line, "said") ||
	    (beside &&
	     strv_addf(&s->notes, "a later session ran beside %d process%s that earlier tests left",
		       beside, beside == 1 ? "" : "es")))
		return no_memory(e);
	return 0;
}

static int read_order(struct summary *s, const cJSON *line, struct err *e)
{
	return note_all(s, line, "said") ? no_memory(e) : 0;
}

static int add_failure(struct summary *s, const cJSON *line, enum outcome outcome, struct err *e)
{
	struct summary_failure *f = grow(&s->failures, &s->failures_len, sizeof(*f));
	if (!f || json_get_name(line, "test", &f->test) || copy_text(line, "message", &f->message))
		return no_memory(e);
	enum phase phase = phase_of(line);
	f->phase = phase == PHASE_CALL ? NULL : phase_name(phase);
	f->outcome = outcome;
	return 0;
}

static int read_test(struct summary *s, const cJSON *line, struct err *e)
{
	enum outcome outcome = outcome_find(json_text(line, "outcome"));
	if (!json_text(line, "test") || outcome == OUTCOME_N)
		return bad_line(e, "test", "test or no known outcome");
	s->tests_len++;
	s->outcomes[outcome]++;
	int r = outcome_failed(outcome) ? add_failure(s, line, outcome, e) : 0;
	return r ? r : add_deltas(s, line, e);
}

static int read_scope(struct summary *s, const cJSON *line, struct err *e)
{
	return add_deltas(s, line, e);
}

static int read_refused(struct summary *s, const cJSON *line, struct err *e)
{
	const char *why = json_text(line, "why");
	cleanup_free char *during = NULL;
	cleanup_free char *note = NULL;
	if (json_get_name(line, "during", &during))
		return no_memory(e);
	if (asprintf(&note, "a packet of process %d was refused: %s%s%s",
		     (int)json_number(line, "pid", 0), why ? why : "", during ? ", during " : "",
		     during ? during : "") < 0) {
		note = NULL;
		return no_memory(e);
	}
	/* A flood is one line: how many there were, the ledger's end says. */
	return strv_has(&s->notes, note) ? 0 : strv_add(&s->notes, note) ? no_memory(e) : 0;
}

static int read_survivors(struct summary *s, const cJSON *line, struct err *e)
{
	const cJSON *row;
	cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(line, "survivors"))
	{
		struct summary_survivor *alive =
			grow(&s->survivors, &s->survivors_len, sizeof(*alive));
		if (!alive || json_get_name(row, "key", &alive->key) ||
		    json_get_name(row, "test", &alive->test))
			return no_memory(e);
		if (!alive->key)
			return bad_line(e, "end", "key of a survivor");
	}
	return 0;
}

static int read_unattributed(struct summary *s, const cJSON *line, struct err *e)
{
	const cJSON *row;
	cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(line, "unattributed"))
	{
		if (!json_text(row, "domain") || !json_text(row, "what") || !json_text(row, "key"))
			return bad_line(e, "end", "whole delta");
		if (is_allowed(row))
			continue;
		if (add_change(&s->unattributed, NULL, row))
			return no_memory(e);
		s->unattributed.at[s->unattributed.len - 1].code = RULE_UNATTRIBUTED;
	}
	return 0;
}

/* What was asked for and could not be run. */
static int read_missing(struct summary *s, const cJSON *line, struct err *e)
{
	const cJSON *missing = cJSON_GetObjectItemCaseSensitive(line, "missing");
	int n = cJSON_GetArraySize(missing);
	if (n && strv_addf(&s->notes, "%d of the tests asked for are not there: %s%s", n,
			   cJSON_GetStringValue(missing->child), n > 1 ? " …" : ""))
		return no_memory(e);
	return 0;
}

/* What could not be seen, and why. */
static int read_blind(struct summary *s, const cJSON *line, struct err *e)
{
	const cJSON *blind;
	cJSON_ArrayForEach(blind, cJSON_GetObjectItemCaseSensitive(line, "blind"))
	{
		if (cJSON_IsString(blind) && strv_addf(&s->notes, "not all of %s could be seen: %s",
						       blind->string, blind->valuestring))
			return no_memory(e);
	}
	const char *tracker = json_text(line, "tracker_why");
	const char *broken = json_text(line, "why");
	if (tracker && strv_addf(&s->notes, "changed files were found by a scan: %s", tracker))
		return no_memory(e);
	if (s->contain && !text_eq(json_text(line, "tracker"), "fanotify") &&
	    strv_add(&s->notes, "a scan sees what was written only where it stays"))
		return no_memory(e);
	if (broken && strv_addf(&s->notes, "the adapter broke the protocol: %s", broken))
		return no_memory(e);
	return 0;
}

static int read_end(struct summary *s, const cJSON *line, struct err *e)
{
	const char *outcome = json_text(line, "outcome");
	if (!outcome)
		return bad_line(e, "end", "outcome");
	s->ends_len++;
	s->seconds += json_number(line, "seconds", 0);
	s->facts.interrupted |= text_eq(outcome, "interrupted");
	s->facts.timed_out |= text_eq(outcome, "timeout");
	s->facts.protocol_broken |= text_eq(outcome, "protocol");
	s->facts.died |= text_eq(outcome, "crashed");
	const cJSON *config = cJSON_GetObjectItemCaseSensitive(s->about, "config");
	s->facts.tracker_lost |= text_eq(json_text(config, "tracker"), "fanotify") &&
				 !text_eq(json_text(line, "tracker"), "fanotify");
	double refused = json_number(line, "refused", 0);
	if (refused > 1 && strv_addf(&s->notes, "%.0f packets were refused in all", refused))
		return no_memory(e);
	if (!s->facts.command)
		s->facts.command = (int)json_number(line, "exit", 0);
	int r = read_missing(s, line, e);
	r = r ? r : read_survivors(s, line, e);
	r = r ? r : read_unattributed(s, line, e);
	return r ? r : read_blind(s, line, e);
}

static int read_line(void *with, const char *kind, const cJSON *line, struct err *e)
{
	static const struct {
		const char *kind;
		int (*read)(struct summary *s, const cJSON *line, struct err *e);
	} kinds[] = {
		{ "session", read_session }, { "order", read_order },     { "test", read_test },
		{ "scope", read_scope },     { "refused", read_refused }, { "end", read_end },
	};
	for (size_t i = 0; i < countof(kinds); i++)
		if (text_eq(kind, kinds[i].kind))
			return kinds[i].read(with, line, e);
	if (text_eq(kind, "begin")) /* what was asked for shows in what came */
		return 0;
	err_set(e, EINVAL, "read the ledger: a line is of a kind that is not known: %s", kind);
	return err_status(e, STATUS_DATA);
}

/* ---- the verdict ---- */

static bool among(const cJSON *array, const char *text)
{
	const cJSON *item;
	cJSON_ArrayForEach(item, array)
	{
		if (text_eq(item->valuestring, text))
			return true;
	}
	return false;
}

/* The parts of the isolation that are missing and were not accepted. */
static void read_isolation(struct summary *s, const cJSON *accepted)
{
	char *reduced = s->facts.reduced;
	const cJSON *part;
	cJSON_ArrayForEach(part, cJSON_GetObjectItemCaseSensitive(s->about, "isolation"))
	{
		size_t len = strlen(reduced);
		if (text_eq(part->valuestring, "reduced") && !among(accepted, part->string))
			snprintf(reduced + len, sizeof(s->facts.reduced) - len, "%s%s",
				 len ? ", " : "", part->string);
	}
}

static int read_about(struct summary *s)
{
	const cJSON *config = cJSON_GetObjectItemCaseSensitive(s->about, "config");
	struct status_facts *f = &s->facts;
	f->leaks_fail = among(cJSON_GetObjectItemCaseSensitive(config, "fail_on"), "leak");
	s->contain = json_true(config, "contain");
	f->exit_zero = json_true(config, "exit_zero");
	f->bisect_exit = json_true(config, "bisect_exit");
	read_isolation(s, cJSON_GetObjectItemCaseSensitive(config, "accept_reduced"));
	const cJSON *off;
	cJSON_ArrayForEach(off, cJSON_GetObjectItemCaseSensitive(config, "without"))
	{
		if (strv_addf(&s->notes, "not looked at, as asked: %s", off->valuestring))
			return -ENOMEM;
	}
	return note_all(s, s->about, "notes");
}

static size_t count_files(const struct summary_changes *list)
{
	size_t n = 0;
	for (size_t i = 0; i < list->len; i++)
		n += text_eq(list->at[i].domain, "files");
	return n;
}

static int judge(struct summary *s)
{
	struct status_facts *f = &s->facts;
	f->damage = s->damage.len;
	f->leaks = s->leaks.len;
	if (s->contain)
		f->writes = s->writes.len + count_files(&s->leaks) + count_files(&s->damage) +
			    count_files(&s->unattributed);
	f->tests = s->tests_len - s->outcomes[OUTCOME_ABSENT];
	f->failed = s->failures_len;
	f->absent = s->outcomes[OUTCOME_ABSENT];
	f->died &= !s->outcomes[OUTCOME_CRASHED]; /* else a test is named */
	f->unfinished = s->ends_len == 0;
	return status_judge(f, &s->verdict);
}

int summary_read(const struct ledger *l, struct summary *ret, struct err *e)
{
	cleanup(summary_done) struct summary s = SUMMARY_NULL;
	s.run = strdup(l->path);
	if (!s.run)
		return no_memory(e);
	int r = ledger_load(l, "run.json", &s.about, e);
	if (!r && read_about(&s))
		r = no_memory(e);
	r = r ? r : ledger_each(l, read_line, &s, e);
	if (!r && judge(&s))
		r = no_memory(e);
	if (!r)
		*ret = take(&s, SUMMARY_NULL);
	return r;
}
