#include <limits.h>
#include <string.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/cell_spec.h"
#include "tests/lib/tap.h"

static const char *const argv[] = { "true", NULL };
static const char *const env[] = { NULL };

static struct cell_spec good(void)
{
	return (struct cell_spec){
		.uid = 1000,
		.gid = 1000,
		.home = "/home/u",
		.project = "/work/p",
		.cwd = "/work/p/sub",
		.argv = argv,
		.env = env,
		.scratch_bytes = 1,
		.scratch_inodes = 1,
		.pid_max = 301,
	};
}

static void accepts(const struct cell_spec *spec, const char *name)
{
	struct err e = ERR_NULL;
	tap_ok(cell_spec_check(spec, &e) == 0, "%s %s", name, e.text);
}

static void refuses(const struct cell_spec *spec, const char *text)
{
	struct err e = ERR_NULL;
	int r = cell_spec_check(spec, &e);
	tap_ok(r < 0 && e.code == -r && e.status == STATUS_USAGE && strstr(e.text, text),
	       "refused: %s (said: %.200s)", text, e.text);
}

static void test_projects(void)
{
	static const struct {
		const char *project, *text; /* NULL: accepted */
	} cases[] = {
		{ "/tmp/p", NULL },
		{ "/home/u/p", NULL },
		{ "/home/u2", NULL },
		{ "/", "is the whole machine" },
		{ "/home/u", "is the home folder, or holds it" },
		{ "/home", "is the home folder, or holds it" },
		{ "/tmp", "has for itself" },
		{ "/var", "has for itself" },
		{ "/run", "has for itself" },
		{ "/dev/shm/p", "is the kernel's" },
		{ "/proc/self", "is the kernel's" },
		{ "/sys/p", "is the kernel's" },
		{ "p", "is no absolute path" },
		{ "", "is no absolute path" },
		{ "/work/../p", "is no absolute path" },
		{ "/work/./p", "is no absolute path" },
		{ "/work//p", "is no absolute path" },
		{ "/work/p/", "is no absolute path" },
		{ "/work/...", NULL },
	};
	for (size_t i = 0; i < countof(cases); i++) {
		struct cell_spec spec = good();
		spec.project = cases[i].project;
		if (cases[i].text)
			refuses(&spec, cases[i].text);
		else
			accepts(&spec, cases[i].project);
	}
}

static void test_long_path(void)
{
	char path[PATH_MAX + 1];
	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[PATH_MAX - 1] = '\0';
	struct cell_spec spec = good();
	spec.project = path;
	accepts(&spec, "a path of 4095 bytes");
	path[PATH_MAX - 1] = 'x';
	path[PATH_MAX] = '\0';
	refuses(&spec, "a path of 4096 bytes");
	spec = good();
	spec.cwd = path;
	refuses(&spec, "working directory is a path of 4096 bytes");
}

static void test_rest(void)
{
	struct cell_spec spec = good();
	accepts(&spec, "a good spec");
	spec.home = NULL;
	accepts(&spec, "a caller without a home");
	spec.home = "/";
	refuses(&spec, "can be no private folder");
	spec = good();
	spec.argv = env;
	refuses(&spec, "no command");
	spec = good();
	spec.cwd = "sub";
	refuses(&spec, "working directory sub");
	spec = good();
	spec.git_dir = ".git";
	refuses(&spec, "git dir .git");
	spec = good();
	spec.scratch_bytes = 0;
	refuses(&spec, "no room: 0 bytes, 1 inodes");
	spec = good();
	spec.scratch_inodes = 0;
	refuses(&spec, "no room: 1 bytes, 0 inodes");
	spec = good();
	spec.pid_max = 300;
	refuses(&spec, "300 processes are too few");
}

static void test_forwards(void)
{
	static const uint16_t ports[CELL_FORWARDS_MAX + 1] = { 80, 5432, 80 };
	struct cell_spec spec = good();
	spec.forwards = ports;
	spec.forwards_len = 2;
	accepts(&spec, "two ports");
	spec.network = CELL_NETWORK_HOST;
	refuses(&spec, "port 80 cannot be forwarded into the host's own network");
	spec.network = CELL_NETWORK_NONE;
	spec.forwards_len = 3;
	refuses(&spec, "port 80 is to be forwarded twice");
	spec.forwards_len = CELL_FORWARDS_MAX + 1;
	refuses(&spec, "17 ports are to be forwarded: at most 16 can be");
}

static void test_caps(void)
{
	struct cell_spec spec = good();
	spec.caps = CELL_CAPS_SETID;
	refuses(&spec, "it is for root");
	spec.uid = 0;
	accepts(&spec, "root may become others");
	spec.allow_nested = true;
	refuses(&spec, "together with --allow-nested");
	spec.allow_nested = false;
	spec.isolation = CELL_ISOLATION_LANDLOCK;
	refuses(&spec, "it needs namespaces");
}

static void test_lists(void)
{
	static const struct {
		const char *source, *target, *text;
	} binds[] = {
		{ "/opt/tool", "/home/u/tool", NULL },
		{ "tool", "/home/u/tool", "is no absolute path" },
		{ "/opt/tool", "/home/u/../tool", "is no absolute path" },
		{ "/opt/tool", "/", "is no absolute path" },
		{ "/opt/tool", "/run", "would cover what is ours" },
		{ "/opt/tool", "/run/fumehood/socket", "would cover what is ours" },
		{ "/opt/tool", "/run/other", NULL },
	};
	for (size_t i = 0; i < countof(binds); i++) {
		const struct cell_bind bind = { binds[i].source, binds[i].target };
		struct cell_spec spec = good();
		spec.binds = &bind;
		spec.binds_len = 1;
		if (binds[i].text)
			refuses(&spec, binds[i].text);
		else
			accepts(&spec, binds[i].target);
	}
	static const struct {
		const char *name;
		bool good;
	} files[] = { { "a", true },     { "a/b", true }, { "..a", true },
		      { "", false },     { "/a", false }, { "../a", false },
		      { "a/..", false }, { ".", false },  { "a//b", false } };
	for (size_t i = 0; i < countof(files); i++) {
		const struct cell_file file = { files[i].name, "", 0 };
		struct cell_spec spec = good();
		spec.files = &file;
		spec.files_len = 1;
		if (files[i].good)
			accepts(&spec, files[i].name);
		else
			refuses(&spec, "leaves /run/fumehood");
	}
	static const char *const hidden[] = { "secret" };
	struct cell_spec spec = good();
	spec.hidden = hidden;
	spec.hidden_len = 1;
	refuses(&spec, "hidden path secret");
}

int main(void)
{
	test_forwards();
	test_projects();
	test_long_path();
	test_rest();
	test_caps();
	test_lists();
	return tap_done();
}
