#include "runner/judge/history.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runner/plan/ask.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

#define NAME_LEN_MAX 200 /* of an order */

static int no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "keep what an order did: no memory");
}

static int bad_line(struct err *e, const char *kind, const char *what)
{
	err_set(e, EINVAL, "read the ledger: a line of kind %s has no %s", kind, what);
	return err_status(e, STATUS_DATA);
}

static void played_done(struct played *p)
{
	order_done(&p->order);
	free(p->outcomes);
	free(p->phases);
	free(p->again);
	free(p->collected);
	free(p->others);
	free(p->asked);
	*p = (struct played){ 0 };
}

void history_done(struct history *h)
{
	for (size_t i = 0; i < h->len; i++)
		played_done(&h->orders[i]);
	free(h->orders);
	map_done(&h->by_name);
	strv_done(&h->can);
	roster_done(&h->roster);
	*h = HISTORY_NULL;
}

static struct played *find(const struct history *h, const char *name)
{
	uintptr_t at = (uintptr_t)map_get(&h->by_name, name);
	return at ? &h->orders[at - 1] : NULL;
}

const struct played *history_find(const struct history *h, const char *name)
{
	return find(h, name);
}

/* The length of the id without what view repeated puts behind it. */
static size_t id_len(const struct played *p, const char *id, bool *ret_again)
{
	*ret_again = p->order.view == VIEW_REPEATED && text_ends(id, HISTORY_AGAIN);
	return strlen(id) - (*ret_again ? strlen(HISTORY_AGAIN) : 0);
}

uint32_t history_test(const struct history *h, const char *order, char *id)
{
	const struct played *p = find(h, order);
	bool again;
	if (p)
		id[id_len(p, id, &again)] = '\0';
	return roster_find(&h->roster, id);
}

static enum outcome outcome_in(const struct played *p, uint32_t test, bool again)
{
	for (size_t i = 0; i < p->order.tests_len; i++)
		if (p->order.tests[i] == test && p->again[i] == again)
			return p->outcomes[i];
	return OUTCOME_N;
}

bool played_collects(const struct played *p)
{
	return !p->order.as_collected && !p->asked_len;
}

enum outcome played_outcome(const struct played *p, uint32_t test)
{
	return outcome_in(p, test, false);
}

enum outcome played_again(const struct played *p, uint32_t test)
{
	return outcome_in(p, test, true);
}

/* ---- phases ---- */

static const char *const phase_names[PHASE_N] = {
	[PHASE_COLLECT] = "collect",
	[PHASE_SETUP] = "setup",
	[PHASE_CALL] = "call",
	[PHASE_TEARDOWN] = "teardown",
};

const char *phase_name(enum phase phase)
{
	return phase_names[phase];
}

static enum phase phase_find(const char *name)
{
	for (int i = PHASE_COLLECT; i < PHASE_N; i++)
		if (text_eq(name, phase_names[i]))
			return (enum phase)i;
	return PHASE_NONE;
}

enum phase phase_of(const cJSON *line)
{
	enum phase phase = phase_find(json_text(line, "phase"));
	const cJSON *row;
	cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(line, "phases"))
	{
		if (phase == PHASE_NONE && outcome_failed(outcome_find(row->valuestring)))
			phase = phase_find(row->string);
	}
	return phase;
}

/* ---- reading ---- */

/* The numbers of an array of ids, behind those that *ret has. Second runs are no tests of their own. */
static int read_tests(struct history *h, const struct played *p, const cJSON *ids, uint32_t **ret,
		      size_t *ret_len)
{
	size_t n = (size_t)cJSON_GetArraySize(ids);
	if (!n)
		return 0;
	uint32_t *more = reallocarray(*ret, *ret_len + n, sizeof(*more));
	if (!more)
		return -ENOMEM;
	*ret = more;
	const cJSON *id;
	cJSON_ArrayForEach(id, ids)
	{
		bool again = true;
		if (cJSON_IsString(id))
			id_len(p, id->valuestring, &again);
		if (!again && roster_add(&h->roster, id->valuestring, &more[(*ret_len)++]))
			return -ENOMEM;
	}
	return 0;
}

static size_t name_find(const char *const *names, size_t n, const char *name)
{
	size_t i = 0;
	while (i < n && !text_eq(names[i], name))
		i++;
	return i;
}

static int read_vary(const cJSON *line, struct strv *ret)
{
	const cJSON *text;
	cJSON_ArrayForEach(text, cJSON_GetObjectItemCaseSensitive(line, "vary"))
	{
		if (cJSON_IsString(text) && strv_add(ret, text->valuestring))
			return -ENOMEM;
	}
	return 0;
}

static const char *shuffle_find(const char *name)
{
	for (size_t i = 0; shuffle_names[i]; i++)
		if (text_eq(shuffle_names[i], name))
			return shuffle_names[i];
	return NULL;
}

/* The name of an order becomes that of a file, and goes to the terminal as it is. */
static bool is_name(const char *name)
{
	size_t len = strlen(name);
	bool ok = len > 0 && len <= NAME_LEN_MAX && name[0] != '.';
	for (size_t i = 0; i < len && ok; i++)
		ok = isgraph((unsigned char)name[i]) && name[i] != '/';
	return ok;
}

static bool read_seed(const cJSON *seed, struct order *ret)
{
	ret->seeded = cJSON_IsNumber(seed);
	if (!ret->seeded)
		return true;
	bool ok = seed->valuedouble >= 0 && seed->valuedouble <= (double)PLAN_SEED_MAX;
	ret->seed = ok ? (uint64_t)seed->valuedouble : 0;
	return ok;
}

/* An order begins, or begins again: what there was of it is forgotten. */
static int read_begin(struct history *h, const cJSON *line, struct err *e)
{
	const char *name = json_text(line, "order");
	if (!is_name(name))
		return bad_line(e, "begin", "name that an order can have");
	struct played *p = find(h, name);
	if (p) {
		played_done(p);
	} else {
		struct played *more = reallocarray(h->orders, h->len + 1, sizeof(*more));
		if (!more)
			return no_memory(e);
		h->orders = more;
		void *at = (void *)(uintptr_t)(h->len + 1); // NOLINT(performance-no-int-to-ptr)
		if (map_put(&h->by_name, name, at))
			return no_memory(e);
		p = &more[h->len++];
		*p = (struct played){ 0 };
	}
	struct order *o = &p->order;
	o->view = (enum view)name_find(view_names, VIEW_N, json_text(line, "view"));
	o->role = (enum role)name_find(role_names, ROLE_N, json_text(line, "role"));
	if (o->view == VIEW_N || o->role == ROLE_N)
		return bad_line(e, "begin", "view or role that is known");
	o->shuffle = shuffle_find(json_text(line, "shuffle"));
	if (!read_seed(cJSON_GetObjectItemCaseSensitive(line, "seed"), o))
		return bad_line(e, "begin", "seed that can be");
	const cJSON *tests = cJSON_GetObjectItemCaseSensitive(line, "tests");
	o->as_collected = !cJSON_IsArray(tests);
	o->name = strdup(name);
	if (!o->name || read_vary(line, &o->vary) ||
	    read_tests(h, p, tests, &p->asked, &p->asked_len))
		return no_memory(e);
	return 0;
}

static int read_session(struct history *h, struct played *p, const cJSON *line, struct err *e)
{
	(void)p;
	const cJSON *word;
	cJSON_ArrayForEach(word, cJSON_GetObjectItemCaseSensitive(line, "can"))
	{
		if (cJSON_IsString(word) && !strv_has(&h->can, word->valuestring) &&
		    strv_add(&h->can, word->valuestring))
			return no_memory(e);
	}
	return 0;
}

static int read_order(struct history *h, struct played *p, const cJSON *line, struct err *e)
{
	const cJSON *tests = cJSON_GetObjectItemCaseSensitive(line, "tests");
	const cJSON *others = cJSON_GetObjectItemCaseSensitive(line, "others");
	p->announced = true;
	return read_tests(h, p, tests, &p->collected, &p->collected_len) ||
			       read_tests(h, p, others, &p->others, &p->others_len)
		       ? no_memory(e)
		       : 0;
}

static int played_add(struct played *p, uint32_t test, enum outcome outcome, enum phase phase,
		      bool again)
{
	size_t n = p->order.tests_len + 1;
	uint32_t *tests = reallocarray(p->order.tests, n, sizeof(*tests));
	p->order.tests = tests ? tests : p->order.tests;
	uint8_t *outcomes = reallocarray(p->outcomes, n, sizeof(*outcomes));
	p->outcomes = outcomes ? outcomes : p->outcomes;
	uint8_t *phases = reallocarray(p->phases, n, sizeof(*phases));
	p->phases = phases ? phases : p->phases;
	bool *second = reallocarray(p->again, n, sizeof(*second));
	p->again = second ? second : p->again;
	if (!tests || !outcomes || !phases || !second)
		return -ENOMEM;
	tests[n - 1] = test;
	outcomes[n - 1] = (uint8_t)outcome;
	phases[n - 1] = (uint8_t)phase;
	second[n - 1] = again;
	p->order.tests_len = n;
	return 0;
}

static int read_test(struct history *h, struct played *p, const cJSON *line, struct err *e)
{
	cleanup_free char *id = NULL;
	if (json_get_name(line, "test", &id))
		return no_memory(e);
	enum outcome outcome = outcome_find(json_text(line, "outcome"));
	if (!id || outcome == OUTCOME_N)
		return bad_line(e, "test", "test or no known outcome");
	bool again;
	id[id_len(p, id, &again)] = '\0';
	uint32_t test;
	if (roster_add(&h->roster, id, &test) || played_add(p, test, outcome, phase_of(line), again))
		return no_memory(e);
	return 0;
}

static int read_end(struct history *h, struct played *p, const cJSON *line, struct err *e)
{
	(void)h;
	const char *outcome = json_text(line, "outcome");
	if (!outcome)
		return bad_line(e, "end", "outcome");
	p->ended = true;
	p->complete = !text_eq(outcome, "interrupted") && !text_eq(outcome, "timeout");
	p->interrupted = text_eq(outcome, "interrupted");
	p->seconds = json_number(line, "seconds", 0);
	p->missing_len =
		(size_t)cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(line, "missing"));
	return 0;
}

int history_line(struct history *h, const char *kind, const cJSON *line, struct err *e)
{
	static const struct {
		const char *kind;
		int (*read)(struct history *h, struct played *p, const cJSON *line, struct err *e);
	} kinds[] = { { "session", read_session },
		      { "order", read_order },
		      { "test", read_test },
		      { "end", read_end } };
	const char *name = json_text(line, "order");
	if (!name)
		return bad_line(e, kind, "order");
	if (text_eq(kind, "begin"))
		return read_begin(h, line, e);
	for (size_t i = 0; i < countof(kinds); i++) {
		if (!text_eq(kind, kinds[i].kind))
			continue;
		struct played *p = find(h, name);
		return p ? kinds[i].read(h, p, line, e) : bad_line(e, kind, "begin before it");
	}
	return 0;
}
