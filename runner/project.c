#include "runner/project.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "sandbox/base/text.h"

#define GIT_FILE_MAX 8192 /* bytes in a .git or commondir file */

void project_done(struct project *p)
{
	free(p->path);
	free(p->cwd);
	free(p->config);
	free(p->git_dir);
	*p = PROJECT_NULL;
}

int home_find(uid_t uid, char **ret, struct err *e)
{
	const char *home = getenv("HOME");
	if (!home || home[0] != '/') {
		const struct passwd *entry = getpwuid(uid);
		home = entry ? entry->pw_dir : "";
	}
	cleanup_free char *real = home[0] ? realpath(home, NULL) : NULL;
	if (home[0] && !real && errno == ENOMEM)
		return err_sys(e, "find the home directory");
	if (real && strcmp(real, "/") != 0)
		*ret = take_ptr(&real);
	else
		*ret = NULL;
	return 0;
}

static bool is_there(const char *dir, const char *name)
{
	cleanup_free char *path = NULL;
	struct stat st;
	return asprintf(&path, "%s/%s", dir, name) >= 0 && stat(path, &st) == 0;
}

/* The nearest folder from dir upward that holds name; NULL: none, or no memory. */
static char *nearest_with(const char *dir, const char *name)
{
	cleanup_free char *at = strdup(dir);
	while (at && at[0]) {
		if (is_there(at, name))
			return take_ptr(&at);
		*strrchr(at, '/') = '\0';
	}
	return at && is_there("", name) ? strdup("/") : NULL;
}

static int refuse_wide(const char *path, const char *home, struct err *e)
{
	const char *what = NULL;
	if (text_eq(path, "/"))
		what = "the root of the file system";
	else if (home && text_eq(path, home))
		what = "your home directory";
	else if (home && path_below(home, path))
		what = "a folder above your home directory";
	if (!what)
		return 0;
	err_set(e, EINVAL, "%s cannot be the project: it is %s", path, what);
	err_hint(e, "name the folder of the suite with --project DIR");
	return err_status(e, STATUS_USAGE);
}

/* One line of a file that git writes; *ret NULL when there is no such file. */
static int load_line(const char *path, char **ret, struct err *e)
{
	*ret = NULL;
	size_t len = 0;
	int r = fd_load(AT_FDCWD, path, GIT_FILE_MAX, ret, &len, e);
	if (r == -ENOENT)
		return 0;
	if (r)
		return r;
	(*ret)[strcspn(*ret, "\r\n")] = '\0';
	return 0;
}

/* path as seen from dir; NULL when it is not there. */
static char *real_from(const char *dir, const char *path)
{
	cleanup_free char *whole = NULL;
	if (asprintf(&whole, "%s%s%s", path[0] == '/' ? "" : dir, path[0] == '/' ? "" : "/", path) < 0)
		return NULL;
	return realpath(whole, NULL);
}

/* Where the git dir is that top/.git stands for: with all of the repository that a linked worktree
 * shares with others. *ret NULL: it is gone. */
static int git_dir_of(const char *top, char **ret, struct err *e)
{
	cleanup_free char *dot_git = real_from(top, ".git");
	struct stat st;
	*ret = NULL;
	if (!dot_git || stat(dot_git, &st) < 0)
		return 0;
	if (S_ISDIR(st.st_mode)) {
		*ret = take_ptr(&dot_git);
		return 0;
	}
	cleanup_free char *line = NULL;
	int r = load_line(dot_git, &line, e);
	if (r)
		return r;
	if (!line || !text_starts(line, "gitdir: ")) {
		err_set(e, EINVAL, "%s is no git file: it does not begin with \"gitdir: \"", dot_git);
		return err_status(e, STATUS_DATA);
	}
	cleanup_free char *git_dir = real_from(top, line + strlen("gitdir: "));
	if (!git_dir)
		return 0;
	cleanup_free char *common_file = NULL;
	cleanup_free char *common = NULL;
	if (asprintf(&common_file, "%s/commondir", git_dir) < 0)
		return err_set(e, ENOMEM, "read %s", git_dir);
	r = load_line(common_file, &common, e);
	if (r)
		return r;
	*ret = common ? real_from(git_dir, common) : take_ptr(&git_dir);
	return 0;
}

static int find_git(struct project *p, const char *top, struct err *e)
{
	cleanup_free char *git_dir = NULL;
	int r = top ? git_dir_of(top, &git_dir, e) : 0;
	if (!r && git_dir && !path_below(git_dir, p->path))
		p->git_dir = take_ptr(&git_dir);
	return r;
}

static int find_config(struct project *p, struct err *e)
{
	if (!is_there(p->path, PROJECT_CONFIG))
		return 0;
	if (asprintf(&p->config, "%s/" PROJECT_CONFIG, p->path) >= 0)
		return 0;
	p->config = NULL;
	return err_set(e, ENOMEM, "find the project");
}

static int real_dir(const char *path, char **ret, struct err *e)
{
	cleanup_free char *real = realpath(path, NULL);
	struct stat st;
	if (!real || stat(real, &st) < 0) {
		err_sys(e, "%s", path);
		return err_status(e, STATUS_USAGE);
	}
	if (!S_ISDIR(st.st_mode)) {
		err_set(e, ENOTDIR, "%s is no folder", path);
		return err_status(e, STATUS_USAGE);
	}
	*ret = take_ptr(&real);
	return 0;
}

int project_find(const char *asked, const char *home, struct project *ret, struct err *e)
{
	cleanup(project_done) struct project p = PROJECT_NULL;
	int r = real_dir(".", &p.cwd, e);
	if (!r && asked)
		r = real_dir(asked, &p.path, e);
	if (r)
		return err_in(e, asked && p.cwd ? "--project" : "the working directory");

	cleanup_free char *top = nearest_with(asked ? p.path : p.cwd, ".git");
	if (!asked) {
		p.path = nearest_with(p.cwd, PROJECT_CONFIG);
		if (!p.path)
			p.path = strdup(top ? top : p.cwd);
	} else if (!path_below(p.cwd, p.path)) {
		free(p.cwd);
		p.cwd = strdup(p.path);
	}
	if (!p.path || !p.cwd)
		return err_set(e, ENOMEM, "find the project");
	r = refuse_wide(p.path, home, e);
	r = r ? r : find_config(&p, e);
	r = r ? r : find_git(&p, top, e);
	if (!r)
		*ret = take(&p, PROJECT_NULL);
	return r;
}
