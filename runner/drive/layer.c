#include "runner/drive/layer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/drive/layer_key.h"
#include "runner/drive/layer_make.h"
#include "runner/drive/prepare.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/dir.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fault.h"
#include "sandbox/base/fd.h"
#include "sandbox/base/json.h"
#include "sandbox/base/remove.h"
#include "sandbox/mountinfo.h"

#define JSON_LEN_MAX (64 << 20)

void layer_done(struct layer *layer)
{
	free(layer->path);
	fd_close_at(&layer->lock);
	*layer = LAYER_NULL;
}

static int no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "prepare: no memory");
}

/* ---- where layers lie ---- */

static int layers_folder(const struct config *c, char **ret, struct err *e)
{
	const char *cache = getenv("XDG_CACHE_HOME");
	bool own = cache && cache[0] == '/';
	if (!own && !c->home) {
		err_set(e, ENOENT, "you have no home directory to keep in what is prepared");
		err_hint(e, "set XDG_CACHE_HOME, or --prepare never");
		return err_status(e, STATUS_USAGE);
	}
	cleanup_free char *path = NULL;
	if (asprintf(&path, "%s%s/fumehood/layers", own ? cache : c->home, own ? "" : "/.cache") < 0)
		return no_memory(e);
	int r = fd_make_folders(path, e);
	if (r)
		return err_status(e, STATUS_USAGE);
	*ret = realpath(path, NULL);
	if (!*ret)
		return err_sys(e, "%s", path);
	if (!path_below(*ret, c->project.path))
		return 0;
	err_set(e, EINVAL, "what is prepared would be kept in the project itself: %s", *ret);
	err_hint(e, "set XDG_CACHE_HOME to a folder outside of it");
	return err_status(e, STATUS_USAGE);
}

/* ---- locks ---- */

/* 1: it was removed before it was locked. */
static int lock_folder(int layers, const char *name, int how, FILE *say, int *ret, struct err *e)
{
	struct stat locked;
	struct stat there;
	if (mkdirat(layers, name, 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make a folder for what is prepared");
	cleanup_close int dir = openat(layers, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return errno == ENOENT ? 1 : err_sys(e, "open a folder for what is prepared");
	int r = flock(dir, how | LOCK_NB);
	if (r < 0 && errno == EWOULDBLOCK) {
		if (say)
			fprintf(say, "waiting for another run that prepares or uses the same\n");
		while ((r = flock(dir, how)) < 0 && errno == EINTR)
			continue;
	}
	if (r < 0 || fstat(dir, &locked) < 0)
		return err_sys(e, "lock what is prepared");
	if (fstatat(layers, name, &there, AT_SYMLINK_NOFOLLOW) < 0 || there.st_ino != locked.st_ino)
		return 1;
	*ret = take_fd(&dir);
	return 0;
}

static int lock(int layers, const char *name, int how, FILE *say, int *ret, struct err *e)
{
	int r;
	do
		r = lock_folder(layers, name, how, say, ret, e);
	while (r > 0);
	return r;
}

/* ---- is it the one that is needed? ---- */

static int still_stands(int project, const cJSON *entry, bool *ret, struct err *e)
{
	cleanup_free char *path = NULL;
	struct digest now;
	char hex[DIGEST_HEX];
	if (json_get_name(entry, "path", &path) || !path)
		return err_set(e, EINVAL, "layer.json names no path");
	int r = layer_stamp(project, path, &now, e);
	if (!r)
		*ret = text_eq(json_text(entry, "digest"), digest_hex(now, hex));
	return r;
}

/* Has nothing changed since that the layer would hide? A layer of which that cannot be told is made
 * anew. */
static bool is_fresh(const struct config *c, int dir)
{
	cleanup_free char *text = NULL;
	size_t len = 0;
	cleanup_close int project = open(c->project.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (project < 0 || faccessat(dir, "layer", F_OK, 0) < 0 ||
	    fd_load(dir, "layer.json", JSON_LEN_MAX, &text, &len, NULL))
		return false;
	cleanup_json cJSON *tree = cJSON_ParseWithLength(text, len);
	const cJSON *replaced = cJSON_GetObjectItemCaseSensitive(tree, "replaced");
	if (json_number(tree, "version", 0) != LAYER_VERSION || !cJSON_IsArray(replaced))
		return false;
	const cJSON *entry;
	cJSON_ArrayForEach(entry, replaced)
	{
		bool stands = false;
		if (still_stands(project, entry, &stands, NULL) || !stands)
			return false;
	}
	return true;
}

/* ---- making ---- */

static int make(const struct layer_job *job, struct err *e)
{
	int r = remove_tree(job->dir, "layer", e);
	r = r ? r : remove_tree(job->dir, "new", e);
	if (!r && mkdirat(job->dir, "new", 0700) < 0)
		r = err_sys(e, "make a folder for what is prepared");
	r = r ? r : layer_make(job, e);
	fault_point("layer-saved");
	if (!r && renameat(job->dir, "new", job->dir, "layer") < 0)
		r = err_sys(e, "keep what was prepared");
	if (r)
		remove_tree(job->dir, "new", NULL);
	return r;
}

/* ---- bounding ---- */

struct kept {
	char name[DIGEST_HEX];
	struct timespec used;
};

static int by_use(const void *a, const void *b)
{
	const struct timespec *x = &((const struct kept *)a)->used;
	const struct timespec *y = &((const struct kept *)b)->used;
	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? 1 : -1;
	return x->tv_nsec < y->tv_nsec ? 1 : x->tv_nsec > y->tv_nsec ? -1 : 0;
}

static void remove_unused(int layers, const char *name)
{
	cleanup_close int dir = openat(layers, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir >= 0 && flock(dir, LOCK_EX | LOCK_NB) == 0)
		remove_tree(layers, name, NULL);
}

/* Room, not correctness: what cannot be removed stays until the next time. */
static void remove_old(int layers)
{
	cleanup_dir DIR *dir = dir_open(layers, ".");
	cleanup_free struct kept *kept = NULL;
	size_t len = 0;
	const struct dirent *entry;
	while (dir && (entry = dir_next(dir))) {
		struct stat st;
		struct kept *more = reallocarray(kept, len + 1, sizeof(*kept));
		if (!more)
			return;
		kept = more;
		if (strlen(entry->d_name) != DIGEST_HEX - 1 ||
		    fstatat(layers, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		memcpy(kept[len].name, entry->d_name, DIGEST_HEX);
		kept[len++].used = st.st_mtim;
	}
	if (len > LAYERS_MAX)
		qsort(kept, len, sizeof(*kept), by_use);
	for (size_t i = LAYERS_MAX; i < len; i++)
		remove_unused(layers, kept[i].name);
}

/* ---- all of it ---- */

struct search {
	const struct config *config;
	const struct cell_spec *spec;
	int layers;
	FILE *say;
};

/* Locked to be made, made unless another run did so meanwhile, then locked to be used. */
static int make_locked(const struct search *s, struct layer *layer, struct err *e)
{
	bool again = s->config->prepare.when == STEPS_AGAIN;
	fd_close_at(&layer->lock);
	int r = lock(s->layers, layer->digest, LOCK_EX, s->say, &layer->lock, e);
	if (r)
		return r;
	layer->reused = !again && is_fresh(s->config, layer->lock);
	if (!layer->reused)
		r = make(&(struct layer_job){ s->config, s->spec, layer->lock, s->say }, e);
	if (!r && flock(layer->lock, LOCK_SH) < 0)
		r = err_sys(e, "lock what was prepared");
	return r;
}

/* Between one lock and the other somebody may make it anew. */
static int find_or_make(const struct search *s, struct layer *layer, struct err *e)
{
	bool again = s->config->prepare.when == STEPS_AGAIN;
	int r = lock(s->layers, layer->digest, LOCK_SH, s->say, &layer->lock, e);
	layer->reused = !r && !again && is_fresh(s->config, layer->lock);
	if (!r && !layer->reused)
		r = make_locked(s, layer, e);
	if (!r && faccessat(layer->lock, "layer", F_OK, 0) < 0)
		r = err_sys(e, "use what was prepared");
	return r;
}

static int search(const struct config *c, const struct cell_spec *spec, FILE *say,
		  struct layer *layer, struct err *e)
{
	cleanup_free char *path = NULL;
	struct digest key = DIGEST_NULL;
	int r = layers_folder(c, &path, e);
	r = r ? r : layer_key(c, spec->env, &key, e);
	if (r)
		return r;
	assert(path);
	digest_hex(key, layer->digest);
	if (asprintf(&layer->path, "%s/%s/layer", path, layer->digest) < 0) {
		layer->path = NULL;
		return no_memory(e);
	}
	cleanup_close int layers = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (layers < 0)
		return err_sys(e, "open %s", path);
	r = find_or_make(&(struct search){ c, spec, layers, say }, layer, e);
	if (r)
		return r;
	futimens(layer->lock, NULL); /* used now */
	remove_old(layers);
	return 0;
}

static int refuse_landlock(const struct config *c, struct err *e)
{
	if (c->isolation != CELL_ISOLATION_LANDLOCK)
		return 0;
	err_set(e, EINVAL, "--isolation landlock: the commands of prepare need namespaces");
	err_hint(e, "make by hand what they make, and --prepare never");
	return err_status(e, STATUS_USAGE);
}

/* An overlay cannot hold what is mounted in the project, and a layer lies on all of it or on nothing. */
static int refuse_mounts(const char *project, struct err *e)
{
	cleanup_free char *text = NULL;
	cleanup(strv_done) struct strv mounts = STRV_NULL;
	int r = mountinfo_load(&text, e);
	r = r ? r : mountinfo_parse(text, &mounts, e);
	if (r)
		return r;
	for (size_t i = 0; i < mounts.len; i++) {
		if (!path_below(mounts.at[i], project) || text_eq(mounts.at[i], project))
			continue;
		err_set(e, ENOTSUP,
			"prepare: what it makes cannot lie on %s: %s is a mount of its own",
			project, mounts.at[i]);
		err_hint(e, "unmount it, or --prepare never");
		return err_status(e, STATUS_USAGE);
	}
	return 0;
}

/* Its output goes to us, wherever ours goes; and what it makes shall be the same on all terminals. */
static int forget_terminal(struct prepared *p, struct err *e)
{
	for (size_t i = 0; i < p->env.len; i++) {
		if (!text_starts(p->env.at[i], "TERM="))
			continue;
		char *dumb = strdup("TERM=dumb");
		if (!dumb)
			return no_memory(e);
		free(p->env.at[i]);
		p->env.at[i] = dumb;
	}
	return 0;
}

int layer_ready(const struct config *c, const char *const *caller, FILE *say, struct layer *ret,
		struct err *e)
{
	static const char *const shell[] = { "/bin/sh", NULL };
	if (!c->prepare.run.len || c->prepare.when == STEPS_NEVER)
		return 0;
	/* A cell like the suite's, but for what its making needs. */
	struct config own = *c;
	own.command = shell;
	own.network = CELL_NETWORK_HOST;
	own.forwards = STRV_NULL;
	own.project_mode = CONFIG_PROJECT_OVERLAY;
	own.caps = CELL_CAPS_NEEDED; /* or it would hold files of ids that only some cells have */
	own.timeout_ms = LAYER_TIMEOUT_MS;
	cleanup(prepared_done) struct prepared p = PREPARED_NULL;
	cleanup(layer_done) struct layer layer = LAYER_NULL;
	int r = refuse_landlock(c, e);
	r = r ? r : refuse_mounts(c->project.path, e);
	r = r ? r : prepare(&own, NULL, caller, &p, e);
	r = r ? r : forget_terminal(&p, e);
	if (r)
		return r;
	p.spec.cwd = p.spec.project;
	p.spec.name = "prepare";
	r = search(c, &p.spec, say, &layer, e);
	if (!r)
		*ret = take(&layer, LAYER_NULL);
	return r;
}
