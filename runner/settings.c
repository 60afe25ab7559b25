#include "runner/settings.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "probe/adapter.h"
#include "runner/drive/lanes.h"
#include "runner/quantity.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/digest.h"
#include "sandbox/base/err.h"
#include "sandbox/cell.h"

#define LIST_MAX 1024 /* entries of one list */

static const char *const domain_names[] = { "files",   "env", "process", "descriptors", "processes",
					    "threads", "ipc", "network", "custom" };
static const char *const isolation_choices[] = { "full", "landlock" };
static const char *const network_names[] = { "none", "host" };
static const char *const tracker_names[] = { "auto", "fanotify", "scan" };
static const char *const project_mode_names[] = { "overlay", "copy" };
static const char *const prepare_names[] = { "auto", "again", "never" };
static const char *const caps_names[] = { "needed", "none", "setid" };
static const char *const color_names[] = { "auto", "always", "never" };
static const char *const fail_on_names[] = { "leak" };

#define A(suffix, member) .kind = KIND_##suffix, .at = offsetof(struct config, member)
#define AMONG(array)      .names = (array), .names_len = countof(array)
#define ABOUT(what, over) .about = (what), .overrules = (what) | (over)

const struct setting settings[] = {
	{ "isolation", "isolation", "full|landlock",
	  "landlock: less, on a host that refuses namespaces (default full)", A(CHOICE, isolation),
	  AMONG(isolation_choices), .group = "The cell", .of = CONFIG_SUITE | CONFIG_EXEC },
	{ "network", "network", "none|host",
	  "what the suite reaches; none: a loopback of its own (default)", A(CHOICE, network),
	  AMONG(network_names) },
	{ "forward", "forward", "PORT", "let a port of its loopback be that of your machine's",
	  A(PORTS, forwards) },
	{ "env", "env.set", "NAME=VALUE", "set a variable", A(VARIABLES, env) },
	{ "pass-env", "env.pass", "NAME", "pass a variable of yours on", A(NAMES, pass) },
	{ "expose", "expose", "PATH", "show a file or folder below your home, read-only",
	  A(PATHS, expose) },
	{ "state-dir", "state_dirs", "DIR", "where the suite may leave things",
	  A(PLACES, state_dirs) },
	{ "keep", NULL, "PATH[=DEST]", "bring out what is left at PATH, to DEST or the same place",
	  A(PATHS, keep), .once = true, .of = CONFIG_RUN | CONFIG_EXEC },
	{ "tty", NULL, NULL, "give the command a terminal of its own, for shells and editors",
	  A(BOOL, tty), .once = true, .of = CONFIG_EXEC },
	{ "timeout", "timeout", "TIME", "stop the command after 90s, 20m, 2h (default 0: never)",
	  A(DURATION, timeout_ms) },
	{ "grace", "grace", "TIME", "between asking it to stop and killing it (default 5s)",
	  A(DURATION, grace_ms) },
	{ "scratch", "scratch", "DIR", "keep all it writes in a folder on a disk, not in memory",
	  A(PATH, scratch) },
	{ "scratch-size", "scratch_size", "SIZE",
	  "limit of all it writes: 64M, 2G (default 0: half of the memory)", A(SIZE, scratch_bytes) },
	{ "allow-nested", "allow_nested", NULL, "let the suite make namespaces of its own",
	  A(BOOL, allow_nested) },
	{ "caps", "caps", "needed|none|setid",
	  "what root may: write a foreign project, nothing, become others", A(CHOICE, caps),
	  AMONG(caps_names) },
	{ "accept-reduced", "accept_reduced", "LIST",
	  "parts of the isolation that may be missing; all: any", A(WORDS, accept_reduced),
	  AMONG(isolation_names), .all = true },
	{ "project", NULL, "DIR", "the project; the command runs there when called from elsewhere",
	  A(PROJECT, project_asked) },
	{ "project-mode", "project_mode", "overlay|copy",
	  "copy: a copy of the project, for what an overlay cannot do", A(CHOICE, project_mode),
	  AMONG(project_mode_names) },
	{ "prepare", "prepare", "auto|again|never",
	  "run its commands of fumehood.json: when needed, again, not at all", A(STEPS, prepare),
	  AMONG(prepare_names), .of = CONFIG_SUITE | CONFIG_EXEC },

	{ "adapter", "adapter", "NAME", "the framework (default: found by its files)",
	  A(ADAPTER, adapter), .group = "What is looked at", .of = CONFIG_SUITE },
	{ "tracker", "tracker", "fanotify|scan",
	  "how changed files are found (default auto: the best the kernel has)", A(CHOICE, tracker),
	  AMONG(tracker_names), .of = CONFIG_SUITE },
	{ "without", "without", "LIST", "domains that are not looked at", A(WORDS, without),
	  AMONG(domain_names), .of = CONFIG_SUITE },
	{ "custom", "custom", "NAME=COMMAND",
	  "what a command prints, run in the cell, is part of the state", A(PROBES, custom),
	  .of = CONFIG_SUITE },
	{ "restore", "restore", NULL, "put files back after each test that leaves or changes them",
	  A(BOOL, restore), .of = CONFIG_SUITE },
	{ "ignore", "ignore", "yes|no", "no: no finding is ignored, whatever fumehood.json says",
	  A(IGNORES, ignore), .of = CONFIG_SUITE },
	{ "expected-state", "expected_state", "yes|no", "no: all that tests leave is told",
	  A(IGNORES, expected_state), .of = CONFIG_SUITE },
	{ "canary", "canary", NULL, "put no canary folders into tmp, home and cache",
	  A(BOOL, canary), .unless = true, .of = CONFIG_SUITE },

	{ "profile", "profile", "NAME", "how much is run: pr, nightly, release, critical",
	  A(CHOICE, plan.profile), AMONG(plan_profile_names), .group = "The orders",
	  ABOUT(ABOUT_PROFILE, ABOUT_SEEDS | ABOUT_ORDER), .of = CONFIG_CHECK },
	{ "seeds", "seeds", "N", "as many random orders: those of the seeds 1 to N (default 20)",
	  A(COUNT, plan.seeds), .most = PLAN_SEEDS_MAX, ABOUT(ABOUT_SEEDS, ABOUT_ORDER),
	  .of = CONFIG_CHECK },
	{ "seed", "seed", "LIST", "the random orders of these seeds: 17,42", A(SEEDS, plan.named),
	  ABOUT(ABOUT_SEEDS, ABOUT_ORDER), .of = CONFIG_CHECK },
	{ "bound", "bound", "PERCENT", "as many as leave a failure in at most so many orders: 3%",
	  A(BOUND, plan.bound), ABOUT(ABOUT_SEEDS, ABOUT_ORDER), .of = CONFIG_CHECK },
	{ "shuffle", "shuffle", "NAME",
	  "what makes them: shuffle (default), python, pairs, shuffle-modules and others",
	  A(CHOICE, plan.shuffle), AMONG(plan_shuffle_names), ABOUT(ABOUT_SHUFFLE, ABOUT_ORDER),
	  .of = CONFIG_CHECK },
	{ "order", NULL, "FILE", "the order of a file, a JSON list of ids, instead of them",
	  A(PATH, plan.order), ABOUT(ABOUT_ORDER, ABOUT_PROFILE | ABOUT_SHUFFLE | ABOUT_SEEDS),
	  .of = CONFIG_CHECK },
	{ "select", NULL, "touched[:BASE]",
	  "only the tests in files changed since BASE was left (default: the upstream)",
	  A(TEXT, plan.select), .of = CONFIG_CHECK },
	{ "isolated", "isolated", "auto|all|varied|none",
	  "which tests are run alone, too (default auto: all of up to 300)",
	  A(CHOICE, plan.isolated), AMONG(plan_isolated_names), .of = CONFIG_CHECK },
	{ "repeated", "repeated", NULL, "one more order, in which each test runs twice",
	  A(BOOL, plan.repeated), .of = CONFIG_CHECK },
	{ "parallel", "parallel", NULL, "one more run with pytest-xdist, where the suite has it",
	  A(BOOL, plan.parallel), .of = CONFIG_CHECK },
	{ "vary", "vary", "LIST", "vary hashseed, tz, locale, umask, each by itself",
	  A(WORDS, plan.vary), AMONG(plan_vary_names), .of = CONFIG_CHECK },
	{ "serial", "serial", "PATTERN=REASON",
	  "tests that stay together, as they are, in every order", A(SERIALS, plan.serial),
	  .of = CONFIG_CHECK },
	{ "budget", "budget", "TIME", "begin no order after 20m, 2h; the best come first",
	  A(DURATION, plan.budget_ms), .of = CONFIG_CHECK },
	{ "lanes", "lanes", "N", "cells at once (default: as many as processors)", A(COUNT, lanes),
	  .most = LANES_MAX, .of = CONFIG_CHECK | CONFIG_SHRINK, .letter = 'j', .once = true },
	{ "shrink", "shrink", NULL, "do not search for the tests that make others fail",
	  A(BOOL, shrink), .unless = true, .of = CONFIG_CHECK },
	{ "confirm", "confirm", "N", "how often it must repeat, of as many (default 3)",
	  A(COUNT, confirm), .most = 100, .of = CONFIG_CHECK | CONFIG_SHRINK },
	{ "all", NULL, NULL, "every test that depends on order, by what the run has seen",
	  A(BOOL, all), .of = CONFIG_SHRINK, .once = true },
	{ "resume", NULL, "RUN", "go on with a check that was cut short", A(TEXT, resume),
	  .of = CONFIG_CHECK, .once = true },
	{ "times", NULL, "N", "run it as often (default 1)", A(COUNT, times), .most = 1000,
	  .of = CONFIG_REPLAY, .once = true },

	{ "fail-on", "fail_on", "leak", "leaks fail the run, too (exit status 1)", A(WORDS, fail_on),
	  AMONG(fail_on_names), .group = "The exit status", .of = CONFIG_CHECK | CONFIG_RUN },
	{ "contain", "contain", NULL, "so does every write outside of the state folders",
	  A(BOOL, contain), .of = CONFIG_CHECK | CONFIG_RUN },
	{ "exit-zero", "exit_zero", NULL, "0 whatever is found", A(BOOL, exit_zero),
	  .of = CONFIG_CHECK | CONFIG_RUN },
	{ "bisect-exit", "bisect_exit", NULL, "statuses that git bisect run understands",
	  A(BOOL, bisect_exit), .of = CONFIG_CHECK | CONFIG_RUN },

	{ "show-values", "show_values", NULL, "values of variables, not only length and digest",
	  A(BOOL, show_values), .group = "What is told", .of = CONFIG_SUITE },
	{ "out", NULL, "DIR", "the run folder (default: a new one below ~/.local/state/fumehood)",
	  A(TEXT, out), .once = true, .of = CONFIG_CHECK | CONFIG_RUN },
	{ "echo", NULL, NULL, "show the suite's output as it comes", A(BOOL, echo), .once = true,
	  .of = CONFIG_RUN | CONFIG_REPLAY },
	{ "json", NULL, NULL, "the report as JSON", A(BOOL, json), .once = true, .of = CONFIG_ANY },
	{ "report", NULL, "FILE", "where the report goes; -: stdout (default: stderr)",
	  A(TEXT, report), .once = true, .of = CONFIG_EXEC },
	{ "quiet", NULL, NULL, "the verdict alone, no progress; exec: no report unless --report",
	  A(BOOL, quiet), .once = true, .of = CONFIG_ANY, .letter = 'q' },
	{ "verbose", NULL, NULL, "lists in full, and more about each entry", A(BOOL, verbose),
	  .once = true, .of = CONFIG_ANY, .letter = 'v' },
	{ "color", NULL, "auto|always|never", "auto: on a terminal, unless NO_COLOR is set",
	  A(CHOICE, color), .once = true, .of = CONFIG_ANY, AMONG(color_names) },
};

const size_t settings_len = countof(settings);

bool setting_is_of(const struct setting *s, enum config_command command)
{
	return (s->of ? s->of : CONFIG_CELL) & command;
}

static void *member(struct config *c, const struct setting *s)
{
	return (char *)c + s->at;
}

static int not_among(const char *text, const char *const *names, size_t n, struct err *e)
{
	char all[256] = "";
	size_t len = 0;
	for (size_t i = 0; i < n && len < sizeof(all); i++)
		len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s", i ? ", " : "",
					names[i]);
	int r = err_set(e, EINVAL, "\"%s\" is not among %s", text, all);
	const char *near = text_nearest(text, names, n);
	return near ? err_hint(e, "did you mean %s?", near) : r;
}

static int set_bool(struct config *c, const struct setting *s, const char *text, const char *base,
		    struct err *e)
{
	(void)base;
	(void)e;
	*(bool *)member(c, s) = text_eq(text, "true");
	return 0;
}

static int set_choice(struct config *c, const struct setting *s, const char *text, const char *base,
		      struct err *e)
{
	(void)base;
	for (size_t i = 0; i < s->names_len; i++) {
		if (!text_eq(text, s->names[i]))
			continue;
		*(int *)member(c, s) = (int)i;
		return 0;
	}
	return not_among(text, s->names, s->names_len, e);
}

static int set_duration(struct config *c, const struct setting *s, const char *text,
			const char *base, struct err *e)
{
	(void)base;
	return duration_parse(text, member(c, s), e);
}

static int set_size(struct config *c, const struct setting *s, const char *text, const char *base,
		    struct err *e)
{
	(void)base;
	return size_parse(text, member(c, s), e);
}

static int no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "no memory");
}

static int set_count(struct config *c, const struct setting *s, const char *text, const char *base,
		     struct err *e)
{
	(void)base;
	char *end;
	errno = 0;
	unsigned long number = strtoul(text, &end, 10);
	if (errno || !*text || text[strspn(text, "0123456789")] || number < 1 || number > s->most)
		return err_set(e, EINVAL, "\"%s\" is no whole number from 1 to %u", text, s->most);
	*(uint32_t *)member(c, s) = (uint32_t)number;
	return 0;
}

static int set_text(struct config *c, const struct setting *s, const char *text, const char *base,
		    struct err *e)
{
	(void)base;
	if (!text[0])
		return err_set(e, EINVAL, "the value is empty");
	char **to = member(c, s);
	free(*to);
	*to = strdup(text);
	return *to ? 0 : no_memory(e);
}

/* The absolute path that text means; the caller's. NULL: no memory. */
static char *resolve(const struct config *c, const char *text, const char *base)
{
	char *path = NULL;
	int len;
	if (text_starts(text, "~/") && c->home)
		len = asprintf(&path, "%s%s", c->home, text + 1);
	else if (text[0] == '/')
		len = asprintf(&path, "%s", text);
	else
		len = asprintf(&path, "%s/%s", base, text);
	return len < 0 ? NULL : path;
}

static int set_path(struct config *c, const struct setting *s, const char *text, const char *base,
		    struct err *e)
{
	cleanup_free char *path = text[0] ? resolve(c, text, base) : strdup("");
	return path ? set_text(c, s, path, base, e) : no_memory(e);
}

/* The word copy is short for --project-mode copy; a folder of that name is ./copy. */
static int set_project(struct config *c, const struct setting *s, const char *text,
		       const char *base, struct err *e)
{
	if (!text_eq(text, CONFIG_COPY))
		return set_text(c, s, text, base, e);
	c->project_mode = CONFIG_PROJECT_COPY;
	return 0;
}

/* The commands themselves are read by whoever reads fumehood.json. */
static int set_when(struct config *c, const struct setting *s, const char *text, const char *base,
		    struct err *e)
{
	(void)base;
	struct steps *steps = member(c, s);
	for (size_t i = 0; i < s->names_len; i++)
		if (text_eq(text, s->names[i])) {
			steps->when = (int)i;
			return 0;
		}
	return not_among(text, s->names, s->names_len, e);
}

static int set_probe(struct config *c, const struct setting *s, const char *text, const char *base,
		     struct err *e)
{
	(void)base;
	return probes_add(text, member(c, s), e);
}

/* The rules themselves are read by whoever reads fumehood.json. */
static int set_ignores(struct config *c, const struct setting *s, const char *text,
		       const char *base, struct err *e)
{
	(void)base;
	static const char *const names[] = { "yes", "no" };
	if (text_eq(text, "no"))
		ignores_done(member(c, s));
	else if (!text_eq(text, "yes"))
		return not_among(text, names, countof(names), e);
	return 0;
}

static int set_bound(struct config *c, const struct setting *s, const char *text, const char *base,
		     struct err *e)
{
	(void)base;
	return percent_parse(text, member(c, s), e);
}

static int set_serial(struct config *c, const struct setting *s, const char *text, const char *base,
		      struct err *e)
{
	(void)base;
	return serials_add(text, member(c, s), e);
}

static int set_adapter(struct config *c, const struct setting *s, const char *text,
		       const char *base, struct err *e)
{
	(void)s;
	(void)base;
	const char *names[16];
	size_t n = 0;
	for (; adapters[n]; n++) {
		assert(n < countof(names));
		names[n] = adapters[n]->name;
	}
	c->adapter = adapter_find(text);
	return c->adapter ? 0 : not_among(text, names, n, e);
}

static int set_list(struct config *c, const struct setting *s, const char *text, const char *base,
		    struct err *e)
{
	(void)base;
	struct strv *list = member(c, s);
	if (!text[0])
		return err_set(e, EINVAL, "an entry is empty");
	if (list->len == LIST_MAX)
		return err_set(e, E2BIG, "there are over %d entries", LIST_MAX);
	return strv_add(list, text) ? no_memory(e) : 0;
}

static int add_word(struct config *c, const struct setting *s, const char *word, struct err *e)
{
	return strv_has(member(c, s), word) ? 0 : set_list(c, s, word, NULL, e);
}

static int set_words(struct config *c, const struct setting *s, const char *text, const char *base,
		     struct err *e)
{
	(void)base;
	cleanup_free char *words = strdup(text);
	if (!words)
		return no_memory(e);
	int r = 0;
	char *rest = words;
	for (char *word; !r && (word = strsep(&rest, ","));) {
		bool all = s->all && text_eq(word, "all");
		bool known = all;
		for (size_t i = 0; i < s->names_len && !r; i++) {
			if (!all && !text_eq(word, s->names[i]))
				continue;
			known = true;
			r = add_word(c, s, s->names[i], e);
		}
		if (!known)
			return not_among(word, s->names, s->names_len, e);
	}
	return r;
}

/* As they stand, without what means nothing: "./var/" is "var". */
static int set_places(struct config *c, const struct setting *s, const char *text, const char *base,
		      struct err *e)
{
	cleanup_free char *kept = calloc(1, strlen(text) + 2);
	cleanup_free char *rest_of = strdup(text);
	if (!kept || !rest_of)
		return no_memory(e);
	char *to = kept;
	char *rest = rest_of;
	for (char *part; (part = strsep(&rest, "/"));) {
		if (text_eq(part, ".."))
			return err_set(e, EINVAL, "\"%s\" goes up: write an absolute path", text);
		if (*part && !text_eq(part, "."))
			to = stpcpy(stpcpy(to, to > kept || text[0] == '/' ? "/" : ""), part);
	}
	if (to == kept && *text)
		memcpy(kept, text[0] == '/' ? "/" : ".", 2);
	return set_list(c, s, kept, base, e);
}

static int set_paths(struct config *c, const struct setting *s, const char *text, const char *base,
		     struct err *e)
{
	cleanup_free char *path = text[0] ? resolve(c, text, base) : strdup("");
	return path ? set_list(c, s, path, base, e) : no_memory(e);
}

static int set_ports(struct config *c, const struct setting *s, const char *text, const char *base,
		     struct err *e)
{
	char number[8];
	unsigned long port = strtoul(text, NULL, 10);
	if (!*text || text[strspn(text, "0123456789")] || port < 1 || port > UINT16_MAX)
		return err_set(e, EINVAL, "\"%s\" is no port: a number from 1 to 65535", text);
	snprintf(number, sizeof(number), "%lu", port);
	return strv_has(member(c, s), number) ? 0 : set_list(c, s, number, base, e);
}

static int add_seed(struct config *c, const struct setting *s, const char *text, struct err *e)
{
	char number[20];
	char *end = NULL;
	unsigned long seed = strtoul(text, &end, 10);
	if (!*text || text[strspn(text, "0123456789")] || seed > PLAN_SEED_MAX)
		return err_set(e, EINVAL, "\"%s\" is no seed: a number from 0 to %ju", text,
			       (uintmax_t)PLAN_SEED_MAX);
	snprintf(number, sizeof(number), "%lu", seed);
	return add_word(c, s, number, e);
}

static int set_seeds(struct config *c, const struct setting *s, const char *text, const char *base,
		     struct err *e)
{
	(void)base;
	cleanup_free char *seeds = strdup(text);
	if (!seeds)
		return no_memory(e);
	int r = 0;
	char *rest = seeds;
	for (char *seed; !r && (seed = strsep(&rest, ","));)
		r = add_seed(c, s, seed, e);
	return r;
}

static int set_names(struct config *c, const struct setting *s, const char *text, const char *base,
		     struct err *e)
{
	if (strchr(text, '='))
		return err_set(e, EINVAL, "\"%s\" is no name of a variable", text);
	return set_list(c, s, text, base, e);
}

static int set_variables(struct config *c, const struct setting *s, const char *text,
			 const char *base, struct err *e)
{
	const char *equals = strchr(text, '=');
	if (!equals || equals == text) /* what stands there may be a secret: it is not told */
		return err_set(e, EINVAL, "a variable is written NAME=VALUE");
	struct strv *list = member(c, s);
	for (size_t i = 0; i < list->len; i++) {
		if (strncmp(list->at[i], text, (size_t)(equals - text) + 1) != 0)
			continue;
		char *fresh = strdup(text);
		if (!fresh)
			return no_memory(e);
		free(list->at[i]);
		list->at[i] = fresh;
		return 0;
	}
	return set_list(c, s, text, base, e);
}

static const struct {
	int (*set)(struct config *c, const struct setting *s, const char *text, const char *base,
		   struct err *e);
	enum setting_shape shape;
	const char *must_be;
} kinds[KIND_N] = {
	[KIND_BOOL] = { set_bool, SHAPE_BOOL, "true or false" },
	[KIND_CHOICE] = { set_choice, SHAPE_TEXT, "a text" },
	[KIND_DURATION] = { set_duration, SHAPE_TEXT, "a text such as \"90s\"" },
	[KIND_SIZE] = { set_size, SHAPE_TEXT, "a text such as \"64M\"" },
	[KIND_COUNT] = { set_count, SHAPE_NUMBER, "a number" },
	[KIND_TEXT] = { set_text, SHAPE_TEXT, "a text" },
	[KIND_PATH] = { set_path, SHAPE_TEXT, "a text" },
	[KIND_PROJECT] = { set_project, SHAPE_TEXT, "a text" },
	[KIND_ADAPTER] = { set_adapter, SHAPE_TEXT, "a text" },
	[KIND_PLACES] = { set_places, SHAPE_LIST, "a list of texts" },
	[KIND_WORDS] = { set_words, SHAPE_LIST, "a list of texts" },
	[KIND_PATHS] = { set_paths, SHAPE_LIST, "a list of texts" },
	[KIND_PORTS] = { set_ports, SHAPE_LIST, "a list of ports" },
	[KIND_NAMES] = { set_names, SHAPE_LIST, "a list of texts" },
	[KIND_VARIABLES] = { set_variables, SHAPE_OBJECT, "an object of texts" },
	[KIND_PROBES] = { set_probe, SHAPE_PROBES, "a list of objects with \"name\" and \"run\"" },
	[KIND_IGNORES] = { set_ignores, SHAPE_IGNORES, "a list of objects with a \"reason\"" },
	[KIND_BOUND] = { set_bound, SHAPE_TEXT, "a text such as \"3%\"" },
	[KIND_SEEDS] = { set_seeds, SHAPE_LIST, "a list of numbers" },
	[KIND_SERIALS] = { set_serial, SHAPE_SERIALS,
			   "a list of objects with \"tests\" and \"reason\"" },
	[KIND_STEPS] = { set_when, SHAPE_STEPS, "a list of objects with \"run\" and \"inputs\"" },
};

enum setting_shape setting_shape(const struct setting *s)
{
	return kinds[s->kind].shape;
}

const char *setting_must_be(const struct setting *s)
{
	return kinds[s->kind].must_be;
}

bool setting_takes_numbers(const struct setting *s)
{
	return s->kind == KIND_PORTS || s->kind == KIND_SEEDS;
}

int setting_set(struct config *c, const struct setting *s, const char *text, const char *base,
		struct err *e)
{
	return kinds[s->kind].set(c, s, text, base, e);
}

static bool owns_text(const struct setting *s)
{
	return s->kind == KIND_TEXT || s->kind == KIND_PATH || s->kind == KIND_PROJECT;
}

static bool is_strv(const struct setting *s)
{
	enum setting_shape shape = kinds[s->kind].shape;
	return shape == SHAPE_LIST || shape == SHAPE_OBJECT;
}

void settings_done(struct config *c)
{
	steps_done(&c->prepare);
	probes_done(&c->custom);
	ignores_done(&c->ignore);
	ignores_done(&c->expected_state);
	serials_done(&c->plan.serial);
	for (size_t i = 0; i < settings_len; i++) {
		if (owns_text(&settings[i]))
			free(*(char **)member(c, &settings[i]));
		else if (is_strv(&settings[i]))
			strv_done(member(c, &settings[i]));
	}
}

/* Those that may be overruled. */
void setting_clear(struct config *c, const struct setting *s)
{
	if (owns_text(s))
		free(take_ptr((char **)member(c, s)));
	else if (is_strv(s))
		strv_done(member(c, s));
	else if (s->kind == KIND_COUNT)
		*(uint32_t *)member(c, s) = 0;
	else if (s->kind == KIND_BOUND)
		*(double *)member(c, s) = 0;
	else if (s->kind == KIND_CHOICE)
		*(int *)member(c, s) = 0;
}

static cJSON *variables_json(const struct strv *list)
{
	cleanup_json cJSON *object = cJSON_CreateObject();
	for (size_t i = 0; object && i < list->len; i++) {
		const char *value = strchr(list->at[i], '=') + 1;
		char hex[DIGEST_HEX];
		cleanup_free char *name = strndup(list->at[i], (size_t)(value - 1 - list->at[i]));
		cJSON *told = name ? cJSON_AddObjectToObject(object, name) : NULL;
		digest_hex(digest_bytes(value, strlen(value)), hex);
		if (!told || !cJSON_AddNumberToObject(told, "len", (double)strlen(value)) ||
		    !cJSON_AddStringToObject(told, "digest", hex))
			return NULL;
	}
	return take_ptr(&object);
}

static cJSON *steps_json(const struct steps *steps)
{
	cleanup_json cJSON *object = cJSON_CreateObject();
	if (!object || !cJSON_AddStringToObject(object, "when", prepare_names[steps->when]) ||
	    !json_add(object, "run", json_texts((const char *const *)steps->run.at)) ||
	    !json_add(object, "inputs", json_texts((const char *const *)steps->inputs.at)))
		return NULL;
	return take_ptr(&object);
}

cJSON *setting_json(const struct config *c, const struct setting *s)
{
	const void *at = (const char *)c + s->at;
	const struct adapter *adapter;
	const char *text;
	const struct strv *list = at;
	switch (s->kind) {
	case KIND_BOOL:
		return cJSON_CreateBool(*(const bool *)at);
	case KIND_CHOICE:
		return cJSON_CreateString(s->names[*(const int *)at]);
	case KIND_COUNT:
	case KIND_DURATION:
		return cJSON_CreateNumber(*(const uint32_t *)at);
	case KIND_SIZE:
		return cJSON_CreateNumber((double)*(const uint64_t *)at);
	case KIND_TEXT:
	case KIND_PATH:
	case KIND_PROJECT:
		text = *(char *const *)at;
		return text ? cJSON_CreateString(text) : cJSON_CreateNull();
	case KIND_ADAPTER:
		adapter = *(const struct adapter *const *)at;
		return adapter ? cJSON_CreateString(adapter->name) : cJSON_CreateNull();
	case KIND_VARIABLES:
		return variables_json(list);
	case KIND_STEPS:
		return steps_json(at);
	case KIND_PROBES:
		return probes_json(at);
	case KIND_IGNORES:
		return ignores_json(at);
	case KIND_BOUND:
		return cJSON_CreateNumber(*(const double *)at);
	case KIND_SERIALS:
		return serials_json(at);
	case KIND_PLACES:
	case KIND_WORDS:
	case KIND_PATHS:
	case KIND_PORTS:
	case KIND_NAMES:
	case KIND_SEEDS:
		return json_texts((const char *const *)list->at);
	case KIND_N:
		break;
	}
	return NULL;
}
