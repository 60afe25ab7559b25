#include "runner/project.h"

#include <assert.h>
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

static int no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "find the project: no memory");
}

static bool is_there(const char *dir, const char *name)
{
	char path[PATH_MAX];
	struct stat st;
	int len = snprintf(path, sizeof(path), "%s/%s", dir, name);
	return len < PATH_MAX && stat(path, &st) == 0;
}

/* The nearest folder from dir upward that holds name; *ret NULL: there is none. */
static int nearest_with(const char *dir, const char *name, char **ret, struct err *e)
{
	*ret = NULL;
	assert(dir);
	cleanup_free char *at = strdup(dir);
	if (!at)
		return no_memory(e);
	while (at[0] && !is_there(at, name))
		*strrchr(at, '/') = '\0';
	if (!at[0] && !is_there("", name))
		return 0;
	*ret = at[0] ? take_ptr(&at) : strdup("/");
	return *ret ? 0 : no_memory(e);
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

/* The real path of a path as seen from dir; *ret NULL: it is not there. */
static int real_from(const char *dir, const char *path, char **ret, struct err *e)
{
	cleanup_free char *whole = NULL;
	bool absolute = path[0] == '/';
	if (asprintf(&whole, "%s%s%s", absolute ? "" : dir, absolute ? "" : "/", path) < 0)
		return no_memory(e);
	*ret = realpath(whole, NULL);
	return !*ret && errno == ENOMEM ? no_memory(e) : 0;
}

/* The git dir that a .git file names, or what it shares with other worktrees. */
static int git_dir_linked(const char *top, const char *dot_git, char **ret, struct err *e)
{
	cleanup_free char *line = NULL;
	int r = load_line(dot_git, &line, e);
	if (r)
		return r;
	if (!line || !text_starts(line, "gitdir: ")) {
		err_set(e, EINVAL, "%s is no git file: it does not begin with \"gitdir: \"", dot_git);
		return err_status(e, STATUS_DATA);
	}
	cleanup_free char *git_dir = NULL;
	cleanup_free char *common_file = NULL;
	cleanup_free char *common = NULL;
	r = real_from(top, line + strlen("gitdir: "), &git_dir, e);
	if (r || !git_dir)
		return r;
	if (asprintf(&common_file, "%s/commondir", git_dir) < 0)
		return no_memory(e);
	r = load_line(common_file, &common, e);
	if (r)
		return r;
	if (common)
		return real_from(git_dir, common, ret, e);
	*ret = take_ptr(&git_dir);
	return 0;
}

/* Where the git dir is that top/.git stands for. *ret NULL: it is gone. */
static int git_dir_of(const char *top, char **ret, struct err *e)
{
	cleanup_free char *dot_git = NULL;
	struct stat st;
	*ret = NULL;
	int r = real_from(top, ".git", &dot_git, e);
	if (r || !dot_git || stat(dot_git, &st) < 0)
		return r;
	if (!S_ISDIR(st.st_mode))
		return git_dir_linked(top, dot_git, ret, e);
	*ret = take_ptr(&dot_git);
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
	return no_memory(e);
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

/* Which folder it is; `top`: of the git checkout, or NULL. */
static int choose(struct project *p, const char *asked, const char *top, struct err *e)
{
	assert(!asked || p->path);
	if (asked && path_below(p->cwd, p->path))
		return 0;
	if (asked) {
		free(p->cwd);
		p->cwd = strdup(p->path);
		return p->cwd ? 0 : no_memory(e);
	}
	int r = nearest_with(p->cwd, PROJECT_CONFIG, &p->path, e);
	if (r || p->path)
		return r;
	p->path = strdup(top ? top : p->cwd);
	return p->path ? 0 : no_memory(e);
}

int project_find(const char *asked, const char *home, struct project *ret, struct err *e)
{
	cleanup(project_done) struct project p = PROJECT_NULL;
	cleanup_free char *top = NULL;
	int r = real_dir(".", &p.cwd, e);
	if (r)
		return err_in(e, "the working directory");
	r = asked ? real_dir(asked, &p.path, e) : 0;
	if (r)
		return err_in(e, "--project");
	r = nearest_with(asked ? p.path : p.cwd, ".git", &top, e);
	r = r ? r : choose(&p, asked, top, e);
	r = r ? r : refuse_wide(p.path, home, e);
	r = r ? r : find_config(&p, e);
	r = r ? r : find_git(&p, top, e);
	if (!r)
		*ret = take(&p, PROJECT_NULL);
	return r;
}
