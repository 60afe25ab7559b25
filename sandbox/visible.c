#include "sandbox/visible.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "sandbox/cell_spec.h"
#include "sandbox/env.h"
#include "sandbox/follow.h"
#include "sandbox/secrets.h"

#define PATH_DEFAULT   "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define PYVENV_LEN_MAX (64 * 1024)

/* Where tools are known to live: below what the variable says, else below home (NULL: nowhere); and
 * the folder there whose links may lead out of it. */
static const struct tool {
	const char *variable, *below, *below_home, *links;
} tools[] = {
	{ "PYENV_ROOT", "", ".pyenv", "versions" },
	{ "NVM_DIR", "", ".nvm", "versions/node" },
	{ "CARGO_HOME", "", ".cargo", "bin" },
	{ "RUSTUP_HOME", "", ".rustup", "toolchains" },
	{ "UV_PYTHON_INSTALL_DIR", "", ".local/share/uv/python", "" },
	{ "UV_TOOL_DIR", "", ".local/share/uv/tools", "" },
	{ "VIRTUAL_ENV", "", NULL, "bin" },
	{ "CONDA_PREFIX", "", NULL, "bin" },
	{ "GOROOT", "", NULL, "bin" },
	{ "GOPATH", "pkg/mod", "go/pkg/mod", "" },
	{ "GOMODCACHE", "", NULL, "" },
};

/* Folders of a home in which everything meets: never shown because one tool lives in them. */
static const char *const meeting_places[] = { ".local", ".local/share", ".local/state", ".config",
					      ".cache" };
/* What of ~/.local belongs to a tool in ~/.local/bin. */
static const char *const local_parts[] = { "bin", "lib", "pipx", "share/pipx", "share/uv" };
/* What a distribution installs leads into no home, and there are thousands of links. */
static const char *const distribution_dirs[] = { "/usr/bin", "/usr/sbin", "/bin", "/sbin" };
/* A folder of this name holds what is run; the rest of the tool stands beside it. */
static const char *const bin_names[] = { "bin", "sbin", "shims", "libexec" };

struct finder {
	const struct visible_ask *ask;
	const char *private[5 + CELL_HOMES_MAX];
	size_t private_len;
	struct follow follow;
	struct strv secrets; /* absolute, each also by its real path */
	struct strv dirs;    /* folders whose links were or will be followed */
	struct visible out;
};

static bool path_join(char ret[PATH_MAX], const char *dir, const char *name)
{
	return snprintf(ret, PATH_MAX, "%s/%s", dir, name) < PATH_MAX;
}

static void path_parent(char ret[PATH_MAX], const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash == path ? 1 : (size_t)(slash - path);
	memcpy(ret, path, len);
	ret[len] = '\0';
}

static void finder_done(struct finder *f)
{
	follow_done(&f->follow);
	strv_done(&f->secrets);
	strv_done(&f->dirs);
	visible_done(&f->out);
}

static bool is_private(const struct finder *f, const char *path)
{
	for (size_t i = 0; i < f->private_len; i++)
		if (path_below(path, f->private[i]))
			return !path_below(path, f->ask->project);
	return false;
}

static bool is_shown(const struct finder *f, const char *path)
{
	for (size_t i = 0; i < f->out.len; i++)
		if (path_below(path, f->out.rows[i].path))
			return true;
	return !is_private(f, path);
}

/* How much of path is the home that it lies in; 0: it lies in none. */
static size_t home_len(const struct finder *f, const char *path)
{
	const struct visible_ask *ask = f->ask;
	if (ask->home && path_below(path, ask->home))
		return strlen(ask->home);
	for (size_t i = 0; i < ask->homes_len; i++) {
		size_t len = strlen(ask->homes[i]);
		if (!path_below(path, ask->homes[i]))
			continue;
		if (!text_eq(ask->homes[i], VISIBLE_HOMES))
			return len;
		return path[len] ? len + 1 + strcspn(path + len + 1, "/") : 0;
	}
	return 0;
}

/* What of path lies below its home; NULL: nothing. */
static const char *below_home(const struct finder *f, const char *path)
{
	size_t len = home_len(f, path);
	return len && path[len] ? path + len + 1 : NULL;
}

static bool is_secret(const struct finder *f, const char *path)
{
	for (size_t i = 0; i < f->secrets.len; i++)
		if (path_below(path, f->secrets.at[i]))
			return true;
	const char *below = below_home(f, path);
	for (size_t i = 0; below && i < secrets_len; i++)
		if (path_below(below, secrets[i]))
			return true;
	return false;
}

/* Would showing this show all of a private place? */
static bool is_whole(const struct finder *f, const char *path)
{
	for (size_t i = 0; i < f->private_len; i++)
		if (path_below(f->private[i], path))
			return true;
	size_t len = home_len(f, path);
	return len && !path[len];
}

/* That, or a folder in which everything meets: nobody asked for all of it. */
static bool is_too_wide(const struct finder *f, const char *path)
{
	if (is_whole(f, path))
		return true;
	const char *below = below_home(f, path);
	for (size_t i = 0; below && i < countof(meeting_places); i++)
		if (text_eq(below, meeting_places[i]))
			return true;
	return false;
}

static void drop_rows_below(struct visible *v, const char *path)
{
	size_t kept = 0;
	for (size_t i = 0; i < v->len; i++) {
		if (!path_below(v->rows[i].path, path)) {
			v->rows[kept++] = v->rows[i];
			continue;
		}
		free(v->rows[i].path);
		free(v->rows[i].why);
	}
	v->len = kept;
}

static int add_row(struct finder *f, const char *path, const char *why)
{
	struct visible *v = &f->out;
	if (is_shown(f, path) || is_secret(f, path) || is_whole(f, path))
		return 0;
	drop_rows_below(v, path);
	if (v->len == VISIBLE_ROWS_MAX)
		return -E2BIG;
	if (v->len == v->cap) {
		size_t cap = v->cap ? v->cap * 2 : 16;
		struct visible_row *rows = reallocarray(v->rows, cap, sizeof(*rows));
		if (!rows)
			return -ENOMEM;
		v->rows = rows;
		v->cap = cap;
	}
	cleanup_free char *own_path = strdup(path);
	cleanup_free char *own_why = strdup(why);
	if (!own_path || !own_why)
		return -ENOMEM;
	v->rows[v->len++] = (struct visible_row){ take_ptr(&own_path), take_ptr(&own_why) };
	return 0;
}

/* Where path is; the links on the way are shown, since what leads to a tool belongs to it. 1: it is
 * not there. */
static int reach(struct finder *f, const char *path, const char *why, char real[PATH_MAX])
{
	cleanup(strv_done) struct strv links = STRV_NULL;
	int r = follow(&f->follow, path, real, &links);
	for (size_t i = 0; i < links.len && r == 0 && !is_secret(f, real); i++)
		r = add_row(f, links.at[i], why);
	return r;
}

/* Have the links in a folder followed. */
static int queue(struct finder *f, const char *dir)
{
	for (size_t i = 0; i < countof(distribution_dirs); i++)
		if (text_eq(dir, distribution_dirs[i]))
			return 0;
	return strv_has(&f->dirs, dir) ? 0 : strv_add(&f->dirs, dir);
}

static int add_local_parts(struct finder *f, const char *local, const char *why)
{
	for (size_t i = 0; i < countof(local_parts); i++) {
		char path[PATH_MAX];
		char real[PATH_MAX];
		if (!path_join(path, local, local_parts[i]))
			return 0;
		int r = reach(f, path, why, real);
		if (r == 0)
			r = add_row(f, real, why);
		if (r < 0)
			return r;
	}
	return 0;
}

/* A folder in which programs stand: shown with what stands beside it, and its links are followed. */
static int add_dir(struct finder *f, const char *dir, const char *why)
{
	char parent[PATH_MAX];
	path_parent(parent, dir);
	const char *below = below_home(f, dir);
	if (below && text_eq(below, ".local/bin")) {
		int r = add_local_parts(f, parent, why);
		return r < 0 ? r : queue(f, dir);
	}
	bool is_bin = false;
	for (size_t i = 0; i < countof(bin_names); i++)
		is_bin |= text_eq(strrchr(dir, '/') + 1, bin_names[i]);
	const char *whole = is_bin && !is_too_wide(f, parent) ? parent : dir;
	if (is_too_wide(f, whole))
		return 0;
	int r = add_row(f, whole, why);
	return r < 0 ? r : queue(f, dir);
}

/* A program or folder that a link or the command leads to. */
static int add_target(struct finder *f, const char *path, const char *why)
{
	struct stat st;
	if (!is_private(f, path) || fstatat(f->ask->root, path + 1, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	char dir[PATH_MAX];
	path_parent(dir, path);
	if (S_ISDIR(st.st_mode) || is_too_wide(f, dir))
		return is_too_wide(f, path) ? 0 : add_row(f, path, why);
	return add_dir(f, dir, why);
}

static int add_link(struct finder *f, const char *path)
{
	char why[PATH_MAX + 16];
	char real[PATH_MAX];
	snprintf(why, sizeof(why), "target of %s", path);
	int r = reach(f, path, why, real);
	return r == 0 ? add_target(f, real, why) : r;
}

/* An interpreter that a virtual environment was made from need not be linked to from it. */
static int add_base_of_venv(struct finder *f, const char *bin)
{
	char venv[PATH_MAX];
	char path[PATH_MAX];
	path_parent(venv, bin);
	cleanup_free char *text = NULL;
	if (!path_join(path, venv, "pyvenv.cfg"))
		return 0;
	int r = fd_load(f->ask->root, path + 1, PYVENV_LEN_MAX, &text, NULL, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	char why[PATH_MAX + 16];
	snprintf(why, sizeof(why), "home in %s", path);
	for (const char *line = text; line; line = strchr(line, '\n')) {
		char home[PATH_MAX];
		char real[PATH_MAX];
		line += *line == '\n';
		if (sscanf(line, "home = %4095[^\r\n]", home) != 1 || home[0] != '/')
			continue;
		r = reach(f, home, why, real);
		return r == 0 ? add_dir(f, real, why) : r;
	}
	return 0;
}

static void dir_close_at(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* *ret is NULL when there is nothing that can be read. */
static int dir_open(int root, const char *path, DIR **ret)
{
	cleanup_close int fd = openat(root, path + 1, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*ret = NULL;
	if (fd < 0)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : 0;
	*ret = fdopendir(fd);
	if (!*ret)
		return -errno;
	take_fd(&fd);
	return 0;
}

static int follow_links(struct finder *f, const char *dir)
{
	cleanup(dir_close_at) DIR *entries = NULL;
	int r = dir_open(f->ask->root, dir, &entries);
	if (r < 0 || !entries)
		return r;
	const struct dirent *entry;
	while ((entry = readdir(entries))) {
		char path[PATH_MAX];
		bool link = entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN;
		if (!link || !path_join(path, dir, entry->d_name))
			continue;
		r = add_link(f, path);
		if (r < 0)
			return r;
	}
	return add_base_of_venv(f, dir);
}

static int refuse_expose(int code, const char *path, const char *why, struct err *e)
{
	err_set(e, code, "expose %s: %s", path, why);
	return err_status(e, STATUS_USAGE) < 0 ? -code : 0;
}

static int add_expose(struct finder *f, struct err *e)
{
	for (const char *const *at = f->ask->expose; at && *at; at++) {
		char real[PATH_MAX];
		int r = reach(f, *at, "expose", real);
		if (r == 1)
			return refuse_expose(ENOENT, *at, "it is not there", e);
		if (r == 0 && is_secret(f, real))
			return refuse_expose(EPERM, *at, "no cell shows secrets", e);
		if (r == 0 && is_whole(f, real))
			return refuse_expose(EPERM, *at, "it holds all of a private folder", e);
		if (r == 0)
			r = add_row(f, real, "expose");
		if (r < 0)
			return err_set(e, -r, "expose %s: %s", *at, strerrordesc_np(-r));
	}
	return 0;
}

static int add_tool(struct finder *f, const struct tool *tool, const char *path, bool given)
{
	char real[PATH_MAX];
	char links[PATH_MAX];
	int r = reach(f, path, tool->variable, real);
	if (r != 0)
		return r;
	if (!is_too_wide(f, real))
		r = add_row(f, real, tool->variable);
	if (r < 0 || !is_shown(f, real))
		return r;
	if (given)
		r = strv_add(&f->out.tools, tool->variable);
	return r == 0 && *tool->links && path_join(links, real, tool->links) ? queue(f, links) : r;
}

static int add_tools(struct finder *f)
{
	for (size_t i = 0; i < countof(tools); i++) {
		const struct tool *tool = &tools[i];
		const char *value = env_get(f->ask->caller, tool->variable);
		char path[PATH_MAX];
		if (value ? value[0] != '/' : !tool->below_home || !f->ask->home)
			continue;
		if (!path_join(path, value ? value : f->ask->home,
			       value ? tool->below : tool->below_home))
			continue;
		int r = add_tool(f, tool, path, value);
		if (r < 0)
			return r;
	}
	return 0;
}

static int split(const char *list, struct strv *ret)
{
	while (list) {
		const char *end = strchrnul(list, ':');
		int r = strv_adopt(ret, strndup(list, (size_t)(end - list)));
		if (r < 0)
			return r;
		list = *end ? end + 1 : NULL;
	}
	return 0;
}

static int add_path(struct finder *f, const struct strv *entries)
{
	for (size_t i = 0; i < entries->len; i++) {
		char real[PATH_MAX];
		if (entries->at[i][0] != '/')
			continue;
		int r = reach(f, entries->at[i], "PATH", real);
		if (r == 0)
			r = add_dir(f, real, "PATH");
		if (r < 0)
			return r;
	}
	return 0;
}

/* Why an entry of PATH would lead nowhere in the cell; *ret is NULL when it does not. */
static int judge(struct finder *f, const char *entry, const char **ret)
{
	cleanup(strv_done) struct strv links = STRV_NULL;
	char real[PATH_MAX];
	*ret = "it is relative";
	if (entry[0] != '/')
		return 0;
	int r = follow(&f->follow, entry, real, &links);
	if (r == 1)
		*ret = is_private(f, entry) ? "it is not there" : NULL;
	else if (is_secret(f, real))
		*ret = "no cell shows secrets";
	else
		*ret = is_shown(f, real) ? NULL : "it holds all of a private folder";
	return r < 0 ? r : 0;
}

static int judge_path(struct finder *f, const struct strv *entries)
{
	cleanup(buf_done) struct buf path = BUF_NULL;
	for (size_t i = 0; i < entries->len; i++) {
		const char *why;
		int r = judge(f, entries->at[i], &why);
		if (r == 0 && why)
			r = strv_addf(&f->out.dropped, "%s: %s", entries->at[i], why);
		else if (r == 0)
			r = buf_printf(&path, "%s%s", path.len ? ":" : "", entries->at[i]);
		if (r < 0)
			return r;
	}
	f->out.path = path.len ? take(&path, BUF_NULL).at : strdup(PATH_DEFAULT);
	return f->out.path ? 0 : -ENOMEM;
}

/* Where PATH finds the command; false: nowhere. */
static bool find_command(const struct finder *f, const struct strv *entries, char ret[PATH_MAX])
{
	struct stat st;
	for (size_t i = 0; i < entries->len; i++)
		if (entries->at[i][0] == '/' && path_join(ret, entries->at[i], f->ask->command) &&
		    fstatat(f->ask->root, ret + 1, &st, AT_SYMLINK_NOFOLLOW) == 0)
			return true;
	return false;
}

static int add_command(struct finder *f, const struct strv *entries)
{
	char found[PATH_MAX];
	char real[PATH_MAX];
	const char *command = f->ask->command;
	if (!command)
		return 0;
	if (command[0] != '/') {
		if (!find_command(f, entries, found))
			return 0;
		command = found;
	}
	int r = reach(f, command, "the command", real);
	return r == 0 ? add_target(f, real, "the command") : r;
}

/* Virtual environments stand in the project, or one folder down in those that tools make. */
static int add_venvs(struct finder *f, const char *folder, bool deeper)
{
	cleanup(dir_close_at) DIR *entries = NULL;
	int r = dir_open(f->ask->root, folder, &entries);
	const struct dirent *entry;
	while (r == 0 && entries && (entry = readdir(entries))) {
		char path[PATH_MAX];
		char mark[PATH_MAX];
		char bin[PATH_MAX];
		if ((entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) ||
		    text_eq(entry->d_name, ".") || text_eq(entry->d_name, "..") ||
		    !path_join(path, folder, entry->d_name) || !path_join(bin, path, "bin") ||
		    !path_join(mark, path, "pyvenv.cfg"))
			continue;
		if (faccessat(f->ask->root, mark + 1, F_OK, 0) == 0)
			r = queue(f, bin);
		else if (deeper && (text_eq(entry->d_name, ".tox") || text_eq(entry->d_name, ".nox")))
			r = add_venvs(f, path, false);
	}
	return r;
}

static int find_secrets(struct finder *f)
{
	for (size_t i = 0; f->ask->home && i < secrets_len; i++) {
		cleanup(strv_done) struct strv links = STRV_NULL;
		char path[PATH_MAX];
		char real[PATH_MAX];
		if (!path_join(path, f->ask->home, secrets[i]))
			continue;
		int r = follow(&f->follow, path, real, &links);
		if (r == 0)
			r = strv_add(&f->secrets, real);
		if (r < 0)
			return r;
	}
	return 0;
}

/* In a home that is not the caller's. */
static int hide_secrets_of_others(struct finder *f, const char *row)
{
	size_t len = home_len(f, row);
	if (!len || (f->ask->home && path_below(row, f->ask->home)))
		return 0;
	for (size_t i = 0; i < secrets_len; i++) {
		char path[PATH_MAX];
		if (snprintf(path, sizeof(path), "%.*s/%s", (int)len, row, secrets[i]) >= PATH_MAX ||
		    !path_below(path, row) || faccessat(f->ask->root, path + 1, F_OK, 0) < 0)
			continue;
		int r = strv_add(&f->out.hidden, path);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Those that are seen: below a row, or outside the home, where a link led. */
static int hide_secrets(struct finder *f)
{
	for (size_t i = 0; i < f->secrets.len; i++) {
		const char *path = f->secrets.at[i];
		bool within_project = !is_private(f, path) && path_below(path, f->ask->home);
		int r = is_shown(f, path) && !within_project ? strv_add(&f->out.hidden, path) : 0;
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < f->out.len; i++) {
		int r = hide_secrets_of_others(f, f->out.rows[i].path);
		if (r < 0)
			return r;
	}
	return 0;
}

static int by_path(const void *a, const void *b)
{
	const struct visible_row *row_a = a;
	const struct visible_row *row_b = b;
	return strcmp(row_a->path, row_b->path);
}

static int find_all(struct finder *f)
{
	cleanup(strv_done) struct strv entries = STRV_NULL;
	int r = split(env_get(f->ask->caller, "PATH"), &entries);
	if (r == 0)
		r = add_path(f, &entries);
	if (r == 0)
		r = add_tools(f);
	if (r == 0)
		r = add_command(f, &entries);
	if (r == 0)
		r = add_venvs(f, f->ask->project, true);
	for (size_t i = 0; i < f->dirs.len && r == 0; i++) /* grows meanwhile */
		r = follow_links(f, f->dirs.at[i]);
	if (r == 0)
		r = judge_path(f, &entries);
	return r < 0 ? r : hide_secrets(f);
}

int visible_find(const struct visible_ask *ask, struct visible *ret, struct err *e)
{
	cleanup(finder_done) struct finder f = {
		.ask = ask,
		.follow = { .root = ask->root, .known = MAP_NULL(NULL) },
		.private = { "/tmp", "/var/tmp", "/dev/shm", "/run" },
		.private_len = 4,
	};
	if (ask->home)
		f.private[f.private_len++] = ask->home;
	for (size_t i = 0; i < ask->homes_len; i++)
		f.private[f.private_len++] = ask->homes[i];
	int r = find_secrets(&f);
	if (r < 0)
		return err_set(e, -r, "look for secrets: %s", strerrordesc_np(-r));
	r = add_expose(&f, e);
	if (r < 0)
		return r;
	r = find_all(&f);
	if (r == -E2BIG) {
		err_set(e, E2BIG, "more than %d places below %s belong to tools", VISIBLE_ROWS_MAX,
			ask->home);
		return err_hint(e, "take the folder with links to all of them out of PATH");
	}
	if (r < 0)
		return err_set(e, -r, "look for tools: %s", strerrordesc_np(-r));
	if (f.out.len)
		qsort(f.out.rows, f.out.len, sizeof(*f.out.rows), by_path);
	*ret = take(&f.out, VISIBLE_NULL);
	return 0;
}

void visible_done(struct visible *v)
{
	for (size_t i = 0; i < v->len; i++) {
		free(v->rows[i].path);
		free(v->rows[i].why);
	}
	free(v->rows);
	free(v->path);
	strv_done(&v->hidden);
	strv_done(&v->tools);
	strv_done(&v->dropped);
	*v = VISIBLE_NULL;
}
