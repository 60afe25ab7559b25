#include "runner/judge/rules.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runner/printable.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/json.h"
#include "sandbox/base/text.h"

/* The first row that fits. NULL fits all; a key fits when it begins so, and for a folder ("/" at the
 * end) when it is a name right in it. */
static const struct {
	const char *domain, *what, *key;
	struct rule rule;
} rows[] = {
	/* What POSIX makes of shared memory and named semaphores are files, told by their row. */
	{ "files", "created", "/dev/shm/sem.", { "FH152", "created", "POSIX semaphore" } },
	{ "files", "created", "/dev/shm/", { "FH152", "created", "POSIX shared memory" } },
	{ "files", "created", NULL, { "FH101", "created", "" } },
	{ "files", "deleted", NULL, { "FH103", "deleted", "" } },
	{ "files", "mode", NULL, { "FH104", "changed mode of", "" } },
	{ "files", "owner", NULL, { "FH104", "changed owner of", "" } },
	{ "files", "xattrs", NULL, { "FH104", "changed attributes of", "" } },
	{ "files", "links", NULL, { "FH104", "changed links of", "" } },
	{ "files", "target", NULL, { "FH104", "changed link", "" } },
	{ "files", "touched", NULL, { RULE_WRITE, "wrote", "" } },
	{ "files", "type", NULL, { "FH102", "replaced", "" } },
	{ "files", NULL, NULL, { "FH102", "changed", "" } },
	{ "env", NULL, NULL, { "FH111", NULL, "variable" } },
	{ "process", NULL, "cwd", { "FH121", NULL, "" } },
	{ "process", NULL, "umask", { "FH122", NULL, "" } },
	{ "process", NULL, "SIG", { "FH123", NULL, "" } },
	{ "process", NULL, NULL, { "FH124", NULL, "" } },
	{ "descriptors", NULL, NULL, { "FH131", NULL, "descriptor of" } },
	{ "processes", NULL, NULL, { "FH141", NULL, "process" } },
	{ "threads", NULL, NULL, { "FH142", NULL, "thread" } },
	{ "ipc", NULL, "mq:", { "FH152", NULL, "POSIX queue" } },
	{ "ipc", NULL, NULL, { "FH151", NULL, "SysV IPC" } },
	{ "custom", NULL, NULL, { "FH181", NULL, "probe" } },
	{ "network", NULL, "unix:@", { "FH162", NULL, "abstract socket" } },
	{ "network", NULL, NULL, { "FH161", NULL, "listening socket" } },
};

static bool key_fits(const char *row, const char *key)
{
	return !row ||
	       (text_starts(key, row) && !(text_ends(row, "/") && strchr(key + strlen(row), '/')));
}

const struct rule *rule_of(const char *domain, const char *what, const char *key)
{
	static const struct rule other = { RULE_UNATTRIBUTED, NULL, "" };
	for (size_t i = 0; i < countof(rows); i++)
		if (text_eq(domain, rows[i].domain) &&
		    (!rows[i].what || text_eq(what, rows[i].what)) && key_fits(rows[i].key, key))
			return &rows[i].rule;
	return &other;
}

char *rule_clause(const char *domain, const char *what, const char *key)
{
	const struct rule *rule = rule_of(domain, what, key);
	cleanup_free char *name = quoted(key);
	cleanup_free char *verb = printable(rule->verb ? rule->verb : what);
	char *clause = NULL;
	if (!name || !verb ||
	    asprintf(&clause, "%s%s%s %s", verb, *rule->noun ? " " : "", rule->noun, name) < 0)
		return NULL;
	return clause;
}

/* What of a value people want to see. */
static const struct {
	const char *domain, *name;
	const char *label; /* before it; NULL: none */
	const char *unit;  /* after it, in the singular; NULL: none */
	bool at_birth;     /* also when the entry is new or gone */
} fields[] = {
	{ "files", "type", NULL, NULL, true },
	{ "files", "size", NULL, "byte", true },
	{ "files", "mode", "mode", NULL, false },
	{ "files", "uid", "uid", NULL, false },
	{ "files", "gid", "gid", NULL, false },
	{ "files", "links", NULL, "name", false },
	{ "files", "target", "to", NULL, true },
	{ "env", "len", NULL, "byte", true },
	{ "env", "value", "value", NULL, true },
	{ "process", "path", NULL, NULL, true },
	{ "process", "deleted", NULL, NULL, false },
	{ "process", "umask", NULL, NULL, true },
	{ "process", "nice", NULL, NULL, true },
	{ "process", "personality", NULL, NULL, true },
	{ "process", "action", NULL, NULL, true },
	{ "process", "blocked", NULL, NULL, false },
	{ "process", "soft", "soft", NULL, true },
	{ "process", "hard", "hard", NULL, false },
	{ "descriptors", "fd", "number", NULL, true },
	{ "descriptors", "mode", NULL, NULL, true },
	{ "processes", "state", NULL, NULL, true },
	{ "processes", "daemonised", NULL, NULL, true },
	{ "ipc", "size", NULL, "byte", true },
	{ "ipc", "semaphores", NULL, "semaphore", true },
	{ "ipc", "messages", NULL, "message", true },
	{ "ipc", "mode", "mode", NULL, false },
	{ "ipc", "uid", "uid", NULL, false },
	{ "ipc", "gid", "gid", NULL, false },
	{ "custom", "len", NULL, "byte", true },
	{ "custom", "value", "value", NULL, true },
	{ "network", "port", "port", NULL, true },
	{ "network", "type", NULL, NULL, true },
	{ "network", "listening", NULL, NULL, false },
};

/* The member of that name as a word: "12", "file", "not deleted"; *ret NULL: it is not there. */
static int value_text(const cJSON *object, const char *name, char **ret)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
	if (!item || cJSON_IsNull(item))
		return 0;
	if (cJSON_IsString(item))
		*ret = printable(item->valuestring);
	else if (!cJSON_IsBool(item))
		*ret = cJSON_PrintUnformatted(item);
	else if (asprintf(ret, "%s%s", cJSON_IsTrue(item) ? "" : "not ", name) < 0)
		*ret = NULL;
	return *ret ? 0 : -ENOMEM;
}

static int add_field(struct buf *out, size_t i, const char *before, const char *after)
{
	const char *last = after ? after : before;
	int r = buf_puts(out, out->len ? ", " : "");
	if (!r && fields[i].label)
		r = buf_printf(out, "%s ", fields[i].label);
	r = r ? r
	      : buf_printf(out, "%s%s%s", before && after ? before : "",
			   before && after ? " -> " : "", last);
	if (!r && fields[i].unit)
		r = buf_printf(out, " %s%s", fields[i].unit, text_eq(last, "1") ? "" : "s");
	return r;
}

/* What a new or gone entry is not says nothing of it. */
static bool is_no(const cJSON *object, size_t i)
{
	return cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(object, fields[i].name));
}

char *rule_detail(const char *domain, const cJSON *before, const cJSON *after)
{
	cleanup(buf_done) struct buf out = BUF_NULL;
	bool changed = cJSON_IsObject(before) && cJSON_IsObject(after);
	int r = buf_reserve(&out, 0);
	for (size_t i = 0; i < countof(fields) && !r; i++) {
		if (!text_eq(domain, fields[i].domain))
			continue;
		cleanup_free char *was = NULL;
		cleanup_free char *is = NULL;
		r = value_text(before, fields[i].name, &was);
		r = r ? r : value_text(after, fields[i].name, &is);
		bool telling = fields[i].at_birth && (was || is) && !is_no(was ? before : after, i);
		if (!r && (changed ? !text_eq(was, is) : telling))
			r = add_field(&out, i, was, is);
	}
	if (!r && changed && !out.len &&
	    !text_eq(json_text(before, "digest"), json_text(after, "digest")))
		r = buf_puts(&out, "other content");
	return r ? NULL : take_ptr(&out.at);
}
