#include <errno.h>

#include "probe/adapter.h"
#include "runner/drive/prepare.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/env.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/folder.h"
#include "tests/lib/tap.h"

static const struct adapter_file files[] = { { "plug.py", "pass\n", &"pass\n"[5] } };
static const char *const env[] = { "FIRST=1", "SEED=0", "PYCACHE=${CACHE}/py",
				   "PYTHONPATH=${PREPEND}:${ADAPTER}", NULL };
static const char *const state_dirs[] = { "${CACHE}/py", ".cache", "${TMP}/of-*", "*/__any__", NULL };
static const char *const command[] = { "python3", "-m", "frame", NULL };
static const struct adapter adapter = {
	.name = "frame",
	.command = command,
	.files = files,
	.files_len = countof(files),
	.env = env,
	.state_dirs = state_dirs,
};
static const char *const caller[] = { "PATH=/usr/bin:/bin", "TOKEN=x", "PYTHONPATH=lib", NULL };

/* A config by its command line, in the fixture's project. */
static int load(struct config *c, const char *const *args, int argc, struct err *e)
{
	return config_load(c, CONFIG_RUN, argc, args, e);
}

static const struct {
	const char *name, *value; /* a variable; "HOME/" stands for the fixture's home */
} variables[] = {
	{ "FUMEHOOD_SOCKET", "/run/fumehood/socket" },
	{ "FIRST", "1" },
	{ "SEED", "7" }, /* --env over the adapter's */
	{ "PYCACHE", "home/.cache/py" },
	{ "PYTHONPATH", "/run/fumehood/adapter:lib" },
	{ "TOKEN", NULL },
	{ "HOME", "home" },
};

static const struct {
	const char *path, *zone; /* relative ones lie in the fixture folder */
} zones[] = {
	{ "sub/__any__/x", "state" }, { "/tmp/x", "tmp" },
	{ "/var/tmp/x", "tmp" },      { "/dev/shm/x", "shm" },
	{ "/tmp/of-u/x", "state" },   { "home/x", "home" },
	{ "home/.cache/x", "cache" }, { "home/.cache/py/x", "state" },
	{ "project/x", "source" },    { "project/.cache/x", "state" },
	{ "project/var/x", "state" }, { "/srv/data/x", "state" },
	{ "/etc/x", "system" },
};

static const char *in_folder(const struct folder *f, const char *path)
{
	return path[0] == '/' ? path : folder_path(f, path);
}

static void test_spec(const struct folder *f)
{
	const char *const args[] = { "run",
				     "--env",
				     "SEED=7",
				     "--pass-env",
				     "PYTHONPATH",
				     "--state-dir",
				     "var",
				     "--state-dir",
				     "/srv/data",
				     "--no-canary",
				     "--tracker",
				     "scan",
				     "--caps",
				     "none",
				     "--network",
				     "host",
				     "--scratch-size",
				     "64M",
				     "--timeout",
				     "3s",
				     NULL };
	cleanup(config_done) struct config c = CONFIG_NULL;
	cleanup(prepared_done) struct prepared p = PREPARED_NULL;
	struct err e = ERR_NULL;
	int r = load(&c, args, countof(args) - 1, &e);
	r = r ? r : prepare(&c, &adapter, caller, &p, &e);
	if (!tap_ok(r == 0, "a cell is prepared %s", e.text))
		return;
	const struct cell_spec *s = &p.spec;
	tap_ok(s->no_canary && s->no_watch && s->caps == CELL_CAPS_NONE && !s->allow_nested &&
		       s->network == CELL_NETWORK_HOST && s->timeout_ms == 3000 &&
		       s->scratch_bytes == 64 << 20 && s->scratch_inodes == 16384,
	       "settings become the spec");
	tap_ok(text_eq(s->project, folder_path(f, "project")) && text_eq(s->cwd, s->project) &&
		       text_eq(s->home, folder_path(f, "home")) && s->argv &&
		       text_eq(s->argv[2], "frame"),
	       "without a command it is the adapter's");
	tap_ok(s->files_len == 1 && text_eq(s->files[0].name, "adapter/plug.py") &&
		       s->files[0].len == 5,
	       "files are brought");
	for (size_t i = 0; i < countof(variables); i++) {
		const char *value = env_get(s->env, variables[i].name);
		const char *expected = variables[i].value;
		if (expected && text_starts(expected, "home"))
			expected = folder_path(f, expected);
		tap_ok(text_eq(value, expected), "%s is %s", variables[i].name, value);
	}
	const struct vantage v = { .zones = p.zones, .zones_len = p.zones_len };
	for (size_t i = 0; i < countof(zones); i++) {
		const char *path = in_folder(f, zones[i].path);
		tap_ok(text_eq(zone_of(&v, path), zones[i].zone), "%s lies in %s", zones[i].path,
		       zone_of(&v, path));
	}
}

static void test_refusals(void)
{
	const char *const args[] = { "run", "--expose", "nowhere", "--", "true", NULL };
	cleanup(config_done) struct config c = CONFIG_NULL;
	cleanup(prepared_done) struct prepared p = PREPARED_NULL;
	struct err e = ERR_NULL;
	int r = load(&c, args, 5, &e);
	r = r ? r : prepare(&c, &adapter, caller, &p, &e);
	tap_ok(r < 0 && e.status == STATUS_USAGE, "what is exposed must be there: %s", e.text);
}

static void test_options(const struct folder *f)
{
	const char *const args[] = { "run",       "--forward",       "5432",      "--forward", "80",
				     "--scratch", "../disk/../disk", "--project", "copy",      NULL };
	cleanup(config_done) struct config c = CONFIG_NULL;
	cleanup(prepared_done) struct prepared p = PREPARED_NULL;
	struct err e = ERR_NULL;
	int r = load(&c, args, countof(args) - 1, &e);
	r = r ? r : prepare(&c, &adapter, caller, &p, &e);
	tap_ok(r == 0 && p.spec.forwards_len == 2 && p.spec.forwards[0] == 5432 &&
		       p.spec.forwards[1] == 80,
	       "ports %s", e.text);
	tap_ok(r == 0 && text_eq(p.spec.scratch_dir, folder_path(f, "disk")) && p.spec.project_copy,
	       "a scratch on disk, and a copy of the project");
}

static void test_excluded(void)
{
	static const struct {
		const char *args[6];
		const char *text;
	} cases[] = {
		{ { "run", "--scratch", "../disk", "--scratch-size", "1M" },
		  "--scratch-size is a limit" },
		{ { "run", "--scratch", "../disk", "--tracker", "fanotify" }, "--tracker fanotify" },
		{ { "run", "--scratch", "../none", "--tracker", "scan" }, "none: No such file" },
		{ { "run", "--scratch", ".", "--tracker", "scan" }, "lies in the project" },
		{ { "run", "--network", "host", "--forward", "80" }, "port 80 cannot be forwarded" },
	};
	for (size_t i = 0; i < countof(cases); i++) {
		cleanup(config_done) struct config c = CONFIG_NULL;
		cleanup(prepared_done) struct prepared p = PREPARED_NULL;
		struct err e = ERR_NULL;
		int r = load(&c, cases[i].args, 5, &e);
		r = r ? r : prepare(&c, &adapter, caller, &p, &e);
		tap_ok(r < 0 && e.status == STATUS_USAGE && strstr(e.text, cases[i].text),
		       "refused: %s", e.text);
	}
}

static void test_faults(void)
{
	const char *const args[] = { "run", "--env", "SEED=7", "--", "true", NULL };
	static const char *const few[] = { "PATH=/nowhere", NULL }; /* test_visible walks the rest */
	cleanup(config_done) struct config c = CONFIG_NULL;
	struct err e = ERR_NULL;
	int r = load(&c, args, 5, &e);
	int wrong = r != 0;
	int n = 1;
	for (; fault_walk_on(n); n++) {
		cleanup(prepared_done) struct prepared p = PREPARED_NULL;
		e = ERR_NULL;
		r = prepare(&c, &adapter, few, &p, &e);
		/* A tool that could not be looked at is left out; a failure must say why. */
		wrong += fault_walk_hit() && r < 0 && !e.text[0];
		wrong += r == 0 && !p.spec.env;
	}
	tap_ok(wrong == 0 && n > 20, "each of %d faults is told", n);
}

/* A command that nobody asks: no socket, no canaries, no mark. */
static void test_nobody(void)
{
	static const char *const args[] = { "exec", "--", "true", NULL };
	cleanup(config_done) struct config c = CONFIG_NULL;
	cleanup(prepared_done) struct prepared p = PREPARED_NULL;
	struct err e = ERR_NULL;
	int r = config_load(&c, CONFIG_EXEC, 3, args, &e);
	r = r ? r : prepare(&c, NULL, caller, &p, &e);
	tap_ok(r == 0 && p.spec.no_canary && p.spec.no_watch && !p.spec.files_len &&
		       !env_get(p.spec.env, "FUMEHOOD_SOCKET") && text_eq(p.spec.argv[0], "true"),
	       "without an adapter %s", e.text);
}

/* Without namespaces the private places have names below one folder, which is made and removed. */
static void test_bare(const struct folder *f)
{
	static const struct {
		const char *name, *below;
	} wanted[] = { { "TMPDIR", "/tmp" },
		       { "HOME", "/home" },
		       { "XDG_CACHE_HOME", "/home/.cache" },
		       { "FUMEHOOD_SOCKET", "/run/fumehood/socket" },
		       { "PYCACHE", "/home/.cache/py" } };
	const char *const args[] = { "run", "--isolation", "landlock", "--", "true", NULL };
	cleanup(config_done) struct config c = CONFIG_NULL;
	struct err e = ERR_NULL;
	setenv("TMPDIR", folder_path(f, "disk"), 1);
	struct prepared p = PREPARED_NULL;
	int r = load(&c, args, 5, &e);
	r = r ? r : prepare(&c, &adapter, caller, &p, &e);
	unsetenv("TMPDIR");
	const char *top = p.spec.top ? p.spec.top : "(none)";
	bool made = r == 0 && path_below(top, folder_path(f, "disk")) && access(top, F_OK) == 0;
	tap_ok(made, "a folder is made: %s", r ? e.text : top);
	if (made) {
		for (size_t i = 0; i < countof(wanted); i++) {
			const char *value = env_get(p.spec.env, wanted[i].name);
			tap_ok(value && path_below(value, top) &&
				       text_eq(value + strlen(top), wanted[i].below),
			       "%s=%s", wanted[i].name, value ? value : "(none)");
		}
		const struct vantage v = { .zones = p.zones, .zones_len = p.zones_len };
		cleanup_free char *file = NULL;
		r = asprintf(&file, "%s/project/x", top);
		tap_ok(r > 0 && text_eq(zone_of(&v, file), "source"), "the copy is source");
		tap_ok(path_below(p.spec.cwd, top) && text_eq(p.spec.project_seen, p.spec.cwd),
		       "it is where the command starts: %s", p.spec.cwd);
	}
	prepared_done(&p);
	tap_ok(rmdir(folder_path(f, "disk")) == 0, "and nothing is left of it");
}

int main(void)
{
	cleanup(folder_done) struct folder f;
	folder_make(&f);
	folder_put(&f, "home", NULL);
	folder_put(&f, "disk", NULL);
	folder_put(&f, "project/.git/HEAD", "");
	setenv("HOME", folder_path(&f, "home"), 1);
	if (chdir(folder_path(&f, "project")))
		return 1;
	test_spec(&f);
	test_refusals();
	test_options(&f);
	test_excluded();
	test_faults();
	test_nobody();
	test_bare(&f);
	return chdir("/") | tap_done();
}
