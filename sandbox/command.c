#include "sandbox/command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/bare.h"
#include "sandbox/base/barrier.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fault.h"
#include "sandbox/base/text.h"
#include "sandbox/caps.h"
#include "sandbox/filter.h"
#include "sandbox/forward.h"
#include "sandbox/isolation.h"
#include "sandbox/landlock.h"
#include "sandbox/limits.h"
#include "sandbox/mounts.h"
#include "sandbox/net.h"
#include "sandbox/quotas.h"
#include "sandbox/scratch.h"
#include "sandbox/sync.h"
#include "sandbox/terminal.h"

/* Like execve; a file that is executable but of no known format is a shell script, as execvp and
 * shells have it. */
static void execute_file(const char *path, const char *const *argv, const char *const *env)
{
	execve(path, (char *const *)argv, (char *const *)env);
	if (errno != ENOEXEC)
		return;
	size_t argc = 0;
	while (argv[argc])
		argc++;
	cleanup_free const char **script = calloc(argc + 2, sizeof(*script));
	if (!script)
		return;
	script[0] = "/bin/sh";
	script[1] = path;
	for (size_t i = 1; i < argc; i++)
		script[i + 1] = argv[i];
	execve(script[0], (char *const *)script, (char *const *)env);
}

static const char *path_of(const char *const *env)
{
	for (size_t i = 0; env[i]; i++)
		if (text_starts(env[i], "PATH="))
			return env[i] + strlen("PATH=");
	return "/usr/local/bin:/usr/bin:/bin";
}

int command_execute(const char *const *argv, const char *const *env)
{
	const char *name = argv[0];
	if (strchr(name, '/')) {
		execute_file(name, argv, env);
		return errno;
	}
	int code = ENOENT;
	for (const char *dir = path_of(env);; dir++) {
		size_t len = strcspn(dir, ":");
		char path[PATH_MAX];
		int n = snprintf(path, sizeof(path), "%.*s%s%s", (int)len, dir, len ? "/" : "./",
				 name);
		if (n < (int)sizeof(path)) {
			execute_file(path, argv, env);
			if (errno != ENOENT && errno != ENOTDIR)
				code = errno;
		}
		dir += len;
		if (!*dir)
			return code;
	}
}

/* CLONE_CLEAR_SIGHAND would leave those alone that the caller ignores. */
static void reset_signals(void)
{
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
}

static bool is_bare(const struct command_setup *setup)
{
	return setup->spec->isolation == CELL_ISOLATION_LANDLOCK;
}

static int give_up(const struct command_setup *setup, struct err *e)
{
	reset_signals();
	if (barrier("session") && setsid() < 0)
		return err_sys(e, "start a session");
	int r = limits_apply(e);
	if (!r && is_bare(setup))
		return bare_give_up(setup->spec, setup->mounts->proc, e);
	if (!r)
		r = caps_drop(setup->caps, e);
	return r < 0 ? r : filter_install(setup->spec->allow_nested, e);
}

/* `scene` says what only its caller knows. Look at ourselves, wait for the tree, and look at it from
 * where the command will stand. */
static int observe(const struct command_setup *setup, int sock, struct isolation_scene *scene,
		   struct isolation *ret, struct err *e)
{
	const struct mounts *mounts = setup->mounts;
	scene->spec = setup->spec;
	scene->layout = setup->layout;
	scene->scratch = mounts->scratch;
	scene->proc = is_bare(setup) ? mounts->proc : mounts->proc_mount;
	scene->caps = setup->caps;
	isolation_observe_self(scene, ret);
	struct sync_record record;
	int r = sync_recv(sock, &record, NULL, 0, NULL, e);
	if (r <= 0 || record.kind != SYNC_MADE)
		_exit(1); /* the warden failed, and says why itself */
	scene->places_made = record.made;
	if (is_bare(setup))
		isolation_observe_bare(scene, ret);
	else
		isolation_observe_tree(scene, ret);
	/* Under Landlock nobody mounts, not even in a namespace of his own. */
	if (!is_bare(setup) && !setup->spec->allow_nested && barrier("landlock"))
		landlock_hold_writes(setup->layout, record.made);
	if (chdir(setup->spec->cwd) < 0) {
		err_sys(e, "enter the working directory %s", setup->spec->cwd);
		return err_status(e, STATUS_USAGE);
	}
	return 0;
}

/* Make our share of the overlays, and hand them over. */
static int help(const struct command_setup *setup, int sock, struct err *e)
{
	struct sync_record record;
	int r = sync_recv(sock, &record, NULL, 0, NULL, e);
	if (r <= 0 || record.kind != SYNC_PLANNED)
		_exit(1); /* the warden failed, and says why itself */
	struct mounts_help made;
	r = mounts_help(setup->layout, setup->mounts, &made, e);
	if (r < 0)
		return r;
	record = (struct sync_record){ .kind = SYNC_LAID_OUT, .made = made.made };
	return sync_send(sock, &record, made.fds, made.fds_len, e);
}

/* What goes to the runner. */
struct report {
	struct sync_record record;
	int fds[FD_SEND_MAX]; /* sockets of forwarded ports; last, the terminal's other side */
	size_t fds_len;
};

static int make_net(const struct cell_spec *spec, struct report *report, struct err *e)
{
	if (spec->network == CELL_NETWORK_HOST || !barrier("net"))
		return 0;
	int r = net_loopback_up(e);
	return r < 0 ? r : forward_listen(spec, report->fds, &report->fds_len, e);
}

static int prepare(const struct command_setup *setup, int sock, struct report *report, struct err *e)
{
	struct isolation_scene scene = { .limited = false };
	int r = scratch_lay_out(setup->spec, setup->mounts->scratch, e);
	if (!r) /* before the warden seals /proc/sys */
		r = quotas_lower(setup->spec, setup->mounts->proc_mount, &scene.limited, e);
	if (!r)
		r = help(setup, sock, e);
	if (!r)
		r = scratch_fill(setup->spec, setup->mounts->scratch, e);
	if (!r) /* while ports below 1024 can be bound */
		r = make_net(setup->spec, report, e);
	if (!r)
		r = give_up(setup, e);
	return r < 0 ? r : observe(setup, sock, &scene, &report->record.isolation, e);
}

static int prepare_bare(const struct command_setup *setup, int sock, struct report *report,
			struct err *e)
{
	/* The warden may be killed, and nothing else would end us. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	int r = give_up(setup, e);
	struct isolation_scene scene = { .limited = true, .unfiltered = r == 1 };
	return r < 0 ? r : observe(setup, sock, &scene, &report->record.isolation, e);
}

/* When /dev stands and no trial can be disturbed by it. */
static int take_terminal(const struct cell_spec *spec, struct report *report, struct err *e)
{
	int master = -1;
	int r = spec->tty ? terminal_take(&master, e) : 0;
	if (!r && master >= 0)
		report->fds[report->fds_len++] = master;
	return r;
}

static _Noreturn void command_main(const struct command_setup *setup, int sock)
{
	struct report report = { .record = { .kind = SYNC_OBSERVED } };
	struct sync_record record;
	struct err e = ERR_NULL;
	int r = is_bare(setup) ? prepare_bare(setup, sock, &report, &e)
			       : prepare(setup, sock, &report, &e);
	r = r < 0 ? r : take_terminal(setup->spec, &report, &e);
	if (r < 0) {
		record = (struct sync_record){ .kind = SYNC_ERR, .err = e };
		sync_send(sock, &record, NULL, 0, NULL);
		sync_send(setup->gate, &record, NULL, 0, NULL);
		_exit(1);
	}
	if (sync_send(setup->gate, &report.record, report.fds, report.fds_len, NULL) < 0 ||
	    sync_recv(setup->gate, &record, NULL, 0, NULL, NULL) <= 0 || record.kind != SYNC_GO)
		_exit(1);

	umask(setup->spec->umask_given ? setup->spec->umask : 022);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* 0, 1 and 2 are the command's already; whatever else is open must not be its. */
	if (barrier("cloexec"))
		close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
	record = (struct sync_record){ .kind = SYNC_EXEC_FAILED };
	fault_point("command-execute");
	record.err.code = command_execute(setup->spec->argv, setup->spec->env);
	sync_send(sock, &record, NULL, 0, NULL);
	_exit(record.err.code == ENOENT ? 127 : 126);
}

int command_fork(const struct command_setup *setup, pid_t *ret_pid, int *ret_sock, struct err *e)
{
	int ends[2];
	int r = sync_pair(ends, e);
	if (r < 0)
		return r;
	pid_t pid = fork();
	if (pid == 0) {
		close(ends[0]);
		command_main(setup, ends[1]);
	}
	if (pid < 0) {
		r = err_sys(e, "fork the command");
		close(ends[0]);
	} else {
		*ret_pid = pid;
		*ret_sock = ends[0];
	}
	close(ends[1]);
	return r;
}
