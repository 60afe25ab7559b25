#include "probe/event.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"

static const char *const kind_names[] = {
	[EVENT_HELLO] = "hello",
	[EVENT_COLLECTING] = "collecting",
	[EVENT_COLLECTED] = "collected",
	[EVENT_UNCOLLECTABLE] = "uncollectable",
	[EVENT_START] = "start",
	[EVENT_SCOPE_OPEN] = "scope_open",
	[EVENT_SCOPE_CLOSE] = "scope_close",
	[EVENT_FINISH] = "finish",
	[EVENT_DONE] = "done",
	[EVENT_HANGUP] = "hangup",
};
static_assert(countof(kind_names) == EVENT_KIND_N, "a name for each kind");

static const struct {
	const char *name;
	char letter;
} outcomes[] = {
	[OUTCOME_PASSED] = { "passed", 'P' },
	[OUTCOME_FAILED] = { "failed", 'F' },
	[OUTCOME_ERROR_SETUP] = { "error_setup", 'E' },
	[OUTCOME_ERROR_TEARDOWN] = { "error_teardown", 'T' },
	[OUTCOME_SKIPPED] = { "skipped", 'S' },
	[OUTCOME_XFAILED] = { "xfailed", 'x' },
	[OUTCOME_XPASSED] = { "xpassed", 'X' },
	[OUTCOME_CRASHED] = { "crashed", 'C' },
	[OUTCOME_TIMEOUT] = { "timeout", 'O' },
	[OUTCOME_ABSENT] = { "absent", 'A' },
};
static_assert(countof(outcomes) == OUTCOME_N, "a row for each outcome");

const char *event_kind_name(enum event_kind kind)
{
	return kind_names[kind];
}

const char *outcome_name(enum outcome outcome)
{
	return outcomes[outcome].name;
}

char outcome_letter(enum outcome outcome)
{
	return outcomes[outcome].letter;
}

enum outcome outcome_find(const char *name)
{
	enum outcome o = OUTCOME_PASSED;
	while (o < OUTCOME_N && !text_eq(name, outcomes[o].name))
		o++;
	return o;
}

bool outcome_failed(enum outcome outcome)
{
	return outcome == OUTCOME_FAILED || outcome == OUTCOME_ERROR_SETUP ||
	       outcome == OUTCOME_ERROR_TEARDOWN || outcome == OUTCOME_CRASHED ||
	       outcome == OUTCOME_TIMEOUT;
}

/* OUTCOME_N: it is none. A test that sends packets is never absent. */
static enum outcome outcome_of(const cJSON *item)
{
	enum outcome outcome = outcome_find(cJSON_GetStringValue(item));
	return outcome == OUTCOME_ABSENT ? OUTCOME_N : outcome;
}

static bool is_text(const cJSON *item)
{
	return cJSON_IsString(item);
}

static bool is_name(const cJSON *item)
{
	const char *text = cJSON_GetStringValue(item);
	return text && *text && strlen(text) <= EVENT_ID_LEN_MAX;
}

static bool is_name_or_null(const cJSON *item)
{
	return cJSON_IsNull(item) || is_name(item);
}

static bool is_dir(const cJSON *item)
{
	return is_name(item) && item->valuestring[0] == '/';
}

/* A name that stays in the drop folder. */
static bool is_file(const cJSON *item)
{
	const char *text = cJSON_GetStringValue(item);
	return text && *text && *text != '.' && strlen(text) <= 255 && !strchr(text, '/');
}

static bool is_at(const cJSON *item)
{
	const char *text = cJSON_GetStringValue(item);
	return text_eq(text, "begin") || text_eq(text, "end");
}

static bool is_outcome(const cJSON *item)
{
	return outcome_of(item) < OUTCOME_N;
}

/* What a module that cannot be collected counts as. */
static bool is_collect_outcome(const cJSON *item)
{
	return outcome_of(item) == OUTCOME_ERROR_SETUP || outcome_of(item) == OUTCOME_SKIPPED;
}

static bool is_phase(const cJSON *item)
{
	return text_eq(item->string, "setup") || text_eq(item->string, "call") ||
	       text_eq(item->string, "teardown");
}

static bool is_phases(const cJSON *object)
{
	const cJSON *item;
	cJSON_ArrayForEach(item, object)
	{
		if (!is_phase(item) || !is_outcome(item))
			return false;
	}
	return cJSON_IsObject(object);
}

static bool is_us(const cJSON *object)
{
	const cJSON *item;
	cJSON_ArrayForEach(item, object)
	{
		if (!is_phase(item) || !cJSON_IsNumber(item) ||
		    !(item->valuedouble >= 0 && item->valuedouble < 1e15))
			return false;
	}
	return cJSON_IsObject(object);
}

static bool is_texts(const cJSON *array)
{
	const cJSON *item;
	cJSON_ArrayForEach(item, array)
	{
		if (!cJSON_IsString(item))
			return false;
	}
	return cJSON_IsArray(array);
}

#define IN(kind)  (1U << (EVENT_##kind))
#define AT(field) offsetof(struct event, field)
#define IN_SCOPE  (IN(SCOPE_OPEN) | IN(SCOPE_CLOSE))

/* What a packet holds: must hold it, may hold it. Members without a row are nobody's concern. */
static const struct member {
	const char *name;
	unsigned int must;
	unsigned int may;
	bool (*fits)(const cJSON *item);
	const char *wanted;
	size_t at; /* where in struct event the text goes; 0: nowhere */
} members[] = {
	{ "adapter", IN(HELLO), 0, is_name, "a text" },
	{ "version", IN(HELLO), 0, is_name, "a text" },
	{ "rootdir", IN(HELLO), 0, is_dir, "an absolute path", AT(rootdir) },
	{ "basetemp", 0, IN(HELLO) | IN(COLLECTED), is_dir, "an absolute path" },
	{ "can", 0, IN(HELLO), is_texts, "an array of texts" },
	{ "said", 0, IN(HELLO) | IN(COLLECTED), is_texts, "an array of texts" },
	{ "plugins", 0, IN(HELLO) | IN(COLLECTED), is_texts, "an array of texts" },
	{ "file", IN(COLLECTED), IN(FINISH), is_file, "a name in the drop folder", AT(file) },
	{ "id", IN(UNCOLLECTABLE), 0, is_name, "an id", AT(test) },
	{ "id", IN(COLLECTING), 0, is_name_or_null, "an id or null", AT(test) },
	{ "why", IN(UNCOLLECTABLE), IN(DONE), is_text, "a text" },
	{ "test", IN(START) | IN(FINISH) | IN_SCOPE, 0, is_name, "an id", AT(test) },
	{ "next", 0, IN(FINISH), is_name_or_null, "an id or null", AT(next) },
	{ "fixture", IN_SCOPE, 0, is_name, "a text", AT(fixture) },
	{ "scope", IN_SCOPE, 0, is_name, "a text", AT(scope) },
	{ "at", IN_SCOPE, 0, is_at, "\"begin\" or \"end\"" },
	{ "outcome", IN(FINISH), 0, is_outcome, "an outcome" },
	{ "outcome", 0, IN(UNCOLLECTABLE), is_collect_outcome, "error_setup or skipped" },
	{ "phases", 0, IN(FINISH), is_phases, "outcomes of setup, call and teardown" },
	{ "us", 0, IN(FINISH), is_us, "microseconds of setup, call and teardown" },
	{ "message", 0, IN(FINISH), is_text, "a text" },
};

static int read_members(struct event *ev, struct err *e)
{
	if (ev->kind == EVENT_UNCOLLECTABLE)
		ev->outcome = OUTCOME_ERROR_SETUP; /* unless it says that it is skipped */
	const char *kind = kind_names[ev->kind];
	unsigned int bit = 1U << ev->kind;
	for (size_t i = 0; i < countof(members); i++) {
		const struct member *m = &members[i];
		const cJSON *item = cJSON_GetObjectItemCaseSensitive(ev->packet, m->name);
		if (!((m->must | m->may) & bit) || (!item && !(m->must & bit)))
			continue;
		if (!item)
			return err_set(e, EPROTO, "packet %s: \"%s\" is missing", kind, m->name);
		if (!m->fits(item))
			return err_set(e, EPROTO, "packet %s: \"%s\" is not %s", kind, m->name,
				       m->wanted);
		if (m->at)
			*(const char **)((char *)ev + m->at) = item->valuestring;
		if (text_eq(m->name, "outcome"))
			ev->outcome = outcome_of(item);
		if (m->fits == is_at)
			ev->at_end = text_eq(item->valuestring, "end");
	}
	return 0;
}

/* cJSON ends a text at an escaped NUL, so two names could look like one. */
static bool escapes_nul(const char *text)
{
	while ((text = strchr(text, '\\')) && text[1]) {
		if (strncmp(text + 1, "u0000", 5) == 0)
			return true;
		text += 2;
	}
	return false;
}

static int parse_json(const char *packet, size_t len, cJSON **ret, struct err *e)
{
	if (len > EVENT_LEN_MAX)
		return err_set(e, EPROTO, "packet of %zu bytes: at most %d are allowed", len,
			       EVENT_LEN_MAX);
	cleanup_free char *text = strndup(packet, len);
	bool clean = false;
	cleanup_free char *valid = text ? text_utf8(text, &clean) : NULL;
	if (!valid)
		return err_sys(e, "packet");
	if (!clean || strlen(text) < len || escapes_nul(text))
		return err_set(e, EPROTO, "packet: it is no UTF-8, or holds a NUL");
	cleanup_json cJSON *tree = cJSON_ParseWithOpts(text, NULL, true);
	if (!cJSON_IsObject(tree))
		return err_set(e, EPROTO, "packet: it is no JSON object");
	*ret = take_ptr(&tree);
	return 0;
}

static int find_kind(const cJSON *packet, enum event_kind *ret, struct err *e)
{
	if (json_number(packet, "v", 0) != EVENT_VERSION)
		return err_set(e, EPROTO, "packet: \"v\" is not %d", EVENT_VERSION);
	const char *name = json_text(packet, "t");
	for (enum event_kind kind = 0; kind < EVENT_HANGUP; kind++) {
		if (text_eq(name, kind_names[kind])) {
			*ret = kind;
			return 0;
		}
	}
	return err_set(e, EPROTO, "packet: no packet is called \"%s\"", name ? name : "");
}

int event_parse(struct event *ret, const char *packet, size_t len, struct err *e)
{
	cleanup(event_done) struct event ev = EVENT_NULL;
	int r = parse_json(packet, len, &ev.packet, e);
	if (r == 0)
		r = find_kind(ev.packet, &ev.kind, e);
	if (r == 0)
		r = read_members(&ev, e);
	if (r < 0)
		return r;
	*ret = take(&ev, EVENT_NULL);
	return 0;
}

bool event_can(const struct event *ev, const char *what)
{
	const cJSON *item;
	cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(ev->packet, "can"))
	{
		if (text_eq(item->valuestring, what))
			return true;
	}
	return false;
}

void event_done(struct event *ev)
{
	cJSON_Delete(ev->packet);
	*ev = EVENT_NULL;
}
