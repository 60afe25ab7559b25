#include "runner/drive/vary.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/env.h"

#define UMASK_MAX 0777

static bool any(const char *value)
{
	(void)value;
	return true;
}

static bool is_locale(const char *value)
{
	locale_t found = newlocale(LC_ALL_MASK, value, NULL);
	if (found)
		freelocale(found);
	return found;
}

static bool is_umask(const char *value)
{
	char *end = NULL;
	return strtoul(value, &end, 8) <= UMASK_MAX && end != value && !*end;
}

static const struct dimension {
	const char *name;
	const char *variables[2]; /* that get the value; none: it is the umask */
	bool (*exists)(const char *value);
} dimensions[] = {
	{ "hashseed", { "PYTHONHASHSEED" }, any },
	{ "tz", { "TZ" }, any },
	{ "locale", { "LANG", "LC_ALL" }, is_locale },
	{ "umask", { NULL }, is_umask },
};

/* NULL: there is none. */
static const struct dimension *find(const char *vary, const char **ret_value)
{
	const char *equals = strchrnul(vary, '=');
	size_t len = (size_t)(equals - vary);
	for (size_t i = 0; *equals && i < countof(dimensions); i++) {
		*ret_value = equals + 1;
		if (strlen(dimensions[i].name) == len && !memcmp(dimensions[i].name, vary, len))
			return &dimensions[i];
	}
	return NULL;
}

bool vary_exists(const char *vary)
{
	const char *value;
	const struct dimension *d = find(vary, &value);
	return d && d->exists(value);
}

static int apply(const char *vary, struct cell_spec *spec, struct strv *env, struct err *e)
{
	const char *value;
	const struct dimension *d = find(vary, &value);
	if (!d || !d->exists(value)) {
		err_set(e, EINVAL, "this cannot be varied here: %s", vary);
		return err_status(e, STATUS_DATA);
	}
	for (size_t i = 0; i < countof(d->variables) && d->variables[i]; i++)
		if (env_put(env, d->variables[i], value))
			return err_set(e, ENOMEM, "vary the environment: no memory");
	if (!d->variables[0]) {
		spec->umask_given = true;
		spec->umask = (mode_t)strtoul(value, NULL, 8);
	}
	return 0;
}

int vary_apply(const struct order *order, struct cell_spec *spec, struct strv *env, struct err *e)
{
	if (!order->vary.len)
		return 0;
	for (const char *const *line = spec->env; *line; line++)
		if (strv_add(env, *line))
			return err_set(e, ENOMEM, "vary the environment: no memory");
	int r = 0;
	for (size_t i = 0; i < order->vary.len && !r; i++)
		r = apply(order->vary.at[i], spec, env, e);
	spec->env = (const char *const *)env->at;
	return r;
}
