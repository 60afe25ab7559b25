#include "runner/drive/layer_key.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

#define KEY_VERSION "1" /* another one when layers are made in another way */

int layer_stamp(int dir, const char *path, struct digest *ret, struct err *e)
{
	struct stat st;
	if (fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		*ret = DIGEST_NULL;
		return errno == ENOENT || errno == ENOTDIR ? 0 : err_sys(e, "look at %s", path);
	}
	unsigned int kind = (st.st_mode & S_IFMT) | (st.st_mode & 0100);
	struct digest contents = DIGEST_NULL;
	if (S_ISLNK(st.st_mode)) {
		char target[PATH_MAX];
		ssize_t len = readlinkat(dir, path, target, sizeof(target));
		if (len < 0)
			return err_sys(e, "read the link %s", path);
		contents = digest_bytes(target, (size_t)len);
	} else if (S_ISREG(st.st_mode)) {
		cleanup_close int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		if (fd < 0)
			return err_sys(e, "read %s", path);
		int r = digest_file(fd, &contents, NULL, e);
		if (r)
			return err_in(e, "%s", path);
	}
	*ret = digest_add(digest_bytes(&kind, sizeof(kind)), contents);
	return 0;
}

/* ---- inputs ---- */

struct inputs {
	const char *project;
	int dir; /* the same */
	struct buf *key;
	size_t len;
};

static int no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "find the inputs of prepare: no memory");
}

static int add_input(struct inputs *in, const char *path, struct err *e)
{
	const char *name = path + strlen(in->project) + 1;
	char hex[DIGEST_HEX];
	struct digest stamp = DIGEST_NULL;
	struct stat st;
	if (++in->len > LAYER_INPUTS_MAX) {
		err_set(e, E2BIG, "the inputs of prepare are over %d files", LAYER_INPUTS_MAX);
		return err_status(e, STATUS_DATA);
	}
	if (fstatat(in->dir, name, &st, 0) == 0 && S_ISDIR(st.st_mode)) {
		err_set(e, EISDIR, "the input %s of prepare is a folder: name the files in it", name);
		return err_status(e, STATUS_DATA);
	}
	int r = layer_stamp(in->dir, name, &stamp, e);
	if (r)
		return r;
	return buf_printf(in->key, "input %s %s%c", name, digest_hex(stamp, hex), '\0')
		       ? no_memory(e)
		       : 0;
}

/* The project's own path is no pattern. */
static int add_escaped(struct buf *b, const char *text)
{
	int r = 0;
	for (; *text && !r; text++) {
		if (strchr("*?[]\\{}~", *text))
			r = buf_puts(b, "\\");
		r = r ? r : buf_add(b, text, 1);
	}
	return r;
}

static int add_pattern(struct inputs *in, const char *pattern, struct err *e)
{
	cleanup(globfree) glob_t found = { 0 };
	cleanup(buf_done) struct buf whole = BUF_NULL;
	if (add_escaped(&whole, in->project) || buf_printf(&whole, "/%s", pattern))
		return no_memory(e);
	int r = glob(whole.at, 0, NULL, &found);
	if (r == GLOB_NOSPACE)
		return no_memory(e);
	if (r == GLOB_NOMATCH && !strpbrk(pattern, "*?[")) {
		err_set(e, ENOENT, "the input %s of prepare is not there", pattern);
		err_hint(e, "it is looked for in %s", in->project);
		return err_status(e, STATUS_DATA);
	}
	r = 0;
	for (size_t i = 0; i < found.gl_pathc && !r; i++)
		r = add_input(in, found.gl_pathv[i], e);
	return r;
}

/* Whatever their order is. */
static int add_env(struct buf *key, const char *const *env)
{
	char hex[DIGEST_HEX];
	struct digest all = DIGEST_NULL;
	for (size_t i = 0; env[i]; i++)
		all = digest_add(all, digest_bytes(env[i], strlen(env[i])));
	return buf_printf(key, "env %s%c", digest_hex(all, hex), '\0');
}

int layer_key(const struct config *c, const char *const *env, struct digest *ret, struct err *e)
{
	cleanup(buf_done) struct buf key = BUF_NULL;
	int r = buf_printf(&key, "layer " KEY_VERSION "%cproject %s%c", '\0', c->project.path, '\0');
	for (size_t i = 0; i < c->prepare.run.len && !r; i++)
		r = buf_printf(&key, "run %s%c", c->prepare.run.at[i], '\0');
	r = r ? r : add_env(&key, env);
	cleanup_close int dir = open(c->project.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (r)
		return no_memory(e);
	if (dir < 0)
		return err_sys(e, "open %s", c->project.path);
	struct inputs in = { .project = c->project.path, .dir = dir, .key = &key };
	for (size_t i = 0; i < c->prepare.inputs.len && !r; i++)
		r = add_pattern(&in, c->prepare.inputs.at[i], e);
	if (!r)
		*ret = digest_bytes(key.at, key.len);
	return r;
}
