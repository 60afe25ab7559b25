#include "runner/drive/layer_make.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/drive/layer_key.h"
#include "runner/printable.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/clock.h"
#include "sandbox/base/copy.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fault.h"
#include "sandbox/base/fd.h"
#include "sandbox/base/json.h"
#include "sandbox/base/text.h"
#include "sandbox/cell.h"

#define OUTPUT_LEN_MAX 16384 /* of the commands' output, its end */
#define TAIL_LINES     20

/* What the one who saves tells the runner. */
struct saved {
	int r;
	struct err e;
	struct copy_result result;
};

struct make {
	const struct layer_job *job;
	struct cell cell;
	struct cell_event end;
	int output; /* read end; -1: it ended */
	struct buf tail;
	char *running; /* the command whose begin is in the tail no more; NULL: none */
	int64_t began_ms;
	struct saved *saved; /* shared with the one who saves */
};

static int no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "prepare: no memory");
}

/* ---- the commands ---- */

/* One cell, and so one layer, for all of them: each in a shell of its own, told before it begins, up
 * to the first that fails. */
static int write_script(const struct strv *run, struct buf *ret)
{
	int r = buf_puts(ret, "set -e\n");
	for (size_t i = 0; i < run->len && !r; i++) {
		r = buf_puts(ret, "printf '+ %s\\n' ");
		r = r ? r : buf_quote(ret, run->at[i]);
		r = r ? r : buf_puts(ret, "\nsh -ec ");
		r = r ? r : buf_quote(ret, run->at[i]);
		r = r ? r : buf_puts(ret, "\n");
	}
	return r;
}

/* The command that was begun last; the caller's. NULL: no memory. */
static char *running(const struct make *m)
{
	const char *found = m->running ? m->running : "";
	for (const char *at = m->tail.at; at && *at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (text_starts(at, "+ "))
			found = at + 2;
	}
	return strndup(found, strcspn(found, "\n"));
}

static void forget_old(struct make *m)
{
	char *command = running(m);
	if (!command)
		return;
	free(m->running);
	m->running = command;
	memmove(m->tail.at, m->tail.at + m->tail.len - OUTPUT_LEN_MAX, OUTPUT_LEN_MAX + 1);
	m->tail.len = OUTPUT_LEN_MAX;
}

static void take_output(struct make *m)
{
	char bytes[4096];
	ssize_t n = read(m->output, bytes, sizeof(bytes));
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		fd_close_at(&m->output);
		return;
	}
	for (ssize_t i = 0; i < n; i++)
		if (!bytes[i])
			bytes[i] = ' '; /* it is text from here on */
	if (buf_add(&m->tail, bytes, (size_t)n) == 0 && m->tail.len > 2 * OUTPUT_LEN_MAX)
		forget_old(m);
}

static int await_end(struct make *m, struct err *e)
{
	for (;;) {
		struct pollfd polls[] = {
			{ .fd = m->cell.control, .events = POLLIN },
			{ .fd = m->output, .events = POLLIN },
		};
		if (poll(polls, countof(polls), -1) < 0 && errno != EINTR)
			return err_sys(e, "wait for the commands of prepare");
		if (polls[1].revents)
			take_output(m);
		if (!polls[0].revents)
			continue;
		int r = cell_read(&m->cell, &m->end, e);
		if (r)
			return r;
		if (m->end.kind == CELL_GONE)
			return err_set(e, ECHILD,
				       "the cell of prepare ended before its commands did");
		if (m->end.kind == CELL_EXITED)
			return 0;
	}
}

/* What a left process holds open would never end: it is read as far as it is there. */
static void drain_output(struct make *m)
{
	struct pollfd output = { .fd = m->output, .events = POLLIN };
	while (m->output >= 0 && poll(&output, 1, 0) > 0) {
		take_output(m);
		output.fd = m->output;
	}
}

static int start(struct make *m, const char *script, struct err *e)
{
	const char *const argv[] = { "/bin/sh", "-c", script, NULL };
	int ends[2];
	if (pipe2(ends, O_CLOEXEC))
		return err_sys(e, "make a pipe for the output of prepare");
	m->output = ends[0];
	cleanup_close int its = ends[1];
	cleanup_close int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null < 0)
		return err_sys(e, "open /dev/null");
	struct cell_spec spec = *m->job->spec;
	spec.argv = argv;
	spec.stdin_fd = null;
	spec.stdout_fd = spec.stderr_fd = its;
	int r = cell_start(&spec, &m->cell, e);
	fault_point("layer-begun");
	return r ? r : cell_go(&m->cell, e);
}

/* Nobody of the cell is left; what it wrote is still there for whoever holds the scratch. */
static int end_cell(struct make *m, struct err *e)
{
	struct pollfd warden = { .fd = m->cell.pidfd, .events = POLLIN };
	int r = cell_release(&m->cell, e);
	while (!r && poll(&warden, 1, -1) < 0)
		if (errno != EINTR)
			r = err_sys(e, "wait for the end of the cell of prepare");
	return r;
}

/* ---- telling ---- */

static void say_line(FILE *to, const char *before, const char *text)
{
	cleanup_free char *shown = printable(text);
	if (to)
		fprintf(to, "%s%s\n", before, shown ? shown : "");
}

static void show_tail(struct make *m)
{
	if (!m->tail.len)
		return;
	char *at = m->tail.at + m->tail.len;
	for (int lines = 0; at > m->tail.at && lines <= TAIL_LINES;)
		lines += *--at == '\n' && at[1];
	at += *at == '\n';
	fprintf(stderr, "the end of what the commands of prepare printed:\n");
	for (char *line; (line = strsep(&at, "\n"));)
		if (*line || at)
			say_line(stderr, "  | ", line);
}

static int judge(struct make *m, struct err *e)
{
	int status = m->end.wait_status;
	if (!m->end.timed_out && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	cleanup_free char *command = running(m);
	if (!command)
		return no_memory(e);
	show_tail(m);
	if (m->end.timed_out)
		err_set(e, ETIMEDOUT, "prepare: %s was not done after %u minutes", command,
			m->job->spec->timeout_ms / 60000);
	else if (WIFSIGNALED(status))
		err_set(e, ECHILD, "prepare: %s was ended by signal %d", command, WTERMSIG(status));
	else
		err_set(e, ECHILD, "prepare: %s ended with status %d", command, WEXITSTATUS(status));
	err_hint(e, "it ran in a cell with your network and a private home; --prepare never goes on "
		    "without it");
	return err_status(e, STATUS_HOST);
}

/* ---- keeping ---- */

/* What of the upper folder goes into the layer. */
struct sieve {
	int upper;
	int project;
	cJSON *replaced;
};

static int note_replaced(struct sieve *s, const char *path, struct digest before, struct err *e)
{
	char hex[DIGEST_HEX];
	cJSON *entry = cJSON_CreateObject();
	if (!entry || !cJSON_AddItemToArray(s->replaced, entry) ||
	    json_add_name(entry, "path", path) ||
	    !cJSON_AddStringToObject(entry, "digest", digest_hex(before, hex)))
		return no_memory(e);
	return 1;
}

/* What an overlay copied up and nobody changed is no change, and would hide later ones. Git's own
 * files belong to the checkout, and move with every commit. */
static int wants(void *with, const char *path, const struct stat *st, struct err *e)
{
	struct sieve *s = with;
	struct digest before;
	struct digest after = DIGEST_NULL;
	if (text_eq(path, ".git"))
		return 0;
	int r = layer_stamp(s->project, path, &before, e);
	if (r || digest_eq(before, DIGEST_NULL))
		return r ? r : 1;
	if (!S_ISCHR(st->st_mode)) /* but for whiteouts */
		r = layer_stamp(s->upper, path, &after, e);
	if (r)
		return r;
	if (digest_eq(before, after))
		return S_ISDIR(st->st_mode);
	return note_replaced(s, path, before, e);
}

static int save_json(const struct make *m, cJSON *replaced, const struct copy_result *result,
		     struct err *e)
{
	const struct config *c = m->job->config;
	cleanup_json cJSON *tree = cJSON_CreateObject();
	char made[32];
	time_t now = time(NULL);
	struct tm utc;
	strftime(made, sizeof(made), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
	if (!tree || !cJSON_AddNumberToObject(tree, "version", LAYER_VERSION) ||
	    json_add_name(tree, "project", c->project.path) ||
	    !json_add(tree, "run", json_texts((const char *const *)c->prepare.run.at)) ||
	    !cJSON_AddStringToObject(tree, "made", made) ||
	    !cJSON_AddNumberToObject(tree, "files", (double)result->files) ||
	    !cJSON_AddNumberToObject(tree, "bytes", (double)result->bytes) ||
	    !cJSON_AddItemReferenceToObject(tree, "replaced", replaced))
		return no_memory(e);
	cleanup_free char *text = cJSON_Print(tree);
	if (!text)
		return no_memory(e);
	cleanup_close int fd =
		openat(m->job->dir, "layer.json", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || fd_write_full(fd, text, strlen(text)))
		return err_sys(e, "write layer.json");
	return 0;
}

/* The root of a layer is seen where nothing is written over it. */
static int seal_root(int to, int project, struct err *e)
{
	struct stat st;
	if (fstat(project, &st) < 0 || fchmod(to, st.st_mode & 07777) < 0)
		return err_sys(e, "give the layer its mode");
	(void)!fchown(to, st.st_uid, st.st_gid);
	return syncfs(to) < 0 ? err_sys(e, "write the layer to disk") : 0;
}

static const struct cell_place *project_place(const struct make *m)
{
	const struct cell_view *view = &m->cell.view;
	for (size_t i = 0; i < view->places_len; i++)
		if (text_eq(view->places[i].path, m->job->spec->project) &&
		    view->places[i].base >= 0 && !view->places[i].copied)
			return &view->places[i];
	return NULL;
}

static int save(const struct make *m, struct copy_result *ret, struct err *e)
{
	const struct cell_place *place = project_place(m);
	if (!place)
		return err_set(e, EPROTO, "the cell of prepare had no overlay over the project");
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	cleanup_close int upper = openat(m->cell.view.scratch, place->dir, flags);
	cleanup_close int to = openat(m->job->dir, "new", flags);
	if (upper < 0 || to < 0)
		return err_sys(e, "open what was prepared");
	cleanup_json cJSON *replaced = cJSON_CreateArray();
	struct sieve sieve = { .upper = upper, .project = place->base, .replaced = replaced };
	const struct copy_how how = { .wants = wants, .with = &sieve, .layer = true };
	int r = replaced ? copy_tree(upper, to, &how, ret, e) : no_memory(e);
	r = r ? r : save_json(m, replaced, ret, e);
	return r ? r : seal_root(to, place->base, e);
}

/* In the cell's user namespace files of mode 000 can be read; nothing else is different there. */
static _Noreturn void saver(const struct make *m, pid_t runner)
{
	struct saved *saved = m->saved;
	struct err *e = &saved->e;
	umask(0);
	if (setns(m->cell.view.userns, CLONE_NEWUSER))
		saved->r = err_sys(e, "join the cell's user namespace");
	else if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != runner)
		saved->r = err_set(e, EPIPE, "the runner is gone");
	else
		saved->r = save(m, &saved->result, e);
	_exit(0);
}

static int keep(struct make *m, struct err *e)
{
	pid_t runner = getpid();
	m->saved->r = err_set(&m->saved->e, ECHILD, "who keeps what was prepared was killed");
	pid_t pid = fork();
	if (pid < 0)
		return err_sys(e, "fork who keeps what was prepared");
	if (pid == 0)
		saver(m, runner);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	if (m->saved->r)
		*e = m->saved->e;
	return m->saved->r ? err_in(e, "keep what was prepared") : 0;
}

static void say_done(const struct make *m)
{
	if (!m->job->say)
		return;
	const struct copy_result *result = &m->saved->result;
	fprintf(m->job->say, "prepared in %.1f s: %ju file%s, %.1f MB\n",
		(double)(clock_ms() - m->began_ms) / 1000, (uintmax_t)result->files,
		result->files == 1 ? "" : "s", (double)result->bytes / 1e6);
}

static int make(struct make *m, struct err *e)
{
	cleanup(buf_done) struct buf script = BUF_NULL;
	const struct strv *run = &m->job->config->prepare.run;
	for (size_t i = 0; i < run->len; i++)
		say_line(m->job->say, i ? "           " : "preparing: ", run->at[i]);
	if (write_script(run, &script))
		return no_memory(e);
	int r = start(m, script.at, e);
	r = r ? r : await_end(m, e);
	if (!r)
		drain_output(m);
	r = r ? r : judge(m, e);
	r = r ? r : end_cell(m, e);
	r = r ? r : keep(m, e);
	if (!r)
		say_done(m);
	return r;
}

int layer_make(const struct layer_job *job, struct err *e)
{
	struct make m = { .job = job, .cell = CELL_NULL, .output = -1, .began_ms = clock_ms() };
	m.saved = mmap(NULL, sizeof(*m.saved), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (m.saved == MAP_FAILED)
		return no_memory(e);
	int r = make(&m, e);
	cell_done(&m.cell);
	fd_close_at(&m.output);
	buf_done(&m.tail);
	free(m.running);
	munmap(m.saved, sizeof(*m.saved));
	return r;
}
