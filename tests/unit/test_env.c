#include <errno.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/env.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/tap.h"

static const char *const caller[] = { "PATH=/home/ann/bin:/usr/bin",
				      "HOME=/somewhere/else",
				      "LD_PRELOAD=/lib/evil.so",
				      "PYTHONPATH=/home/ann/lib",
				      "https_proxy=http://proxy:3128",
				      "AWS_SECRET_ACCESS_KEY=key",
				      "TZ=Asia/Tokyo",
				      "LC_ALL=de_DE.UTF-8",
				      "EMPTY=",
				      "PYENV_ROOT=/opt/pyenv",
				      "no equals sign",
				      NULL };
static const char *const tools[] = { "PYENV_ROOT", NULL };
static const struct env_setting settings[] = {
	{ "PYTHONPATH", "/run/fumehood/adapter", ':' },
	{ "PYTHONHASHSEED", "0", 0 },
	{ "PYTEST_PLUGINS", "fumehood_pytest", ',' },
};

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const struct {
	const char *what;
	const char *const *pass, *const *set;
	const char *name, *value;
} cases[] = {
	{ "the visible path", NULL, NULL, "PATH", "/usr/bin" },
	{ "the home of getpwuid", NULL, NULL, "HOME", "/home/ann" },
	{ "a private cache", NULL, NULL, "XDG_CACHE_HOME", "/home/ann/.cache" },
	{ "a runtime folder", NULL, NULL, "XDG_RUNTIME_DIR", "/run/user/1001" },
	{ "a name", NULL, NULL, "LOGNAME", "ann" },
	{ "a temp folder", NULL, NULL, "TMPDIR", "/tmp" },
	{ "the zone of everybody", NULL, NULL, "TZ", "UTC" },
	{ "no locale but C.UTF-8", NULL, NULL, "LC_ALL", NULL },
	{ "no preload", NULL, NULL, "LD_PRELOAD", NULL },
	{ "no proxy", NULL, NULL, "https_proxy", NULL },
	{ "no secret", NULL, NULL, "AWS_SECRET_ACCESS_KEY", NULL },
	{ "where a tool is", NULL, NULL, "PYENV_ROOT", "/opt/pyenv" },
	{ "a setting", NULL, NULL, "PYTHONHASHSEED", "0" },
	{ "a setting alone", NULL, NULL, "PYTHONPATH", "/run/fumehood/adapter" },

	{ "passed", LIST("LD_PRELOAD"), NULL, "LD_PRELOAD", "/lib/evil.so" },
	{ "passed, empty", LIST("EMPTY"), NULL, "EMPTY", "" },
	{ "passed, not there", LIST("NOWHERE"), NULL, "NOWHERE", NULL },
	{ "passed over the base", LIST("TZ", "PATH"), NULL, "PATH", "/home/ann/bin:/usr/bin" },
	{ "set over a setting", NULL, LIST("PYTHONHASHSEED=7"), "PYTHONHASHSEED", "7" },
	{ "set over passed", LIST("TZ"), LIST("TZ=A", "TZ=B=C"), "TZ", "B=C" },
	{ "in front of passed", LIST("PYTHONPATH"), NULL, "PYTHONPATH",
	  "/run/fumehood/adapter:/home/ann/lib" },
	{ "in front of set", LIST("PYTHONPATH"), LIST("PYTHONPATH=x:y"), "PYTHONPATH",
	  "/run/fumehood/adapter:x:y" },
	/* an empty entry would be the working directory */
	{ "with its own sign between", NULL, LIST("PYTEST_PLUGINS=mine"), "PYTEST_PLUGINS",
	  "fumehood_pytest,mine" },
	{ "in front of nothing", NULL, LIST("PYTHONPATH="), "PYTHONPATH", "/run/fumehood/adapter" },
};

static struct env_ask ask_of(const char *const *pass, const char *const *set)
{
	return (struct env_ask){ .uid = 1001,
				 .user = "ann",
				 .home = "/home/ann",
				 .path = "/usr/bin",
				 .caller = caller,
				 .tools = tools,
				 .settings = settings,
				 .settings_len = countof(settings),
				 .pass = pass,
				 .set = set };
}

static void test_cases(void)
{
	for (size_t i = 0; i < countof(cases); i++) {
		const struct env_ask ask = ask_of(cases[i].pass, cases[i].set);
		cleanup(strv_done) struct strv env = STRV_NULL;
		int r = env_build(&ask, &env, NULL);
		const char *value = env_get((const char *const *)env.at, cases[i].name);
		tap_ok(r == 0 && text_eq(value, cases[i].value), "%s: %s=%s", cases[i].what,
		       cases[i].name, value ? value : "(none)");
	}
}

/* The whole of it: what is not asked for is not there, and nothing is there twice. */
static void test_whole(void)
{
	const char *const want[] = { "PATH=/usr/bin", "USER=root",   "LOGNAME=root",
				     "SHELL=/bin/sh", "TERM=dumb",   "LANG=C.UTF-8",
				     "TZ=UTC",        "TMPDIR=/tmp", "XDG_RUNTIME_DIR=/run/user/0" };
	const struct env_ask ask = { .user = "root", .path = "/usr/bin", .caller = caller };
	cleanup(strv_done) struct strv env = STRV_NULL;
	int r = env_build(&ask, &env, NULL);
	tap_ok(r == 0 && env.len == countof(want), "without a home: %zu variables", env.len);
	for (size_t i = 0; i < countof(want); i++)
		tap_ok(strv_has(&env, want[i]), "%s", want[i]);
}

/* Where nothing can stand in the place of /tmp and /run. */
static void test_top(void)
{
	const struct env_ask ask = {
		.user = "root", .path = "/usr/bin", .caller = caller, .top = "/top"
	};
	cleanup(strv_done) struct strv env = STRV_NULL;
	int r = env_build(&ask, &env, NULL);
	tap_ok(r == 0 && strv_has(&env, "TMPDIR=/top/tmp") &&
		       strv_has(&env, "XDG_RUNTIME_DIR=/top/run/user/0"),
	       "tmp and run below a folder");
}

static void test_faults(void)
{
	const struct env_ask ask = ask_of(LIST("TZ"), LIST("PYTHONPATH=x"));
	int rounds = 0;
	int wrong = 0;
	for (int n = 1; fault_walk_on(n); n++) {
		cleanup(strv_done) struct strv env = STRV_NULL;
		struct err e = ERR_NULL;
		int r = env_build(&ask, &env, &e);
		bool failed = fault_walk_hit();
		wrong += failed ? r != -ENOMEM || e.code != ENOMEM || env.at : r != 0;
		rounds++;
	}
	tap_ok(wrong == 0 && rounds > 15, "each allocation may fail (%d rounds)", rounds);

	struct err e = ERR_NULL;
	struct strv env = STRV_NULL;
	const struct env_ask bad = ask_of(NULL, LIST("NAME"));
	tap_ok(env_build(&bad, &env, &e) == -EINVAL && !env.at, "refused: %s", e.text);
}

int main(void)
{
	test_cases();
	test_whole();
	test_top();
	test_faults();
	return tap_done();
}
