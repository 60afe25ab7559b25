#include "runner/drive/touched.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/cell.h"
#include "sandbox/env.h"

#define TIME_MS 60000 /* for all that git does */

/* Statuses of the script. */
enum {
	NO_GIT = 10,
	NO_CHECKOUT = 11,
	NO_BASE = 12,
	NO_MERGE_BASE = 13,
};

/* $1: from the working directory to the project; $2: BASE. What goes wrong is printed, too. */
static const char script[] =
	"command -v git >/dev/null || exit 10\n"
	"cd -- \"$1\" || exit 70\n"
	"git rev-parse --git-dir 2>&1 || exit 11\n"
	"git rev-parse --verify \"$2^{commit}\" 2>&1 || exit 12\n"
	"from=$(git merge-base HEAD \"$2\") || exit 13\n"
	"echo \"$from\"\n"
	"printf '\\0'\n"
	"git diff --name-only -z --relative --no-renames --no-ext-diff --no-textconv \\\n"
	"    --ignore-submodules \"$from\" -- . 2>&1 || exit 70\n"
	"git ls-files -z --others --exclude-standard 2>&1 || exit 70\n";

struct asking {
	struct cell cell;
	struct cell_event end;
	int output; /* read end; -1: it ended */
	struct buf said;
};

static void asking_done(struct asking *a)
{
	fd_close_at(&a->output);
	cell_done(&a->cell);
	buf_done(&a->said);
}

static int no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "ask git what was changed: no memory");
}

/* As many "../" as lead from the working directory to the project. */
static int way_up(const struct cell_spec *spec, struct buf *ret)
{
	int r = buf_puts(ret, ".");
	for (const char *s = spec->cwd + strlen(spec->project_seen); *s && !r; s++)
		r = *s == '/' ? buf_puts(ret, "/..") : 0;
	return r;
}

static int start(struct asking *a, const struct cell_spec *suite, const char *base, struct err *e)
{
	cleanup(buf_done) struct buf up = BUF_NULL;
	cleanup(strv_done) struct strv env = STRV_NULL;
	cleanup_close int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int ends[2];
	if (null < 0)
		return err_sys(e, "open /dev/null");
	if (pipe2(ends, O_CLOEXEC))
		return err_sys(e, "make a pipe for the output of git");
	a->output = ends[0];
	cleanup_close int its = ends[1];
	int r = way_up(suite, &up);
	for (size_t i = 0; suite->env[i] && !r; i++)
		r = strv_add(&env, suite->env[i]);
	/* It is as far from the user's checkout as a file that was downloaded: let git read it. */
	if (r || env_put(&env, "GIT_CONFIG_COUNT", "1") ||
	    env_put(&env, "GIT_CONFIG_KEY_0", "safe.directory") ||
	    env_put(&env, "GIT_CONFIG_VALUE_0", "*") || env_put(&env, "GIT_OPTIONAL_LOCKS", "0") ||
	    env_put(&env, "GIT_TERMINAL_PROMPT", "0") ||
	    env_put(&env, "GIT_DISCOVERY_ACROSS_FILESYSTEM", "1"))
		return no_memory(e);
	const char *const argv[] = { "/bin/sh", "-c", script, "sh", up.at, base, NULL };
	struct cell_spec spec = *suite;
	spec.argv = argv;
	spec.env = (const char *const *)env.at;
	spec.layer = NULL; /* what was prepared is no change of the user's */
	spec.network = CELL_NETWORK_NONE;
	spec.forwards_len = spec.errands_len = 0;
	spec.tty = false;
	spec.no_watch = true;
	spec.timeout_ms = TIME_MS;
	spec.stdin_fd = null;
	spec.stdout_fd = spec.stderr_fd = its;
	r = cell_start(&spec, &a->cell, e);
	return r ? r : cell_go(&a->cell, e);
}

static int take_output(struct asking *a, struct err *e)
{
	char bytes[4096];
	ssize_t n = read(a->output, bytes, sizeof(bytes));
	if (n < 0 && errno == EINTR)
		return 0;
	if (n <= 0) {
		fd_close_at(&a->output);
		return 0;
	}
	if (a->said.len + (size_t)n > TOUCHED_BYTES_MAX)
		return err_set(e, EFBIG, "git names over %d bytes of changed files",
			       TOUCHED_BYTES_MAX);
	return buf_add(&a->said, bytes, (size_t)n) ? no_memory(e) : 0;
}

/* Until the script has ended, and all that it printed is here. What it left running may hold its output
 * open. */
static int await_end(struct asking *a, struct err *e)
{
	bool ended = false;
	for (;;) {
		struct pollfd polls[] = {
			{ .fd = a->output, .events = POLLIN },
			{ .fd = ended ? -1 : a->cell.control, .events = POLLIN },
		};
		int n = poll(polls, countof(polls), ended ? 0 : -1);
		if (n < 0 && errno != EINTR)
			return err_sys(e, "wait for git");
		if (ended && (n == 0 || a->output < 0))
			return 0;
		int r = n > 0 && polls[0].revents ? take_output(a, e) : 0;
		if (!r && n > 0 && polls[1].revents) {
			r = cell_read(&a->cell, &a->end, e);
			ended = true;
		}
		if (r)
			return r;
	}
}

/* What git said itself, behind the names that it had told by then. */
static int hint_words(const struct asking *a, struct err *e)
{
	const char *words = a->said.at ? a->said.at : "";
	const char *nul = memrchr(words, '\0', a->said.len);
	words = nul ? nul + 1 : words;
	return err_hint(e, "git says: %.*s", (int)strcspn(words, "\n"), words);
}

static int judge(const struct asking *a, const char *base, struct err *e)
{
	int status = a->end.wait_status;
	bool upstream = text_eq(base, "@{upstream}");
	if (a->end.kind != CELL_EXITED || a->end.timed_out || !WIFEXITED(status))
		return err_set(e, ECHILD, "--select: git was not done in %d seconds", TIME_MS / 1000);
	switch (WEXITSTATUS(status)) {
	case 0:
		return 0;
	case NO_GIT:
		err_set(e, ENOENT, "--select: there is no git that the suite could run");
		err_hint(e, "fumehood doctor tells which folders of your PATH are seen");
		return err_status(e, STATUS_HOST);
	case NO_CHECKOUT:
		err_set(e, EINVAL, "--select: the project is no git checkout");
		hint_words(a, e);
		break;
	case NO_BASE:
		if (upstream) {
			err_set(e, EINVAL, "--select: the branch has no upstream");
			err_hint(e, "say what it left: --select touched:main");
		} else {
			err_set(e, EINVAL, "--select: git does not know \"%s\"", base);
			err_hint(e, "BASE is a branch, a tag or a commit");
		}
		break;
	case NO_MERGE_BASE:
		err_set(e, EINVAL, "--select: the branch and %s have no commit in common",
			upstream ? "its upstream" : base);
		err_hint(e, "a shallow clone lacks it: git fetch --unshallow");
		break;
	default:
		err_set(e, ECHILD, "--select: git cannot tell what was changed");
		hint_words(a, e);
		return err_status(e, STATUS_HOST);
	}
	return err_status(e, STATUS_USAGE);
}

/* Behind the first NUL stand names, each with one behind it. */
static int read_names(const struct asking *a, struct strv *ret, struct err *e)
{
	const char *at = a->said.at ? a->said.at : "";
	const char *end = at + a->said.len;
	int r = 0;
	for (at += strlen(at) + 1; at < end && !r; at += strlen(at) + 1)
		r = *at && !strv_has(ret, at) ? strv_add(ret, at) : 0;
	return r ? no_memory(e) : 0;
}

int touched_files(const struct cell_spec *suite, const char *base, struct strv *ret, struct err *e)
{
	cleanup(asking_done) struct asking a = { .cell = CELL_NULL, .output = -1 };
	base = base ? base : "@{upstream}";
	int r = start(&a, suite, base, e);
	r = r ? r : await_end(&a, e);
	r = r ? r : judge(&a, base, e);
	return r ? r : read_names(&a, ret, e);
}
