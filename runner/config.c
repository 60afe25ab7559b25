#include "runner/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/plan/plan.h"
#include "runner/settings.h"
#include "runner/steps.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "sandbox/base/json.h"

#define CONFIG_VERSION 1
#define CONFIG_LEN_MAX (1 << 20) /* bytes of a fumehood.json */

/* fumehood.json */

struct file {
	struct json_source src;
	const char *base; /* its folder */
};

static int file_value(struct config *c, const struct file *f, const struct setting *s,
		      const cJSON *item, const char *text, struct err *e)
{
	int r = setting_set(c, s, text, f->base, e);
	if (!r)
		return 0;
	struct err why = *e;
	json_refuse(&f->src, item, e, "\"%s\": %s", s->key, why.text);
	return why.hint[0] ? err_hint(e, "%s", why.hint) : r;
}

static int file_members(struct config *c, const struct file *f, const struct setting *s,
			const cJSON *item, struct err *e)
{
	bool named = setting_shape(s) == SHAPE_OBJECT;
	const cJSON *child;
	cJSON_ArrayForEach(child, item)
	{
		cleanup_free char *pair = NULL;
		char number[32];
		const char *text = child->valuestring;
		if (cJSON_IsNumber(child) && setting_takes_numbers(s)) {
			snprintf(number, sizeof(number), "%.17g", child->valuedouble);
			text = number;
		}
		if (!text)
			return json_refuse(&f->src, child, e, "\"%s\" must be %s", s->key,
					   setting_must_be(s));
		if (named && asprintf(&pair, "%s=%s", child->string, text) < 0)
			return err_set(e, ENOMEM, "no memory");
		int r = file_value(c, f, s, child, named ? pair : text, e);
		if (r)
			return r;
	}
	return 0;
}

static int file_ignores(struct config *c, const struct file *f, const struct setting *s,
			const cJSON *item, struct err *e)
{
	bool state = text_eq(s->key, "expected_state");
	return ignores_read(&f->src, item, state ? IGNORES_STATE : IGNORES_FINDINGS,
			    state ? &c->expected_state : &c->ignore, e);
}

static int file_setting(struct config *c, const struct file *f, const struct setting *s,
			const cJSON *item, struct err *e)
{
	enum setting_shape shape = setting_shape(s);
	if (shape == SHAPE_BOOL && cJSON_IsBool(item))
		return file_value(c, f, s, item, cJSON_IsTrue(item) ? "true" : "false", e);
	if (shape == SHAPE_NUMBER && cJSON_IsNumber(item)) {
		char number[32];
		snprintf(number, sizeof(number), "%.17g", item->valuedouble);
		return file_value(c, f, s, item, number, e);
	}
	if (shape == SHAPE_TEXT && cJSON_IsString(item))
		return file_value(c, f, s, item, item->valuestring, e);
	if (shape == SHAPE_LIST ? cJSON_IsArray(item) : shape == SHAPE_OBJECT && cJSON_IsObject(item))
		return file_members(c, f, s, item, e);
	if (shape == SHAPE_STEPS && cJSON_IsArray(item))
		return steps_read(&f->src, item, &c->prepare, e);
	if (shape == SHAPE_PROBES && cJSON_IsArray(item))
		return probes_read(&f->src, item, &c->custom, e);
	if (shape == SHAPE_IGNORES && cJSON_IsArray(item))
		return file_ignores(c, f, s, item, e);
	if (shape == SHAPE_SERIALS && cJSON_IsArray(item))
		return serials_read(&f->src, item, &c->plan.serial, e);
	return json_refuse(&f->src, item, e, "\"%s\" must be %s", s->key, setting_must_be(s));
}

/* The rows whose key begins with prefix, by what follows: up to the next dot. */
static int keys_below(const char *prefix, struct strv *ret)
{
	for (size_t i = 0; i < settings_len; i++) {
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
	for (size_t i = 0; i < settings_len; i++)
		if (text_eq(settings[i].key, key))
			return &settings[i];
	return NULL;
}

static int file_object(struct config *c, const struct file *f, const cJSON *object,
		       const char *prefix, struct err *e)
{
	cleanup(strv_done) struct strv known = STRV_NULL;
	if ((!prefix[0] && strv_add(&known, "version")) || keys_below(prefix, &known))
		return err_set(e, ENOMEM, "no memory");
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
	struct file f = { { name, text, tree }, base };
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

/* The options of one command as they are read. */
struct arguments {
	enum config_command command;
	struct argument at[256];
	size_t len;
};

/* By the bits of enum config_command. */
static const struct {
	const char *name;
	size_t words_max; /* that may stand among its options */
} takers[] = { { "check", 0 }, { "run", 0 },    { "shrink", 1024 }, { "replay", 2 },
	       { "exec", 0 },  { "doctor", 0 }, { "diff", 2 } };

static size_t words_max(enum config_command command)
{
	size_t max = 0;
	for (size_t i = 0; i < countof(takers); i++)
		if (command >> i & 1 && takers[i].words_max > max)
			max = takers[i].words_max;
	return max;
}

/* The names of a mask of commands: "run, exec". */
static const char *command_names(unsigned commands, char ret[CONFIG_COMMANDS_LEN])
{
	size_t len = 0;
	ret[0] = '\0';
	for (size_t i = 0; i < countof(takers); i++)
		if (commands >> i & 1)
			len += (size_t)snprintf(ret + len, CONFIG_COMMANDS_LEN - len, "%s%s",
						len ? ", " : "", takers[i].name);
	return ret;
}

static int others_flag(const struct setting *s, const char *as_written, enum config_command command,
		       struct err *e)
{
	char names[CONFIG_COMMANDS_LEN];
	err_set(e, EINVAL, "%.*s is no option of %s", (int)strcspn(as_written, "="), as_written,
		command_names(command, names));
	return err_hint(e, "it is one of: %s", command_names(s->of ? s->of : CONFIG_CELL, names));
}

static int unknown_flag(const char *arg, enum config_command command, struct err *e)
{
	cleanup(strv_done) struct strv flags = STRV_NULL;
	for (size_t i = 0; i < settings_len; i++) {
		if (!setting_is_of(&settings[i], command))
			continue;
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
static int long_flag(enum config_command command, int argc, const char *const *argv, int *at,
		     struct argument *ret, struct err *e)
{
	const char *arg = argv[*at];
	const char *name = arg + 2;
	size_t len = strcspn(name, "=");
	for (size_t i = 0; i < settings_len; i++) {
		const struct setting *s = &settings[i];
		bool on;
		if (!is_flag(s, name, len, &on))
			continue;
		if (!setting_is_of(s, command))
			return others_flag(s, arg, command, e);
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
	return unknown_flag(arg, command, e);
}

static const struct setting *by_letter(char letter)
{
	for (size_t i = 0; i < settings_len; i++)
		if (settings[i].letter == letter)
			return &settings[i];
	return NULL;
}

static int add_argument(struct arguments *args, const struct argument *arg, struct err *e)
{
	if (args->len == countof(args->at))
		return err_set(e, E2BIG, "there are over %zu options", countof(args->at));
	args->at[args->len++] = *arg;
	return 0;
}

/* "-qv", "-j4", "-j 4" */
static int short_flags(struct arguments *args, int argc, const char *const *argv, int *at,
		       struct err *e)
{
	int r = 0;
	for (const char *letter = argv[*at] + 1; *letter && !r; letter++) {
		const struct setting *s = by_letter(*letter);
		if (!s)
			return err_set(e, EINVAL, "there is no option -%c", *letter);
		if (!setting_is_of(s, args->command))
			return others_flag(s, (char[]){ '-', *letter, '\0' }, args->command, e);
		struct argument arg = { s, s->flag, "true" };
		if (s->kind != KIND_BOOL) {
			bool apart = !letter[1] && *at + 1 < argc && !text_eq(argv[*at + 1], "--");
			if (!letter[1] && !apart)
				return err_set(e, EINVAL, "-%c needs a value: %s", *letter, s->arg);
			arg.value = apart ? argv[++*at] : letter + 1;
			return add_argument(args, &arg, e);
		}
		r = add_argument(args, &arg, e);
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
			r = long_flag(args->command, argc, argv, &i, &arg, e);
			r = r ? r : add_argument(args, &arg, e);
		} else if (argv[i][0] == '-' && argv[i][1]) {
			r = short_flags(args, argc, argv, &i, e);
		} else if (c->words.len < words_max(args->command)) {
			r = strv_add(&c->words, argv[i]) ? err_set(e, ENOMEM, "no memory") : 0;
		} else {
			err_set(e, EINVAL, "\"%s\" stands where an option should", argv[i]);
			r = err_hint(e, "the command comes after --: fumehood %s -- %s", argv[0],
				     argv[i]);
		}
	}
	c->command = argv + (i < argc ? i + 1 : argc);
	return r;
}

static void overrule(struct config *c, const struct arguments *args)
{
	unsigned overruled = 0;
	for (size_t i = 0; i < args->len; i++)
		overruled |= args->at[i].setting->overrules;
	for (size_t i = 0; i < settings_len; i++)
		if (settings[i].about & overruled)
			setting_clear(c, &settings[i]);
}

static int apply(struct config *c, const struct arguments *args, const char *cwd, struct err *e)
{
	overrule(c, args);
	for (size_t i = 0; i < args->len; i++) {
		const struct argument *arg = &args->at[i];
		int r = setting_set(c, arg->setting, arg->value, cwd, e);
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
		if (args->at[i].setting->kind == KIND_PROJECT &&
		    !text_eq(args->at[i].value, CONFIG_COPY))
			asked = args->at[i].value;
	return asked;
}

static bool is_relative(const struct argument *arg)
{
	bool path = arg->setting->kind == KIND_PATH || arg->setting->kind == KIND_PATHS;
	return path && arg->value[0] && arg->value[0] != '/' && !text_starts(arg->value, "~/");
}

/* What has to be said to run the same again. */
static int keep_said(struct config *c, const struct arguments *args, const char *cwd, struct err *e)
{
	int r = 0;
	for (size_t i = 0; i < args->len && !r; i++) {
		const struct argument *arg = &args->at[i];
		const struct setting *s = arg->setting;
		if (s->once || (s->kind == KIND_PROJECT && !text_eq(arg->value, CONFIG_COPY)))
			continue;
		if (s->kind == KIND_VARIABLES)
			r = strv_addf(&c->said_variables, "%.*s", (int)strcspn(arg->value, "="),
				      arg->value);
		else if (s->kind == KIND_BOOL)
			r = strv_add(&c->said, arg->name);
		else
			r = strv_addf(&c->said, "--%s=%s%s%s", s->flag, is_relative(arg) ? cwd : "",
				      is_relative(arg) ? "/" : "", arg->value);
	}
	return r ? err_set(e, ENOMEM, "no memory") : 0;
}

/* What an earlier call said. */
struct again {
	const cJSON *run; /* run.json; NULL: there was none */
	struct arguments args;
	struct strv argv; /* which args borrow */
};

static void again_done(struct again *again)
{
	strv_done(&again->argv);
}

static int read_again(struct config *c, struct again *again, struct err *e)
{
	const cJSON *kept = cJSON_GetObjectItemCaseSensitive(again->run, "again");
	const cJSON *text;
	int r = strv_add(&again->argv, "run.json");
	cJSON_ArrayForEach(text, cJSON_GetObjectItemCaseSensitive(kept, "options"))
	{
		if (!r && cJSON_IsString(text))
			r = strv_add(&again->argv, text->valuestring);
	}
	cJSON_ArrayForEach(text, cJSON_GetObjectItemCaseSensitive(again->run, "command"))
	{
		if (!r && cJSON_IsString(text))
			r = strv_add(&c->said_command, text->valuestring);
	}
	if (r)
		return err_set(e, ENOMEM, "no memory");
	if (!kept || !c->said_command.len) {
		err_set(e, EINVAL, "run.json does not say how it was run");
		return err_status(e, STATUS_DATA);
	}
	again->args.command = CONFIG_SUITE;
	r = read_arguments(c, &again->args, (int)again->argv.len,
			   (const char *const *)again->argv.at, e);
	return r ? err_in(e, "run.json") : 0;
}

/* Values are not kept: who wants the same again has to say them. */
static int need_variables(struct config *c, const struct again *again, struct err *e)
{
	const cJSON *kept = cJSON_GetObjectItemCaseSensitive(again->run, "again");
	const cJSON *name;
	cJSON_ArrayForEach(name, cJSON_GetObjectItemCaseSensitive(kept, "variables"))
	{
		bool has = !cJSON_IsString(name) || strv_has(&c->said_variables, name->valuestring);
		for (size_t i = 0; i < c->env.len && !has; i++)
			has = text_starts(c->env.at[i], name->valuestring) &&
			      c->env.at[i][strlen(name->valuestring)] == '=';
		if (has)
			continue;
		err_set(e, EINVAL, "%s was given by --env when this ran, and its value is not kept",
			name->valuestring);
		err_hint(e, "say it again: --env %s=VALUE", name->valuestring);
		return err_status(e, STATUS_USAGE);
	}
	return 0;
}

/* The command started where it starts again, if that is still in the project. */
static int start_there(struct config *c, const struct again *again, struct err *e)
{
	cleanup_free char *cwd = NULL;
	cleanup_free char *real = NULL;
	if (json_get_name(again->run, "cwd", &cwd) == -ENOMEM)
		return err_set(e, ENOMEM, "no memory");
	real = cwd ? realpath(cwd, NULL) : NULL;
	if (!real || !path_below(real, c->project.path))
		return 0;
	free(c->project.cwd);
	c->project.cwd = take_ptr(&real);
	return 0;
}

static int find_project(struct config *c, const struct arguments *args, const struct again *again,
			struct err *e)
{
	const char *asked = asked_project(args);
	cleanup_free char *earlier = NULL;
	if (!asked && again->run) {
		if (json_get_name(again->run, "project", &earlier) == -ENOMEM)
			return err_set(e, ENOMEM, "no memory");
		asked = earlier;
	}
	int r = project_find(asked, c->home, &c->project, e);
	if (!r && c->project.config)
		r = load_file(c, e);
	return r || !again->run ? r : start_there(c, again, e);
}

static int read_all(struct config *c, struct again *again, enum config_command command, int argc,
		    const char *const *argv, struct err *e)
{
	cleanup_free char *cwd = get_current_dir_name();
	if (!cwd)
		return err_sys(e, "the working directory");
	struct arguments args = { .command = command };
	c->bisect_exit = stands_among(argc, argv, "--bisect-exit");
	int r = again->run ? read_again(c, again, e) : 0;
	r = r ? r : read_arguments(c, &args, argc, argv, e);
	r = r ? r : home_find(getuid(), &c->home, e);
	r = r ? r : find_project(c, &args, again, e);
	r = r ? r : apply(c, &again->args, cwd, e);
	r = r ? r : apply(c, &args, cwd, e);
	if (!r && c->quiet && c->verbose)
		r = err_set(e, EINVAL, "--quiet and --verbose exclude each other");
	r = r ? r : plan_check(&c->plan, e);
	r = r ? r : keep_said(c, &again->args, cwd, e);
	r = r ? r : keep_said(c, &args, cwd, e);
	if (r)
		return r;
	if (again->run && !c->command[0])
		c->command = (const char *const *)c->said_command.at;
	return again->run ? need_variables(c, again, e) : 0;
}

static int deserves(int r, struct err *e)
{
	if (r && r != -ENOMEM && !e->status)
		err_status(e, STATUS_USAGE);
	return r;
}

int config_load(struct config *c, enum config_command command, int argc, const char *const *argv,
		struct err *e)
{
	struct again none = { .run = NULL };
	return deserves(read_all(c, &none, command, argc, argv, e), e);
}

int config_load_again(struct config *c, enum config_command command, const cJSON *run, int argc,
		      const char *const *argv, struct err *e)
{
	cleanup(again_done) struct again again = { .run = run };
	return deserves(read_all(c, &again, command, argc, argv, e), e);
}

int config_words(struct config *c, enum config_command command, int argc, const char *const *argv,
		 struct err *e)
{
	cleanup_free char *cwd = get_current_dir_name();
	if (!cwd)
		return err_sys(e, "the working directory");
	struct arguments args = { .command = command };
	int r = read_arguments(c, &args, argc, argv, e);
	r = r ? r : home_find(getuid(), &c->home, e);
	r = r ? r : apply(c, &args, cwd, e);
	return deserves(r, e);
}

bool config_add_again(const struct config *c, cJSON *run)
{
	cJSON *again = cJSON_AddObjectToObject(run, "again");
	return again && json_add(again, "options", json_texts((const char *const *)c->said.at)) &&
	       json_add(again, "variables", json_texts((const char *const *)c->said_variables.at));
}

void config_done(struct config *c)
{
	settings_done(c);
	strv_done(&c->words);
	strv_done(&c->said);
	strv_done(&c->said_variables);
	strv_done(&c->said_command);
	free(c->home);
	project_done(&c->project);
	*c = CONFIG_NULL;
}

/* Telling */

#define HELP_COLUMN 32

void config_help(enum config_command command, FILE *out)
{
	const char *group = NULL;
	for (size_t i = 0; i < settings_len; i++) {
		const struct setting *s = &settings[i];
		group = s->group ? s->group : group;
		if (!setting_is_of(s, command))
			continue;
		if (group)
			fprintf(out, "\n%s\n", group);
		group = NULL;
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
	if (n >= settings_len)
		return false;
	const struct setting *s = &settings[n];
	snprintf(ret->flag, sizeof(ret->flag), "--%s%s", s->unless ? "no-" : "", s->flag);
	ret->key = s->key;
	command_names(s->of == CONFIG_ANY ? 0 : s->of, ret->only);
	return true;
}

cJSON *config_json(const struct config *c, enum config_command command)
{
	cleanup_json cJSON *object = cJSON_CreateObject();
	for (size_t i = 0; i < settings_len; i++) {
		const struct setting *s = &settings[i];
		if (!setting_is_of(s, command))
			continue;
		cJSON *value = setting_json(c, s);
		if (!value || !cJSON_AddItemToObject(object, s->key ? s->key : s->flag, value)) {
			cJSON_Delete(value);
			return NULL;
		}
	}
	return take_ptr(&object);
}
