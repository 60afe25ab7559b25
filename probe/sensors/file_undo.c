#include "probe/sensors/file_undo.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe/delta.h"
#include "probe/sensors/file_state.h"
#include "probe/tracker/walk.h"
#include "probe/vantage.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/copy.h"
#include "sandbox/base/dir.h"
#include "sandbox/base/err.h"
#include "sandbox/base/json.h"
#include "sandbox/base/text.h"

/* A path, and the folder it is a name in. */
struct spot {
	const struct vantage *v;
	const struct vantage_place *place;
	int top;     /* the place, as the cell sees it, O_PATH */
	char *below; /* the path from there */
	char *folder;
	const char *name; /* lies in below; "": the place itself */
	int dir;          /* the folder, O_PATH */
};
#define SPOT_NULL ((struct spot){ .top = -1, .dir = -1 })

static void spot_done(struct spot *s)
{
	fd_close_at(&s->top);
	fd_close_at(&s->dir);
	free(s->below);
	free(s->folder);
}

/* ---- where it is ---- */

/* The mounts on the way are the cell's own. */
static int open_place(const struct vantage *v, const struct vantage_place *place)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS,
	};
	return (int)syscall(SYS_openat2, v->root, place->path, &how, sizeof(how));
}

static int spot_below(const struct vantage *v, const struct vantage_place *place, const char *below,
		      struct spot *ret, struct err *e)
{
	cleanup(spot_done) struct spot s = SPOT_NULL;
	const char *slash = strrchr(below, '/');
	s.v = v;
	s.place = place;
	s.below = strdup(below);
	s.folder = strndup(below, slash ? (size_t)(slash - below) : 0);
	if (!s.below || !s.folder)
		return err_set(e, ENOMEM, "no memory");
	s.name = s.below + (slash ? slash - below + 1 : 0);
	s.top = open_place(v, place);
	if (s.top >= 0)
		s.dir = walk_open(s.top, s.folder, O_PATH | O_DIRECTORY);
	if (s.dir < 0)
		return err_sys(e, "open its folder");
	*ret = take(&s, SPOT_NULL);
	return 0;
}

static int spot_of(const struct vantage *v, const char *path, struct spot *ret, struct err *e)
{
	const struct vantage_place *place = place_of(v, path);
	if (!place)
		return err_set(e, ENOENT, "it lies in no place of the cell");
	const char *below = path + strlen(place->path);
	return spot_below(v, place, below + strspn(below, "/"), ret, e);
}

/* ---- what is there ---- */

static int value_at(int root, const char *path, bool links, char **ret, struct err *e)
{
	const struct file_owner usual = { geteuid(), getegid() };
	cleanup(file_state_done) struct file_state state = FILE_STATE_NULL;
	int r = file_state_open(root, path, false, &state, e);
	if (r || state.fd < 0)
		return r;
	if (!links)
		state.links = 1;
	r = file_state_value(&state, &usual, ret, e);
	return r == -ENOMEM ? err_set(e, ENOMEM, "no memory") : r;
}

/* Names below an overlay do not count, as in the sensor. */
static int value_now(const struct spot *s, char **ret, struct err *e)
{
	return value_at(s->top, s->below, !vantage_is_overlay(s->place), ret, e);
}

static int stands_in_base(const struct spot *s, const char *value, bool *ret, struct err *e)
{
	cleanup_free char *base = NULL;
	*ret = false;
	if (s->place->base < 0)
		return 0;
	int r = value_at(s->place->base, s->below, s->place->copied, &base, e);
	*ret = !r && text_eq(base, value);
	return r;
}

/* What is done to it in place would be done to another name, too. */
static bool has_other_names(const struct spot *s)
{
	struct stat st;
	return fstatat(s->dir, s->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode) &&
	       st.st_nlink > 1;
}

/* ---- deeds ---- */

static int remove_it(const struct spot *s, struct err *e)
{
	assert(s->name);
	if (!*s->name)
		return err_set(e, EBUSY, "it is the place itself");
	if (unlinkat(s->dir, s->name, dir_is_folder(s->dir, s->name) ? AT_REMOVEDIR : 0) &&
	    errno != ENOENT)
		return err_sys(e, "remove it");
	return 0;
}

/* In the upper folder, where *ret says whether there was one. */
static int remove_whiteout(const struct spot *s, bool *ret, struct err *e)
{
	cleanup_free char *path = NULL;
	cleanup(file_state_done) struct file_state state = FILE_STATE_NULL;
	if (asprintf(&path, "%s/%s", s->place->dir, s->below) < 0)
		return err_set(e, ENOMEM, "no memory");
	int r = file_state_open(s->v->scratch, path, true, &state, e);
	*ret = !r && state.whiteout;
	if (r || !state.whiteout)
		return r;
	path[strlen(path) - strlen(s->name) - 1] = '\0';
	cleanup_close int dir = walk_open(s->v->scratch, path, O_PATH | O_DIRECTORY);
	if (dir < 0 || unlinkat(dir, s->name, 0))
		return err_sys(e, "let the tree below show again");
	return 0;
}

/* A name that is gone is made first: else the overlay would remember that nothing is there. */
static int uncover(const struct spot *s, bool *ret, struct err *e)
{
	if (mknodat(s->dir, s->name, S_IFREG | 0600, 0) && errno != EEXIST)
		return err_sys(e, "make it anew");
	int r = remove_it(s, e);
	return r ? r : remove_whiteout(s, ret, e);
}

/* ---- a folder that hides the one below it ---- */

/* What is left in it. */
struct rest {
	const struct spot *s; /* the folder */
	struct strv paths;
	struct err *e;
};

static int note_rest(void *with, const char *path, const struct walk_name *name)
{
	struct rest *rest = with;
	(void)name;
	return strv_add(&rest->paths, path);
}

/* Only what the tree below has, too, may go. */
static int is_spare(const struct rest *rest, const char *path, bool *ret)
{
	cleanup_free char *now = NULL;
	cleanup_free char *base = NULL;
	int r = value_at(rest->s->top, path, false, &now, rest->e);
	if (!r)
		r = value_at(rest->s->place->base, path, false, &base, rest->e);
	*ret = !r && text_eq(now, base);
	return r;
}

static int remove_rest(const struct rest *rest)
{
	const struct spot *s = rest->s;
	for (size_t i = rest->paths.len; i-- > 0;) {
		cleanup(spot_done) struct spot one = SPOT_NULL;
		int r = spot_below(s->v, s->place, rest->paths.at[i], &one, rest->e);
		r = r ? r : remove_it(&one, rest->e);
		if (r)
			return r;
	}
	return 0;
}

static int empty_it(const struct spot *s, struct err *e)
{
	static const struct walk_ops ops = { .each = note_rest };
	struct rest rest = { .s = s, .e = e };
	int r = walk_all(s->top, s->below, NULL, &ops, &rest, e);
	bool spare = true;
	for (size_t i = 0; !r && spare && i < rest.paths.len; i++)
		r = is_spare(&rest, rest.paths.at[i], &spare);
	if (!r && !spare)
		r = err_set(e, ENOTEMPTY, "a folder above it was replaced and holds other things");
	r = r ? r : remove_rest(&rest);
	strv_done(&rest.paths);
	return r;
}

static int is_opaque(const struct spot *s, const char *folder, bool *ret, struct err *e)
{
	cleanup_free char *path = NULL;
	cleanup(file_state_done) struct file_state state = FILE_STATE_NULL;
	if (asprintf(&path, "%s/%s", s->place->dir, folder) < 0)
		return err_set(e, ENOMEM, "no memory");
	int r = file_state_open(s->v->scratch, path, true, &state, e);
	*ret = !r && state.opaque;
	return r;
}

/* Let the outermost folder that hides what lies below it go, with what the tree below has, too. */
static int uncover_folder(const struct spot *s, struct err *e)
{
	cleanup_free char *folder = strdup(s->folder);
	if (!folder)
		return err_set(e, ENOMEM, "no memory");
	for (char *end = folder; *end;) {
		end += strcspn(end, "/");
		char was = *end;
		*end = '\0';
		bool opaque = false;
		int r = is_opaque(s, folder, &opaque, e);
		if (r)
			return r;
		if (opaque) {
			cleanup(spot_done) struct spot top = SPOT_NULL;
			r = spot_below(s->v, s->place, folder, &top, e);
			r = r ? r : empty_it(&top, e);
			return r ? r : uncover(&top, &opaque, e);
		}
		*end = was;
		end += was != '\0';
	}
	return err_set(e, EEXIST, "the tree below does not show there");
}

/* What stood in the tree under an overlay shows again once nothing stands in front of it. */
static int show_base(const struct spot *s, struct err *e)
{
	bool shows = false;
	int r = uncover(s, &shows, e);
	return r || shows ? r : uncover_folder(s, e);
}

/* ---- making it again ---- */

static int set_attributes(const struct spot *s, const cJSON *before, struct err *e)
{
	cleanup_close int fd = walk_open(s->top, s->below, O_PATH);
	cleanup_close int base =
		s->place->base < 0 ? -1 : walk_open(s->place->base, s->below, O_PATH);
	bool wanted = json_text(before, "xattrs");
	char link[32];
	if (fd < 0)
		return err_sys(e, "open it");
	if (wanted && base < 0)
		return err_set(e, ENODATA, "its attributes were kept nowhere");
	int r = file_state_copy_xattrs(wanted ? base : -1, fd, e);
	if (r)
		return r;
	const char *mode = json_text(before, "mode");
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (chown(link, (uid_t)json_number(before, "uid", geteuid()),
		  (gid_t)json_number(before, "gid", getegid())) ||
	    chmod(link, mode ? (mode_t)strtoul(mode, NULL, 8) : 0))
		return err_sys(e, "set its owner and mode");
	return 0;
}

/* Of what `before` says alone. */
static int make_it(const struct spot *s, const cJSON *before, struct err *e)
{
	const char *type = json_text(before, "type");
	cleanup_free char *target = NULL;
	if (text_eq(type, "link") && json_get_name(before, "target", &target))
		return err_set(e, ENOMEM, "no memory");
	int r;
	if (text_eq(type, "dir"))
		r = mkdirat(s->dir, s->name, 0700);
	else if (target)
		r = symlinkat(target, s->dir, s->name);
	else
		r = mknodat(s->dir, s->name,
			    text_eq(type, "fifo") ? S_IFIFO | 0600 : S_IFREG | 0600, 0);
	if (r)
		return err_sys(e, "make it anew");
	return target ? 0 : set_attributes(s, before, e);
}

static bool is_file(const cJSON *value)
{
	return text_eq(json_text(value, "type"), "file");
}

static bool can_be_made(const cJSON *before)
{
	const char *type = json_text(before, "type");
	return text_eq(type, "dir") || text_eq(type, "link") || text_eq(type, "fifo") ||
	       (is_file(before) && json_number(before, "size", 1) == 0);
}

/* Do mode, owner and attributes alone differ? */
static bool is_dressed(const cJSON *before, const cJSON *now)
{
	static const char *const same[] = { "type", "digest", "target" };
	for (size_t i = 0; i < countof(same); i++)
		if (!text_eq(json_text(before, same[i]), json_text(now, same[i])))
			return false;
	return json_number(before, "size", 0) == json_number(now, "size", 0) &&
	       !text_eq(json_text(before, "type"), "link");
}

/* In place: while a process holds a changed file open, the overlay would go on giving out that one
 * under the name, and nothing that is written to it then would be seen. */
static int rewrite(const struct spot *s, const cJSON *was, struct err *e)
{
	cleanup_close int from = walk_open(s->place->base, s->below, O_RDONLY);
	cleanup_close int to = walk_open(s->top, s->below, O_WRONLY | O_NONBLOCK);
	struct stat st;
	struct stat now;
	if (from < 0 || to < 0 || fstat(from, &st) || fstat(to, &now))
		return err_sys(e, "open it");
	if (!S_ISREG(now.st_mode) || now.st_nlink != 1)
		return err_set(e, EBUSY, "a process changes it meanwhile");
	if (ftruncate(to, 0))
		return err_sys(e, "empty it");
	const struct timespec times[] = { st.st_atim, st.st_mtim };
	if (copy_content(from, to, st.st_size) || futimens(to, times))
		return err_sys(e, "copy its content");
	return set_attributes(s, was, e);
}

/* Where nothing of the base shows through. */
static int copy_again(const struct spot *s, const cJSON *was, struct err *e)
{
	int r = remove_it(s, e);
	if (!r && mknodat(s->dir, s->name, S_IFREG | 0600, 0))
		r = err_sys(e, "make it anew");
	return r ? r : rewrite(s, was, e);
}

static int put_back(const struct spot *s, const cJSON *was, const cJSON *now, bool in_base,
		    struct err *e)
{
	bool in_place = now && !has_other_names(s);
	if (in_place && is_dressed(was, now))
		return set_attributes(s, was, e);
	if (in_place && in_base && is_file(was) && is_file(now))
		return rewrite(s, was, e);
	if (in_base && vantage_is_overlay(s->place))
		return show_base(s, e);
	if (in_base && is_file(was))
		return copy_again(s, was, e);
	if (!can_be_made(was))
		return err_set(e, ENODATA, "its content was kept nowhere");
	int r = remove_it(s, e);
	return r ? r : make_it(s, was, e);
}

static int bring_back(const struct spot *s, const char *before, struct err *e)
{
	cleanup_free char *value = NULL;
	bool in_base = false;
	int r = value_now(s, &value, e);
	if (r || text_eq(value, before))
		return r;
	r = stands_in_base(s, before, &in_base, e);
	if (r)
		return r;
	cleanup_json cJSON *was = cJSON_Parse(before);
	cleanup_json cJSON *now = value ? cJSON_Parse(value) : NULL;
	if (!was || (value && !now))
		return err_set(e, ENOMEM, "no memory");
	r = put_back(s, was, now, in_base, e);
	if (r)
		return r;
	cleanup_free char *after = NULL;
	r = value_now(s, &after, e);
	return r || text_eq(after, before) ? r : err_set(e, EIO, "it is still other than it was");
}

int file_undo(const struct vantage *v, const struct delta *d, struct err *e)
{
	cleanup(spot_done) struct spot s = SPOT_NULL;
	int r = spot_of(v, d->id, &s, e);
	if (r)
		return r;
	return d->before ? bring_back(&s, d->before, e) : remove_it(&s, e);
}
