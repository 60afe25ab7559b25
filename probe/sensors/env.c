#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "probe/sensors/environ_find.h"
#include "probe/sensors/sensors.h"
#include "probe/sensors/subject.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/digest.h"
#include "sandbox/base/err.h"
#include "sandbox/base/json.h"
#include "sandbox/base/text.h"

#define VARIABLES_MAX 65536
#define BYTES_MAX     (16 * 1024 * 1024) /* of all variables together */
#define PAGE_LEN      4096 /* the smallest there is: a read within one succeeds whole */

/*
 * What a look reads are the ranges of the last one: the pointer `environ`, the vector it points to,
 * and the texts, in one call. While the bytes are the same nothing has changed, because every text
 * is compared with its end. Else the vector is walked again.
 */
struct env {
	struct subject subject;
	char *at; /* of the pointer `environ`, over there; NULL: not found */
	bool sought;
	bool told; /* once: from then on, only what is different is looked at */
	struct iovec *ranges;
	size_t ranges_len;
	size_t ranges_cap;
	size_t texts; /* where in the picture the texts begin */
	struct buf picture;
	struct buf now;
};

/* One entry of the environment; borrows the picture. */
struct variable {
	const char *name;
	size_t name_len; /* 0: there is no name, and all of it is value */
	const char *value;
	size_t value_len;
	size_t place; /* in the environment */
};

static int env_open(const struct vantage *v, void **ret, struct err *e)
{
	(void)v;
	struct env *env = calloc(1, sizeof(*env));
	if (!env)
		return err_sys(e, "follow the environment");
	env->subject = SUBJECT_NULL;
	*ret = env;
	return 0;
}

/* ---- reading the process ---- */

/* Exactly len bytes, or -EFAULT. */
static int peek(const struct env *env, const char *at, void *to, size_t len)
{
	struct iovec local = { to, len };
	struct iovec remote = { (void *)at, len };
	ssize_t n = process_vm_readv(env->subject.pid, &local, 1, &remote, 1, 0);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EFAULT;
}

static size_t ranges_bytes(const struct env *env)
{
	size_t bytes = 0;
	for (size_t i = 0; i < env->ranges_len; i++)
		bytes += env->ranges[i].iov_len;
	return bytes;
}

static int add_range(struct env *env, void *at, size_t len)
{
	struct iovec *last = env->ranges_len ? &env->ranges[env->ranges_len - 1] : NULL;
	if (last && (char *)last->iov_base + last->iov_len == at) {
		last->iov_len += len; /* the first texts lie side by side */
		return 0;
	}
	if (!env->ranges || env->ranges_len == env->ranges_cap) {
		size_t cap = env->ranges_cap ? env->ranges_cap * 2 : 64;
		struct iovec *ranges = reallocarray(env->ranges, cap, sizeof(*ranges));
		if (!ranges)
			return -ENOMEM;
		env->ranges = ranges;
		env->ranges_cap = cap;
	}
	env->ranges[env->ranges_len++] = (struct iovec){ at, len };
	return 0;
}

static int read_ranges(const struct env *env, struct buf *ret)
{
	buf_clear(ret);
	int r = buf_reserve(ret, ranges_bytes(env));
	for (size_t i = 0; !r && i < env->ranges_len; i += IOV_MAX) {
		size_t n = env->ranges_len - i < IOV_MAX ? env->ranges_len - i : IOV_MAX;
		size_t want = 0;
		for (size_t k = i; k < i + n; k++)
			want += env->ranges[k].iov_len;
		struct iovec local = { ret->at + ret->len, want };
		ssize_t got = process_vm_readv(env->subject.pid, &local, 1, &env->ranges[i], n, 0);
		if (got < 0)
			return -errno;
		if ((size_t)got < want)
			return -EFAULT;
		ret->len += want;
	}
	return r;
}

/* A walk along the vector and the texts. */
struct walk {
	struct env *env;
	const char *page; /* over there; NULL: none was read yet */
	char bytes[PAGE_LEN];
	size_t bytes_left; /* of BYTES_MAX */
};

static size_t page_rest(const char *at)
{
	return PAGE_LEN - (size_t)((uintptr_t)at % PAGE_LEN);
}

static int text_len(struct walk *w, const char *text, size_t *ret)
{
	const char *at = text;
	for (;;) {
		size_t rest = page_rest(at);
		const char *page = at - (PAGE_LEN - rest);
		int r = page == w->page ? 0 : peek(w->env, page, w->bytes, PAGE_LEN);
		if (r)
			return r;
		w->page = page;
		const char *here = w->bytes + (PAGE_LEN - rest);
		const char *end = memchr(here, '\0', rest);
		size_t len = end ? (size_t)(end - here) : rest;
		if (len >= w->bytes_left)
			return -E2BIG;
		w->bytes_left -= len;
		at += len;
		if (end)
			break;
	}
	*ret = (size_t)(at - text);
	return 0;
}

/* The pointers up to the one that is NULL, which is not counted. */
static int load_vector(const struct env *env, const char *vector, struct buf *ret, size_t *ret_len)
{
	char *chunk[PAGE_LEN / sizeof(char *)];
	size_t seen = 0;
	while (seen < VARIABLES_MAX) {
		const char *at = vector + seen * sizeof(char *);
		size_t n = page_rest(at) / sizeof(char *);
		n = n ? n : 1; /* a vector may lie anywhere */
		int r = peek(env, at, chunk, n * sizeof(char *));
		if (!r)
			r = buf_add(ret, chunk, n * sizeof(char *));
		if (r)
			return r;
		for (size_t i = 0; i < n; i++, seen++)
			if (!chunk[i]) {
				*ret_len = seen;
				return 0;
			}
	}
	return -E2BIG;
}

static int walk(struct env *env)
{
	struct walk w = { .env = env, .bytes_left = BYTES_MAX };
	cleanup(buf_done) struct buf pointers = BUF_NULL;
	char *vector = NULL;
	size_t len = 0;
	env->ranges_len = 0;
	int r = peek(env, env->at, &vector, sizeof(vector));
	if (!r)
		r = add_range(env, env->at, sizeof(vector));
	if (!r && vector) {
		r = load_vector(env, vector, &pointers, &len);
		if (!r)
			r = add_range(env, vector, (len + 1) * sizeof(char *));
	}
	env->texts = ranges_bytes(env);
	for (size_t i = 0; !r && i < len; i++) {
		char *text;
		size_t text_bytes;
		memcpy(&text, pointers.at + i * sizeof(text), sizeof(text));
		r = text_len(&w, text, &text_bytes);
		if (!r)
			r = add_range(env, text, text_bytes + 1);
	}
	return r ? r : read_ranges(env, &env->picture);
}

static bool is_same(struct env *env)
{
	return env->ranges_len > 0 && read_ranges(env, &env->now) == 0 &&
	       env->now.len == env->picture.len &&
	       memcmp(env->now.at, env->picture.at, env->now.len) == 0;
}

/* ---- telling ---- */

/* Takes the first text off [*at, end). */
static struct variable next_variable(const char **at, const char *end)
{
	const char *text = *at;
	size_t len = strnlen(text, (size_t)(end - text));
	*at += len < (size_t)(end - text) ? len + 1 : len;
	const char *equals = memchr(text, '=', len);
	if (!equals || equals == text)
		return (struct variable){ .name = text, .value = text, .value_len = len };
	return (struct variable){ .name = text,
				  .name_len = (size_t)(equals - text),
				  .value = equals + 1,
				  .value_len = len - (size_t)(equals - text) - 1 };
}

/* By name; of equal names the first in the environment is the one that getenv() finds. */
static int compare_variables(const void *a, const void *b)
{
	const struct variable *x = a;
	const struct variable *y = b;
	size_t least = x->name_len < y->name_len ? x->name_len : y->name_len;
	int order = memcmp(x->name, y->name, least);
	if (order)
		return order;
	if (x->name_len != y->name_len)
		return x->name_len < y->name_len ? -1 : 1;
	return (x->place > y->place) - (x->place < y->place);
}

static bool same_name(const struct variable *a, const struct variable *b)
{
	return a->name_len == b->name_len && memcmp(a->name, b->name, a->name_len) == 0;
}

static int parse(const struct env *env, struct variable **ret, size_t *ret_len)
{
	const char *at = env->picture.at + env->texts;
	const char *end = env->picture.at + env->picture.len;
	size_t n = 0;
	for (const char *c = at; c < end; c++)
		n += *c == '\0';
	struct variable *variables = calloc(n + 1, sizeof(*variables));
	if (!variables)
		return -ENOMEM;
	size_t len = 0;
	for (; at < end && len < n; len++) {
		variables[len] = next_variable(&at, end);
		variables[len].place = len;
	}
	qsort(variables, len, sizeof(*variables), compare_variables);
	*ret = variables;
	*ret_len = len;
	return 0;
}

static bool is_ignored(const struct vantage *v, const char *name)
{
	for (const char *const *ignored = v->env_ignored; ignored && *ignored; ignored++)
		if (text_eq(*ignored, name))
			return true;
	return false;
}

/* The entry's value; the variable's own is in it only when that was asked for. NULL: no memory. */
static char *value_of(const struct vantage *v, const struct variable *variable)
{
	char hex[DIGEST_HEX];
	char *untold = NULL;
	digest_hex(digest_bytes(variable->value, variable->value_len), hex);
	if (asprintf(&untold, "{\"len\":%zu,\"digest\":\"%s\"}", variable->value_len, hex) < 0)
		return NULL;
	if (!v->show_values)
		return untold;
	cleanup_json cJSON *object = cJSON_Parse(untold);
	cleanup_free char *text = strndup(variable->value, variable->value_len);
	free(untold);
	bool told = object && text && json_add_name(object, "value", text) == 0;
	return told ? json_line(object) : NULL;
}

/* `nth`: among those of one name, from 1. */
static int tell_variable(const struct vantage *v, struct sink *sink,
			 const struct variable *variable, size_t nth)
{
	cleanup(buf_done) struct buf id = BUF_NULL;
	int r = buf_add(&id, variable->name, variable->name_len);
	if (r)
		return r;
	if (is_ignored(v, id.at))
		return 0;
	cleanup_free char *key = strdup(variable->name_len ? id.at : "(without a name)");
	if (nth > 1 || !variable->name_len)
		r = buf_printf(&id, "=%zu", nth); /* no name can hold this */
	cleanup_free char *value = value_of(v, variable);
	if (!key || !value || r)
		return -ENOMEM;
	return sink_offer(sink, &(struct offer){ .id = id.at, .key = key, .value = value });
}

static int tell(const struct env *env, const struct vantage *v, struct sink *sink)
{
	cleanup_free struct variable *variables = NULL;
	size_t len = 0;
	size_t nth = 0;
	int r = parse(env, &variables, &len);
	for (size_t i = 0; !r && i < len; i++) {
		nth = i && same_name(&variables[i - 1], &variables[i]) ? nth + 1 : 1;
		r = tell_variable(v, sink, &variables[i], nth);
	}
	return r ? r : sink_all(sink);
}

/* ---- looking ---- */

static void leave(void *memory)
{
	struct env *env = memory;
	env->at = NULL;
	env->sought = false;
	env->told = false;
	env->ranges_len = 0;
}

/* 1: it is found. */
static int seek(struct env *env, const struct vantage *v, struct sink *sink)
{
	char why[256];
	uint64_t at = 0;
	env->sought = true;
	int r = environ_find(&env->subject, v, &at, why, sizeof(why));
	if (r < 0)
		return r;
	if (r == 0)
		return subject_gone(&env->subject) ? 0 : sink_blind(sink, why);
	env->at = (char *)(uintptr_t)at; // NOLINT(performance-no-int-to-ptr)
	return 1;
}

static int read_and_tell(struct env *env, const struct vantage *v, bool full, struct sink *sink)
{
	if (!env->at) {
		if (env->sought && !full)
			return 0;
		int r = seek(env, v, sink);
		if (r <= 0)
			return r;
	}
	if (is_same(env))
		return 0;
	int r = walk(env);
	if (r || subject_gone(&env->subject))
		return r;
	if (!env->told)
		sink_anew(sink);
	r = tell(env, v, sink);
	if (r)
		return r;
	env->told = true;
	return sink_blind(sink, NULL);
}

static int look_at(void *memory, const struct vantage *v, bool full, struct sink *sink)
{
	struct env *env = memory;
	char why[96];
	int r = read_and_tell(env, v, full, sink);
	if (r == -E2BIG)
		snprintf(why, sizeof(why), "the environment is over %d variables or %d bytes",
			 VARIABLES_MAX, BYTES_MAX);
	else if (r == -EFAULT && !subject_gone(&env->subject))
		snprintf(why, sizeof(why), "the environ of the test process points nowhere");
	else
		return r;
	leave(env);
	return sink_blind(sink, why);
}

static int env_look(void *memory, const struct vantage *v, bool full, struct sink *sink,
		    struct err *e)
{
	static const struct subject_ops ops = { "its environment", leave, look_at };
	struct env *env = memory;
	return subject_look(&env->subject, &ops, env, v, full, sink, e);
}

static void env_close(void *memory)
{
	struct env *env = memory;
	free(env->ranges);
	buf_done(&env->picture);
	buf_done(&env->now);
	subject_done(&env->subject);
	free(env);
}

/* Variables of the test process, as C's getenv() sees them. Key: the name. Value: {"len":N,
 * "digest":…}; what a variable holds never leaves unless `show_values` asks for it. */
const struct sensor sensor_env = {
	.domain = "env",
	.came = "added",
	.went = "removed",
	.open = env_open,
	.close = env_close,
	.look = env_look,
};
