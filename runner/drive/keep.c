#include "runner/drive/keep.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runner/drive/looker.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/copy.h"
#include "sandbox/base/dir.h"
#include "sandbox/base/err.h"

#define DEPTH_MAX       128 /* folders in each other; two descriptors each */
#define LEFT_OUT_MAX    20  /* that are named */
#define TEMPORARY       ".fumehood-keep"
#define DEATH_OF_RUNNER SIGTERM

static int no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "keep: no memory");
}

static int usage(struct err *e, int code, const char *asked, const char *why)
{
	err_set(e, code, "--keep %s: %s", asked, why);
	return err_status(e, STATUS_USAGE);
}

void keeps_done(struct keeps *keeps)
{
	for (size_t i = 0; i < keeps->len; i++) {
		free(keeps->at[i].path);
		free(keeps->at[i].to);
		free(keeps->at[i].rest);
		fd_close_at(&keeps->at[i].dir);
	}
	strv_done(&keeps->left_out);
	*keeps = KEEPS_NULL;
}

/* ---- before the command begins ---- */

/* The real path of what stands of `path`, and behind it what does not, at least the last name. */
static int split(const char *path, char **ret_dir, char **ret_rest)
{
	cleanup_free char *dir = strdup(path);
	cleanup_free char *real = NULL;
	if (!dir)
		return -ENOMEM;
	size_t len = strlen(dir);
	while (len > 1 && dir[len - 1] == '/')
		dir[--len] = '\0';
	do {
		char *slash = strrchr(dir, '/');
		if (!slash)
			return -EINVAL;
		len = (size_t)(slash - dir);
		*slash = '\0';
		real = realpath(len ? dir : "/", NULL);
	} while (!real && (errno == ENOENT || errno == ENOTDIR) && len);
	if (!real)
		return -errno;
	*ret_rest = strdup(path + len + 1);
	if (!*ret_rest)
		return -ENOMEM;
	*ret_dir = take_ptr(&real);
	return 0;
}

/* "a/./b//": without what means nothing. -EINVAL: it goes up, or names nothing. */
static int tidy(char *rest)
{
	assert(rest);
	char *to = rest;
	char *from = rest;
	for (char *part; (part = strsep(&from, "/"));) {
		if (text_eq(part, ".."))
			return -EINVAL;
		if (!*part || text_eq(part, "."))
			continue;
		if (to > rest)
			*to++ = '/';
		size_t len = strlen(part);
		memmove(to, part, len);
		to += len;
	}
	*to = '\0';
	return to > rest ? 0 : -EINVAL;
}

static int join(const char *dir, const char *rest, char **ret)
{
	if (asprintf(ret, "%s/%s", text_eq(dir, "/") ? "" : dir, rest) < 0) {
		*ret = NULL;
		return -ENOMEM;
	}
	return 0;
}

/* A place by its real path: `whole`, or its last folder that stands, and the rest. */
static int resolve(const char *path, char **ret_dir, char **ret_rest, char **ret_whole)
{
	cleanup_free char *absolute = path[0] == '/' ? strdup(path) : NULL;
	cleanup_free char *cwd = path[0] == '/' ? NULL : get_current_dir_name();
	if (cwd && join(cwd, path, &absolute))
		return -ENOMEM;
	cleanup_free char *real = absolute ? realpath(absolute, NULL) : NULL;
	if (!absolute)
		return -ENOMEM;
	int r = split(real ? real : absolute, ret_dir, ret_rest);
	r = r ? r : tidy(*ret_rest);
	return r ? r : join(*ret_dir, *ret_rest, ret_whole);
}

static int open_one(const char *asked, struct keep *keep, struct err *e)
{
	cleanup_free char *path = strdup(asked);
	cleanup_free char *dir_inside = NULL;
	cleanup_free char *rest_inside = NULL;
	cleanup_free char *dir = NULL;
	if (!path)
		return no_memory(e);
	char *dest = strchr(path, '=');
	if (dest)
		*dest++ = '\0';
	int r = dest && !*dest ? -EINVAL : resolve(path, &dir_inside, &rest_inside, &keep->path);
	if (!r)
		r = resolve(dest ? dest : path, &dir, &keep->rest, &keep->to);
	if (r == -ENOMEM)
		return no_memory(e);
	if (r)
		return usage(e, -r, asked,
			     r == -EINVAL ? "name a file or folder, without .. where nothing stands yet"
					  : strerrordesc_np(-r));
	keep->dir = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (keep->dir < 0)
		return usage(e, errno, asked, strerrordesc_np(errno));
	if (faccessat(keep->dir, ".", W_OK | X_OK, AT_EACCESS) == 0)
		return 0;
	int code = errno;
	cleanup_free char *why = NULL;
	if (asprintf(&why, "you cannot write to %s", dir) < 0)
		return no_memory(e);
	return usage(e, code, asked, why);
}

int keeps_open(const char *const *asked, struct keeps *ret, struct err *e)
{
	cleanup(keeps_done) struct keeps keeps = KEEPS_NULL;
	for (; asked && *asked; asked++) {
		if (keeps.len == KEEP_MAX)
			return usage(e, E2BIG, *asked, "there are too many of them");
		keeps.at[keeps.len] = (struct keep){ .dir = -1 };
		int r = open_one(*asked, &keeps.at[keeps.len++], e);
		if (r)
			return r;
	}
	*ret = take(&keeps, KEEPS_NULL);
	return 0;
}

/* ---- in the looker, which may read what the command closed to its owner ---- */

struct bring {
	int channel;
	uint64_t files;
	uint64_t bytes;
};

/* One node: where it stands in the cell and where it goes, and how it is called. */
struct node {
	int from;
	const char *from_name;
	int to;
	const char *to_name;
	const char *path; /* in the cell, for messages */
	size_t depth;     /* folders of what is kept above it */
};

static int leave_out(const struct bring *b, const char *path, const char *why, struct err *e)
{
	cleanup_json cJSON *line = cJSON_CreateObject();
	if (!line || !cJSON_AddStringToObject(line, "kind", "left_out") ||
	    json_add_name(line, "path", path) || !cJSON_AddStringToObject(line, "why", why))
		return no_memory(e);
	return looker_say(b->channel, line, e);
}

static int failed(struct err *e, const char *what, const char *path)
{
	err_sys(e, "--keep: %s %s", what, path);
	return err_status(e, STATUS_USAGE);
}

/* What only looks replaced: the file of the host that shows through the overlay. Nobody can set the
 * time of the last change of an inode. */
static bool is_the_same(const struct stat *a, const struct stat *b)
{
	return S_ISREG(b->st_mode) && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* What was made and has no name yet where it goes: a file, or a link. */
struct made {
	int file;           /* -1: a link */
	const char *target; /* of the link */
	char temporary[64]; /* name of a file that could not be made without one; "": it has none */
};

static void name_temporary(struct made *made)
{
	snprintf(made->temporary, sizeof(made->temporary), TEMPORARY ".%d", getpid());
}

static int give_name(const struct made *made, int folder, const char *name)
{
	char path[64];
	if (made->file < 0)
		return symlinkat(made->target, folder, name);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", made->file);
	return linkat(AT_FDCWD, path, folder, name, AT_SYMLINK_FOLLOW);
}

/* In one step from what was there to what was made. */
static int replace(struct made *made, const struct node *node)
{
	if (!made->temporary[0]) {
		if (give_name(made, node->to, node->to_name) == 0)
			return 0;
		if (errno != EEXIST)
			return -1;
		name_temporary(made);
		if (give_name(made, node->to, made->temporary) < 0)
			return -1;
	}
	if (renameat(node->to, made->temporary, node->to, node->to_name) == 0)
		return 0;
	int code = errno;
	unlinkat(node->to, made->temporary, 0);
	errno = code;
	return -1;
}

/* When the runner is killed we are, too: but not between two names. */
static int put_in_place(struct made *made, const struct node *node, struct err *e)
{
	sigset_t death;
	sigset_t before;
	sigemptyset(&death);
	sigaddset(&death, DEATH_OF_RUNNER);
	sigprocmask(SIG_BLOCK, &death, &before);
	int r = replace(made, node);
	int code = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = code;
	return r < 0 ? failed(e, "replace what stands where it goes:", node->path) : 0;
}

/* Without a name, so that nothing is left of it when we are killed; where the file system has no such
 * files, with a temporary one. */
static int make_file(struct made *made, int folder)
{
	made->file = openat(folder, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
	if (made->file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
		return made->file;
	name_temporary(made);
	made->file = openat(folder, made->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return made->file;
}

static int fill(int from, int to, const struct stat *st)
{
	const struct timespec times[] = { { .tv_nsec = UTIME_OMIT }, st->st_mtim };
	return copy_content(from, to, st->st_size) < 0 || fchmod(to, st->st_mode & 0777) < 0 ||
			       futimens(to, times) < 0
		       ? -1
		       : 0;
}

static int bring_file(struct bring *b, const struct node *node, struct err *e)
{
	cleanup_close int from = openat(node->from, node->from_name,
					O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	struct stat old;
	if (from < 0 || fstat(from, &st) < 0)
		return failed(e, "read", node->path);
	if (fstatat(node->to, node->to_name, &old, AT_SYMLINK_NOFOLLOW) == 0 && is_the_same(&st, &old))
		return 0;
	struct made made = { .file = -1 };
	cleanup_close int to = make_file(&made, node->to);
	if (to < 0)
		return failed(e, "make a file for", node->path);
	if (fill(from, to, &st) < 0) {
		int r = failed(e, "write", node->path);
		if (made.temporary[0])
			unlinkat(node->to, made.temporary, 0);
		return r;
	}
	b->files++;
	b->bytes += (uint64_t)st.st_size;
	return put_in_place(&made, node, e);
}

/* From a folder that is none of the links: up no more than that, then down by names alone. */
bool keep_stays_within(const char *target, size_t depth)
{
	bool down = false;
	if (target[0] == '/')
		return false;
	while (*target) {
		size_t len = strcspn(target, "/");
		bool up = len == 2 && target[0] == '.' && target[1] == '.';
		if (up && (down || depth-- == 0))
			return false;
		down |= !up && len && !(len == 1 && target[0] == '.');
		target += len;
		target += strspn(target, "/");
	}
	return true;
}

static int bring_link(struct bring *b, const struct node *node, struct err *e)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(node->from, node->from_name, target, sizeof(target) - 1);
	if (len < 0)
		return failed(e, "read", node->path);
	target[len] = '\0';
	if (!node->depth || !keep_stays_within(target, node->depth - 1))
		return leave_out(b, node->path, "a link that leads out of what is kept", e);
	b->files++;
	return put_in_place(&(struct made){ .file = -1, .target = target }, node, e);
}

static int bring_node(struct bring *b, const struct node *node, struct err *e);

static int bring_entries(struct bring *b, DIR *entries, const struct node *folder, int to,
			 struct err *e)
{
	const struct dirent *entry;
	int r = 0;
	while (!r && (errno = 0, entry = dir_next(entries))) {
		cleanup_free char *path = NULL;
		if (join(folder->path, entry->d_name, &path))
			return no_memory(e);
		const struct node node = {
			.from = dirfd(entries),
			.from_name = entry->d_name,
			.to = to,
			.to_name = entry->d_name,
			.path = path,
			.depth = folder->depth + 1,
		};
		r = bring_node(b, &node, e);
	}
	return r ? r : errno ? failed(e, "list", folder->path) : 0;
}

static int bring_folder(struct bring *b, const struct node *node, const struct stat *st,
			struct err *e)
{
	if (node->depth == DEPTH_MAX)
		return leave_out(b, node->path, "it lies too deep", e);
	cleanup_dir DIR *entries = dir_open(node->from, node->from_name);
	if (!entries)
		return failed(e, "open", node->path);
	bool made = mkdirat(node->to, node->to_name, 0700) == 0;
	if (!made && errno != EEXIST)
		return failed(e, "make a folder for", node->path);
	cleanup_close int to =
		openat(node->to, node->to_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (to < 0)
		return failed(e, "there is something else where a folder goes:", node->path);
	int r = bring_entries(b, entries, node, to, e);
	if (!r && made && fchmod(to, st->st_mode & 0777) < 0)
		return failed(e, "set the mode of", node->path);
	return r;
}

static int bring_node(struct bring *b, const struct node *node, struct err *e)
{
	struct stat st;
	if (fstatat(node->from, node->from_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return failed(e, "look at", node->path);
	switch (st.st_mode & S_IFMT) {
	case S_IFREG:
		return bring_file(b, node, e);
	case S_IFDIR:
		return bring_folder(b, node, &st, e);
	case S_IFLNK:
		return bring_link(b, node, e);
	default:
		return leave_out(b, node->path, "neither a file nor a folder nor a link", e);
	}
}

/* The folder of a path in the cell, along no link. */
static int open_folder_in(const struct cell *cell, const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/');
	cleanup_free char *folder =
		slash == path ? strdup(".") : strndup(path + 1, (size_t)(slash - path - 1));
	if (!folder)
		return no_memory(e);
	const struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
				      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };
	int fd = (int)syscall(SYS_openat2, cell->view.root, folder, &how, sizeof(how));
	return fd < 0 ? failed(e, "in the cell, open the folder of", path) : fd;
}

/* The folder that `rest` names its last part in, made where it is missing. */
static int open_folder_out(const struct keep *keep, struct err *e)
{
	cleanup_close int at = fcntl(keep->dir, F_DUPFD_CLOEXEC, 3);
	const char *rest = keep->rest;
	for (const char *slash; at >= 0 && (slash = strchr(rest, '/')); rest = slash + 1) {
		char name[NAME_MAX + 1];
		size_t len = (size_t)(slash - rest);
		if (len >= sizeof(name))
			return err_set(e, ENAMETOOLONG, "--keep: make the folder of %s", keep->to);
		memcpy(name, rest, len);
		name[len] = '\0';
		if (mkdirat(at, name, 0777) < 0 && errno != EEXIST)
			return failed(e, "make the folder of", keep->to);
		int next = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		fd_close_at(&at);
		at = next;
	}
	return at < 0 ? failed(e, "open the folder of", keep->to) : take_fd(&at);
}

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static int say_kept(const struct bring *b, size_t n, struct err *e)
{
	cleanup_json cJSON *line = cJSON_CreateObject();
	if (!line || !cJSON_AddStringToObject(line, "kind", "kept") ||
	    !cJSON_AddNumberToObject(line, "n", (double)n) ||
	    !cJSON_AddNumberToObject(line, "files", (double)b->files) ||
	    !cJSON_AddNumberToObject(line, "bytes", (double)b->bytes))
		return no_memory(e);
	return looker_say(b->channel, line, e);
}

static int say_over(int channel, struct err *e)
{
	cleanup_json cJSON *line = cJSON_CreateObject();
	if (!line || !cJSON_AddStringToObject(line, "kind", "over"))
		return no_memory(e);
	return looker_say(channel, line, e);
}

static int bring(struct bring *b, const struct keep *keep, const struct cell *cell, struct err *e)
{
	struct stat st;
	cleanup_close int from = open_folder_in(cell, keep->path, e);
	if (from < 0)
		return from;
	const char *name = last_name(keep->path);
	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return failed(e, "in the cell, look at", keep->path);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
		err_set(e, EINVAL, "--keep: %s is neither a file nor a folder in the cell",
			keep->path);
		return err_status(e, STATUS_USAGE);
	}
	cleanup_close int to = open_folder_out(keep, e);
	if (to < 0)
		return to;
	const struct node node = {
		.from = from,
		.from_name = name,
		.to = to,
		.to_name = last_name(keep->rest),
		.path = keep->path,
	};
	return bring_node(b, &node, e);
}

static int bring_all(const void *with, const struct cell *cell, int channel, struct err *e)
{
	const struct keeps *keeps = with;
	int r = 0;
	prctl(PR_SET_PDEATHSIG, DEATH_OF_RUNNER);
	for (size_t i = 0; i < keeps->len; i++) {
		struct bring b = { .channel = channel };
		struct err why = ERR_NULL;
		if (bring(&b, &keeps->at[i], cell, &why) == 0) {
			if (say_kept(&b, i, e))
				return -e->code;
		} else if (!r) { /* the others can be brought all the same */
			*e = why;
			r = -why.code;
		}
	}
	return r ? r : say_over(channel, e);
}

/* ---- in the runner ---- */

static int take_line(void *with, cJSON *line, const char *kind, struct err *e)
{
	struct keeps *keeps = with;
	size_t n = (size_t)json_number(line, "n", 0);
	if (text_eq(kind, "over"))
		return 1;
	if (text_eq(kind, "kept") && n < keeps->len) {
		struct keep *keep = &keeps->at[n];
		keep->done = true;
		keep->files = (uint64_t)json_number(line, "files", 0);
		keep->bytes = (uint64_t)json_number(line, "bytes", 0);
		return 0;
	}
	if (!text_eq(kind, "left_out"))
		return err_set(e, EPROTO, "the looker sent a line that is none of ours");
	cleanup_free char *path = NULL;
	const char *why = json_text(line, "why");
	if (json_get_name(line, "path", &path) || !path || !why)
		return no_memory(e);
	if (keeps->left_out_len++ < LEFT_OUT_MAX && strv_addf(&keeps->left_out, "%s: %s", path, why))
		return no_memory(e);
	return 0;
}

int keeps_bring(struct keeps *keeps, const struct cell *cell, struct err *e)
{
	if (!keeps->len)
		return 0;
	int fds[KEEP_MAX];
	for (size_t i = 0; i < keeps->len; i++)
		fds[i] = keeps->at[i].dir;
	const struct looker_task task = {
		.look = bring_all,
		.with = keeps,
		.fds = fds,
		.fds_len = keeps->len,
	};
	return looker_ask(&task, cell, take_line, keeps, e);
}
