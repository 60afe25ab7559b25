/*
 * tools: what visible and env find works in a cell: a pyenv, whose shims are
 * scripts that need all of it, and the one this machine may have.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "sandbox/cell.h"
#include "sandbox/env.h"
#include "sandbox/visible.h"
#include "tests/lib/tap.h"

#define OUTPUT_LEN_MAX 4096

/* A name that ends in '/' is a folder, "NAME -> TARGET" a link; others are programs. */
static const struct {
	const char *name, *text;
} home_files[] = {
	{ ".pyenv/version", "3.9.99\n" },
	{ ".pyenv/shims/python3",
	  "#!/bin/sh\nset -e\nexec \"${0%/shims/*}/libexec/pyenv\" exec \"${0##*/}\" \"$@\"\n" },
	{ ".pyenv/libexec/pyenv",
	  "#!/bin/sh\nroot=${0%/libexec/*}\nshift\nname=$1\nshift\n"
	  "exec \"$root/versions/$(cat \"$root/version\")/bin/$name\" \"$@\"\n" },
	{ ".pyenv/versions/3.9.99 -> ../../opt/py", NULL },
	{ "opt/py/bin/python3",
	  "#!/bin/sh\ncat \"$(dirname \"$(readlink -f \"$0\")\")/../lib/answer\"\n" },
	{ "opt/py/lib/answer", "Python 3.9.99\n" },
	{ ".cargo/bin/cargo", "#!/bin/sh\necho cargo\n" },
	{ ".cargo/credentials.toml", "token = \"secret\"\n" },
	{ "diary", "dear diary\n" },
};

static void make_parents(int home, char *path)
{
	for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdirat(home, path, 0755);
		*slash = '/';
	}
}

static bool make(int home, const char *name, const char *text)
{
	char path[256];
	snprintf(path, sizeof(path), "%s", name);
	char *target = strstr(path, " -> ");
	if (target)
		*target = '\0';
	make_parents(home, path);
	if (target)
		return symlinkat(target + 4, home, path) == 0;
	cleanup_close int fd = openat(home, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	return fd >= 0 && fd_write_full(fd, text, strlen(text)) == 0;
}

struct
try {
	const char *home;
	const char *project;
	const char *const *caller;
	const char *const *argv;
};

static int start(const struct try *t, const struct visible *v, int out, struct cell *cell,
		 struct err *e)
{
	cleanup(strv_done) struct strv env = STRV_NULL;
	const struct env_ask ask = {
		.uid = geteuid(),
		.user = "somebody",
		.home = t->home,
		.path = v->path,
		.caller = t->caller,
		.tools = (const char *const *)v->tools.at,
	};
	int r = env_build(&ask, &env, e);
	cleanup_free struct cell_bind *binds = calloc(v->len + 1, sizeof(*binds));
	if (r < 0 || !binds)
		return r < 0 ? r : err_set(e, ENOMEM, "no memory");
	for (size_t i = 0; i < v->len; i++)
		binds[i] = (struct cell_bind){ v->rows[i].path, v->rows[i].path };
	cleanup_close int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	const struct cell_spec spec = {
		.uid = geteuid(),
		.gid = getegid(),
		.user = "somebody",
		.home = t->home,
		.project = t->project,
		.cwd = t->project,
		.argv = t->argv,
		.env = (const char *const *)env.at,
		.binds = binds,
		.binds_len = v->len,
		.hidden = (const char *const *)v->hidden.at,
		.hidden_len = v->hidden.len,
		.scratch_bytes = UINT64_C(1) << 28,
		.scratch_inodes = 1 << 16,
		.pid_max = 1024,
		.grace_ms = 1000,
		.no_canary = true,
		.stdin_fd = in,
		.stdout_fd = out,
		.stderr_fd = out,
	};
	r = cell_start(&spec, cell, e);
	return r < 0 ? r : cell_go(cell, e);
}

/* What the command says, and its wait status; our errors are part of it. */
static char *run(const struct try *t, int *ret_status)
{
	cleanup_close int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup(visible_done) struct visible v = VISIBLE_NULL;
	cleanup(cell_done) struct cell cell = CELL_NULL;
	const struct visible_ask ask = {
		.root = root, .home = t->home, .project = t->project, .caller = t->caller
	};
	struct err e = ERR_NULL;
	int ends[2];
	*ret_status = -1;
	if (pipe2(ends, O_CLOEXEC) < 0 || visible_find(&ask, &v, &e) < 0)
		return strdup(e.text);
	cleanup_close int from = ends[0];
	int r = start(t, &v, ends[1], &cell, &e);
	close(ends[1]);
	struct cell_event event;
	if (r < 0 || cell_read(&cell, &event, &e) < 0)
		return strdup(e.text);
	*ret_status = event.wait_status;
	char *said = calloc(1, OUTPUT_LEN_MAX + 1);
	if (said && fd_read_full(from, said, OUTPUT_LEN_MAX) < 0)
		said[0] = '\0';
	return said;
}

static const char script[] = "python3\ncargo\ncat ~/.cargo/credentials.toml && echo no token\n"
			     "ls -A ~\n"
			     "touch ~/.pyenv/x 2>/dev/null || echo tools are read-only\n"
			     "touch ~/mine && echo home is not\n"
			     "test -e ~/diary || echo no diary\n";
static const char wanted[] = "Python 3.9.99\ncargo\nno token\n"
			     ".cache\n.cargo\n.pyenv\nopt\n"
			     "tools are read-only\nhome is not\nno diary\n";

static void test_made(const char *top)
{
	char home[PATH_MAX];
	char project[PATH_MAX];
	char path[PATH_MAX * 2 + 128];
	snprintf(home, sizeof(home), "%s/home", top);
	snprintf(project, sizeof(project), "%s/project", top);
	snprintf(path, sizeof(path), "PATH=%s/.pyenv/shims:%s/.cargo/bin:/usr/bin:/bin", home, home);
	bool made = mkdir(home, 0755) == 0 && mkdir(project, 0755) == 0;
	cleanup_close int dir = open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < countof(home_files); i++)
		made = made && make(dir, home_files[i].name, home_files[i].text);
	tap_ok(made, "a home with tools in %s", home);
	const char *const caller[] = { path, NULL };
	const char *const argv[] = { "sh", "-c", script, NULL };
	int status;
	cleanup_free char *said = run(&(struct try){ home, project, caller, argv }, &status);
	tap_ok(status == 0 && said && strcmp(said, wanted) == 0, "tools below home work: %s", said);
}

/* The machine's own python3, when it is somewhere below home. */
static void test_own(const char *top)
{
	const struct passwd *pw = getpwuid(geteuid());
	char project[PATH_MAX];
	snprintf(project, sizeof(project), "%s/own", top);
	const char *list = getenv("PATH");
	cleanup_free char *home = pw ? realpath(pw->pw_dir, NULL) : NULL;
	cleanup_free char *first = strdup(list ? list : "");
	const char *found = NULL;
	char path[PATH_MAX];
	for (char *save = NULL, *dir = first ? strtok_r(first, ":", &save) : NULL; dir && !found;
	     dir = strtok_r(NULL, ":", &save)) {
		snprintf(path, sizeof(path), "%s/python3", dir);
		found = access(path, X_OK) == 0 ? path : NULL;
	}
	if (!first || !home || !found || !path_below(found, home) || mkdir(project, 0755) < 0) {
		tap_skip("it is not below home here", "the machine's own python3 works");
		return;
	}
	const char *const argv[] = { "python3", "-c", "print(6 * 7)", NULL };
	int status;
	cleanup_free char *said =
		run(&(struct try){ home, project, (const char *const *)environ, argv }, &status);
	tap_ok(status == 0 && said && strcmp(said, "42\n") == 0, "%s works: %s", found, said);
}

int main(void)
{
	char top[] = "/var/tmp/fumehood-tools.XXXXXX";
	char clear[64];
	if (!mkdtemp(top))
		return 1;
	test_made(top);
	test_own(top);
	snprintf(clear, sizeof(clear), "rm -rf %s", top);
	if (system(clear) != 0) // NOLINT(cert-env33-c): a name of our own
		return 1;
	return tap_done();
}
