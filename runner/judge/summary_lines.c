#include "runner/judge/summary_lines.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/judge/history.h"
#include "runner/judge/rules.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/digest.h"
#include "sandbox/base/err.h"

#define LATER_MAX 32768 /* changes that only orders behind the first show: more are counted */
#define NOTES_MAX 256

struct summary_order {
	unsigned number; /* as they began */
	unsigned told;   /* things that its lines told so far */
	bool sweeps;
	bool counts; /* its outcomes are those of the run */
	bool repeated;
	bool plain; /* the suite as it stands */
	bool crash_named;
	bool hang_named;
	bool failed; /* one of its tests did */
	bool begun;
};

struct summary_note {
	struct summary_place place;
	char *text;
};

void summary_lines_done(struct summary_lines *l)
{
	map_done(&l->orders);
	map_done(&l->seen);
	for (size_t i = 0; i < l->notes_len; i++)
		free(l->notes[i].text);
	free(l->notes);
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

/* ---- told once ---- */

static struct summary_place next_place(struct summary_order *o)
{
	return (struct summary_place){ .order = o->number, .line = o->told++ };
}

static bool is_before(struct summary_place a, struct summary_place b)
{
	return a.order != b.order ? a.order < b.order : a.line < b.line;
}

/* What all places of one thing have in common. `nth`: of things alike in one order. */
static void key_of(const char *const *parts, size_t n, unsigned nth, char ret[DIGEST_HEX])
{
	struct digest all[8] = { { 0, nth } };
	for (size_t i = 0; i < n; i++)
		if (parts[i])
			all[i + 1] = digest_bytes(parts[i], strlen(parts[i]));
	digest_hex(digest_bytes(all, sizeof(all)), ret);
}

static size_t seen_at(const struct summary_lines *l, const char *key)
{
	return (uintptr_t)map_get(&l->seen, key);
}

static int see(struct summary_lines *l, const char *key, size_t index)
{
	// NOLINTNEXTLINE(performance-no-int-to-ptr)
	return map_put(&l->seen, key, (void *)(uintptr_t)(index + 1));
}

/* Another order shows it, too. True: this one is told, for it is the earlier. */
static bool seen_again(struct summary_showings *shown, const struct summary_order *o,
		       struct summary_place place)
{
	shown->orders++;
	shown->last = o->number;
	if (!is_before(place, shown->place))
		return false;
	shown->place = place;
	return true;
}

static struct summary_showings first_showing(const struct summary_order *o, struct summary_place place)
{
	return (struct summary_showings){ .place = place, .orders = 1, .last = o->number, .alike = 1 };
}

/* The index + 1 of the thing that another order showed before, or 0; `key` is what it is to be kept
 * under then. Twice in one order is twice: the first of those alike counts them. Each of `items`, of
 * item_len bytes, begins with its showings. */
static size_t find_shown(const struct summary_lines *l, const struct summary_order *o,
			 const char *const *parts, size_t n, void *items, size_t item_len,
			 char key[DIGEST_HEX])
{
	key_of(parts, n, 0, key);
	size_t at = seen_at(l, key);
	if (!at)
		return 0;
	struct summary_showings *first = (void *)((char *)items + (at - 1) * item_len);
	unsigned nth = first->last == o->number ? first->alike : 0;
	first->alike = nth + 1;
	if (!nth)
		return at;
	key_of(parts, n, nth, key);
	return seen_at(l, key);
}

/* ---- notes ---- */

static int note(struct summary_lines *l, struct summary_order *o, char *text)
{
	struct summary_place place = next_place(o);
	if (!text)
		return -ENOMEM;
	cleanup_free char *own = text;
	if (strv_has(&l->summary->notes, own))
		return 0;
	for (size_t i = 0; i < l->notes_len; i++) {
		if (!text_eq(l->notes[i].text, own))
			continue;
		if (is_before(place, l->notes[i].place))
			l->notes[i].place = place;
		return 0;
	}
	if (l->notes_len == NOTES_MAX) {
		l->summary->notes_left_out++;
		return 0;
	}
	struct summary_note *n = grow(&l->notes, &l->notes_len, sizeof(*n));
	if (!n)
		return -ENOMEM;
	*n = (struct summary_note){ place, take_ptr(&own) };
	return 0;
}

__attribute__((format(printf, 3, 4))) static int notef(struct summary_lines *l,
						       struct summary_order *o, const char *fmt, ...)
{
	va_list args;
	char *text = NULL;
	va_start(args, fmt);
	int len = vasprintf(&text, fmt, args);
	va_end(args);
	return note(l, o, len < 0 ? NULL : text);
}

/* The texts of an array. */
static int note_all(struct summary_lines *l, struct summary_order *o, const cJSON *texts)
{
	const cJSON *text;
	cJSON_ArrayForEach(text, texts)
	{
		if (cJSON_IsString(text) && note(l, o, strdup(text->valuestring)))
			return -ENOMEM;
	}
	return 0;
}

/* ---- changes ---- */

/* A text that may be absent. */
static int copy_text(const cJSON *object, const char *key, char **ret)
{
	const char *text = json_text(object, key);
	*ret = text ? strdup(text) : NULL;
	return text && !*ret ? -ENOMEM : 0;
}

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

/* The second run of a test is of the same test. */
static int read_test_name(const struct summary_order *o, const cJSON *line, char **ret)
{
	if (json_get_name(line, "test", ret))
		return -ENOMEM;
	if (o->repeated && *ret && text_ends(*ret, HISTORY_AGAIN))
		(*ret)[strlen(*ret) - strlen(HISTORY_AGAIN)] = '\0';
	return 0;
}

/* One row of "deltas" or "unattributed". `line` names the test and the fixture. */
static int read_change(const struct summary_order *o, const cJSON *line, const cJSON *row,
		       struct summary_change *c)
{
	if (read_test_name(o, line, &c->test) || copy_text(line, "fixture", &c->fixture) ||
	    copy_text(row, "domain", &c->domain) || copy_text(row, "what", &c->what) ||
	    json_get_name(row, "key", &c->key) || copy_text(row, "zone", &c->zone) ||
	    copy_text(row, "when", &c->when) || copy_object(row, "before", &c->before) ||
	    copy_object(row, "after", &c->after) || read_suspects(row, &c->suspects) ||
	    json_get_name(row, "restored_why", &c->restored_why))
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
	if (list == &s->unattributed)
		return RULE_UNATTRIBUTED;
	return list == &s->writes ? RULE_WRITE : rule_of(c->domain, c->what, c->key)->code;
}

static int add_change(struct summary_lines *l, struct summary_changes *list,
		      struct summary_order *o, const cJSON *line, const cJSON *row)
{
	cleanup(summary_change_done) struct summary_change c = { 0 };
	char key[DIGEST_HEX];
	struct summary_place place = next_place(o);
	if (read_change(o, line, row, &c))
		return -ENOMEM;
	c.code = code_in(l->summary, list, &c);
	const char *const parts[] = { c.code, c.test, c.fixture, c.domain, c.what, c.key };
	size_t at = find_shown(l, o, parts, countof(parts), list->at, sizeof(*list->at), key);
	if (at) {
		struct summary_change *known = &list->at[at - 1];
		if (seen_again(&known->shown, o, place)) {
			c.shown = known->shown;
			summary_change_done(known);
			*known = take(&c, (struct summary_change){ 0 });
		}
		return 0;
	}
	if (o->number && l->changes_len++ >= LATER_MAX) {
		l->summary->changes_left_out++;
		return 0;
	}
	struct summary_change *fresh = grow(&list->at, &list->len, sizeof(*fresh));
	if (!fresh || see(l, key, list->len - 1))
		return -ENOMEM;
	c.shown = first_showing(o, place);
	*fresh = take(&c, (struct summary_change){ 0 });
	return 0;
}

static int add_deltas(struct summary_lines *l, struct summary_order *o, const cJSON *line,
		      struct err *e)
{
	const cJSON *row;
	cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(line, "deltas"))
	{
		if (!json_text(row, "kind") || !json_text(row, "domain") ||
		    !json_text(row, "key") || !json_text(row, "what"))
			return bad_line(e, json_text(line, "kind"), "whole delta");
		struct summary_changes *list = list_for(l->summary, row);
		if (list && o->sweeps && add_change(l, list, o, line, row))
			return no_memory(e);
	}
	return 0;
}

/* ---- the kinds of lines ---- */

static int read_begin(struct summary_lines *l, struct summary_order *o, const cJSON *line,
		      struct err *e)
{
	(void)e;
	const char *view = json_text(line, "view");
	if (o->begun) /* its first part was cut short */
		return 0;
	o->begun = true;
	o->sweeps = text_eq(json_text(line, "role"), role_names[ROLE_SWEEP]);
	o->repeated = text_eq(view, view_names[VIEW_REPEATED]);
	o->plain = text_eq(view, view_names[VIEW_CANONICAL]) &&
		   !cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(line, "tests"));
	if (o->counts && (!o->sweeps || text_eq(view, view_names[VIEW_ISOLATED])))
		o->counts = l->counted = false;
	l->summary->begins_len++;
	l->summary->sweeps_len += o->sweeps;
	return 0;
}

static int read_session(struct summary_lines *l, struct summary_order *o, const cJSON *line,
			struct err *e)
{
	int beside = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(line, "beside"));
	if (note_all(l, o, cJSON_GetObjectItemCaseSensitive(line, "said")) ||
	    (beside && notef(l, o, "a later session ran beside %d process%s that earlier tests left",
			     beside, beside == 1 ? "" : "es")))
		return no_memory(e);
	return 0;
}

static int read_order(struct summary_lines *l, struct summary_order *o, const cJSON *line,
		      struct err *e)
{
	return note_all(l, o, cJSON_GetObjectItemCaseSensitive(line, "said")) ? no_memory(e) : 0;
}

static int fill_failure(const cJSON *line, enum outcome outcome, struct summary_failure *f)
{
	enum phase phase = phase_of(line);
	free(f->message);
	f->phase = phase == PHASE_CALL ? NULL : phase_name(phase);
	f->outcome = outcome;
	return copy_text(line, "message", &f->message);
}

static int add_failure(struct summary_lines *l, struct summary_order *o, const cJSON *line,
		       enum outcome outcome)
{
	struct summary *s = l->summary;
	cleanup_free char *test = NULL;
	char key[DIGEST_HEX];
	struct summary_place place = next_place(o);
	if (read_test_name(o, line, &test))
		return -ENOMEM;
	const char *const parts[] = { "failure", test };
	size_t at = find_shown(l, o, parts, countof(parts), s->failures, sizeof(*s->failures), key);
	if (at)
		return seen_again(&s->failures[at - 1].shown, o, place)
			       ? fill_failure(line, outcome, &s->failures[at - 1])
			       : 0;
	struct summary_failure *f = grow(&s->failures, &s->failures_len, sizeof(*f));
	if (!f || see(l, key, s->failures_len - 1))
		return -ENOMEM;
	f->test = take_ptr(&test);
	f->shown = first_showing(o, place);
	return fill_failure(line, outcome, f);
}

static int read_test(struct summary_lines *l, struct summary_order *o, const cJSON *line,
		     struct err *e)
{
	struct summary *s = l->summary;
	enum outcome outcome = outcome_find(json_text(line, "outcome"));
	if (!json_text(line, "test") || outcome == OUTCOME_N)
		return bad_line(e, "test", "test or no known outcome");
	s->tests_len += o->counts;
	s->outcomes[outcome] += o->counts;
	bool ends = outcome == OUTCOME_CRASHED || outcome == OUTCOME_TIMEOUT;
	o->crash_named |= outcome == OUTCOME_CRASHED;
	o->hang_named |= outcome == OUTCOME_TIMEOUT;
	s->facts.uncollected |= o->sweeps && ends && phase_of(line) == PHASE_COLLECT;
	o->failed |= outcome_failed(outcome);
	if (o->sweeps && outcome_failed(outcome) && add_failure(l, o, line, outcome))
		return no_memory(e);
	return add_deltas(l, o, line, e);
}

static int read_refused(struct summary_lines *l, struct summary_order *o, const cJSON *line,
			struct err *e)
{
	const char *why = json_text(line, "why");
	cleanup_free char *during = NULL;
	if (json_get_name(line, "during", &during))
		return no_memory(e);
	/* A flood is one line: how many there were, the ledger's end says. */
	return notef(l, o, "a packet of process %d was refused: %s%s%s",
		     (int)json_number(line, "pid", 0), why ? why : "", during ? ", during " : "",
		     during ? during : "")
		       ? no_memory(e)
		       : 0;
}

static int add_survivor(struct summary_lines *l, struct summary_order *o, const cJSON *row)
{
	struct summary *s = l->summary;
	cleanup(summary_survivor_done) struct summary_survivor fresh = { 0 };
	char key[DIGEST_HEX];
	struct summary_place place = next_place(o);
	if (json_get_name(row, "key", &fresh.key) || json_get_name(row, "test", &fresh.test))
		return -ENOMEM;
	const char *const parts[] = { "survivor", fresh.key, fresh.test };
	size_t at = find_shown(l, o, parts, countof(parts), s->survivors, sizeof(*s->survivors), key);
	if (at) {
		seen_again(&s->survivors[at - 1].shown, o, place);
		return 0;
	}
	struct summary_survivor *alive = grow(&s->survivors, &s->survivors_len, sizeof(*alive));
	if (!alive || see(l, key, s->survivors_len - 1))
		return -ENOMEM;
	fresh.shown = first_showing(o, place);
	*alive = take(&fresh, (struct summary_survivor){ 0 });
	return 0;
}

static int read_survivors(struct summary_lines *l, struct summary_order *o, const cJSON *line,
			  struct err *e)
{
	const cJSON *row;
	cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(line, "survivors"))
	{
		if (!json_text(row, "key"))
			return bad_line(e, "end", "key of a survivor");
		if (o->sweeps && add_survivor(l, o, row))
			return no_memory(e);
	}
	return 0;
}

static int read_unattributed(struct summary_lines *l, struct summary_order *o, const cJSON *line,
			     struct err *e)
{
	const cJSON *row;
	cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(line, "unattributed"))
	{
		if (!json_text(row, "domain") || !json_text(row, "what") || !json_text(row, "key"))
			return bad_line(e, "end", "whole delta");
		if (!is_allowed(row) && o->sweeps &&
		    add_change(l, &l->summary->unattributed, o, NULL, row))
			return no_memory(e);
	}
	return 0;
}

/* What was asked for and could not be run. */
static int read_missing(struct summary_lines *l, struct summary_order *o, const cJSON *line)
{
	const cJSON *missing = cJSON_GetObjectItemCaseSensitive(line, "missing");
	int n = cJSON_GetArraySize(missing);
	if (!n)
		return 0;
	return notef(l, o, "%d of the tests asked for are not there: %s%s", n,
		     cJSON_GetStringValue(missing->child), n > 1 ? " …" : "");
}

/* What could not be seen, and why. */
static int read_blind(struct summary_lines *l, struct summary_order *o, const cJSON *line)
{
	const cJSON *blind;
	cJSON_ArrayForEach(blind, cJSON_GetObjectItemCaseSensitive(line, "blind"))
	{
		if (cJSON_IsString(blind) && notef(l, o, "not all of %s could be seen: %s",
						   blind->string, blind->valuestring))
			return -ENOMEM;
	}
	const char *tracker = json_text(line, "tracker_why");
	const char *broken = json_text(line, "why");
	bool scan = l->summary->contain && text_eq(json_text(line, "tracker"), "scan");
	int r = tracker ? notef(l, o, "changed files were found by a scan: %s", tracker) : 0;
	if (!r && scan)
		r = notef(l, o, "a scan sees what was written only where it stays");
	if (!r && broken)
		r = notef(l, o, "the adapter broke the protocol: %s", broken);
	return r;
}

/* How an order ended, as far as the status of the run goes by it. */
static void read_facts(struct summary *s, const struct summary_order *o, const cJSON *line,
		       const char *outcome)
{
	struct status_facts *f = &s->facts;
	const cJSON *config = cJSON_GetObjectItemCaseSensitive(s->about, "config");
	f->interrupted |= text_eq(outcome, "interrupted");
	f->timed_out |= text_eq(outcome, "timeout");
	if (!o->sweeps)
		return;
	f->protocol_broken |= text_eq(outcome, "protocol");
	f->died |= text_eq(outcome, "crashed") && !o->crash_named; /* else a test is named */
	f->stuck += text_eq(outcome, "timeout") && !o->hang_named;
	f->tracker_lost |= text_eq(json_text(config, "tracker"), "fanotify") &&
			   text_eq(json_text(line, "tracker"), "scan");
	if (!f->command && !o->failed && o->plain)
		f->command = (int)json_number(line, "exit", 0);
}

static int read_end(struct summary_lines *l, struct summary_order *o, const cJSON *line,
		    struct err *e)
{
	struct summary *s = l->summary;
	const char *outcome = json_text(line, "outcome");
	double refused = json_number(line, "refused", 0);
	if (!outcome)
		return bad_line(e, "end", "outcome");
	s->ends_len++;
	s->seconds += json_number(line, "seconds", 0);
	read_facts(s, o, line, outcome);
	if (refused > 1 && notef(l, o, "%.0f packets were refused in all", refused))
		return no_memory(e);
	int r = read_missing(l, o, line) ? no_memory(e) : 0;
	r = r ? r : read_survivors(l, o, line, e);
	r = r ? r : read_unattributed(l, o, line, e);
	return !r && read_blind(l, o, line) ? no_memory(e) : r;
}

/* The order of a line. One without a beginning is of the plan. */
static struct summary_order *order_of(struct summary_lines *l, const char *name)
{
	struct summary_order *o = map_get(&l->orders, name);
	if (o)
		return o;
	o = calloc(1, sizeof(*o));
	if (!o || map_put(&l->orders, name, o))
		return NULL;
	*o = (struct summary_order){ .number = l->orders_len++, .sweeps = true, .plain = true };
	o->counts = !l->counted;
	l->counted = true;
	return o;
}

int summary_line(void *lines, const char *kind, const cJSON *line, struct err *e)
{
	static const struct {
		const char *kind;
		int (*read)(struct summary_lines *l, struct summary_order *o, const cJSON *line,
			    struct err *e);
	} kinds[] = {
		{ "begin", read_begin }, { "session", read_session }, { "order", read_order },
		{ "test", read_test },   { "scope", add_deltas },     { "refused", read_refused },
		{ "end", read_end },
	};
	struct summary_lines *l = lines;
	const char *name = json_text(line, "order");
	size_t i = 0;
	while (i < countof(kinds) && !text_eq(kind, kinds[i].kind))
		i++;
	if (i == countof(kinds)) {
		err_set(e, EINVAL, "read the ledger: a line is of a kind that is not known: %s",
			kind);
		return err_status(e, STATUS_DATA);
	}
	if (!name)
		return bad_line(e, kind, "order");
	struct summary_order *o = order_of(l, name);
	return o ? kinds[i].read(l, o, line, e) : no_memory(e);
}

/* ---- the end ---- */

static int by_place(const struct summary_place *a, const struct summary_place *b)
{
	return is_before(*a, *b) ? -1 : is_before(*b, *a);
}

static int by_note(const void *a, const void *b)
{
	const struct summary_note *x = a;
	const struct summary_note *y = b;
	return by_place(&x->place, &y->place);
}

static int by_failure(const void *a, const void *b)
{
	const struct summary_failure *x = a;
	const struct summary_failure *y = b;
	return by_place(&x->shown.place, &y->shown.place);
}

static int by_change(const void *a, const void *b)
{
	const struct summary_change *x = a;
	const struct summary_change *y = b;
	return by_place(&x->shown.place, &y->shown.place);
}

static int by_survivor(const void *a, const void *b)
{
	const struct summary_survivor *x = a;
	const struct summary_survivor *y = b;
	return by_place(&x->shown.place, &y->shown.place);
}

static void sort(void *at, size_t n, size_t item_len, int (*by)(const void *a, const void *b))
{
	if (n)
		qsort(at, n, item_len, by);
}

int summary_lines_end(struct summary_lines *l)
{
	struct summary *s = l->summary;
	sort(s->failures, s->failures_len, sizeof(*s->failures), by_failure);
	sort(s->survivors, s->survivors_len, sizeof(*s->survivors), by_survivor);
	struct summary_changes *const lists[] = { &s->leaks, &s->damage, &s->writes,
						  &s->unattributed };
	for (size_t i = 0; i < countof(lists); i++)
		sort(lists[i]->at, lists[i]->len, sizeof(*lists[i]->at), by_change);
	sort(l->notes, l->notes_len, sizeof(*l->notes), by_note);
	for (size_t i = 0; i < l->notes_len; i++)
		if (strv_add(&s->notes, l->notes[i].text))
			return -ENOMEM;
	if (s->notes_left_out &&
	    strv_addf(&s->notes, "%zu more notes stand in the ledger alone", s->notes_left_out))
		return -ENOMEM;
	if (s->changes_left_out &&
	    strv_addf(&s->notes, "%zu more changes stand in the ledger alone", s->changes_left_out))
		return -ENOMEM;
	return 0;
}
