/*
 * cell_run: start one command in a cell and write what came of it as one line
 * of JSON, to stdout or to --out FILE. For the shell tests, and for a look at a
 * cell by hand.
 *
 * Usage: cell_run [OPTION...] -- COMMAND...
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fault.h"
#include "sandbox/base/json.h"
#include "sandbox/base/text.h"
#include "sandbox/cell.h"
#include "sandbox/closed.h"

#define LIST_MAX 16

struct options {
	struct cell_spec spec;
	struct cell_bind binds[LIST_MAX];
	const char *hidden[LIST_MAX];
	const char *homes[LIST_MAX];
	struct strv closed;
	struct cell_file files[LIST_MAX];
	uint16_t forwards[LIST_MAX];
	struct strv env;
	char cwd[PATH_MAX];
	const char *out;
	unsigned int repeat;
	int stop_signal; /* sent once, when the command has run for stop_ms */
	int stop_ms;
	int hold_ms; /* between the command's end and cell_release */
};

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "cell_run: %s\n", what);
	exit(STATUS_USAGE);
}

static void defaults(struct options *o)
{
	const struct passwd *pw = getpwuid(getuid());
	const char *home = getenv("HOME");
	if (!home && pw)
		home = pw->pw_dir;
	if (!getcwd(o->cwd, sizeof(o->cwd)))
		die("no working directory");
	o->spec = (struct cell_spec){
		.uid = getuid(),
		.gid = getgid(),
		.user = pw ? pw->pw_name : "user",
		.home = home,
		.project = o->cwd,
		.cwd = o->cwd,
		.binds = o->binds,
		.hidden = o->hidden,
		.homes = o->homes,
		.files = o->files,
		.forwards = o->forwards,
		.scratch_bytes = 1ULL << 30,
		.scratch_inodes = 1 << 20,
		.pid_max = 4096,
		.grace_ms = 2000,
		.stdin_fd = STDIN_FILENO,
		.stdout_fd = STDOUT_FILENO,
		.stderr_fd = STDERR_FILENO,
	};
	o->repeat = 1;
	strv_add(&o->env, "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
	strv_add(&o->env, "LANG=C.UTF-8");
	strv_addf(&o->env, "HOME=%s", home ? home : "/");
	strv_addf(&o->env, "XDG_RUNTIME_DIR=/run/user/%u", getuid());
}

enum {
	OPT_PROJECT = 256,
	OPT_CWD,
	OPT_HOME,
	OPT_GIT_DIR,
	OPT_NETWORK_HOST,
	OPT_FORWARD,
	OPT_SCRATCH_DIR,
	OPT_COPY,
	OPT_LAYER,
	OPT_TIMEOUT,
	OPT_GRACE,
	OPT_SCRATCH,
	OPT_PID_MAX,
	OPT_NO_WATCH,
	OPT_NO_CANARY,
	OPT_NESTED,
	OPT_SETID,
	OPT_BIND,
	OPT_HIDE,
	OPT_HOMES,
	OPT_CLOSED,
	OPT_FILE,
	OPT_ENV,
	OPT_REPEAT,
	OPT_STOP,
	OPT_HOLD,
	OPT_OUT,
};

static const struct option longs[] = {
	{ "project", required_argument, NULL, OPT_PROJECT },
	{ "cwd", required_argument, NULL, OPT_CWD },
	{ "home", required_argument, NULL, OPT_HOME },
	{ "git-dir", required_argument, NULL, OPT_GIT_DIR },
	{ "network-host", no_argument, NULL, OPT_NETWORK_HOST },
	{ "forward", required_argument, NULL, OPT_FORWARD },
	{ "scratch-dir", required_argument, NULL, OPT_SCRATCH_DIR },
	{ "copy", no_argument, NULL, OPT_COPY },
	{ "layer", required_argument, NULL, OPT_LAYER },
	{ "timeout-ms", required_argument, NULL, OPT_TIMEOUT },
	{ "grace-ms", required_argument, NULL, OPT_GRACE },
	{ "scratch-bytes", required_argument, NULL, OPT_SCRATCH },
	{ "pid-max", required_argument, NULL, OPT_PID_MAX },
	{ "no-watch", no_argument, NULL, OPT_NO_WATCH },
	{ "no-canary", no_argument, NULL, OPT_NO_CANARY },
	{ "allow-nested", no_argument, NULL, OPT_NESTED },
	{ "setid", no_argument, NULL, OPT_SETID },
	{ "bind", required_argument, NULL, OPT_BIND }, /* SOURCE=TARGET */
	{ "hide", required_argument, NULL, OPT_HIDE },
	{ "homes", required_argument, NULL, OPT_HOMES },
	{ "closed", no_argument, NULL, OPT_CLOSED },       /* hide what is; after --project */
	{ "file", required_argument, NULL, OPT_FILE },     /* NAME=TEXT */
	{ "env", required_argument, NULL, OPT_ENV },       /* NAME=VALUE */
	{ "repeat", required_argument, NULL, OPT_REPEAT }, /* so many launches; prints times */
	{ "stop", required_argument, NULL, OPT_STOP },     /* SIGNAL=MS */
	{ "hold-ms", required_argument, NULL, OPT_HOLD },
	{ "out", required_argument, NULL, OPT_OUT },
	{ 0 },
};

static unsigned int number(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);
	if (*end || end == text)
		die("a number is wanted");
	return (unsigned int)n;
}

/* Cuts "a=b" in two and returns b. */
static char *cut(char *text)
{
	char *equals = strchr(text, '=');
	if (!equals)
		die("A=B is wanted");
	*equals = '\0';
	return equals + 1;
}

static void set_pair(struct options *o, int option, char *arg)
{
	struct cell_spec *s = &o->spec;
	if (s->binds_len == LIST_MAX || s->files_len == LIST_MAX)
		die("too many of these");
	char *value = cut(arg);
	if (option == OPT_BIND) {
		o->binds[s->binds_len++] = (struct cell_bind){ arg, value };
	} else if (option == OPT_FILE) {
		o->files[s->files_len++] = (struct cell_file){ arg, value, strlen(value) };
	} else {
		o->stop_signal = (int)number(arg);
		o->stop_ms = (int)number(value);
	}
}

static void set_number(struct options *o, int option, unsigned int n)
{
	switch (option) {
	case OPT_FORWARD:
		if (o->spec.forwards_len == LIST_MAX)
			die("too many of these");
		o->forwards[o->spec.forwards_len++] = (uint16_t)n;
		break;
	case OPT_TIMEOUT:
		o->spec.timeout_ms = n;
		break;
	case OPT_GRACE:
		o->spec.grace_ms = n;
		break;
	case OPT_SCRATCH:
		o->spec.scratch_bytes = n;
		break;
	case OPT_PID_MAX:
		o->spec.pid_max = n;
		break;
	case OPT_REPEAT:
		o->repeat = n;
		break;
	default:
		o->hold_ms = (int)n;
		break;
	}
}

static void hide_closed(struct options *o)
{
	struct cell_spec *s = &o->spec;
	struct stat st;
	struct strv known = STRV_NULL;
	struct err e = ERR_NULL;
	cleanup_close int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || stat(s->project, &st) < 0 || strv_add(&known, s->project))
		die("no project");
	const struct closed_ask ask = { root, st.st_uid, st.st_gid, &known };
	if (closed_find(&ask, &o->closed, &e) < 0)
		die(e.text);
	strv_done(&known);
	s->hidden = (const char *const *)o->closed.at;
	s->hidden_len = o->closed.len;
}

static void set_option(struct options *o, int option, char *arg)
{
	struct cell_spec *s = &o->spec;
	switch (option) {
	case OPT_PROJECT:
		s->project = arg;
		break;
	case OPT_CWD:
		s->cwd = arg;
		break;
	case OPT_HOME:
		s->home = *arg ? arg : NULL;
		break;
	case OPT_GIT_DIR:
		s->git_dir = arg;
		break;
	case OPT_HIDE:
		if (s->hidden_len == LIST_MAX)
			die("too many of these");
		o->hidden[s->hidden_len++] = arg;
		break;
	case OPT_HOMES:
		if (s->homes_len == LIST_MAX)
			die("too many of these");
		o->homes[s->homes_len++] = arg;
		break;
	case OPT_CLOSED:
		hide_closed(o);
		break;
	case OPT_OUT:
		o->out = arg;
		break;
	case OPT_ENV:
		strv_add(&o->env, arg);
		break;
	case OPT_SCRATCH_DIR:
		s->scratch_dir = arg;
		break;
	case OPT_COPY:
		s->project_copy = true;
		break;
	case OPT_LAYER:
		s->layer = arg;
		break;
	case OPT_NETWORK_HOST:
		s->network = CELL_NETWORK_HOST;
		break;
	case OPT_NO_WATCH:
		s->no_watch = true;
		break;
	case OPT_NO_CANARY:
		s->no_canary = true;
		break;
	case OPT_NESTED:
		s->allow_nested = true;
		break;
	case OPT_SETID:
		s->caps = CELL_CAPS_SETID;
		break;
	case OPT_BIND:
	case OPT_FILE:
	case OPT_STOP:
		set_pair(o, option, arg);
		break;
	case '?':
		exit(STATUS_USAGE);
	default:
		set_number(o, option, number(arg));
		break;
	}
}

static void add_isolation(cJSON *out, const struct isolation *isolation)
{
	static const char *const states[] = { "off", "verified", "reduced" };
	cJSON *block = cJSON_AddObjectToObject(out, "isolation");
	for (size_t i = 0; i < ISOLATION_N; i++) {
		const char *why = isolation->why[i];
		cJSON_AddStringToObject(block, isolation_names[i],
					*why ? why : states[isolation->state[i]]);
	}
}

static void add_view(cJSON *out, const struct cell_view *view)
{
	cJSON *places = cJSON_AddObjectToObject(out, "places");
	for (size_t i = 0; i < view->places_len; i++)
		cJSON_AddStringToObject(places, view->places[i].path, view->places[i].dir);
	cJSON_AddStringToObject(out, "fanotify", view->fanotify >= 0 ? "" : view->why_no_fanotify);
}

static int write_result(const struct options *o, const struct cell *cell,
			const struct cell_event *ev, struct err *e)
{
	int status = ev->wait_status;
	cleanup_json cJSON *out = cJSON_CreateObject();
	cJSON_AddNumberToObject(out, "wait_status", status);
	cJSON_AddNumberToObject(out, "exit",
				WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	cJSON_AddBoolToObject(out, "gone", ev->kind == CELL_GONE);
	cJSON_AddBoolToObject(out, "timed_out", ev->timed_out);
	cJSON_AddBoolToObject(out, "asked", ev->asked);
	cJSON_AddNumberToObject(out, "exec_error", ev->exec_failed ? ev->exec_error : 0);
	cJSON_AddNumberToObject(out, "survivors_len", ev->survivors_len);
	cJSON *survivors = cJSON_AddArrayToObject(out, "survivors");
	for (size_t i = 0; i < ev->survivors_len && i < CELL_SURVIVORS_MAX; i++)
		cJSON_AddItemToArray(survivors, cJSON_CreateString(ev->survivors[i].comm));
	add_isolation(out, &cell->isolation);
	add_view(out, &cell->view);
	cleanup_free char *line = json_line(out);
	FILE *to = o->out ? fopen(o->out, "we") : stdout;
	if (!to)
		return err_sys(e, "open %s", o->out);
	fprintf(to, "%s\n", line);
	fflush(to);
	if (o->out)
		fclose(to);
	return 0;
}

static int run_once(const struct options *o, struct err *e)
{
	cleanup(cell_done) struct cell cell = CELL_NULL;
	struct cell_event event = { 0 };
	int r = cell_start(&o->spec, &cell, e);
	if (!r)
		r = cell_go(&cell, e);
	if (r < 0)
		return r;
	struct pollfd control = { .fd = cell.control, .events = POLLIN };
	if (o->stop_signal && poll(&control, 1, o->stop_ms) == 0)
		r = cell_stop(&cell, o->stop_signal, e);
	if (!r)
		r = cell_read(&cell, &event, e);
	if (r < 0)
		return r;
	r = write_result(o, &cell, &event, e);
	if (r < 0)
		return r;
	if (o->hold_ms)
		poll(NULL, 0, o->hold_ms);
	return event.kind == CELL_GONE ? 0 : cell_release(&cell, e);
}

static double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int by_value(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;
	return d < 0 ? -1 : d > 0;
}

static int launch(const struct options *o, double *ret_start_ms, double *ret_ms, struct err *e)
{
	cleanup(cell_done) struct cell cell = CELL_NULL;
	struct cell_event event = { 0 };
	double from = now_ms();
	int r = cell_start(&o->spec, &cell, e);
	*ret_start_ms = now_ms() - from;
	if (!r)
		r = cell_go(&cell, e);
	if (!r)
		r = cell_read(&cell, &event, e);
	*ret_ms = now_ms() - from;
	return r < 0 ? r : cell_release(&cell, e);
}

/* Launch again and again. What is timed ends with the result: teardown comes after. */
static int measure(const struct options *o, struct err *e)
{
	cleanup_free double *ms = calloc(o->repeat, sizeof(*ms));
	cleanup_free double *start_ms = calloc(o->repeat, sizeof(*ms));
	if (!ms || !start_ms)
		return err_sys(e, "keep the times");
	for (unsigned int i = 0; i < o->repeat; i++) {
		int r = launch(o, &start_ms[i], &ms[i], e);
		if (r < 0)
			return r;
	}
	qsort(ms, o->repeat, sizeof(*ms), by_value);
	qsort(start_ms, o->repeat, sizeof(*start_ms), by_value);
	printf("%u launches: median %.2f ms, p95 %.2f, min %.2f; of these to the start %.2f\n",
	       o->repeat, ms[o->repeat / 2], ms[o->repeat * 95 / 100], ms[0],
	       start_ms[o->repeat / 2]);
	return 0;
}

int main(int argc, char **argv)
{
	static struct options o;
	fault_arm();
	defaults(&o);
	for (int option; (option = getopt_long(argc, argv, "+", longs, NULL)) >= 0;)
		set_option(&o, option, optarg);
	o.spec.argv = (const char *const *)argv + optind;
	o.spec.env = (const char *const *)o.env.at;
	struct err e = ERR_NULL;
	int r = o.repeat > 1 ? measure(&o, &e) : run_once(&o, &e);
	strv_done(&o.env);
	if (r == 0)
		return 0;
	fprintf(stderr, "cell_run: %s\n", e.text);
	if (e.hint[0])
		fprintf(stderr, "cell_run: hint: %s\n", e.hint);
	return e.status ? e.status : STATUS_INTERNAL;
}
