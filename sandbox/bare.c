#include "sandbox/bare.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/clock.h"
#include "sandbox/base/copy.h"
#include "sandbox/base/err.h"
#include "sandbox/base/remove.h"
#include "sandbox/caps.h"
#include "sandbox/cell_spec.h"
#include "sandbox/filter.h"
#include "sandbox/landlock.h"
#include "sandbox/mounts.h"
#include "sandbox/net.h"
#include "sandbox/scratch.h"
#include "sandbox/survivors.h"

#define END_MS_MAX 10000 /* whoever does not die of SIGKILL in this time is stuck in the kernel */
#define ROUND_MS   2

int bare_check(struct err *e)
{
	if (landlock_abi() > 0)
		return 0;
	err_set(e, ENOTSUP, "this kernel has no Landlock");
	err_hint(e, "it needs Linux 5.13, with landlock among the security modules of the boot "
		    "parameter lsm=");
	return err_status(e, STATUS_HOST);
}

int bare_layout(const struct cell_spec *spec, struct layout *ret, struct err *e)
{
	static const struct {
		const char *dir;
		bool project;
	} rows[] = { { "tmp", false },
		     { "var-tmp", false },
		     { "run", false },
		     { "home", false },
		     { "project", true } };
	cleanup(layout_done) struct layout layout = LAYOUT_NULL;
	for (size_t i = 0; i < countof(rows); i++) {
		struct layout_place *place = &layout.places[layout.len];
		if (asprintf(&place->path, "%s/%s", spec->top, rows[i].dir) < 0)
			return err_set(e, ENOMEM, "out of memory");
		snprintf(place->dir, sizeof(place->dir), "%s", rows[i].dir);
		place->project = rows[i].project;
		layout.len++;
	}
	*ret = take(&layout, LAYOUT_NULL);
	return 0;
}

static int open_folder(const char *path, int flags, int *ret, struct err *e)
{
	*ret = open(path, flags | O_DIRECTORY | O_CLOEXEC);
	return *ret < 0 ? err_sys(e, "open %s", path) : 0;
}

static int copy_project(const struct cell_spec *spec, int scratch, struct err *e)
{
	struct stat st;
	cleanup_close int from = open(spec->project, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (from < 0 || fstat(from, &st) < 0)
		return err_sys(e, "open the project %s", spec->project);
	if (mkdirat(scratch, "project", st.st_mode & 07777) < 0)
		return err_sys(e, "make a copy of the project");
	cleanup_close int to = openat(scratch, "project", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (to < 0)
		return err_sys(e, "open the copy of the project");
	int r = copy_tree(from, to, &(struct copy_how){ NULL }, NULL, e);
	if (r == -EACCES) {
		err_hint(e, "a copy needs all of the project to be readable by you");
		err_status(e, STATUS_USAGE);
	}
	if (r == -ENOSPC) {
		err_hint(e, "name a folder with more room: --scratch DIR");
		err_status(e, STATUS_USAGE);
	}
	return r < 0 ? err_in(e, "copy the project") : 0;
}

int bare_build(const struct cell_spec *spec, const struct layout *layout, struct mounts *m,
	       int *ret_listener, struct err *e)
{
	char socket[PATH_MAX];
	snprintf(socket, sizeof(socket), "%s/" SCRATCH_OWN "/socket", spec->top);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return err_sys(e, "become a subreaper");
	int r = open_folder(spec->top, O_RDONLY, &m->scratch, e);
	if (!r)
		r = open_folder("/", O_PATH, &m->root, e);
	if (!r)
		r = open_folder("/proc", O_RDONLY, &m->proc, e);
	if (!r)
		r = scratch_lay_out(spec, m->scratch, e);
	if (!r)
		r = scratch_fill(spec, m->scratch, e);
	if (!r)
		r = copy_project(spec, m->scratch, e);
	if (!r)
		r = net_listen(socket, ret_listener, e);
	m->made = (UINT64_C(1) << layout->len) - 1;
	return r;
}

/* The kernel counts all that a user has, and root not at all; so the bound is on top of what is there. */
static int bound_processes(const struct cell_spec *spec, int proc, struct err *e)
{
	struct rlimit limit;
	rlim_t bound = survivors_threads(proc, spec->uid) + spec->pid_max;
	if (getrlimit(RLIMIT_NPROC, &limit) < 0)
		return err_sys(e, "read the limit of processes");
	if (limit.rlim_max < bound)
		bound = limit.rlim_max;
	if (limit.rlim_cur > bound)
		limit.rlim_cur = bound;
	limit.rlim_max = bound;
	if (setrlimit(RLIMIT_NPROC, &limit) < 0)
		return err_sys(e, "bound the processes");
	return 0;
}

int bare_give_up(const struct cell_spec *spec, int proc, struct err *e)
{
	int r = bound_processes(spec, proc, e);
	if (!r)
		r = caps_forget(e);
	if (!r)
		r = landlock_restrict(spec, e);
	if (r < 0)
		return r;
	bool filtered =
		landlock_filter(spec, NULL) == 0 && filter_install(spec->allow_nested, NULL) == 0;
	return filtered ? 0 : 1;
}

void bare_end(const struct cell_spec *spec, int proc)
{
	int64_t until = clock_ms() + END_MS_MAX;
	for (bool any = true; any && clock_ms() < until;) {
		/* First all stand still, or those that fork would be ahead for ever. */
		survivors_signal(proc, getpid(), SIGSTOP);
		survivors_signal(proc, getpid(), SIGKILL);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			continue;
		any = waitpid(-1, NULL, WNOHANG) == 0;
		if (any)
			poll(NULL, 0, ROUND_MS);
	}
	remove_tree(AT_FDCWD, spec->top, NULL);
	char parent[PATH_MAX];
	snprintf(parent, sizeof(parent), "%.*s", (int)(strrchr(spec->top, '/') - spec->top),
		 spec->top);
	rmdir(parent); /* unless other cells are in it */
}
