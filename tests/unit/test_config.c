#include <errno.h>

#include "runner/config.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/folder.h"
#include "tests/lib/tap.h"

#define ARGS_MAX 12

#define X50       "XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX"
#define LONG_NAME X50 X50 X50 X50 X50 X50 /* of a variable: there is no bound on them */

/* What the command line and fumehood.json give: a piece of config_json(), or an error. */
static const struct {
	const char *file; /* NULL: there is none */
	const char *args[ARGS_MAX];
	const char *has;
	const char *error;
	const char *hint;
	int status;
} cases[] = {
	{ NULL, { "--", "pytest" }, "\"network\":\"none\"" },
	{ NULL, { "--network", "host", "--", "pytest" }, "\"network\":\"host\"" },
	{ NULL, { "--network=host" }, "\"network\":\"host\"" },
	{ NULL, { "--env=A=1", "--env", "B=x=y" }, "\"env.set\":{\"A\":{\"len\":1,\"digest\":\"" },
	{ NULL, { "--env", LONG_NAME "=1" }, "\"env.set\":{\"" LONG_NAME "\":{\"len\":1," },
	{ NULL,
	  { "--env", "A=1", "--env", "A=22", "--env", "AB=333" },
	  "\"env.set\":{\"A\":{\"len\":2," },
	{ NULL, { "--no-canary" }, "\"canary\":false" },
	{ NULL, { "--no-canary", "--canary" }, "\"canary\":true" },
	{ NULL, { "--exit-zero", "--no-exit-zero" }, "\"exit_zero\":false" },
	{ NULL, { "--timeout", "90s" }, "\"timeout\":90000" },
	{ NULL, {}, "\"grace\":5000" },
	{ NULL, { "--scratch-size", "64M" }, "\"scratch_size\":67108864" },
	{ NULL,
	  { "--accept-reduced", "net,time", "--accept-reduced", "net" },
	  "\"accept_reduced\":[\"net\",\"time\"]" },
	{ NULL, { "--fail-on", "leak" }, "\"fail_on\":[\"leak\"]" },
	{ NULL,
	  { "--state-dir", "var", "--state-dir", "/tmp/x" },
	  "\"state_dirs\":[\"var\",\"/tmp/x\"]" },
	{ NULL,
	  { "--state-dir", "./var//a/", "--state-dir", "/tmp/x-*/" },
	  "\"state_dirs\":[\"var/a\",\"/tmp/x-*\"]" },
	{ NULL, { "--state-dir", "./", "--state-dir", "//" }, "\"state_dirs\":[\".\",\"/\"]" },
	{ NULL,
	  { "--state-dir", "../x" },
	  NULL,
	  "--state-dir: \"../x\" goes up: write an absolute path",
	  "",
	  64 },
	{ NULL, { "--state-dir", "" }, NULL, "--state-dir: an entry is empty", "", 64 },
	{ NULL, { "--expose", "/etc/a" }, "\"expose\":[\"/etc/a\"]" },
	{ NULL, { "--forward", "5432", "--forward=80" }, "\"forward\":[\"5432\",\"80\"]" },
	{ NULL, { "--forward", "080", "--forward=80" }, "\"forward\":[\"80\"]" },
	{ NULL,
	  { "--forward", "pg" },
	  NULL,
	  "--forward: \"pg\" is no port: a number from 1 to 65535",
	  "",
	  64 },
	{ NULL, { "--forward", "0" }, NULL, "--forward: \"0\" is no port", "", 64 },
	{ NULL, { "--forward", "65536" }, NULL, "--forward: \"65536\" is no port", "", 64 },
	{ NULL, { "--forward", "-1" }, NULL, "--forward: \"-1\" is no port", "", 64 },
	{ NULL,
	  { "--forward", "18446744073709551617" },
	  NULL,
	  "is no port: a number from 1 to 65535",
	  "",
	  64 },
	{ NULL, { "--scratch", "/big" }, "\"scratch\":\"/big\"" },
	{ NULL, { "--scratch", "" }, NULL, "--scratch: the value is empty", "", 64 },
	{ NULL, { "--project", "copy" }, "\"project\":null,\"project_mode\":\"copy\"" },
	{ NULL,
	  { "--project=copy", "--project", ".." },
	  "\"project\":\"..\",\"project_mode\":\"copy\"" },
	{ NULL, { "--project=copy", "--project-mode", "overlay" }, "\"project_mode\":\"overlay\"" },
	{ NULL, { "-q", "--json" }, "\"json\":true,\"quiet\":true" },
	{ NULL, { "--tracker", "scan" }, "\"tracker\":\"scan\"" },

	/* what is not understood */
	{ NULL,
	  { "--netwrok", "none" },
	  NULL,
	  "there is no option --netwrok",
	  "did you mean --network?",
	  64 },
	{ NULL, { "--no-canery" }, NULL, "there is no option --no-canery", "did you mean --no-canary?", 64 },
	{ NULL, { "--no-network" }, NULL, "there is no option --no-network", NULL, 64 },
	{ NULL, { "--" }, "\"adapter\":null" },
	{ NULL,
	  { "pytest" },
	  NULL,
	  "\"pytest\" stands where an option should",
	  "the command comes after --: fumehood run -- pytest",
	  64 },
	{ NULL, { "-x" }, NULL, "there is no option -x", "", 64 },
	{ NULL, { "-" }, NULL, "\"-\" stands where an option should", NULL, 64 },
	{ NULL, { "--network" }, NULL, "--network needs a value: none|host", "", 64 },
	{ NULL, { "--network", "--", "pytest" }, NULL, "--network needs a value: none|host", "", 64 },
	{ NULL,
	  { "--network", "hots" },
	  NULL,
	  "--network: \"hots\" is not among none, host",
	  "did you mean host?",
	  64 },
	{ NULL,
	  { "--accept-reduced", "net,tiem" },
	  NULL,
	  "--accept-reduced: \"tiem\" is not among user, mount",
	  "did you mean time?",
	  64 },
	{ NULL, { "--json=yes" }, NULL, "--json takes no value", "", 64 },
	{ NULL,
	  { "--timeout", "90" },
	  NULL,
	  "--timeout: \"90\" has no unit; write 500ms, 90s, 20m or 2h",
	  "",
	  64 },
	{ NULL, { "--env", "SECRET" }, NULL, "--env: a variable is written NAME=VALUE", "", 64 },
	{ NULL, { "--pass-env", "A=1" }, NULL, "--pass-env: \"A=1\" is no name of a variable", "", 64 },
	{ NULL, { "--adapter", "" }, NULL, "--adapter: \"\" is not among ", NULL, 64 },
	{ NULL, { "--out", "" }, NULL, "--out: the value is empty", "", 64 },
	{ NULL, { "-qv" }, NULL, "--quiet and --verbose exclude each other", "", 64 },
	{ NULL, { "--nonsense", "--bisect-exit" }, NULL, "there is no option --nonsense", NULL, 64 },

	/* the file, and the command line over it */
	{ "{\"version\": 1, \"network\": \"host\"}", {}, "\"network\":\"host\"" },
	{ "{\"version\": 1, \"network\": \"host\"}", { "--network", "none" }, "\"network\":\"none\"" },
	{ "{\"version\": 1, \"env\": {\"set\": {\"A\": \"1\"}}}",
	  { "--env", "A=333" },
	  "\"env.set\":{\"A\":{\"len\":3," },
	{ "{\"version\": 1, \"env\": {\"pass\": [\"A\"]}}",
	  { "--pass-env", "B" },
	  "\"env.pass\":[\"A\",\"B\"]" },
	{ "{\"version\": 1, \"expose\": [\"~/x\"]}", {}, "home/x\"]" },
	{ "{\"version\": 1, \"expose\": [\"conf\"]}", {}, "project/conf\"]" },
	{ "{\"version\": 1, \"expose\": [\"conf\"]}", { "--expose", "here" }, "project/src/here\"]" },
	{ "\xef\xbb\xbf// ours\r\n{\"version\": 1, /* fast */ \"timeout\": \"2h\",\r\n\"canary\": false}\r\n",
	  {},
	  "\"timeout\":7200000" },
	{ "{\"version\": 1, \"scratch\": \"big\"}", {}, "project/big\"" },
	{ "{\"version\": 1, \"project_mode\": \"copy\"}", {}, "\"project_mode\":\"copy\"" },
	{ "{\"version\": 1, \"forward\": [5432, \"80\"]}",
	  { "--forward", "5432" },
	  "\"forward\":[\"5432\",\"80\"]" },
	{ "{\"version\": 1, \"forward\": [5432.5]}",
	  {},
	  NULL,
	  "fumehood.json:1:16: \"forward\": \"5432.5\" is no port: a number from 1 to 65535",
	  "",
	  65 },
	{ "{\"version\": 1, \"forward\": 80}", {}, NULL, "\"forward\" must be a list of ports", "", 65 },
	{ "{\"version\": 1, \"canary\": false}", { "--canary" }, "\"canary\":true" },
	{ "{}",
	  {},
	  NULL,
	  "fumehood.json:1:1: there is no \"version\"",
	  "this fumehood reads \"version\": 1",
	  65 },
	{ "{\"version\": 2}",
	  {},
	  NULL,
	  "fumehood.json:1:2: the version is not known",
	  "this fumehood reads \"version\": 1",
	  65 },
	{ "[]", {}, NULL, "fumehood.json:1:1: the file must hold an object", "", 65 },
	{ "{\n \"version\": 1,\n oops}", {}, NULL, "fumehood.json:3:2: this is no JSON", "", 65 },
	{ "{\"version\": 1,\n  \"netwrok\": \"host\"}",
	  {},
	  NULL,
	  "fumehood.json:2:3: unknown key \"netwrok\"",
	  "did you mean \"network\"?",
	  65 },
	{ "{\"version\": 1, \"env\": {\n\"sett\": {}}}",
	  {},
	  NULL,
	  "fumehood.json:2:1: unknown key \"sett\"",
	  "did you mean \"set\"?",
	  65 },
	{ "{\"version\": 1, \"env.set\": {}}",
	  {},
	  NULL,
	  "fumehood.json:1:16: unknown key \"env.set\"",
	  NULL,
	  65 },
	{ "{\"version\": 1, \"env\": \"A=1\"}",
	  {},
	  NULL,
	  "fumehood.json:1:16: \"env\" must be an object",
	  "",
	  65 },
	{ "{\"version\": 1, \"network\": true}",
	  {},
	  NULL,
	  "fumehood.json:1:16: \"network\" must be a text",
	  "",
	  65 },
	{ "{\"version\": 1, \"network\": \"hots\"}",
	  {},
	  NULL,
	  "fumehood.json:1:16: \"network\": \"hots\" is not among none, host",
	  "did you mean host?",
	  65 },
	{ "{\"version\": 1, \"timeout\": 90}",
	  {},
	  NULL,
	  "fumehood.json:1:16: \"timeout\" must be a text such as \"90s\"",
	  "",
	  65 },
	{ "{\"version\": 1, \"canary\": \"no\"}",
	  {},
	  NULL,
	  "fumehood.json:1:16: \"canary\" must be true or false",
	  "",
	  65 },
	{ "{\"version\": 1, \"canary\": null}",
	  {},
	  NULL,
	  "fumehood.json:1:16: \"canary\" must be true or false",
	  "",
	  65 },
	{ "{\"version\": 1, \"state_dirs\": \"var\"}",
	  {},
	  NULL,
	  "fumehood.json:1:16: \"state_dirs\" must be a list of texts",
	  "",
	  65 },
	{ "{\"version\": 1, \"state_dirs\": [\"a\", 1]}",
	  {},
	  NULL,
	  "fumehood.json:1:16: \"state_dirs\" must be a list of texts",
	  "",
	  65 },
	{ "{\"version\": 1, \"env\": {\"set\": {\"A\": 1}}}",
	  {},
	  NULL,
	  "fumehood.json:1:32: \"env.set\" must be an object of texts",
	  "",
	  65 },
	{ "{\"version\": 1, \"out\": \"x\"}",
	  {},
	  NULL,
	  "fumehood.json:1:16: unknown key \"out\"",
	  NULL,
	  65 },
	{ "{\"version\": 1, \"custom\": [{\"name\": \"rows\", \"run\": [\"psql\", \"-c\", \"x\"], \"timeout\": \"2s\"}]}",
	  { "--custom", "n=wc -l x" },
	  "\"custom\":[{\"name\":\"rows\",\"run\":[\"/bin/sh\",\"-c\",\"psql -c x\"],\"timeout\":2000},{\"name\":\"n\",\"run\":[\"/bin/sh\",\"-c\",\"wc -l x\"],\"timeout\":10000}]" },
	{ "{\"version\": 1, \"custom\": [{\"name\": \"rows\", \"run\": \"a | b\"}]}",
	  {},
	  "\"run\":[\"/bin/sh\",\"-c\",\"a | b\"]" },
	{ NULL, { "--custom", "rows" }, NULL, "--custom: a probe is written NAME=COMMAND", "", 64 },
	{ NULL, { "--custom", "=x" }, NULL, "--custom: the name of a probe has 1 to 64 bytes", "", 64 },
	{ NULL, { "--custom", "a=x", "--custom", "a=y" }, NULL, "two probes are called \"a\"", "", 64 },
	{ "{\"version\": 1, \"custom\": \"x\"}",
	  {},
	  NULL,
	  "\"custom\" must be a list of objects with \"name\" and \"run\"",
	  "",
	  65 },
	{ "{\"version\": 1, \"custom\": [\"x\"]}",
	  {},
	  NULL,
	  "a probe must be an object with \"name\" and \"run\"",
	  "",
	  65 },
	{ "{\"version\": 1, \"custom\": [{\"name\": \"x\"}]}",
	  {},
	  NULL,
	  "a probe has no \"run\"",
	  NULL,
	  65 },
	{ "{\"version\": 1, \"custom\": [{\"run\": \"x\"}]}",
	  {},
	  NULL,
	  "a probe has no \"name\"",
	  NULL,
	  65 },
	{ "{\"version\": 1, \"custom\": [{\"name\": \"x\", \"run\": \"x\", \"timeot\": \"1s\"}]}",
	  {},
	  NULL,
	  "unknown key \"timeot\"",
	  "did you mean \"timeout\"?",
	  65 },
	{ "{\"version\": 1, \"custom\": [{\"name\": \"x\", \"run\": []}]}",
	  {},
	  NULL,
	  "\"run\" must be a command: a text for a shell, or a list of words",
	  "",
	  65 },
	{ "{\"version\": 1, \"custom\": [{\"name\": \"x\", \"run\": \"x\", \"timeout\": 5}]}",
	  {},
	  NULL,
	  "\"timeout\" must be a text such as \"5s\"",
	  "",
	  65 },
	{ "{\"version\": 1, \"custom\": [{\"name\": \"x\", \"run\": \"x\", \"timeout\": \"0\"}]}",
	  {},
	  NULL,
	  "\"timeout\": the suite waits for a probe: 0 is no limit",
	  "",
	  65 },
	{ NULL, { "--prepare", "again" }, "\"prepare\":{\"when\":\"again\",\"run\":[],\"inputs\":[]}" },
	{ NULL, { "--prepare", "npm" }, NULL, "--prepare: \"npm\" is not among auto, again, never", "", 64 },
	{ "{\"version\": 1, \"prepare\": [{\"run\": [\"a\", \"b c\", \"it's\", \"x=1\"], \"inputs\": [\"l\", \"*.t\"]},"
	  "{\"run\": \"make | tee x\", \"inputs\": [\"l\"]}]}",
	  {},
	  "\"run\":[\"a 'b c' 'it'\\\\''s' 'x=1'\",\"make | tee x\"],\"inputs\":[\"l\",\"*.t\"]" },
	{ "{\"version\": 1, \"prepare\": \"npm ci\"}",
	  {},
	  NULL,
	  "\"prepare\" must be a list of objects with \"run\" and \"inputs\"",
	  "",
	  65 },
	{ "{\"version\": 1, \"prepare\": [\"npm ci\"]}",
	  {},
	  NULL,
	  "a step of \"prepare\" must be an object with \"run\" and \"inputs\"",
	  "",
	  65 },
	{ "{\"version\": 1, \"prepare\": [{\"run\": \"npm ci\"}]}",
	  {},
	  NULL,
	  "a step of \"prepare\" has no \"inputs\"",
	  NULL,
	  65 },
	{ "{\"version\": 1, \"prepare\": [{\"inputs\": []}]}",
	  {},
	  NULL,
	  "a step of \"prepare\" has no \"run\"",
	  NULL,
	  65 },
	{ "{\"version\": 1, \"prepare\": [{\"run\": \"x\", \"input\": []}]}",
	  {},
	  NULL,
	  "unknown key \"input\"",
	  "did you mean \"inputs\"?",
	  65 },
	{ "{\"version\": 1, \"prepare\": [{\"run\": [], \"inputs\": []}]}",
	  {},
	  NULL,
	  "\"run\" must be a command: a text for a shell, or a list of words",
	  "",
	  65 },
	{ "{\"version\": 1, \"prepare\": [{\"run\": [1], \"inputs\": []}]}",
	  {},
	  NULL,
	  "\"run\" must be a list of texts",
	  "",
	  65 },
	{ "{\"version\": 1, \"prepare\": [{\"run\": \"x\", \"inputs\": \"lock\"}]}",
	  {},
	  NULL,
	  "\"inputs\" must be a list of texts: the files that decide what the command makes",
	  "",
	  65 },
	{ "{\"version\": 1, \"prepare\": [{\"run\": \"x\", \"inputs\": [\"../lock\"]}]}",
	  {},
	  NULL,
	  "\"inputs\" must be files below the project",
	  "",
	  65 },
	{ "{\"version\": 1, \"version\": 1}",
	  {},
	  NULL,
	  "fumehood.json:1:16: the key \"version\" stands here twice",
	  NULL,
	  65 },
};

static int load(const struct folder *f, size_t i, struct config *c, struct err *e)
{
	const char *argv[ARGS_MAX + 2] = { "run" };
	int argc = 1;
	for (size_t k = 0; cases[i].args[k]; k++)
		argv[argc++] = cases[i].args[k];
	if (cases[i].file)
		folder_put(f, "project/fumehood.json", cases[i].file);
	else
		unlink(folder_path(f, "project/fumehood.json"));
	return config_load(c, CONFIG_RUN, argc, argv, e);
}

/* The table says how a text begins or ends, as paths stand in the middle. */
static bool ends_or_starts(const char *text, const char *part)
{
	size_t len = strlen(text);
	return strncmp(text, part, strlen(part)) == 0 ||
	       (len >= strlen(part) && strcmp(text + len - strlen(part), part) == 0);
}

static void test_cases(const struct folder *f)
{
	for (size_t i = 0; i < countof(cases); i++) {
		cleanup(config_done) struct config c = CONFIG_NULL;
		struct err e = ERR_NULL;
		int r = load(f, i, &c, &e);
		if (cases[i].error) {
			tap_ok(r < 0 && ends_or_starts(e.text, cases[i].error) &&
				       e.status == cases[i].status &&
				       (!cases[i].hint || text_eq(e.hint, cases[i].hint)),
			       "case %zu: %s (%s) %d", i, e.text, e.hint, e.status);
			continue;
		}
		cleanup_json cJSON *json = config_json(&c, CONFIG_RUN);
		cleanup_free char *line = json_line(json);
		const char *found = line ? strstr(line, cases[i].has) : NULL;
		tap_ok(r == 0 && found, "case %zu: %s %s", i, cases[i].has,
		       r       ? e.text
		       : found ? ""
			       : line);
	}
}

static void test_command(const struct folder *f)
{
	cleanup(config_done) struct config c = CONFIG_NULL;
	struct err e = ERR_NULL;
	unlink(folder_path(f, "project/fumehood.json"));
	const char *argv[] = { "run", "-q", "--", "make", "--", "test", NULL };
	int r = config_load(&c, CONFIG_RUN, 6, argv, &e);
	tap_ok(r == 0 && text_eq(c.command[0], "make") && text_eq(c.command[1], "--") &&
		       text_eq(c.command[2], "test") && !c.command[3],
	       "the command is what follows the first --");
	tap_ok(text_eq(c.project.path, folder_path(f, "project")) && c.quiet, "and the rest is ours");

	cleanup(config_done) struct config bad = CONFIG_NULL;
	const char *bad_argv[] = { "run", "--nonsense", "--bisect-exit", NULL };
	r = config_load(&bad, CONFIG_RUN, 3, bad_argv, &e);
	tap_ok(r < 0 && bad.bisect_exit, "an error before --bisect-exit knows of it");
}

/* Each command has its own options; the file is one for all. */
static void test_commands(const struct folder *f)
{
	cleanup(config_done) struct config c = CONFIG_NULL;
	struct err e = ERR_NULL;
	folder_put(f, "project/fumehood.json", "{\"version\": 1, \"fail_on\": [\"leak\"]}");
	const char *argv[] = { "exec", "--fail-on=leak", "--", "make", NULL };
	int r = config_load(&c, CONFIG_EXEC, 4, argv, &e);
	tap_ok(r < 0 && text_eq(e.text, "--fail-on is no option of exec") &&
		       text_eq(e.hint, "it is one of: check, run"),
	       "another command's option: %s (%s)", e.text, e.hint);

	cleanup(config_done) struct config plain = CONFIG_NULL;
	const char *near[] = { "exec", "--fail-no=leak", NULL };
	r = config_load(&plain, CONFIG_EXEC, 2, near, &e);
	tap_ok(r < 0 && !strstr(e.hint, "fail-on"), "which is not proposed: %s", e.hint);

	cleanup(config_done) struct config file = CONFIG_NULL;
	const char *bare[] = { "exec", "--", "make", NULL };
	r = config_load(&file, CONFIG_EXEC, 3, bare, &e);
	cleanup_json cJSON *json = config_json(&file, CONFIG_EXEC);
	tap_ok(r == 0 && file.fail_on.len == 1 && json && !cJSON_HasObjectItem(json, "fail_on"),
	       "the file may hold what belongs to other commands");

	cleanup(config_done) struct config words = CONFIG_NULL;
	const char *replay[] = { "replay", "runs/1", "--network", "host", "s17", NULL };
	r = config_load(&words, CONFIG_REPLAY, 5, replay, &e);
	tap_ok(r == 0 && words.words.len == 2 && text_eq(words.words.at[1], "s17") &&
		       words.network && !words.command[0],
	       "words may stand among the options of a command that takes them");

	static const struct {
		const char *argv[4];
		unsigned lanes;
		bool quiet;
		const char *error;
	} lanes[] = {
		{ { "check", "-j4" }, 4, false, "" },
		{ { "check", "-qj", "4" }, 4, true, "" },
		{ { "check", "--lanes=256" }, 256, false, "" },
		{ { "check", "-j" }, 0, false, "-j needs a value: N" },
		{ { "check", "-j", "--" }, 0, false, "-j needs a value: N" },
		{ { "check", "-j0" }, 0, false, "--lanes: \"0\" is no whole number from 1 to 256" },
		{ { "check", "-j4q" }, 0, false, "--lanes: \"4q\" is no whole number from 1 to 256" },
		{ { "run", "-j4" }, 0, false, "-j is no option of run" },
	};
	for (size_t i = 0; i < countof(lanes); i++) {
		cleanup(config_done) struct config j = CONFIG_NULL;
		e = ERR_NULL;
		int argc = lanes[i].argv[2] ? 3 : 2;
		r = config_load(&j, text_eq(lanes[i].argv[0], "run") ? CONFIG_RUN : CONFIG_CHECK,
				argc, lanes[i].argv, &e);
		tap_ok(text_eq(e.text, lanes[i].error) && (r < 0) == (e.code != 0) &&
			       (r || (j.lanes == lanes[i].lanes && j.quiet == lanes[i].quiet)),
		       "a letter with a value, case %zu: %s", i, e.text);
	}

	cleanup(config_done) struct config cells = CONFIG_NULL;
	const char *diff[] = { "diff", "a", "b", "--network=host", NULL };
	r = config_load(&cells, CONFIG_DIFF, 4, diff, &e);
	tap_ok(r < 0 && text_eq(e.text, "--network is no option of diff"),
	       "who makes no cell takes no option of one: %s", e.text);
}

/* Which orders a check runs: by its options, and by fumehood.json. */
static const struct {
	const char *file; /* what stands in it beside the version; "": nothing */
	const char *args[6];
	const char *has;
	const char *error;
} orders[] = {
	{ "", { "--seeds", "5" }, "\"seeds\":5,\"seed\":[],\"bound\":0," },
	{ "",
	  { "--seed=17,042,17", "--seed", "9007199254740991" },
	  "\"seed\":[\"17\",\"42\",\"9007199254740991\"]" },
	{ "", { "--bound", "3%" }, "\"bound\":0.03" },
	{ "", { "--profile=pr", "--shuffle=python" }, "\"profile\":\"pr\"" },
	{ "",
	  { "--vary", "tz,umask", "--repeated", "--isolated=varied" },
	  "\"isolated\":\"varied\",\"repeated\":true,\"parallel\":false,\"vary\":[\"tz\",\"umask\"]" },
	{ "",
	  { "--serial", "tests/db/*=one database = one user" },
	  "\"serial\":[{\"tests\":\"tests/db/*\",\"reason\":\"one database = one user\"}]" },
	{ "", { "--order", "o.json", "--budget=20m" }, "project/src/o.json\",\"select\":null" },
	{ "", { "--select=touched:main" }, "\"select\":\"touched:main\"" },
	{ "\"seeds\": 5, \"seed\": []", { NULL }, "\"seeds\":5" },
	{ "\"seed\": [9007199254740991, \"7\"]", { NULL }, "\"seed\":[\"9007199254740991\",\"7\"]" },
	{ "\"serial\": [{\"tests\": \"a*\", \"reason\": \"b\"}]",
	  { "--serial=c=d" },
	  "\"serial\":[{\"tests\":\"a*\",\"reason\":\"b\"},{\"tests\":\"c\",\"reason\":\"d\"}]" },

	/* the command line overrules what decides the same */
	{ "\"seeds\": 5", { "--bound=3%" }, "\"seeds\":0,\"seed\":[],\"bound\":0.03" },
	{ "\"seed\": [5]", { "--seed=7" }, "\"seed\":[\"7\"]" },
	{ "\"bound\": \"3%\"", { "--profile=pr" }, "\"bound\":0," },
	{ "\"profile\": \"pr\"", { "--seeds=7" }, "\"profile\":\"pr\",\"seeds\":7" },
	{ "\"profile\": \"pr\", \"shuffle\": \"pairs\", \"seeds\": 4",
	  { "--order=o" },
	  "\"profile\":\"default\",\"seeds\":0,\"seed\":[],\"bound\":0,\"shuffle\":\"auto\",\"order\":\"" },

	{ "", { "--seeds=5", "--seed=7" }, NULL, "--seeds, --seed and --bound exclude each other" },
	{ "\"seeds\": 5, \"bound\": \"3%\"",
	  { NULL },
	  NULL,
	  "--seeds, --seed and --bound exclude each other" },
	{ "", { "--order=o", "--shuffle=pairs" }, NULL, "--order excludes --seeds" },
	{ "",
	  { "--seed=9007199254740992" },
	  NULL,
	  "--seed: \"9007199254740992\" is no seed: a number from 0 to 9007199254740991" },
	{ "", { "--seed=18446744073709551617" }, NULL, "--seed: \"18446744073709551617\" is no seed" },
	{ "", { "--seed=1,,2" }, NULL, "--seed: \"\" is no seed" },
	{ "", { "--seed=-1" }, NULL, "--seed: \"-1\" is no seed" },
	{ "", { "--seeds=0" }, NULL, "--seeds: \"0\" is no whole number from 1 to 10000" },
	{ "", { "--bound=3" }, NULL, "--bound: \"3\" is no share of all orders; write 3% or 0.5%" },
	{ "", { "--bound=0%" }, NULL, "--bound: \"0%\" is no share" },
	{ "", { "--bound=100%" }, NULL, "--bound: \"100%\" is no share" },
	{ "", { "--bound=nan%" }, NULL, "--bound: \"nan%\" is no share" },
	{ "", { "--bound=1e1%" }, NULL, "--bound: \"1e1%\" is no share" },
	{ "", { "--select=changed" }, NULL, "--select is one of touched, touched:BASE" },
	{ "", { "--select=touched:-x" }, NULL, "--select is one of touched, touched:BASE" },
	{ "", { "--serial=x" }, NULL, "--serial: a serial block is written PATTERN=REASON" },
	{ "", { "--serial=x= " }, NULL, "--serial: \"reason\" is empty: why must they stay together?" },
	{ "\"serial\": [{\"tests\": \"a\"}]",
	  { NULL },
	  NULL,
	  "fumehood.json:1:16: a block of \"serial\" has no \"reason\"" },
	{ "\"serial\": [{\"tests\": \"\", \"reason\": \"x\"}]",
	  { NULL },
	  NULL,
	  "fumehood.json:1:16: \"tests\" is empty" },
	{ "\"serial\": {}",
	  { NULL },
	  NULL,
	  "fumehood.json:1:16: \"serial\" must be a list of objects with \"tests\" and \"reason\"" },
	{ "\"seed\": [1.5]", { NULL }, NULL, "fumehood.json:1:16: \"seed\": \"1.5\" is no seed" },
	{ "\"select\": \"touched\"", { NULL }, NULL, "fumehood.json:1:16: unknown key \"select\"" },
};

static void test_orders(const struct folder *f)
{
	for (size_t i = 0; i < countof(orders); i++) {
		cleanup(config_done) struct config c = CONFIG_NULL;
		struct err e = ERR_NULL;
		char text[256];
		const char *argv[8] = { "check" };
		int argc = 1;
		for (; orders[i].args[argc - 1]; argc++)
			argv[argc] = orders[i].args[argc - 1];
		snprintf(text, sizeof(text), "{\"version\": 1%s%s}", orders[i].file[0] ? ", " : "",
			 orders[i].file);
		folder_put(f, "project/fumehood.json", text);
		int r = config_load(&c, CONFIG_CHECK, argc, argv, &e);
		cleanup_json cJSON *json = config_json(&c, CONFIG_CHECK);
		cleanup_free char *line = json_line(json);
		if (orders[i].has)
			tap_ok(!r && strstr(line, orders[i].has), "%s: %s", orders[i].has,
			       r ? e.text : "");
		else
			tap_ok(r < 0 && strstr(e.text, orders[i].error), "%s", e.text);
	}
}

/* What one call said, said again by run.json. */
static const struct {
	const char *again, *own; /* words parted by spaces */
	const char *said, *error;
} agains[] = {
	{ "--network=host --expose=x", "--out y", "--network=host --expose=CWD/x", "" },
	{ "--no-canary --state-dir=var", "--network host",
	  "--no-canary --state-dir=var --network=host", "" },
	{ "--env=A=1 --quiet --color=never", "--env A=2 --env B=1", "", "" },
	{ "--env=A=1 --timeout=5m", "", "",
	  "A was given by --env when this ran, and its value is not kept" },
};

static int split(const char *words, const char *first, struct strv *ret)
{
	int r = strv_add(ret, first);
	cleanup_free char *all = strdup(words);
	char *rest = all;
	for (char *word; !r && (word = strsep(&rest, " "));)
		if (*word)
			r = strv_add(ret, word);
	return r;
}

static void test_again(const struct folder *f)
{
	unlink(folder_path(f, "project/fumehood.json"));
	for (size_t i = 0; i < countof(agains); i++) {
		cleanup(strv_done) struct strv first = STRV_NULL;
		cleanup(strv_done) struct strv second = STRV_NULL;
		cleanup(config_done) struct config c = CONFIG_NULL;
		cleanup(config_done) struct config again = CONFIG_NULL;
		cleanup_json cJSON *run = cJSON_CreateObject();
		struct err e = ERR_NULL;
		split(agains[i].again, "run", &first);
		split(agains[i].own, "run", &second);
		int r = config_load(&c, CONFIG_RUN, (int)first.len, (const char *const *)first.at,
				    &e);
		tap_ok(r == 0 && config_add_again(&c, run), "case %zu is said: %s", i, e.text);
		json_add(run, "command", json_texts((const char *const[]){ "make", "test", NULL }));
		json_add_name(run, "project", c.project.path);
		json_add_name(run, "cwd", c.project.cwd);
		if (chdir("/"))
			return;
		r = config_load_again(&again, CONFIG_RUN, run, (int)second.len,
				      (const char *const *)second.at, &e);
		r = chdir(folder_path(f, "project/src")) ? -1 : r;
		tap_ok(text_eq(e.text, agains[i].error) && (r < 0) == (e.code != 0),
		       "case %zu: %s (%s)", i, e.text, e.hint);
		if (r)
			continue;
		tap_ok(text_eq(again.command[1], "test") &&
			       text_eq(again.project.cwd, folder_path(f, "project/src")),
		       "case %zu: the command, and where it starts", i);
		cleanup(strv_done) struct strv said = STRV_NULL;
		split(agains[i].said, "run", &said);
		int wrong = again.said.len + 1 != said.len;
		for (size_t at = 0; at < again.said.len && !wrong; at++) {
			const char *want = said.at[at + 1];
			const char *cwd = strstr(want, "CWD");
			cleanup_free char *whole = NULL;
			if (cwd && asprintf(&whole, "%.*s%s%s", (int)(cwd - want), want,
					    folder_path(f, "project/src"), cwd + 3) < 0)
				return;
			wrong += !text_eq(again.said.at[at], whole ? whole : want);
		}
		tap_ok(!wrong, "case %zu: is said again with what is new", i);
	}
	cleanup(config_done) struct config c = CONFIG_NULL;
	cleanup_json cJSON *old = cJSON_CreateObject();
	struct err e = ERR_NULL;
	const char *argv[] = { "run", NULL };
	int r = config_load_again(&c, CONFIG_RUN, old, 1, argv, &e);
	tap_ok(r == -EINVAL && e.status == STATUS_DATA, "a run.json that does not say it: %s",
	       e.text);
}

static void test_faults(const struct folder *f)
{
	folder_put(f, "project/fumehood.json",
		   "{\"version\": 1, \"env\": {\"set\": {\"A\": \"1\"}}, \"state_dirs\": [\"x\"]}");
	const char *argv[] = { "run",      "--env",      "A=2", "--expose",
			       "y",        "--out",      "z",   "--accept-reduced",
			       "net,time", "--pass-env", "Q",   NULL };
	int wrong = 0;
	int n = 1;
	for (; fault_walk_on(n); n++) {
		cleanup(config_done) struct config c = CONFIG_NULL;
		struct err e = ERR_NULL;
		int r = config_load(&c, CONFIG_RUN, countof(argv) - 1, argv, &e);
		wrong += fault_walk_hit() ? r == 0 || !e.text[0] : r != 0;
	}
	tap_ok(wrong == 0 && n > 20, "each of %d faults is told", n);
}

static void test_help(enum config_command command, const char *name)
{
	cleanup_free char *help = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&help, &len);
	config_help(command, out);
	fclose(out);
	struct setting_name row;
	for (size_t i = 0; config_setting(i, &row); i++) {
		char flag[64];
		snprintf(flag, sizeof(flag), "%s ", row.flag);
		bool due = !row.only[0] || strstr(row.only, name);
		tap_ok(!!strstr(help, flag) == due, "the help of %s has %s%s", name,
		       due ? "" : "not ", row.flag);
	}
	int wide = 0;
	for (char *line = strtok(help, "\n"); line; line = strtok(NULL, "\n"))
		wide += strlen(line) > 100;
	tap_ok(wide == 0, "no line of the help is wider than 100 columns");
}

int main(void)
{
	cleanup(folder_done) struct folder f;
	folder_make(&f);
	folder_put(&f, "home", NULL);
	folder_put(&f, "project/.git/HEAD", "");
	folder_put(&f, "project/src", NULL);
	setenv("HOME", folder_path(&f, "home"), 1);
	if (chdir(folder_path(&f, "project/src")))
		return 1;
	test_cases(&f);
	test_command(&f);
	test_commands(&f);
	test_orders(&f);
	test_again(&f);
	test_faults(&f);
	test_help(CONFIG_RUN, "run");
	test_help(CONFIG_EXEC, "exec");
	return chdir("/") | tap_done();
}
