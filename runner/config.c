#include "runner/config.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/adapter.h"
#include "runner/quantity.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/digest.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "sandbox/base/json.h"
#include "sandbox/cell.h"

#define CONFIG_VERSION  1
#define CONFIG_LEN_MAX  (1 << 20) /* bytes of a fumehood.json */
#define CONFIG_LIST_MAX 1024      /* entries of one list */

static const char *const domain_names[] = { "files",       "env",       "process",
					    "descriptors", "processes", "threads" };
static const char *const network_names[] = { "none", "host" };
static const char *const tracker_names[] = { "auto", "fanotify", "scan" };
static const char *const caps_names[] = { "needed", "none" };
static const char *const color_names[] = { "auto", "always", "never" };
static const char *const fail_on_names[] = { "leak" };

enum kind {
	KIND_BOOL,
	KIND_CHOICE,   /* one of names: its index */
	KIND_DURATION, /* milliseconds */
	KIND_SIZE,     /* bytes */
	KIND_TEXT,
	KIND_ADAPTER,
	KIND_PLACES,    /* below the project, or absolute */
	KIND_WORDS,     /* some of names */
	KIND_PATHS,     /* relative ones count from where they are written */
	KIND_NAMES,     /* of variables */
	KIND_VARIABLES, /* NAME=VALUE */
	KIND_N,
};

struct setting {
	const char *flag;
	const char *key; /* in fumehood.json, with dots; NULL: the command line alone */
	const char *arg; /* what the help calls the value; NULL: none */
	const char *help;
	size_t at; /* of the member */
	const char *const *names;
	size_t names_len;
	const char *group; /* heading above this row and those that follow */
	enum kind kind;
	char letter;
	bool unless; /* KIND_BOOL: on by default, so that the help shows --no-FLAG */
};
#define A(suffix, member) .kind = KIND_##suffix, .at = offsetof(struct config, member)
#define AMONG(array)      .names = (array), .names_len = countof(array)

static const struct setting settings[] = {
	{ "network", "network", "none|host",
	  "what the suite reaches; none: a loopback of its own (default)", A(CHOICE, network),
	  AMONG(network_names), .group = "The cell" },
	{ "env", "env.set", "NAME=VALUE", "set a variable", A(VARIABLES, env) },
	{ "pass-env", "env.pass", "NAME", "pass a variable of yours on", A(NAMES, pass) },
	{ "expose", "expose", "PATH", "show a file or folder below your home, read-only",
	  A(PATHS, expose) },
	{ "state-dir", "state_dirs", "DIR", "where the suite may leave things",
	  A(PLACES, state_dirs) },
	{ "timeout", "timeout", "TIME", "stop the command after 90s, 20m, 2h (default 0: never)",
	  A(DURATION, timeout_ms) },
	{ "grace", "grace", "TIME", "between asking it to stop and killing it (default 5s)",
	  A(DURATION, grace_ms) },
	{ "scratch-size", "scratch_size", "SIZE",
	  "limit of all it writes: 64M, 2G (default 0: half of the memory)", A(SIZE, scratch_bytes) },
	{ "allow-nested", "allow_nested", NULL, "let the suite make namespaces of its own",
	  A(BOOL, allow_nested) },
	{ "caps", "caps", "needed|none", "root in somebody else's project: what writing there needs",
	  A(CHOICE, caps), AMONG(caps_names) },
	{ "accept-reduced", "accept_reduced", "LIST", "parts of the isolation that may be missing",
	  A(WORDS, accept_reduced), AMONG(isolation_names) },
	{ "project", NULL, "DIR", "the project; the command runs there when called from elsewhere",
	  A(TEXT, project_asked) },

	{ "adapter", "adapter", "NAME", "the framework (default: found by its files)",
	  A(ADAPTER, adapter), .group = "What is looked at" },
	{ "tracker", "tracker", "fanotify|scan",
	  "how changed files are found (default auto: the best the kernel has)", A(CHOICE, tracker),
	  AMONG(tracker_names) },
	{ "without", "without", "LIST", "domains that are not looked at", A(WORDS, without),
	  AMONG(domain_names) },
	{ "canary", "canary", NULL, "put no canary folders into tmp, home and cache",
	  A(BOOL, canary), .unless = true },

	{ "fail-on", "fail_on", "leak", "leaks fail the run, too (exit status 1)",
	  A(WORDS, fail_on), AMONG(fail_on_names), .group = "The exit status" },
	{ "exit-zero", "exit_zero", NULL, "0 whatever is found", A(BOOL, exit_zero) },
	{ "bisect-exit", "bisect_exit", NULL, "statuses that git bisect run understands",
	  A(BOOL, bisect_exit) },

	{ "show-values", "show_values", NULL, "values of variables, not only length and digest",
	  A(BOOL, show_values), .group = "What is told" },
	{ "out", NULL, "DIR", "the run folder (default: a new one below ~/.local/state/fumehood)",
	  A(TEXT, out) },
	{ "echo", NULL, NULL, "show the suite's output as it comes", A(BOOL, echo) },
	{ "json", NULL, NULL, "the summary as JSON", A(BOOL, json) },
	{ "quiet", NULL, NULL, "the verdict alone, and no progress", A(BOOL, quiet), .letter = 'q' },
	{ "verbose", NULL, NULL, "lists in full, and more about each entry", A(BOOL, verbose),
	  .letter = 'v' },
	{ "color", NULL, "auto|always|never", "auto: on a terminal, unless NO_COLOR is set",
	  A(CHOICE, color), AMONG(color_names) },
};

/* Where a value is written, for what counts from there. */
struct place {
	const char *base; /* folder of relative paths */
};

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

static int set_bool(struct config *c, const struct setting *s, const char *text,
		    const struct place *place, struct err *e)
{
	(void)place;
	(void)e;
	*(bool *)member(c, s) = text_eq(text, "true");
	return 0;
}

static int set_choice(struct config *c, const struct setting *s, const char *text,
		      const struct place *place, struct err *e)
{
	(void)place;
	for (size_t i = 0; i < s->names_len; i++) {
		if (!text_eq(text, s->names[i]))
			continue;
		*(int *)member(c, s) = (int)i;
		return 0;
	}
	return not_among(text, s->names, s->names_len, e);
}

static int set_duration(struct config *c, const struct setting *s, const char *text,
			const struct place *place, struct err *e)
{
	(void)place;
	return duration_parse(text, member(c, s), e);
}

static int set_size(struct config *c, const struct setting *s, const char *text,
		    const struct place *place, struct err *e)
{
	(void)place;
	return size_parse(text, member(c, s), e);
}

static int no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "no memory");
}

static int set_text(struct config *c, const struct setting *s, const char *text,
		    const struct place *place, struct err *e)
{
	(void)place;
	if (!text[0])
		return err_set(e, EINVAL, "the value is empty");
	char **to = member(c, s);
	free(*to);
	*to = strdup(text);
	return *to ? 0 : no_memory(e);
}

static int set_adapter(struct config *c, const struct setting *s, const char *text,
		       const struct place *place, struct err *e)
{
	(void)s;
	(void)place;
	const char *names[16];
	size_t n = 0;
	for (; adapters[n]; n++) {
		assert(n < countof(names));
		names[n] = adapters[n]->name;
	}
	c->adapter = adapter_find(text);
	return c->adapter ? 0 : not_among(text, names, n, e);
}

static int set_list(struct config *c, const struct setting *s, const char *text,
		    const struct place *place, struct err *e)
{
	(void)place;
	struct strv *list = member(c, s);
	if (!text[0])
		return err_set(e, EINVAL, "an entry is empty");
	if (list->len == CONFIG_LIST_MAX)
		return err_set(e, E2BIG, "there are over %d entries", CONFIG_LIST_MAX);
	return strv_add(list, text) ? no_memory(e) : 0;
}

static int set_words(struct config *c, const struct setting *s, const char *text,
		     const struct place *place, struct err *e)
{
	cleanup_free char *words = strdup(text);
	if (!words)
		return no_memory(e);
	int r = 0;
	char *rest = words;
	for (char *word; !r && (word = strsep(&rest, ","));) {
		bool known = false;
		for (size_t i = 0; i < s->names_len && !known; i++)
			known = text_eq(word, s->names[i]);
		if (!known)
			return not_among(word, s->names, s->names_len, e);
		if (!strv_has(member(c, s), word))
			r = set_list(c, s, word, place, e);
	}
	return r;
}

/* As they stand, without what means nothing: "./var/" is "var". */
static int set_places(struct config *c, const struct setting *s, const char *text,
		      const struct place *place, struct err *e)
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
	return set_list(c, s, kept, place, e);
}

static int set_paths(struct config *c, const struct setting *s, const char *text,
		     const struct place *place, struct err *e)
{
	cleanup_free char *path = NULL;
	int len;
	if (text_starts(text, "~/") && c->home)
		len = asprintf(&path, "%s%s", c->home, text + 1);
	else if (text[0] == '/' || !text[0])
		len = asprintf(&path, "%s", text);
	else
		len = asprintf(&path, "%s/%s", place->base, text);
	return len < 0 ? no_memory(e) : set_list(c, s, path, place, e);
}

static int set_names(struct config *c, const struct setting *s, const char *text,
		     const struct place *place, struct err *e)
{
	if (strchr(text, '='))
		return err_set(e, EINVAL, "\"%s\" is no name of a variable", text);
	return set_list(c, s, text, place, e);
}

static int set_variables(struct config *c, const struct setting *s, const char *text,
			 const struct place *place, struct err *e)
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
	return set_list(c, s, text, place, e);
}

enum shape { SHAPE_BOOL, SHAPE_TEXT, SHAPE_LIST, SHAPE_OBJECT };

static const struct {
	int (*set)(struct config *c, const struct setting *s, const char *text,
		   const struct place *place, struct err *e);
	enum shape shape; /* in JSON */
	const char *must_be;
} kinds[KIND_N] = {
	[KIND_BOOL] = { set_bool, SHAPE_BOOL, "true or false" },
	[KIND_CHOICE] = { set_choice, SHAPE_TEXT, "a text" },
	[KIND_DURATION] = { set_duration, SHAPE_TEXT, "a text such as \"90s\"" },
	[KIND_SIZE] = { set_size, SHAPE_TEXT, "a text such as \"64M\"" },
	[KIND_TEXT] = { set_text, SHAPE_TEXT, "a text" },
	[KIND_ADAPTER] = { set_adapter, SHAPE_TEXT, "a text" },
	[KIND_PLACES] = { set_places, SHAPE_LIST, "a list of texts" },
	[KIND_WORDS] = { set_words, SHAPE_LIST, "a list of texts" },
	[KIND_PATHS] = { set_paths, SHAPE_LIST, "a list of texts" },
	[KIND_NAMES] = { set_names, SHAPE_LIST, "a list of texts" },
	[KIND_VARIABLES] = { set_variables, SHAPE_OBJECT, "an object of texts" },
};

/* fumehood.json */

struct file {
	struct json_source src;
	struct place place;
};

static int file_value(struct config *c, const struct file *f, const struct setting *s,
		      const cJSON *item, const char *text, struct err *e)
{
	int r = kinds[s->kind].set(c, s, text, &f->place, e);
	if (!r)
		return 0;
	struct err why = *e;
	json_refuse(&f->src, item, e, "\"%s\": %s", s->key, why.text);
	return why.hint[0] ? err_hint(e, "%s", why.hint) : r;
}

static int file_members(struct config *c, const struct file *f, const struct setting *s,
			const cJSON *item, struct err *e)
{
	bool named = kinds[s->kind].shape == SHAPE_OBJECT;
	const cJSON *child;
	cJSON_ArrayForEach(child, item)
	{
		cleanup_free char *pair = NULL;
		if (!cJSON_IsString(child))
			return json_refuse(&f->src, child, e, "\"%s\" must be %s", s->key,
					   kinds[s->kind].must_be);
		if (named && asprintf(&pair, "%s=%s", child->string, child->valuestring) < 0)
			return no_memory(e);
		int r = file_value(c, f, s, child, named ? pair : child->valuestring, e);
		if (r)
			return r;
	}
	return 0;
}

static int file_setting(struct config *c, const struct file *f, const struct setting *s,
			const cJSON *item, struct err *e)
{
	enum shape shape = kinds[s->kind].shape;
	if (shape == SHAPE_BOOL && cJSON_IsBool(item))
		return file_value(c, f, s, item, cJSON_IsTrue(item) ? "true" : "false", e);
	if (shape == SHAPE_TEXT && cJSON_IsString(item))
		return file_value(c, f, s, item, item->valuestring, e);
	if (shape == SHAPE_LIST ? cJSON_IsArray(item) : shape == SHAPE_OBJECT && cJSON_IsObject(item))
		return file_members(c, f, s, item, e);
	return json_refuse(&f->src, item, e, "\"%s\" must be %s", s->key, kinds[s->kind].must_be);
}

/* The rows whose key begins with prefix, by what follows: up to the next dot. */
static int keys_below(const char *prefix, struct strv *ret)
{
	for (size_t i = 0; i < countof(settings); i++) {
		if (!settings[i].key || !text_starts(settings[i].key, prefix))
			continue;
		const char *rest = settings[i].key + strlen(prefix);
		char name[64];
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(rest, "."), rest);
		if (!strv_has(ret, name) && strv_add(ret, name))
			return -ENOMEM;
	}
	return 0;
}

static const struct setting *by_key(const char *key)
{
	for (size_t i = 0; i < countof(settings); i++)
		if (text_eq(settings[i].key, key))
			return &settings[i];
	return NULL;
}

static int file_object(struct config *c, const struct file *f, const cJSON *object,
		       const char *prefix, struct err *e)
{
	cleanup(strv_done) struct strv known = STRV_NULL;
	if ((!prefix[0] && strv_add(&known, "version")) || keys_below(prefix, &known))
		return no_memory(e);
	int r = json_known_keys(&f->src, object, (const char *const *)known.at, known.len, e);
	const cJSON *item;
	cJSON_ArrayForEach(item, object)
	{
		if (r)
			return r;
		char key[128]; /* it is known, so it is short */
		snprintf(key, sizeof(key), "%s%s", prefix, item->string);
		const struct setting *s = by_key(key);
		if (s) {
			r = file_setting(c, f, s, item, e);
		} else if (cJSON_IsObject(item)) {
			char inner[sizeof(key) + 1];
			snprintf(inner, sizeof(inner), "%s.", key);
			r = file_object(c, f, item, inner, e);
		} else if (!text_eq(key, "version")) {
			r = json_refuse(&f->src, item, e, "\"%s\" must be an object", key);
		}
	}
	return r;
}

static int file_version(const struct file *f, struct err *e)
{
	const cJSON *version = cJSON_GetObjectItemCaseSensitive(f->src.tree, "version");
	if (!version) {
		json_refuse(&f->src, f->src.tree, e, "there is no \"version\"");
		return err_hint(e, "this fumehood reads \"version\": %d", CONFIG_VERSION);
	}
	if (cJSON_IsNumber(version) && version->valuedouble == CONFIG_VERSION)
		return 0;
	json_refuse(&f->src, version, e, "the version is not known");
	return err_hint(e, "this fumehood reads \"version\": %d", CONFIG_VERSION);
}

int config_file(struct config *c, const char *name, const char *text, size_t len, const char *base,
		struct err *e)
{
	cleanup_json cJSON *tree = NULL;
	int r = json_parse(name, text, len, &tree, e);
	if (r)
		return r;
	struct file f = { { name, text, tree }, { base } };
	if (!cJSON_IsObject(tree))
		return json_refuse(&f.src, tree, e, "the file must hold an object");
	r = file_version(&f, e);
	return r ? r : file_object(c, &f, tree, "", e);
}

static int load_file(struct config *c, struct err *e)
{
	cleanup_free char *text = NULL;
	size_t len = 0;
	int r = fd_load(AT_FDCWD, c->project.config, CONFIG_LEN_MAX, &text, &len, e);
	if (r)
		return err_status(e, STATUS_DATA);
	return config_file(c, c->project.config, text, len, c->project.path, e);
}

/* The command line */

struct argument {
	const struct setting *setting;
	const char *name; /* as it was written: "--network" */
	const char *value;
};

static bool is_flag(const struct setting *s, const char *name, size_t len, bool *ret_on)
{
	*ret_on = true;
	if (s->kind == KIND_BOOL && len > 3 && strncmp(name, "no-", 3) == 0 &&
	    strlen(s->flag) == len - 3 && strncmp(s->flag, name + 3, len - 3) == 0) {
		*ret_on = false;
		return true;
	}
	return strlen(s->flag) == len && strncmp(s->flag, name, len) == 0;
}

static int unknown_flag(const char *arg, struct err *e)
{
	cleanup(strv_done) struct strv flags = STRV_NULL;
	for (size_t i = 0; i < countof(settings); i++) {
		strv_addf(&flags, "--%s", settings[i].flag);
		if (settings[i].kind == KIND_BOOL)
			strv_addf(&flags, "--no-%s", settings[i].flag);
	}
	char name[64];
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(arg, "="), arg);
	err_set(e, EINVAL, "there is no option %s", name);
	const char *near = text_nearest(name, (const char *const *)flags.at, flags.len);
	return near ? err_hint(e, "did you mean %s?", near)
		    : err_hint(e, "--help lists the options; the command comes after --");
}

/* Reads --NAME, --NAME=VALUE or --NAME VALUE at argv[*at]. */
static int long_flag(int argc, const char *const *argv, int *at, struct argument *ret, struct err *e)
{
	const char *arg = argv[*at];
	const char *name = arg + 2;
	size_t len = strcspn(name, "=");
	for (size_t i = 0; i < countof(settings); i++) {
		const struct setting *s = &settings[i];
		bool on;
		if (!is_flag(s, name, len, &on))
			continue;
		*ret = (struct argument){ s, arg, on ? "true" : "false" };
		if (s->kind == KIND_BOOL)
			return name[len] ? err_set(e, EINVAL, "--%s takes no value", s->flag) : 0;
		if (name[len])
			ret->value = name + len + 1;
		else if (*at + 1 < argc && !text_eq(argv[*at + 1], "--"))
			ret->value = argv[++*at];
		else
			return err_set(e, EINVAL, "--%s needs a value: %s", s->flag, s->arg);
		return 0;
	}
	return unknown_flag(arg, e);
}

static const struct setting *by_letter(char letter)
{
	for (size_t i = 0; i < countof(settings); i++)
		if (settings[i].letter == letter)
			return &settings[i];
	return NULL;
}

struct arguments {
	struct argument at[256];
	size_t len;
};

static int add_argument(struct arguments *args, const struct argument *arg, struct err *e)
{
	if (args->len == countof(args->at))
		return err_set(e, E2BIG, "there are over %zu options", countof(args->at));
	args->at[args->len++] = *arg;
	return 0;
}

static int short_flags(struct arguments *args, const char *letters, struct err *e)
{
	int r = 0;
	for (const char *letter = letters; *letter && !r; letter++) {
		const struct setting *s = by_letter(*letter);
		if (!s)
			return err_set(e, EINVAL, "there is no option -%c", *letter);
		r = add_argument(args, &(struct argument){ s, s->flag, "true" }, e);
	}
	return r;
}

static int read_arguments(struct config *c, struct arguments *args, int argc,
			  const char *const *argv, struct err *e)
{
	int r = 0;
	int i = 1;
	for (; i < argc && !r && !text_eq(argv[i], "--"); i++) {
		struct argument arg;
		if (text_starts(argv[i], "--")) {
			r = long_flag(argc, argv, &i, &arg, e);
			r = r ? r : add_argument(args, &arg, e);
		} else if (argv[i][0] == '-' && argv[i][1]) {
			r = short_flags(args, argv[i] + 1, e);
		} else {
			err_set(e, EINVAL, "\"%s\" stands where an option should", argv[i]);
			r = err_hint(e, "the command comes after --: fumehood %s -- %s", argv[0],
				     argv[i]);
		}
	}
	c->command = argv + (i < argc ? i + 1 : argc);
	return r;
}

static int apply(struct config *c, const struct arguments *args, const char *cwd, struct err *e)
{
	struct place place = { cwd };
	for (size_t i = 0; i < args->len; i++) {
		const struct argument *arg = &args->at[i];
		int r = kinds[arg->setting->kind].set(c, arg->setting, arg->value, &place, e);
		if (r)
			return err_in(e, "--%s", arg->setting->flag);
	}
	return 0;
}

/* A later error may stand before the flag that says how errors are told. */
static bool stands_among(int argc, const char *const *argv, const char *flag)
{
	for (int i = 1; i < argc && !text_eq(argv[i], "--"); i++)
		if (text_eq(argv[i], flag))
			return true;
	return false;
}

static const char *asked_project(const struct arguments *args)
{
	const char *asked = NULL;
	for (size_t i = 0; i < args->len; i++)
		if (args->at[i].setting->at == offsetof(struct config, project_asked))
			asked = args->at[i].value;
	return asked;
}

static int read_all(struct config *c, int argc, const char *const *argv, struct err *e)
{
	cleanup_free char *cwd = get_current_dir_name();
	if (!cwd)
		return err_sys(e, "the working directory");
	struct arguments args = { .len = 0 };
	c->bisect_exit = stands_among(argc, argv, "--bisect-exit");
	int r = read_arguments(c, &args, argc, argv, e);
	r = r ? r : home_find(getuid(), &c->home, e);
	r = r ? r : project_find(asked_project(&args), c->home, &c->project, e);
	if (!r && c->project.config)
		r = load_file(c, e);
	r = r ? r : apply(c, &args, cwd, e);
	if (!r && c->quiet && c->verbose)
		r = err_set(e, EINVAL, "--quiet and --verbose exclude each other");
	return r;
}

int config_load(struct config *c, int argc, const char *const *argv, struct err *e)
{
	int r = read_all(c, argc, argv, e);
	if (r && r != -ENOMEM && !e->status)
		err_status(e, STATUS_USAGE);
	return r;
}

void config_done(struct config *c)
{
	for (size_t i = 0; i < countof(settings); i++) {
		if (settings[i].kind == KIND_TEXT)
			free(*(char **)member(c, &settings[i]));
		else if (kinds[settings[i].kind].shape >= SHAPE_LIST)
			strv_done(member(c, &settings[i]));
	}
	free(c->home);
	project_done(&c->project);
	*c = CONFIG_NULL;
}

/* Telling */

#define HELP_COLUMN 32

void config_help(FILE *out)
{
	for (size_t i = 0; i < countof(settings); i++) {
		const struct setting *s = &settings[i];
		if (s->group)
			fprintf(out, "\n%s\n", s->group);
		int used = s->letter ? fprintf(out, "  -%c, ", s->letter) : fprintf(out, "      ");
		used += fprintf(out, "--%s%s%s%s", s->unless ? "no-" : "", s->flag,
				s->arg ? " " : "", s->arg ? s->arg : "");
		if (used >= HELP_COLUMN - 1)
			used = fprintf(out, "\n") - 1;
		fprintf(out, "%*s%s\n", HELP_COLUMN - used, "", s->help);
	}
}

bool config_setting(size_t n, struct setting_name *ret)
{
	if (n >= countof(settings))
		return false;
	const struct setting *s = &settings[n];
	snprintf(ret->flag, sizeof(ret->flag), "--%s%s", s->unless ? "no-" : "", s->flag);
	ret->key = s->key;
	return true;
}

static cJSON *variables_json(const struct strv *list)
{
	cJSON *object = cJSON_CreateObject();
	for (size_t i = 0; object && i < list->len; i++) {
		const char *value = strchr(list->at[i], '=') + 1;
		char name[256];
		char hex[DIGEST_HEX];
		snprintf(name, sizeof(name), "%.*s", (int)(value - 1 - list->at[i]), list->at[i]);
		cJSON *told = cJSON_AddObjectToObject(object, name);
		cJSON_AddNumberToObject(told, "len", (double)strlen(value));
		cJSON_AddStringToObject(told, "digest",
					digest_hex(digest_bytes(value, strlen(value)), hex));
	}
	return object;
}

static cJSON *value_json(const struct setting *s, const void *at)
{
	const struct adapter *adapter;
	const char *text;
	const struct strv *list = at;
	switch (s->kind) {
	case KIND_BOOL:
		return cJSON_CreateBool(*(const bool *)at);
	case KIND_CHOICE:
		return cJSON_CreateString(s->names[*(const int *)at]);
	case KIND_DURATION:
		return cJSON_CreateNumber(*(const uint32_t *)at);
	case KIND_SIZE:
		return cJSON_CreateNumber((double)*(const uint64_t *)at);
	case KIND_TEXT:
		text = *(char *const *)at;
		return text ? cJSON_CreateString(text) : cJSON_CreateNull();
	case KIND_ADAPTER:
		adapter = *(const struct adapter *const *)at;
		return adapter ? cJSON_CreateString(adapter->name) : cJSON_CreateNull();
	case KIND_VARIABLES:
		return variables_json(list);
	case KIND_PLACES:
	case KIND_WORDS:
	case KIND_PATHS:
	case KIND_NAMES:
		return json_texts((const char *const *)list->at);
	case KIND_N:
		break;
	}
	return NULL;
}

cJSON *config_json(const struct config *c)
{
	cleanup_json cJSON *object = cJSON_CreateObject();
	for (size_t i = 0; i < countof(settings); i++) {
		const struct setting *s = &settings[i];
		cJSON *value = value_json(s, (const char *)c + s->at);
		if (!value || !cJSON_AddItemToObject(object, s->key ? s->key : s->flag, value)) {
			cJSON_Delete(value);
			return NULL;
		}
	}
	return take_ptr(&object);
}
