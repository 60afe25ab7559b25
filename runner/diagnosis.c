#include "runner/diagnosis.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "runner/about.h"
#include "runner/config.h"
#include "runner/drive/prepare.h"
#include "runner/printable.h"
#include "runner/terminal.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/doctor.h"
#include "sandbox/env.h"
#include "sandbox/landlock.h"

/* ---- the tree ---- */

static bool add_to(cJSON *array, cJSON **item)
{
	if (!*item || !cJSON_AddItemToArray(array, *item))
		return false;
	*item = NULL;
	return true;
}

static bool add_caller(cJSON *tree, const struct host *host)
{
	struct utsname uts;
	cJSON *caller = cJSON_AddObjectToObject(tree, "caller");
	return caller && !uname(&uts) && cJSON_AddStringToObject(caller, "kernel", uts.release) &&
	       cJSON_AddStringToObject(caller, "machine", uts.machine) &&
	       cJSON_AddNumberToObject(caller, "uid", getuid()) &&
	       !json_add_name(caller, "container", host->container[0] ? host->container : NULL) &&
	       cJSON_AddBoolToObject(caller, "chroot", host->chrooted) &&
	       cJSON_AddBoolToObject(caller, "seccomp", host->filtered) &&
	       cJSON_AddNumberToObject(caller, "landlock", landlock_abi());
}

static const char *why_project(const struct diagnosis *d)
{
	const struct project *p = &d->config->project;
	char git[PATH_MAX];
	if (d->elsewhere)
		return "the working directory can be no project";
	if (d->config->project_asked)
		return "asked for by --project";
	if (p->config)
		return "the nearest folder upward with a " PROJECT_CONFIG;
	if (snprintf(git, sizeof(git), "%s/.git", p->path) < PATH_MAX && access(git, F_OK) == 0)
		return "the top of the git checkout";
	return "the working directory";
}

static bool add_project(cJSON *tree, const struct diagnosis *d)
{
	cJSON *project = cJSON_AddObjectToObject(tree, "project");
	return project && !json_add_name(project, "path", d->config->project.path) &&
	       cJSON_AddStringToObject(project, "why", why_project(d));
}

static cJSON *step_of(const struct doctor_step *step)
{
	cleanup_json cJSON *row = cJSON_CreateObject();
	const struct cause *cause = step->explained ? &step->cause : NULL;
	if (!row || !cJSON_AddStringToObject(row, "name", step->name) ||
	    !cJSON_AddStringToObject(row, "what", step->what) ||
	    !cJSON_AddStringToObject(row, "state", doctor_states[step->state]) ||
	    json_add_name(row, "text", step->text[0] ? step->text : NULL) ||
	    json_add_name(row, "cause", cause ? cause->name : NULL) ||
	    json_add_name(row, "why", cause ? cause->why : NULL) ||
	    json_add_name(row, "remedy", cause ? cause->remedy : NULL))
		return NULL;
	return take_ptr(&row);
}

static bool add_steps(cJSON *tree, const struct doctor *doctor)
{
	cJSON *steps = cJSON_AddArrayToObject(tree, "steps");
	for (size_t i = 0; steps && i < doctor->steps_len; i++) {
		cleanup_json cJSON *row = step_of(&doctor->steps[i]);
		if (!add_to(steps, &row))
			return false;
	}
	return steps && (!doctor->made || about_isolation(tree, &doctor->isolation));
}

/* ---- what the command would see ---- */

static cJSON *pair(const char *a, const char *a_value, const char *b, const char *b_value)
{
	cleanup_json cJSON *row = cJSON_CreateObject();
	if (!row || json_add_name(row, a, a_value) || json_add_name(row, b, b_value))
		return NULL;
	return take_ptr(&row);
}

static cJSON *visible_rows(const struct visible *v)
{
	cleanup_json cJSON *rows = cJSON_CreateArray();
	for (size_t i = 0; rows && i < v->len; i++) {
		cleanup_json cJSON *row = pair("path", v->rows[i].path, "why", v->rows[i].why);
		if (!add_to(rows, &row))
			return NULL;
	}
	return take_ptr(&rows);
}

/* The name in a line NAME=VALUE; the caller's. */
static char *name_of(const char *line)
{
	return strndup(line, strcspn(line, "="));
}

/* "NAME=" of a line stands in a list of names, or of lines. */
static bool is_in(const struct strv *list, const char *name)
{
	size_t len = strlen(name);
	for (size_t i = 0; i < list->len; i++)
		if (strncmp(list->at[i], name, len) == 0 && strchr("=", list->at[i][len]))
			return true;
	return false;
}

#define TOOL "where tools are" /* of the caller, since what it names is visible */

static const char *source_of(const struct diagnosis *d, const char *name)
{
	if (is_in(&d->config->env, name))
		return "set";
	if (is_in(&d->config->pass, name))
		return "passed";
	if (is_in(&d->prepared->visible.tools, name))
		return TOOL;
	return "built";
}

static cJSON *variables(const struct diagnosis *d)
{
	cleanup_json cJSON *rows = cJSON_CreateArray();
	for (size_t i = 0; rows && i < d->prepared->env.len; i++) {
		cleanup_free char *name = name_of(d->prepared->env.at[i]);
		if (!name)
			return NULL;
		cleanup_json cJSON *row = pair("name", name, "from", source_of(d, name));
		if (!add_to(rows, &row))
			return NULL;
	}
	return take_ptr(&rows);
}

static const char *verdict_on(const char *name)
{
	for (size_t i = 0; i < env_verdicts_len; i++)
		if (text_eq(env_verdicts[i].name, name))
			return env_verdicts[i].why;
	return NULL;
}

static cJSON *variables_dropped(const struct diagnosis *d)
{
	cleanup_json cJSON *rows = cJSON_CreateArray();
	for (const char *const *line = d->caller; rows && *line; line++) {
		cleanup_free char *name = name_of(*line);
		if (!name)
			return NULL;
		bool replaced = verdict_on(name) && text_eq(source_of(d, name), "built");
		if (is_in(&d->prepared->env, name) && !replaced)
			continue;
		cleanup_json cJSON *row = pair("name", name, "why", verdict_on(name));
		if (!add_to(rows, &row))
			return NULL;
	}
	return take_ptr(&rows);
}

static bool add_sight(cJSON *tree, const struct diagnosis *d)
{
	const struct prepared *p = d->prepared;
	cJSON *sight = cJSON_AddObjectToObject(tree, "sight");
	return sight && json_add(sight, "command", json_texts(p->spec.argv)) &&
	       !json_add_name(sight, "home", p->spec.home) &&
	       json_add(sight, "visible", visible_rows(&p->visible)) &&
	       json_add(sight, "hidden", json_texts((const char *const *)p->visible.hidden.at)) &&
	       json_add(sight, "path_dropped",
			json_texts((const char *const *)p->visible.dropped.at)) &&
	       json_add(sight, "env", variables(d)) &&
	       json_add(sight, "env_dropped", variables_dropped(d));
}

cJSON *diagnosis_tree(const struct diagnosis *d)
{
	static const struct {
		int status;
		const char *name;
	} verdicts[] = { { 0, "full" }, { STATUS_INCOMPLETE, "reduced" }, { STATUS_HOST, "none" } };
	const char *verdict = "none";
	for (size_t i = 0; i < countof(verdicts); i++)
		if (verdicts[i].status == d->status)
			verdict = verdicts[i].name;
	cleanup_json cJSON *tree = cJSON_CreateObject();
	if (!tree || !cJSON_AddNumberToObject(tree, "version", 1) ||
	    !cJSON_AddStringToObject(tree, "fumehood", FUMEHOOD_VERSION) ||
	    !add_caller(tree, &d->doctor->host) || !add_project(tree, d) ||
	    !add_steps(tree, d->doctor) || !cJSON_AddStringToObject(tree, "verdict", verdict) ||
	    !cJSON_AddNumberToObject(tree, "exit", d->status) ||
	    (d->config->command[0] && !add_sight(tree, d)))
		return NULL;
	return take_ptr(&tree);
}

/* ---- as text ---- */

struct page {
	const struct terminal *terminal;
	FILE *out;
	bool verbose;
	bool no_memory;
};

static const cJSON *member(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

static const char *style(const struct page *p, enum style s)
{
	return terminal_style(p->terminal, s);
}

/* before, text with nothing in it that a terminal obeys, after. */
static void put(struct page *p, const char *before, const char *text, const char *after)
{
	cleanup_free char *shown = printable(text ? text : "");
	p->no_memory |= !shown;
	fprintf(p->out, "%s%s%s", before, shown ? shown : "", after);
}

static void put_caller(struct page *p, const cJSON *tree)
{
	const cJSON *caller = member(tree, "caller");
	const char *container = json_text(caller, "container");
	double uid = json_number(caller, "uid", 0);
	put(p, "Linux ", json_text(caller, "kernel"), ", ");
	put(p, "", json_text(caller, "machine"), "; ");
	if (uid == 0)
		fputs("called by root", p->out);
	else
		fprintf(p->out, "called by user %.0f", uid);
	if (container)
		put(p, ", in a container (", container, ")");
	if (json_true(caller, "chroot"))
		fputs(", in a chroot", p->out);
	if (json_true(caller, "seccomp"))
		fputs(", under a seccomp filter", p->out);
	put(p, "\nproject ", json_text(member(tree, "project"), "path"), ": ");
	put(p, "", json_text(member(tree, "project"), "why"), "\n\n");
}

static void put_step(struct page *p, const cJSON *step)
{
	static const struct {
		const char *state, *shown;
		enum style style;
	} states[] = {
		{ "ok", "ok", STYLE_GREEN },
		{ "reduced", "reduced", STYLE_YELLOW },
		{ "failed", "FAILED", STYLE_RED },
		{ "skipped", "-", STYLE_PLAIN },
	};
	size_t i = 0;
	while (i + 1 < countof(states) && !text_eq(states[i].state, json_text(step, "state")))
		i++;
	fprintf(p->out, "  %s%-8s%s %-13s %s\n", style(p, states[i].style), states[i].shown,
		style(p, STYLE_PLAIN), json_text(step, "name"), json_text(step, "what"));
	if (json_text(step, "text"))
		put(p, "           what failed: ", json_text(step, "text"), "\n");
	if (json_text(step, "why")) {
		put(p, "           cause:       ", json_text(step, "why"), "\n");
		put(p, "           remedy:      ", json_text(step, "remedy"), "\n");
	}
}

static void put_verdict(struct page *p, const cJSON *tree)
{
	const char *verdict = json_text(tree, "verdict");
	const cJSON *why;
	if (text_eq(verdict, "full")) {
		fprintf(p->out, "%sA full cell can be made here.%s\n", style(p, STYLE_GREEN),
			style(p, STYLE_PLAIN));
		return;
	}
	if (text_eq(verdict, "reduced")) {
		fprintf(p->out, "%sA cell can be made here, with less isolation:%s\n",
			style(p, STYLE_YELLOW), style(p, STYLE_PLAIN));
		cJSON_ArrayForEach(why, member(tree, "isolation_why"))
		{
			put(p, "  ", why->string, ": ");
			put(p, "", why->valuestring, "\n");
		}
		return;
	}
	fprintf(p->out, "%sNo cell can be made here.%s\n", style(p, STYLE_RED),
		style(p, STYLE_PLAIN));
	double landlock = json_number(member(tree, "caller"), "landlock", 0);
	if (landlock > 0)
		fprintf(p->out,
			"With less isolation: --isolation landlock (the kernel has Landlock %.0f).\n",
			landlock);
}

/* Rows of two texts, under a title. */
static void put_rows(struct page *p, const char *title, const cJSON *rows, const char *first,
		     const char *second)
{
	const cJSON *row;
	if (!cJSON_GetArraySize(rows))
		return;
	fprintf(p->out, "\n%s%s%s\n", style(p, STYLE_BOLD), title, style(p, STYLE_PLAIN));
	cJSON_ArrayForEach(row, rows)
	{
		put(p, "  ", first ? json_text(row, first) : row->valuestring, "");
		if (second && json_text(row, second))
			put(p, ": ", json_text(row, second), "");
		fputc('\n', p->out);
	}
}

/* Names by where they come from, in one line each. */
static void put_variables(struct page *p, const cJSON *rows)
{
	static const char *const sources[] = { "built", TOOL, "passed", "set" };
	fprintf(p->out, "\n%sVariables of the command%s\n", style(p, STYLE_BOLD),
		style(p, STYLE_PLAIN));
	for (size_t i = 0; i < countof(sources); i++) {
		const cJSON *row;
		const char *before = sources[i];
		const char *between = ": ";
		cJSON_ArrayForEach(row, rows)
		{
			if (!text_eq(json_text(row, "from"), sources[i]))
				continue;
			fprintf(p->out, "%s%s%s", before[0] ? "  " : "", before, between);
			put(p, "", json_text(row, "name"), "");
			before = "";
			between = ", ";
		}
		if (!before[0])
			fputc('\n', p->out);
	}
}

/* Those that people miss; the names of the rest on request. */
static void put_dropped(struct page *p, const cJSON *rows)
{
	const cJSON *row;
	size_t others = 0;
	if (p->verbose) {
		put_rows(p, "Variables of yours that are not passed on", rows, "name", "why");
		return;
	}
	fprintf(p->out, "\n%sVariables of yours that are not passed on%s\n", style(p, STYLE_BOLD),
		style(p, STYLE_PLAIN));
	cJSON_ArrayForEach(row, rows)
	{
		others += !json_text(row, "why");
		if (!json_text(row, "why"))
			continue;
		put(p, "  ", json_text(row, "name"), ": ");
		put(p, "", json_text(row, "why"), "\n");
	}
	fprintf(p->out, "  %zu more: --verbose names them, --pass-env NAME passes one on\n", others);
}

static void put_sight(struct page *p, const cJSON *sight)
{
	put_rows(p, "Visible, read-only, in the private home, /tmp, /var/tmp, /dev/shm and /run",
		 member(sight, "visible"), "path", "why");
	put_rows(p, "Covered, since it is a secret or a socket of the host",
		 member(sight, "hidden"), NULL, NULL);
	put_rows(p, "Left out of your PATH", member(sight, "path_dropped"), NULL, NULL);
	put_variables(p, member(sight, "env"));
	put_dropped(p, member(sight, "env_dropped"));
}

int diagnosis_print(const cJSON *tree, const struct config *c, const struct terminal *terminal,
		    FILE *out)
{
	struct page p = { .terminal = terminal, .out = out, .verbose = c->verbose };
	const cJSON *step;
	if (!c->quiet) {
		put_caller(&p, tree);
		cJSON_ArrayForEach(step, member(tree, "steps"))
		{
			put_step(&p, step);
		}
		fputc('\n', out);
	}
	put_verdict(&p, tree);
	if (!c->quiet && member(tree, "sight"))
		put_sight(&p, member(tree, "sight"));
	return p.no_memory ? -ENOMEM : 0;
}
