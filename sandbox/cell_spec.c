#include "sandbox/cell_spec.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"

/* What the kernel keeps for itself: a smaller pid_max is refused. */
#define PID_MAX_MIN 301

/* Absolute, and without anything that a mount would have to guess at. */
static bool path_clean(const char *path)
{
	if (path[0] != '/')
		return false;
	if (path[1] == '\0')
		return true;
	for (const char *part = path; *part;) {
		size_t len = strcspn(part + 1, "/");
		if (len == 0 || (len == 1 && part[1] == '.') ||
		    (len == 2 && part[1] == '.' && part[2] == '.'))
			return false;
		part += 1 + len;
	}
	return true;
}

/* Relative, and staying below where it starts. */
static bool name_clean(const char *name)
{
	char path[256];
	size_t len = strlen(name);
	if (len == 0 || len + 2 > sizeof(path))
		return false;
	path[0] = '/';
	memcpy(path + 1, name, len + 1);
	return path_clean(path);
}

static int too_long(struct err *e, const char *what, size_t len)
{
	err_set(e, ENAMETOOLONG, "the %s is a path of %zu bytes: the kernel takes %d", what, len,
		PATH_MAX - 1);
	return err_status(e, STATUS_USAGE);
}

static int usage(struct err *e, const char *what, const char *path, const char *why)
{
	err_set(e, EINVAL, "the %s %s %s", what, path, why);
	return err_status(e, STATUS_USAGE);
}

static int check_project(const struct cell_spec *spec, struct err *e)
{
	static const char *const own[] = { "/tmp", "/var/tmp", "/run", "/dev", "/proc", "/sys" };
	static const char *const kernels[] = { "/dev", "/proc", "/sys" };
	if (!spec->project || !path_clean(spec->project))
		return usage(e, "project", spec->project ? spec->project : "(none)",
			     "is no absolute path");
	if (strlen(spec->project) >= PATH_MAX)
		return too_long(e, "project", strlen(spec->project));
	if (strcmp(spec->project, "/") == 0)
		return usage(e, "project", "/", "is the whole machine");
	if (spec->home && path_below(spec->home, spec->project)) {
		usage(e, "project", spec->project, "is the home folder, or holds it");
		return err_hint(
			e, "the home of a cell is private: put the project in a folder of its own");
	}
	for (size_t i = 0; i < countof(own); i++)
		if (path_below(own[i], spec->project)) {
			usage(e, "project", spec->project,
			      "holds a folder that each cell has for itself");
			return err_hint(e, "work in a folder of its own");
		}
	for (size_t i = 0; i < countof(kernels); i++)
		if (path_below(spec->project, kernels[i]))
			return usage(e, "project", spec->project, "is the kernel's");
	return 0;
}

static int check_paths(const struct cell_spec *spec, struct err *e)
{
	if (spec->home && (!path_clean(spec->home) || strcmp(spec->home, "/") == 0))
		return usage(e, "home", spec->home, "can be no private folder");
	for (size_t i = 0; i < spec->homes_len; i++)
		if (i == CELL_HOMES_MAX || !path_clean(spec->homes[i]) ||
		    path_below(spec->homes[i], spec->project) || strcmp(spec->homes[i], "/") == 0)
			return usage(e, "home", spec->homes[i], "can be no private folder");
	if (!spec->cwd || !path_clean(spec->cwd))
		return usage(e, "working directory", spec->cwd ? spec->cwd : "(none)",
			     "is no absolute path");
	if (strlen(spec->cwd) >= PATH_MAX)
		return too_long(e, "working directory", strlen(spec->cwd));
	if (spec->git_dir && !path_clean(spec->git_dir))
		return usage(e, "git dir", spec->git_dir, "is no absolute path");
	for (size_t i = 0; i < spec->binds_len; i++) {
		const struct cell_bind *b = &spec->binds[i];
		if (!path_clean(b->source) || !path_clean(b->target) || strcmp(b->target, "/") == 0)
			return usage(e, "visible path", b->source, "is no absolute path");
		if (path_below(CELL_RUN_DIR, b->target) || path_below(b->target, CELL_RUN_DIR))
			return usage(e, "visible path", b->target, "would cover what is ours");
	}
	for (size_t i = 0; i < spec->hidden_len; i++)
		if (!path_clean(spec->hidden[i]) || strcmp(spec->hidden[i], "/") == 0)
			return usage(e, "hidden path", spec->hidden[i], "is no absolute path");
	for (size_t i = 0; i < spec->files_len; i++)
		if (!name_clean(spec->files[i].name))
			return usage(e, "file", spec->files[i].name, "leaves " CELL_RUN_DIR);
	return 0;
}

static int check_scratch(const struct cell_spec *spec, struct err *e)
{
	const char *dir = spec->scratch_dir;
	if (!dir)
		return 0;
	if (!path_clean(dir) || strlen(dir) >= PATH_MAX)
		return usage(e, "scratch folder", dir, "is no absolute path");
	if (path_below(dir, spec->project))
		return usage(e, "scratch folder", dir,
			     "lies in the project, which it shall hold the changes of");
	return 0;
}

static int check_limits(const struct cell_spec *spec, struct err *e)
{
	if (!spec->scratch_bytes || !spec->scratch_inodes) {
		err_set(e, EINVAL, "the scratch has no room: %ju bytes, %ju inodes",
			(uintmax_t)spec->scratch_bytes, (uintmax_t)spec->scratch_inodes);
		return err_status(e, STATUS_USAGE);
	}
	if (spec->pid_max < PID_MAX_MIN) {
		err_set(e, EINVAL, "%u processes are too few: the kernel takes no less than %d",
			spec->pid_max, PID_MAX_MIN);
		return err_status(e, STATUS_USAGE);
	}
	return 0;
}

static int check_forwards(const struct cell_spec *spec, struct err *e)
{
	if (!spec->forwards_len)
		return 0;
	if (spec->network == CELL_NETWORK_HOST) {
		err_set(e, EINVAL, "port %u cannot be forwarded into the host's own network",
			spec->forwards[0]);
		err_status(e, STATUS_USAGE);
		return err_hint(e, "with --network host the suite reaches it already: leave "
				   "--forward out");
	}
	if (spec->forwards_len > CELL_FORWARDS_MAX) {
		err_set(e, E2BIG, "%zu ports are to be forwarded: at most %d can be",
			spec->forwards_len, CELL_FORWARDS_MAX);
		return err_status(e, STATUS_USAGE);
	}
	for (size_t i = 0; i < spec->forwards_len; i++)
		for (size_t k = 0; k < i; k++)
			if (spec->forwards[i] == spec->forwards[k]) {
				err_set(e, EEXIST, "port %u is to be forwarded twice",
					spec->forwards[i]);
				return err_status(e, STATUS_USAGE);
			}
	return 0;
}

static int refuse_setid(const char *why, struct err *e)
{
	err_set(e, EINVAL, "--caps setid: %s", why);
	return err_status(e, STATUS_USAGE);
}

static int check_caps(const struct cell_spec *spec, struct err *e)
{
	if (spec->caps != CELL_CAPS_SETID)
		return 0;
	if (spec->uid != 0)
		return refuse_setid("it is for root; a user has no other id to become", e);
	if (spec->isolation == CELL_ISOLATION_LANDLOCK)
		return refuse_setid("it needs namespaces, which --isolation landlock has not", e);
	if (spec->allow_nested)
		return refuse_setid("it cannot be had together with --allow-nested", e);
	return 0;
}

int cell_spec_check(const struct cell_spec *spec, struct err *e)
{
	if (!spec->argv || !spec->argv[0] || !spec->argv[0][0]) {
		err_set(e, EINVAL, "there is no command to run");
		return err_status(e, STATUS_USAGE);
	}
	int r = check_project(spec, e);
	if (!r)
		r = check_paths(spec, e);
	if (!r)
		r = check_forwards(spec, e);
	if (!r)
		r = check_caps(spec, e);
	if (!r)
		r = check_scratch(spec, e);
	return r < 0 ? r : check_limits(spec, e);
}
