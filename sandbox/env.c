#include "sandbox/env.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

const struct env_verdict env_verdicts[] = {
	{ "LD_PRELOAD", "it puts code of the host into every process of the suite" },
	{ "LD_AUDIT", "it puts code of the host into every process of the suite" },
	{ "LD_LIBRARY_PATH", "with it the suite would test other libraries than on a plain host" },
	{ "BASH_ENV", "every bash of the suite would run that file first" },
	{ "ENV", "every sh of the suite would run that file first" },
	{ "PYTHONPATH", "imports would depend on who runs the suite" },
	{ "PYTHONHOME", "imports would depend on who runs the suite" },
	{ "PYTHONSTARTUP", "it is for people at a prompt" },
	{ "PYTEST_ADDOPTS", "it changes which tests run, and how" },
	{ "NODE_OPTIONS", "it changes how every node of the suite runs" },
	{ "NODE_PATH", "imports would depend on who runs the suite" },
	{ "PERL5LIB", "imports would depend on who runs the suite" },
	{ "PERL5OPT", "it changes how every perl of the suite runs" },
	{ "RUBYLIB", "imports would depend on who runs the suite" },
	{ "RUBYOPT", "it changes how every ruby of the suite runs" },
	{ "JAVA_TOOL_OPTIONS", "it changes how every java of the suite runs" },
	{ "http_proxy", "no proxy can be reached from the cell" },
	{ "https_proxy", "no proxy can be reached from the cell" },
	{ "HTTP_PROXY", "no proxy can be reached from the cell" },
	{ "HTTPS_PROXY", "no proxy can be reached from the cell" },
	{ "ALL_PROXY", "no proxy can be reached from the cell" },
	{ "SSH_AUTH_SOCK", "the agent's socket is not in the cell" },
	{ "DBUS_SESSION_BUS_ADDRESS", "the bus is not in the cell" },
	{ "DISPLAY", "the screen is not in the cell" },
	{ "WAYLAND_DISPLAY", "the screen is not in the cell" },
	{ "LC_ALL", "the locale is C.UTF-8 for everybody" },
};
const size_t env_verdicts_len = countof(env_verdicts);

/* The value in a line NAME=VALUE when it is name's, else NULL. */
static const char *value_of(const char *line, const char *name)
{
	size_t len = strlen(name);
	return strncmp(line, name, len) == 0 && line[len] == '=' ? line + len + 1 : NULL;
}

const char *env_get(const char *const *env, const char *name)
{
	for (; env && *env; env++) {
		const char *value = value_of(*env, name);
		if (value)
			return value;
	}
	return NULL;
}

int env_put(struct strv *v, const char *name, const char *value)
{
	for (size_t i = 0; i < v->len; i++) {
		if (!value_of(v->at[i], name))
			continue;
		free(v->at[i]);
		memmove(&v->at[i], &v->at[i + 1], (v->len - i) * sizeof(*v->at));
		v->len--;
		break;
	}
	return strv_addf(v, "%s=%s", name, value);
}

static int add_base(struct strv *v, const struct env_ask *ask)
{
	const char *top = ask->top ? ask->top : "";
	const struct {
		const char *name, *value;
	} fixed[] = {
		{ "PATH", ask->path },  { "USER", ask->user }, { "LOGNAME", ask->user },
		{ "SHELL", "/bin/sh" }, { "TERM", "dumb" }, /* nobody sits at it: output is a log */
		{ "LANG", "C.UTF-8" },  { "TZ", "UTC" },
	};
	static const struct {
		const char *name, *below;
	} homes[] = {
		{ "HOME", "" },
		{ "XDG_CACHE_HOME", "/.cache" },
		{ "XDG_CONFIG_HOME", "/.config" },
		{ "XDG_DATA_HOME", "/.local/share" },
		{ "XDG_STATE_HOME", "/.local/state" },
	};
	int r = 0;
	for (size_t i = 0; i < countof(fixed) && r == 0; i++)
		r = strv_addf(v, "%s=%s", fixed[i].name, fixed[i].value);
	if (r == 0)
		r = strv_addf(v, "TMPDIR=%s/tmp", top);
	for (size_t i = 0; ask->home && i < countof(homes) && r == 0; i++)
		r = strv_addf(v, "%s=%s%s", homes[i].name, ask->home, homes[i].below);
	return r < 0 ? r : strv_addf(v, "XDG_RUNTIME_DIR=%s/run/user/%u", top, ask->uid);
}

static int add_passed(struct strv *v, const char *const *names, const char *const *caller)
{
	for (; names && *names; names++) {
		const char *value = env_get(caller, *names);
		int r = value ? env_put(v, *names, value) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_set(struct strv *v, const char *const *lines)
{
	for (; lines && *lines; lines++) {
		const char *equals = strchr(*lines, '=');
		if (!equals)
			return -EINVAL;
		cleanup_free char *name = strndup(*lines, (size_t)(equals - *lines));
		int r = name ? env_put(v, name, equals + 1) : -ENOMEM;
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_settings(struct strv *v, const struct env_ask *ask, bool in_front)
{
	for (size_t i = 0; i < ask->settings_len; i++) {
		const struct env_setting *setting = &ask->settings[i];
		if ((setting->between != 0) != in_front)
			continue;
		const char *old =
			in_front ? env_get((const char *const *)v->at, setting->name) : NULL;
		cleanup_free char *joined = NULL;
		if (old && *old &&
		    asprintf(&joined, "%s%c%s", setting->value, setting->between, old) < 0)
			return -ENOMEM;
		int r = env_put(v, setting->name, joined ? joined : setting->value);
		if (r < 0)
			return r;
	}
	return 0;
}

int env_build(const struct env_ask *ask, struct strv *ret, struct err *e)
{
	cleanup(strv_done) struct strv v = STRV_NULL;
	int r = add_base(&v, ask);
	if (r == 0)
		r = add_passed(&v, ask->tools, ask->caller);
	if (r == 0)
		r = add_settings(&v, ask, false);
	if (r == 0)
		r = add_passed(&v, ask->pass, ask->caller);
	if (r == 0)
		r = add_set(&v, ask->set);
	if (r == 0)
		r = add_settings(&v, ask, true);
	if (r == -EINVAL)
		return err_set(e, EINVAL, "env: a variable to set has no \"=\"");
	if (r < 0)
		return err_set(e, -r, "env: no memory");
	*ret = take(&v, STRV_NULL);
	return 0;
}
