#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"
#include "sandbox/cell_spec.h"
#include "sandbox/landlock.h"
#include "tests/lib/folder.h"
#include "tests/lib/tap.h"

/* In a folder of /tmp, none of which is shown but for what the spec says. */
static const struct {
	const char *path; /* below the folder, or absolute */
	bool read, write;
} cases[] = {
	{ "/etc/passwd", true, false },
	{ "/proc/self/stat", true, false },
	{ "/dev/null", true, true },
	{ "/dev/zero", true, true },
	{ "top/tmp/file", true, true },
	{ "top/home/file", true, true },
	{ "top/project/file", true, true },
	{ "top/run/fumehood/drop/file", true, true },
	{ "top/run/fumehood/file", true, false }, /* what we bring */
	{ "top/file", true, false },
	{ "project/file", true, false },
	{ "home/file", false, false },
	{ "home/.netrc", false, false },
	{ "home/tool/bin/file", true, false },
	{ "home/tool/token", false, false }, /* a secret in what is visible */
	{ "home/tool/deep/file", true, false },
	{ "home/tool/deep/key", false, false },
	{ "home/visible", true, false },    /* a file alone */
	{ "home/link/file", false, false }, /* what a visible link leads to is not shown with it */
	{ "home/tool/out/file", false, false }, /* nor what a link in it leads to */
	{ "home/way/file", true, false },       /* a link to what is shown */
	{ "other/file", false, false },
};

static const char *at(const struct folder *f, const char *path)
{
	return path[0] == '/' ? path : folder_path(f, path);
}

static void make(const struct folder *f)
{
	static const char *const links[][2] = { { "../other", "home/link" },
						{ "../../other", "home/tool/out" },
						{ "tool/bin", "home/way" } };
	folder_put(f, "home/tool/bin/file", "x");
	folder_put(f, "home/tool/deep/file", "x");
	folder_put(f, "home/tool/deep/key", "x");
	folder_put(f, "other/file", "x");
	for (size_t i = 0; i < countof(links); i++)
		if (symlinkat(links[i][0], AT_FDCWD, at(f, links[i][1])) < 0)
			abort();
	for (size_t i = 0; i < countof(cases); i++)
		if (cases[i].path[0] != '/' && access(at(f, cases[i].path), F_OK) < 0)
			folder_put(f, cases[i].path, "x");
}

static bool can_open(const char *path, int flags)
{
	cleanup_close int fd = open(path, flags | O_CLOEXEC);
	return fd >= 0;
}

/* The first case that is not as it should be, 1 more than its number; 200: no rules; 0. */
static int try_all(const struct folder *f, const struct cell_spec *spec)
{
	struct err e = ERR_NULL;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || landlock_restrict(spec, &e) < 0) {
		printf("# %s\n", e.text);
		return 200;
	}
	for (size_t i = 0; i < countof(cases); i++) {
		const char *path = at(f, cases[i].path);
		if (can_open(path, O_RDONLY) != cases[i].read ||
		    can_open(path, O_WRONLY) != cases[i].write)
			return (int)i + 1;
	}
	return 0;
}

static int in_child(int (*deed)(const struct folder *f, const struct cell_spec *spec),
		    const struct folder *f, const struct cell_spec *spec)
{
	fflush(stdout);
	int status = 0;
	pid_t pid = fork();
	if (pid == 0) {
		int r = deed(f, spec);
		fflush(stdout);
		_exit(r);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool is_refused(int domain, int type)
{
	cleanup_close int sock = socket(domain, type | SOCK_CLOEXEC, 0);
	return sock < 0 && errno == EACCES;
}

static int try_filter(const struct folder *f, const struct cell_spec *spec)
{
	(void)f;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || landlock_filter(spec, NULL) < 0)
		return 200;
	bool none = spec->network == CELL_NETWORK_NONE;
	if (is_refused(AF_INET, SOCK_STREAM) != none || is_refused(AF_INET6, SOCK_DGRAM) != none)
		return 1;
	if (is_refused(AF_UNIX, SOCK_STREAM) || is_refused(AF_NETLINK, SOCK_RAW))
		return 2;
	struct rlimit limit;
	if (prlimit(0, RLIMIT_CORE, NULL, &limit) < 0 ||
	    prlimit(getppid(), RLIMIT_CORE, NULL, &limit) == 0)
		return 3;
	if (setpriority(PRIO_PROCESS, 0, 0) < 0 || setpriority(PRIO_PROCESS, (id_t)getppid(), 0) == 0)
		return 4;
	return 0;
}

int main(void)
{
	if (landlock_abi() == 0) {
		tap_skip("this kernel has no Landlock", "files");
		return tap_done();
	}
	setenv("TMPDIR", "/tmp", 1);
	cleanup(folder_done) struct folder f;
	folder_make(&f);
	make(&f);
	static const char *const names[] = {
		"top",       "home",    "project",         "home/tool",         "home/visible",
		"home/link", "nowhere", "home/tool/token", "home/tool/deep/key"
	};
	enum { TOP, HOME, PROJECT, TOOL, VISIBLE, LINK, NOWHERE, TOKEN };
	cleanup(strv_done) struct strv paths = STRV_NULL;
	for (size_t i = 0; i < countof(names); i++)
		strv_add(&paths, at(&f, names[i]));
	const struct cell_bind binds[] = { { paths.at[TOOL], NULL },
					   { paths.at[VISIBLE], NULL },
					   { paths.at[LINK], NULL },
					   { paths.at[NOWHERE], NULL } };
	struct cell_spec spec = {
		.top = paths.at[TOP],
		.home = paths.at[HOME],
		.project = paths.at[PROJECT],
		.binds = binds,
		.binds_len = countof(binds),
		.hidden = (const char *const *)&paths.at[TOKEN],
		.hidden_len = countof(names) - TOKEN,
	};
	int wrong = in_child(try_all, &f, &spec);
	tap_ok(wrong == 0, "files: %s",
	       wrong > 0 && wrong <= (int)countof(cases) ? cases[wrong - 1].path : "all");
	tap_ok(in_child(try_filter, &f, &spec) == 0,
	       "no internet sockets, and nobody else is hindered");
	spec.network = CELL_NETWORK_HOST;
	tap_ok(in_child(try_filter, &f, &spec) == 0, "with the host's network, its sockets");
	return tap_done();
}
