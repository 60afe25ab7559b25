#include "sandbox/layout.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "sandbox/base/barrier.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/dir.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"
#include "sandbox/mountinfo.h"

/* Over these root gets no overlay: they are the kernel's, or what the host boots. */
static const char *const no_overlay[] = { "/proc", "/sys", "/dev", "/boot" };

struct plan {
	struct layout *layout;
	const struct strv *mounts; /* and what must lie in no tree */
	const char *hidden;
	const struct cell_spec *spec;
	const char *project_path;
	bool project; /* its trees are looked for; else those of the system around it */
};

/* Which folders: those with mounts below them, those without, or all. */
enum which { ANY, WHOLE, SPLIT };

static int add(struct layout *l, const char *dir, char *path, bool overlay, bool project,
	       struct err *e)
{
	if (!path)
		return err_set(e, ENOMEM, "out of memory");
	if (strlen(path) >= PATH_MAX) {
		free(path);
		return err_set(e, ENAMETOOLONG, "a place with a path of over %d bytes", PATH_MAX - 1);
	}
	struct layout_place *p = &l->places[l->len++];
	*p = (struct layout_place){ .overlay = overlay, .project = project };
	p->path = path;
	snprintf(p->dir, sizeof(p->dir), "%s", dir);
	return 0;
}

static int add_private(struct layout *l, const char *dir, const char *path, struct err *e)
{
	char *real = realpath(path, NULL);
	if (!real) /* the host has no such folder, or hides it: there is nothing to cover */
		return 0;
	for (size_t i = 0; i < l->len; i++)
		if (strcmp(l->places[i].path, real) == 0) {
			free(real); /* /var/tmp that leads to /tmp */
			return 0;
		}
	return add(l, dir, real, false, false, e);
}

static int add_cache(struct layout *l, const char *home, struct err *e)
{
	char *path = NULL;
	if (asprintf(&path, "%s/.cache", home) < 0)
		path = NULL;
	return add(l, "cache", path, false, false, e);
}

static int add_privates(const struct cell_spec *spec, struct layout *l, struct err *e)
{
	static const char *const rows[][2] = {
		{ "tmp", "/tmp" },
		{ "var-tmp", "/var/tmp" },
		{ "run", "/run" },
	};
	for (size_t i = 0; i < countof(rows); i++) {
		int r = add_private(l, rows[i][0], rows[i][1], e);
		if (r < 0)
			return r;
	}
	int r = add(l, "shm", strdup("/dev/shm"), false, false, e);
	if (!r && spec->home)
		r = add_private(l, "home", spec->home, e);
	const struct layout_place *last = &l->places[l->len - 1];
	if (!r && strcmp(last->dir, "home") == 0)
		r = add_cache(l, last->path, e);
	return r;
}

static bool mounts_below(const struct strv *mounts, const char *dir)
{
	for (size_t i = 0; i < mounts->len; i++)
		if (path_below(mounts->at[i], dir) && strcmp(mounts->at[i], dir) != 0)
			return true;
	return false;
}

static bool covered(const struct layout *l, const char *path)
{
	for (size_t i = 0; i < l->len; i++)
		if (!l->places[i].overlay && strcmp(l->places[i].path, path) == 0)
			return true;
	for (size_t i = 0; i < countof(no_overlay); i++)
		if (strcmp(no_overlay[i], path) == 0)
			return true;
	return false;
}

/* A tree of the scratch; empty: nothing stands in it. */
static int add_upper(struct layout *l, char *path, bool empty, bool project, struct err *e)
{
	char dir[LAYOUT_DIR_LEN];
	snprintf(dir, sizeof(dir), "upper/%zu", l->trees_len++);
	int r = add(l, dir, path, !empty, project, e);
	if (!r)
		l->places[l->len - 1].empty = empty;
	return r;
}

/* Others' homes: they are as empty as the caller's. */
static int add_homes(const struct cell_spec *spec, struct layout *l, struct err *e)
{
	for (size_t i = 0; i < spec->homes_len && barrier("homes"); i++) {
		char *real = realpath(spec->homes[i], NULL);
		if (!real || covered(l, real)) {
			free(real);
			continue;
		}
		int r = add_upper(l, real, true, false, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool is_hidden(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->spec->hidden_len; i++)
		if (strcmp(plan->spec->hidden[i], path) == 0)
			return true;
	return text_eq(plan->hidden, path);
}

static bool is_empty(const char *path)
{
	cleanup_dir DIR *d = dir_open(AT_FDCWD, path);
	return d && !dir_next(d);
}

static int add_tree(const struct plan *plan, const char *path, struct err *e);

/* A tree for each folder in dir; files that stand beside them stay read-only. With mounts as in
 * `which`. 0, or 1: they do not all fit. */
static int add_children(const struct plan *plan, const char *dir, enum which which, struct err *e)
{
	cleanup_dir DIR *d = dir_open(AT_FDCWD, dir);
	if (!d)
		return errno == EACCES ? 0 : err_sys(e, "list %s", dir);
	const struct dirent *entry;
	while ((entry = dir_next(d))) {
		if (!dir_is_folder(dirfd(d), entry->d_name))
			continue;
		cleanup_free char *path = NULL;
		if (asprintf(&path, "%s/%s", strcmp(dir, "/") == 0 ? "" : dir, entry->d_name) < 0)
			return err_set(e, ENOMEM, "out of memory");
		if (which != ANY && mounts_below(plan->mounts, path) != (which == SPLIT))
			continue;
		int r = add_tree(plan, path, e);
		if (r != 0)
			return r;
	}
	return 0;
}

static void cut_to(struct layout *l, size_t len, size_t trees_len)
{
	while (l->len > len)
		free(l->places[--l->len].path);
	l->trees_len = trees_len;
}

/* The kernel refuses an overlay over a folder with mounts below it, since in a user namespace
 * those are locked; so such a folder is split, whole or not at all. 0, or 1: there is no room. */
static int add_tree(const struct plan *plan, const char *path, struct err *e)
{
	struct layout *l = plan->layout;
	if (covered(l, path) || is_hidden(plan, path) ||
	    (!plan->project && path_below(path, plan->project_path)))
		return 0;
	if (mounts_below(plan->mounts, path)) {
		size_t len = l->len;
		size_t trees_len = l->trees_len;
		int r = add_children(plan, path, ANY, e);
		if (r == 1)
			cut_to(l, len, trees_len);
		return r;
	}
	if (l->trees_len == CELL_TREES_MAX)
		return 1;
	/* Root's host has its /media and /srv, and an overlay costs 0.12 ms. */
	bool empty = !plan->project && is_empty(path);
	return add_upper(l, strdup(path), empty, plan->project, e);
}

static int add_copy(const struct cell_spec *spec, struct layout *l, struct err *e)
{
	char dir[LAYOUT_DIR_LEN];
	snprintf(dir, sizeof(dir), "upper/%zu", l->trees_len++);
	int r = add(l, dir, strdup(spec->project), false, true, e);
	if (!r)
		l->places[l->len - 1].copy = true;
	return r;
}

static int add_project(const struct cell_spec *spec, const struct plan *plan, struct err *e)
{
	if (spec->project_copy)
		return add_copy(spec, plan->layout, e);
	struct plan own = *plan;
	own.project = true;
	int r = add_tree(&own, spec->project, e);
	if (r != 1)
		return r;
	return err_set(e, E2BIG, "%s: the mounts in it split it into more than %d trees",
		       spec->project, CELL_TREES_MAX);
}

/* Whole trees before split ones: what does not fit stays read-only, so that a write there is
 * refused, not lost. A container mounts files into /etc, which has many folders. */
static int add_system(const struct plan *plan, struct err *e)
{
	int r = add_children(plan, "/", WHOLE, e);
	if (r >= 0)
		r = add_children(plan, "/", SPLIT, e);
	return r < 0 ? r : 0;
}

static int plan_places(const struct cell_spec *spec, const struct plan *plan, struct err *e)
{
	int r = add_privates(spec, plan->layout, e);
	if (!r)
		r = add_homes(spec, plan->layout, e);
	if (!r)
		r = add_project(spec, plan, e);
	return r < 0 || spec->uid != 0 ? r : add_system(plan, e);
}

static int rank(const struct layout_place *p)
{
	if (p->project)
		return 2;
	return p->overlay || p->empty ? 0 : 1;
}

/* Root's trees, then the private places in them, then the project, which may lie in either. One
 * private place may lie below another: HOME=/tmp/x. */
static int by_order(const void *a, const void *b)
{
	const struct layout_place *x = a;
	const struct layout_place *y = b;
	if (rank(x) != rank(y))
		return rank(x) - rank(y);
	size_t x_len = strlen(x->path);
	size_t y_len = strlen(y->path);
	return x_len < y_len ? -1 : x_len > y_len;
}

int layout_make(const struct cell_spec *spec, const char *mountinfo, const char *hidden,
		struct layout *ret, struct err *e)
{
	cleanup(strv_done) struct strv mounts = STRV_NULL;
	int r = mountinfo_parse(mountinfo, &mounts, e);
	if (r < 0)
		return r;
	if (hidden && strv_add(&mounts, hidden))
		return err_set(e, ENOMEM, "out of memory");
	cleanup(layout_done) struct layout l = LAYOUT_NULL;
	const struct plan plan = { &l, &mounts, hidden, spec, spec->project, false };
	r = plan_places(spec, &plan, e);
	if (r < 0)
		return r;
	qsort(l.places, l.len, sizeof(l.places[0]), by_order);
	*ret = take(&l, LAYOUT_NULL);
	return 0;
}

void layout_done(struct layout *layout)
{
	for (size_t i = 0; i < layout->len; i++)
		free(layout->places[i].path);
	*layout = LAYOUT_NULL;
}

#define BOARD_LEN (sizeof(struct layout) + (CELL_TREES_MAX + CELL_PRIVATE_MAX) * (size_t)PATH_MAX)

struct layout *layout_board_new(void)
{
	void *board =
		mmap(NULL, BOARD_LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return board == MAP_FAILED ? NULL : board;
}

void layout_post(const struct layout *layout, struct layout *board)
{
	char *at = (char *)(board + 1);
	char *end = (char *)board + BOARD_LEN;
	*board = *layout;
	for (size_t i = 0; i < layout->len; i++) {
		size_t len = strlen(layout->places[i].path) + 1;
		assert(len <= (size_t)(end - at));
		board->places[i].path = memcpy(at, layout->places[i].path, len);
		at += len;
	}
}

void layout_board_free(struct layout *board)
{
	if (board)
		munmap(board, BOARD_LEN);
}
