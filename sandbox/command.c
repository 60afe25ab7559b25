#include "sandbox/command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"
#include "sandbox/caps.h"
#include "sandbox/filter.h"
#include "sandbox/limits.h"
#include "sandbox/sync.h"

/* Like execve; a file that is executable but of no known format is a shell script, as execvp and
 * shells have it. */
static void execute_file(const char *path, const struct cell_spec *spec)
{
	execve(path, (char *const *)spec->argv, (char *const *)spec->env);
	if (errno != ENOEXEC)
		return;
	size_t argc = 0;
	while (spec->argv[argc])
		argc++;
	cleanup_free const char **argv = calloc(argc + 2, sizeof(*argv));
	if (!argv)
		return;
	argv[0] = "/bin/sh";
	argv[1] = path;
	for (size_t i = 1; i < argc; i++)
		argv[i + 1] = spec->argv[i];
	execve(argv[0], (char *const *)argv, (char *const *)spec->env);
}

static const char *path_of(const char *const *env)
{
	for (size_t i = 0; env[i]; i++)
		if (text_starts(env[i], "PATH="))
			return env[i] + strlen("PATH=");
	return "/usr/local/bin:/usr/bin:/bin";
}

/* Returns only on failure, with the errno that tells 126 from 127: one found but not allowed says
 * more than one not found. */
static int execute(const struct cell_spec *spec)
{
	const char *name = spec->argv[0];
	if (strchr(name, '/')) {
		execute_file(name, spec);
		return errno;
	}
	int code = ENOENT;
	for (const char *dir = path_of(spec->env);; dir++) {
		size_t len = strcspn(dir, ":");
		char path[PATH_MAX];
		int n = snprintf(path, sizeof(path), "%.*s%s%s", (int)len, dir, len ? "/" : "./",
				 name);
		if (n < (int)sizeof(path)) {
			execute_file(path, spec);
			if (errno != ENOENT && errno != ENOTDIR)
				code = errno;
		}
		dir += len;
		if (!*dir)
			return code;
	}
}

static int give_up(const struct isolation_scene *scene, struct err *e)
{
	if (setsid() < 0)
		return err_sys(e, "start a session");
	if (chdir(scene->spec->cwd) < 0)
		return err_sys(e, "enter %s", scene->spec->cwd);
	/* 0, 1 and 2 are the command's already; whatever else is open must not be its. */
	if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		return err_sys(e, "keep descriptors from the command");
	int r = limits_apply(e);
	if (!r)
		r = caps_drop(scene->caps, e);
	return r < 0 ? r : filter_install(scene->spec->allow_nested, e);
}

static _Noreturn void command_main(const struct isolation_scene *scene, int sock)
{
	struct sync_record record = { .kind = SYNC_READY };
	struct err e = ERR_NULL;
	if (give_up(scene, &e) < 0) {
		record = (struct sync_record){ .kind = SYNC_ERR, .err = e };
		sync_send(sock, &record, NULL, 0, NULL);
		_exit(1);
	}
	isolation_observe(scene, &record.ready.isolation);
	if (sync_send(sock, &record, NULL, 0, NULL) < 0 ||
	    sync_recv(sock, &record, NULL, 0, NULL, NULL) <= 0 || record.kind != SYNC_GO)
		_exit(1);

	umask(022);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	record = (struct sync_record){ .kind = SYNC_EXEC_FAILED };
	record.err.code = execute(scene->spec);
	sync_send(sock, &record, NULL, 0, NULL);
	_exit(record.err.code == ENOENT ? 127 : 126);
}

int command_fork(const struct isolation_scene *scene, pid_t *ret_pid, int *ret_sock, struct err *e)
{
	int ends[2];
	int r = sync_pair(ends, e);
	if (r < 0)
		return r;
	pid_t pid = fork();
	if (pid < 0) {
		r = err_sys(e, "fork the command");
		close(ends[0]);
		close(ends[1]);
		return r;
	}
	if (pid == 0) {
		close(ends[0]);
		command_main(scene, ends[1]);
	}
	close(ends[1]);
	*ret_pid = pid;
	*ret_sock = ends[0];
	return 0;
}
