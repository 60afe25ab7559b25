#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "sandbox/visible.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/tap.h"

/* A small host. A name that ends in '/' is a folder; what follows " -> " is the target of a link,
 * what follows " = " the content of a file. */
static const char *const host[] = {
	"usr/bin/",
	"usr/bin/sh",
	"usr/bin/python3 -> python3.11",
	"usr/bin/python3.11",
	"usr/bin/odd -> /home/ann/opt/kit/bin/kit",
	"usr/local/bin/node -> /home/bob/builds/node/bin/node",
	"bin -> usr/bin",
	"opt/env/bin/",
	"opt/env/pyvenv.cfg = version = 3\nhome = /home/ann/opt/py313/bin\n",
	"run/sw/bin/",
	"tmp/venv/bin/",
	"work/app/.venv/bin/python -> /home/bob/builds/py312/bin/python3.12",
	"work/app/.venv/pyvenv.cfg",
	"work/app/.tox/py/bin/python -> /home/bob/builds/py314/bin/python",
	"work/app/.tox/py/pyvenv.cfg",
	"work/app/scripts/",

	/* Ann keeps her tools herself. */
	"home/ann/.local/bin/black -> ../share/pipx/venvs/black/bin/black",
	"home/ann/.local/share/pipx/venvs/black/bin/black",
	"home/ann/.local/share/keyrings/login.keyring",
	"home/ann/.local/share/uv/",
	"home/ann/.local/lib/python3.11/",
	"home/ann/bin/tool -> ../opt/tool/run.sh",
	"home/ann/bin/alone -> /home/ann/alone.sh",
	"home/ann/bin/hop -> /home/ann/hops/hop",
	"home/ann/bin/folder -> /home/ann/plain",
	"home/ann/bin/dangling -> /home/ann/nowhere/x",
	"home/ann/bin/round -> round",
	"home/ann/bin/key -> /home/ann/.ssh/helper",
	"home/ann/bin/home -> /home/ann",
	"home/ann/hops/hop -> /usr/bin/sh",
	"home/ann/opt/tool/run.sh",
	"home/ann/opt/kit/bin/kit",
	"home/ann/opt/py313/bin/",
	"home/ann/mybin -> opt/kit/bin",
	"home/ann/alone.sh",
	"home/ann/plain/",
	"home/ann/sdk/go/bin/go",
	"home/ann/.ssh/helper",
	"home/ann/.config/gh -> /home/ann/dotfiles/gh",
	"home/ann/dotfiles/bin/",
	"home/ann/dotfiles/gh/hosts.yml",
	"home/ann/diary",

	/* Bob has the usual ones in the usual places. */
	"home/bob/.pyenv/shims/python3",
	"home/bob/.pyenv/libexec/pyenv",
	"home/bob/.pyenv/versions/3.13 -> ../../builds/py313",
	"home/bob/builds/py313/bin/python3",
	"home/bob/.nvm/versions/node/v20/bin/node",
	"home/bob/.cargo/bin/cargo -> rustup",
	"home/bob/.cargo/bin/rustup",
	"home/bob/.cargo/credentials.toml",
	"home/bob/.rustup/toolchains/",
	"home/bob/go/pkg/mod/",
	"home/bob/builds/node/bin/node",
	"home/bob/builds/py312 -> py312.4",
	"home/bob/builds/py312.4/bin/python3.12",
	"home/bob/builds/py314/bin/python",
};

static bool make_folders(int root, char *path)
{
	for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		int r = mkdirat(root, path, 0755);
		*slash = '/';
		if (r < 0 && errno != EEXIST)
			return false;
	}
	return true;
}

static bool make(int root, const char *line)
{
	char path[256];
	snprintf(path, sizeof(path), "%s", line);
	char *link = strstr(path, " -> ");
	char *content = strstr(path, " = ");
	if (link)
		*link = '\0';
	else if (content)
		*content = '\0';
	if (!make_folders(root, path))
		return false;
	if (link)
		return symlinkat(link + 4, root, path) == 0;
	if (path[strlen(path) - 1] == '/')
		return true;
	cleanup_close int fd = openat(root, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	return fd >= 0 && (!content || fd_write_full(fd, content + 3, strlen(content + 3)) == 0);
}

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const struct {
	const char *what;
	const char *const *caller;
	const char *home; /* NULL: Ann's */
	const char *project;
	const char *command;
	const char *const *expose;
	const char *rows; /* below home but for those with a slash in front; a blank between */
	const char *hidden;
	const char *path;
	const char *dropped;
} cases[] = {
	{ .what = "nothing on PATH is private",
	  .caller = LIST("PATH=/usr/bin:/bin"),
	  .path = "/usr/bin:/bin" },
	{ .what = "no PATH at all",
	  .path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
	{ .what = "of ~/.local only what tools need",
	  .caller = LIST("PATH=/home/ann/.local/bin:/usr/bin"),
	  .rows = ".local/bin .local/lib .local/share/pipx .local/share/uv",
	  .path = "/home/ann/.local/bin:/usr/bin" },
	{ .what = "~/bin alone, and where its links lead",
	  .caller = LIST("PATH=/home/ann/bin"),
	  .rows = "alone.sh bin hops/hop opt/tool plain",
	  .path = "/home/ann/bin" },
	{ .what = "a PATH entry that is a link",
	  .caller = LIST("PATH=/home/ann/mybin"),
	  .rows = "mybin opt/kit",
	  .path = "/home/ann/mybin" },
	{ .what = "a folder of another name",
	  .caller = LIST("PATH=/home/ann/plain/"),
	  .rows = "plain",
	  .path = "/home/ann/plain/" },
	{ .what = "a link from outside into a home",
	  .caller = LIST("PATH=/usr/local/bin:/usr/bin"),
	  .home = "/home/bob",
	  .rows = ".cargo .nvm .pyenv .rustup builds/node builds/py313 go/pkg/mod",
	  .hidden = ".cargo/credentials.toml",
	  .path = "/usr/local/bin:/usr/bin" },
	{ .what = "an environment whose base is below home",
	  .caller = LIST("PATH=/opt/env/bin"),
	  .rows = "opt/py313",
	  .path = "/opt/env/bin" },
	{ .what = "tools below /run and /tmp",
	  .caller = LIST("PATH=/run/sw/bin:/tmp/venv/bin"),
	  .rows = "/run/sw /tmp/venv",
	  .path = "/run/sw/bin:/tmp/venv/bin" },
	{ .what = "a home that is none",
	  .caller = LIST("PATH=/usr/local/bin"),
	  .home = "",
	  .path = "/usr/local/bin" },
	{ .what = "the usual tools, and what the project's environments were made from",
	  .caller = LIST("PATH=/home/bob/.pyenv/shims:/work/app/scripts"),
	  .home = "/home/bob",
	  .project = "/work/app",
	  .rows = ".cargo .nvm .pyenv .rustup builds/py312 builds/py312.4 builds/py313 builds/py314 go/pkg/mod",
	  .hidden = ".cargo/credentials.toml",
	  .path = "/home/bob/.pyenv/shims:/work/app/scripts" },
	{ .what = "a project below home is there already",
	  .caller = LIST("PATH=/home/ann/opt/kit/bin:/home/ann/bin"),
	  .project = "/home/ann/opt",
	  .rows = "alone.sh bin hops/hop plain",
	  .path = "/home/ann/opt/kit/bin:/home/ann/bin" },
	{ .what = "what is dropped from PATH",
	  .caller = LIST("PATH=bin::/home/ann:/home/ann/none:/none:/home/ann/.ssh:/home/ann/.local"),
	  .path = "/none",
	  .dropped = "bin: it is relative|: it is relative|"
		     "/home/ann: it holds all of a private folder|"
		     "/home/ann/none: it is not there|"
		     "/home/ann/.ssh: no cell shows secrets|"
		     "/home/ann/.local: it holds all of a private folder" },
	{ .what = "a secret by its other name",
	  .caller = LIST("PATH=/home/ann/dotfiles/bin"),
	  .rows = "dotfiles",
	  .hidden = "dotfiles/gh",
	  .path = "/home/ann/dotfiles/bin" },
	{ .what = "a command below home",
	  .caller = LIST("PATH=/usr/bin"),
	  .command = "/home/ann/mybin/kit",
	  .rows = "mybin opt/kit",
	  .path = "/usr/bin" },
	{ .what = "a command in home itself",
	  .caller = LIST("PATH=/usr/bin"),
	  .command = "/home/ann/alone.sh",
	  .rows = "alone.sh",
	  .path = "/usr/bin" },
	{ .what = "of the distribution's links the command's alone",
	  .caller = LIST("PATH=/usr/local/sbin:/usr/bin"),
	  .command = "odd",
	  .rows = "opt/kit",
	  .path = "/usr/local/sbin:/usr/bin" },
	{ .what = "and no other",
	  .caller = LIST("PATH=/usr/bin"),
	  .command = "python3",
	  .path = "/usr/bin" },
	{ .what = "exposed",
	  .caller = LIST("PATH=/usr/bin"),
	  .expose = LIST("/home/ann/diary", "/home/ann/opt/kit", "/home/ann/opt", "/usr/bin",
			 "/home/ann/.local/share"),
	  .rows = ".local/share diary opt",
	  .hidden = ".local/share/keyrings",
	  .path = "/usr/bin" },
	{ .what = "tools where variables say",
	  .caller = LIST("PATH=/usr/bin", "GOROOT=/home/ann/sdk/go", "PYENV_ROOT=/home/ann/plain",
			 "NVM_DIR=relative", "CARGO_HOME=/home/ann", "GOPATH=/none"),
	  .rows = "plain sdk/go",
	  .path = "/usr/bin" },
};

static char *join_rows(const struct visible *v, const char *home)
{
	cleanup(buf_done) struct buf b = BUF_NULL;
	for (size_t i = 0; i < v->len; i++) {
		const char *path = v->rows[i].path;
		if (home && path_below(path, home))
			path += strlen(home) + 1;
		buf_printf(&b, "%s%s", b.len ? " " : "", path);
	}
	return b.at ? take(&b, BUF_NULL).at : strdup("");
}

static char *join(const struct strv *v, const char *between)
{
	cleanup(buf_done) struct buf b = BUF_NULL;
	for (size_t i = 0; i < v->len; i++)
		buf_printf(&b, "%s%s", b.len ? between : "", v->at[i]);
	return b.at ? take(&b, BUF_NULL).at : strdup("");
}

static struct visible_ask ask_of(size_t i, int root)
{
	const char *home = cases[i].home ? cases[i].home : "/home/ann";
	return (struct visible_ask){ .root = root,
				     .home = *home ? home : NULL,
				     .project = cases[i].project ? cases[i].project : "/work/none",
				     .command = cases[i].command,
				     .caller = cases[i].caller,
				     .expose = cases[i].expose };
}

static void test_case(size_t i, int root)
{
	const struct visible_ask ask = ask_of(i, root);
	cleanup(visible_done) struct visible v = VISIBLE_NULL;
	struct err e = ERR_NULL;
	int r = visible_find(&ask, &v, &e);
	cleanup_free char *rows = join_rows(&v, ask.home);
	cleanup_free char *dropped = join(&v.dropped, "|");
	const char *hidden = v.hidden.len && ask.home ? v.hidden.at[0] + strlen(ask.home) + 1 : NULL;
	tap_ok(r == 0 && text_eq(rows, cases[i].rows ? cases[i].rows : ""), "%s: rows %s %s",
	       cases[i].what, rows, e.text);
	tap_ok(text_eq(hidden, cases[i].hidden) && v.hidden.len < 2, "%s: hidden %s", cases[i].what,
	       hidden ? hidden : "nothing");
	tap_ok(text_eq(v.path, cases[i].path), "%s: PATH %s", cases[i].what, v.path);
	tap_ok(text_eq(dropped, cases[i].dropped ? cases[i].dropped : ""), "%s: dropped %s",
	       cases[i].what, dropped);
}

static void test_reasons(int root)
{
	const struct visible_ask ask = { .root = root,
					 .home = "/home/ann",
					 .project = "/work/none",
					 .caller = LIST("PATH=/home/ann/bin", "GOPATH=/home/ann",
							"GOROOT=/home/ann/sdk/go", "NVM_DIR=x",
							"UV_TOOL_DIR=/opt") };
	cleanup(visible_done) struct visible v = VISIBLE_NULL;
	visible_find(&ask, &v, NULL);
	cleanup(strv_done) struct strv whys = STRV_NULL;
	for (size_t i = 0; i < v.len; i++)
		strv_addf(&whys, "%s: %s", v.rows[i].path, v.rows[i].why);
	tap_ok(strv_has(&whys, "/home/ann/bin: PATH"), "a row says it comes from PATH");
	tap_ok(strv_has(&whys, "/home/ann/opt/tool: target of /home/ann/bin/tool"),
	       "a row says what leads to it");
	tap_ok(strv_has(&whys, "/home/ann/sdk/go: GOROOT"), "a row names its variable");
	cleanup_free char *names = join(&v.tools, " ");
	tap_ok(text_eq(names, "UV_TOOL_DIR GOROOT"), "variables that still hold: %s", names);
}

static const struct {
	const char *expose;
	int code;
	const char *text;
} refused[] = {
	{ "/home/ann/none", ENOENT, "expose /home/ann/none: it is not there" },
	{ "/home/ann/.ssh", EPERM, "expose /home/ann/.ssh: no cell shows secrets" },
	{ "/home/ann/bin/key", EPERM, "expose /home/ann/bin/key: no cell shows secrets" },
	{ "/home/ann", EPERM, "expose /home/ann: it holds all of a private folder" },
	{ "/home", EPERM, "expose /home: it holds all of a private folder" },
	{ "/tmp", EPERM, "expose /tmp: it holds all of a private folder" },
};

static void test_refused(int root)
{
	for (size_t i = 0; i < countof(refused); i++) {
		const struct visible_ask ask = { .root = root,
						 .home = "/home/ann",
						 .project = "/work/none",
						 .expose = LIST(refused[i].expose) };
		struct visible v = VISIBLE_NULL;
		struct err e = ERR_NULL;
		int r = visible_find(&ask, &v, &e);
		tap_ok(r == -refused[i].code && text_eq(e.text, refused[i].text) &&
			       e.status == STATUS_USAGE && !v.rows,
		       "%s", e.text);
	}
}

/* What root sees of the homes of Ann and Bob. */
static void test_homes(int root)
{
	const char *const homes[] = { VISIBLE_HOMES };
	struct visible_ask ask = { .root = root,
				   .home = "/root",
				   .homes = homes,
				   .homes_len = 1,
				   .project = "/home/ann/sdk",
				   .caller = LIST("PATH=/home/bob/.cargo/bin:/home/ann/bin") };
	cleanup(visible_done) struct visible v = VISIBLE_NULL;
	struct err e = ERR_NULL;
	int r = visible_find(&ask, &v, &e);
	cleanup_free char *rows = join_rows(&v, VISIBLE_HOMES);
	cleanup_free char *hidden = join(&v.hidden, " ");
	tap_ok(r == 0 && text_eq(rows, "ann/alone.sh ann/bin ann/hops/hop ann/opt/tool "
				       "ann/plain bob/.cargo"),
	       "tools in others' homes: %s %s", rows, e.text);
	tap_ok(text_eq(hidden, "/home/bob/.cargo/credentials.toml"), "... but no secret: %s", hidden);
	static const char *const all[] = { "/home/ann/.ssh", "/home/bob", "/home" };
	for (size_t i = 0; i < countof(all); i++) {
		struct visible none = VISIBLE_NULL;
		ask.expose = (const char *const[]){ all[i], NULL };
		tap_ok(visible_find(&ask, &none, &e) == -EPERM, "%s", e.text);
	}
}

static void test_bound(int root)
{
	mkdirat(root, "home/eve", 0755);
	mkdirat(root, "home/eve/bin", 0755);
	for (int i = 0; i <= VISIBLE_ROWS_MAX; i++) {
		char line[64];
		snprintf(line, sizeof(line), "home/eve/d%d/x", i);
		make(root, line);
		snprintf(line, sizeof(line), "home/eve/bin/%d -> ../d%d/x", i, i);
		make(root, line);
	}
	const struct visible_ask ask = { .root = root,
					 .home = "/home/eve",
					 .project = "/work/none",
					 .caller = LIST("PATH=/home/eve/bin") };
	struct visible v = VISIBLE_NULL;
	struct err e = ERR_NULL;
	tap_ok(visible_find(&ask, &v, &e) == -E2BIG && *e.hint, "%s (%s)", e.text, e.hint);
}

/* Out of memory is an error; a file that cannot be read is passed over. */
static void test_faults(int root)
{
	int wrong = 0;
	int rounds = 0;
	for (int n = 1; fault_walk_on(n); n++) {
		const struct visible_ask ask = ask_of(countof(cases) - 2, root);
		cleanup(visible_done) struct visible v = VISIBLE_NULL;
		struct err e = ERR_NULL;
		int r = visible_find(&ask, &v, &e);
		bool failed = fault_walk_hit();
		wrong += r < 0 ? !failed || e.code != -r || v.rows || v.path : !v.path;
		rounds++;
	}
	tap_ok(wrong == 0 && rounds > 100, "each call may fail (%d rounds)", rounds);
}

static int unlink_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

int main(void)
{
	char dir[] = "/tmp/fumehood-visible-XXXXXX";
	if (!mkdtemp(dir)) {
		tap_ok(false, "a folder");
		return tap_done();
	}
	cleanup_close int root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < countof(host); i++)
		if (!make(root, host[i]))
			tap_ok(false, "make %s: %s", host[i], strerror(errno));
	for (size_t i = 0; i < countof(cases); i++)
		test_case(i, root);
	test_reasons(root);
	test_refused(root);
	test_homes(root);
	test_bound(root);
	test_faults(root);
	nftw(dir, unlink_one, 16, FTW_DEPTH | FTW_PHYS);
	return tap_done();
}
