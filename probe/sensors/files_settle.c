#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probe/sensor.h"
#include "probe/sensors/files.h"
#include "probe/tracker/walk.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"

#define FRESH_NS 20000000LL /* times as near to a look as this may stay through another change */

/* Is another place mounted over the entry, whose name is in f->id? */
static bool covered(const struct files *f, const struct vantage_place *own)
{
	for (size_t i = 0; i < f->v->places_len; i++) {
		const struct vantage_place *place = &f->v->places[i];
		if (place != own && path_below(place->path, own->path) &&
		    path_below(f->id.at, place->path))
			return true;
	}
	return false;
}

struct below {
	struct files *f;
	struct file_entry *entry;
	bool deep;
};

static int mark_name(void *with, const struct walk_name *name)
{
	const struct below *below = with;
	struct tree_node *node =
		tree_add(&below->f->tree, &below->entry->node, name->name, strlen(name->name));
	if (!node)
		return -ENOMEM;
	struct file_entry *entry = (struct file_entry *)node;
	entry->deep |= below->deep;
	entry->reread = true;
	return files_enqueue(below->f, entry);
}

/* Below a folder that came, by whatever name it had before, no event named the paths. */
static int mark_found(struct files *f, struct file_entry *entry, struct err *e)
{
	int r = files_count_open(f, e);
	return r ? r
		 : walk_list(f->v->scratch, f->path.at, mark_name,
			     &(struct below){ f, entry, false }, e);
}

static int mark_known(struct files *f, struct file_entry *entry)
{
	int r = 0;
	struct tree_node *node = tree_walk(&entry->node, &entry->node);
	for (; !r && node; node = tree_walk(&entry->node, node))
		r = files_enqueue(f, (struct file_entry *)node);
	return r;
}

/* Where a path lies in the tree under its overlay, borrowed from f->path. */
static const char *base_path(const struct files *f, const struct file_entry *top)
{
	const char *path = f->path.at + strlen(top->place->dir);
	return path + strspn(path, "/");
}

static int mark_base(struct files *f, struct file_entry *entry, struct err *e)
{
	const struct file_entry *top = files_place_of(entry);
	return walk_list(top->place->base, base_path(f, top), mark_name,
			 &(struct below){ f, entry, true }, e);
}

static int base_value(struct files *f, const struct file_entry *top, char **ret,
		      struct timespec *ret_mtime, struct err *e)
{
	cleanup(file_state_done) struct file_state state = FILE_STATE_NULL;
	int r = file_state_open(top->place->base, base_path(f, top), false, &state, e);
	state.links = 1; /* copying up breaks them, and is no deed of a test */
	*ret_mtime = state.st.st_mtim;
	return r || state.fd < 0 ? r : file_state_value(&state, &f->usual, ret, e);
}

/* Tell, once, what stood under the overlay before anything was done to it. */
static int offer_base(struct files *f, struct file_entry *entry, const char *value)
{
	int r = value ? sink_offer(f->sink, &(struct offer){ .id = f->id.at,
							     .zone = zone_of(f->v, f->id.at),
							     .value = value,
							     .stood = true })
		      : 0;
	entry->base_known = !r;
	entry->base_stood = !r && value;
	return r;
}

static bool is_hidden(const struct file_entry *entry)
{
	const struct file_entry *top = files_place_of(entry);
	while (entry != top) {
		entry = (const struct file_entry *)entry->node.parent;
		if (entry->hides)
			return true;
	}
	return false;
}

static struct file_signature sign(const struct file_state *state)
{
	const struct stat *st = &state->st;
	if (state->fd < 0)
		return (struct file_signature){ 0 };
	return (struct file_signature){
		.ino = st->st_ino,
		.size = (uint64_t)st->st_size,
		.ctime_ns = files_ns(st->st_ctim),
		.atime_ns = S_ISREG(st->st_mode) ? files_ns(st->st_atim) : 0, /* a scan lists folders */
		.mode = st->st_mode,
	};
}

static bool same_signature(const struct file_signature *a, const struct file_signature *b)
{
	return a->ino == b->ino && a->size == b->size && a->ctime_ns == b->ctime_ns &&
	       a->atime_ns == b->atime_ns && a->mode == b->mode;
}

static bool is_folder(const struct file_state *state)
{
	return state->fd >= 0 && S_ISDIR(state->st.st_mode);
}

/* Could it be other than it was seen? */
static bool may_differ(const struct files *f, const struct file_entry *entry,
		       const struct file_state *state)
{
	struct file_signature now = sign(state);
	return f->full || entry->reread || entry->fresh || entry->present != (state->fd >= 0) ||
	       !same_signature(&now, &entry->seen);
}

/* Queue what is not what it was because this entry is not. */
static int spread(struct files *f, struct file_entry *entry, const struct file_state *state,
		  struct err *e)
{
	bool folder = is_folder(state);
	bool another = !entry->folder || !folder || entry->seen.ino != state->st.st_ino;
	int r = 0;
	if (entry->folder && another)
		r = mark_known(f, entry);
	if (!r && folder && another && !f->scan)
		r = mark_found(f, entry, e);
	bool hides = state->fd >= 0 && (!folder || state->opaque);
	if (!r && vantage_is_overlay(files_place_of(entry)->place) &&
	    (entry->deep || hides != entry->hides))
		r = mark_base(f, entry, e);
	if (!r)
		entry->hides = hides;
	return r;
}

/* What was done that left no other value. Under an overlay, copying up is no deed, and folders are
 * touched by it whenever something below them is copied; it keeps the time of the last write. */
static bool is_touch(const struct file_entry *entry, const struct file_state *state,
		     const char *value, const char *base, const struct timespec *base_mtime)
{
	const struct timespec *mtime = &state->st.st_mtim;
	if (!entry->told || !vantage_is_overlay(files_place_of(entry)->place))
		return entry->told;
	return !is_folder(state) && (!value || entry->present || !text_eq(value, base) ||
				     files_ns(*mtime) != files_ns(*base_mtime));
}

static int offer(struct files *f, struct file_entry *entry, const struct file_state *state,
		 struct err *e)
{
	const struct file_entry *top = files_place_of(entry);
	cleanup_free char *value = NULL;
	cleanup_free char *base = NULL;
	struct timespec base_mtime = { 0 };
	bool shows = state->fd < 0 && !is_hidden(entry);
	bool learn_base = !entry->base_known && f->learned;
	int r = files_name(f, entry);
	if (r || covered(f, top->place))
		return r;
	if (state->fd >= 0 && !state->whiteout)
		r = file_state_value(state, &f->usual, &value, e);
	if (!r && vantage_is_overlay(top->place) && (shows || learn_base))
		r = base_value(f, top, &base, &base_mtime, e);
	if (!r && learn_base)
		r = offer_base(f, entry, base);
	if (r)
		return r;
	return sink_offer(f->sink,
			  &(struct offer){
				  .id = f->id.at,
				  .zone = zone_of(f->v, f->id.at),
				  .value = shows ? base : value,
				  .touched = is_touch(entry, state, value, base, &base_mtime),
			  });
}

static void remember(struct files *f, struct file_entry *entry, const struct file_state *state)
{
	bool there = state->fd >= 0 && !state->whiteout;
	if (!f->learned) /* what the first look finds stood itself */
		entry->base_known = entry->base_stood = true;
	entry->present = state->fd >= 0;
	entry->folder = is_folder(state);
	entry->seen = sign(state);
	entry->fresh = entry->seen.ctime_ns > f->now_ns - FRESH_NS ||
		       entry->seen.atime_ns > f->now_ns - FRESH_NS;
	/* All whiteouts of an overlay are one inode. */
	tree_set_ino(&f->tree, &entry->node, there ? entry->seen.ino : 0);
}

static int settle(struct files *f, struct file_entry *entry, struct err *e)
{
	if (!files_place_of(entry))
		return 0;
	buf_clear(&f->path);
	int r = tree_path(f->tree.root, &entry->node, &f->path);
	if (r)
		return r;
	if (f->path.len > WALK_PATH_MAX) {
		_Static_assert(WALK_PATH_MAX == 16384, "said here");
		f->blind = "names whose path is over 16384 bytes";
		return 0;
	}
	bool overlay = vantage_is_overlay(files_place_of(entry)->place);
	cleanup(file_state_done) struct file_state state = FILE_STATE_NULL;
	r = file_state_open(f->v->scratch, f->path.at, overlay, &state, e);
	if (r || !may_differ(f, entry, &state))
		return r;
	r = spread(f, entry, &state, e);
	if (!r)
		r = offer(f, entry, &state, e);
	if (!r)
		r = files_count_open(f, e);
	if (!r)
		remember(f, entry, &state);
	return r;
}

/* What a folder hides must be known before what lies below it is settled. */
static struct file_entry *first_dirty(struct file_entry *entry)
{
	struct file_entry *first = NULL;
	for (struct tree_node *node = &entry->node; node; node = node->parent)
		if (((struct file_entry *)node)->dirty)
			first = (struct file_entry *)node;
	return first;
}

static int settle_down_to(struct files *f, struct file_entry *entry, struct err *e)
{
	for (struct file_entry *next; (next = first_dirty(entry));) {
		int r = settle(f, next, e);
		if (r)
			return r;
		next->dirty = next->told = next->reread = next->deep = false;
	}
	return 0;
}

/* Forget what is nothing, and folders that were kept for it alone. */
static void prune(struct files *f, struct file_entry *entry)
{
	while (!entry->present && !entry->base_stood && !entry->queued && !entry->place &&
	       !entry->node.child && entry->node.parent) {
		struct file_entry *parent = (struct file_entry *)entry->node.parent;
		tree_remove(&f->tree, &entry->node);
		entry = parent;
	}
}

int files_settle(struct files *f, struct err *e)
{
	size_t done = 0;
	int r = 0;
	while (done < f->queue_len && (r = settle_down_to(f, f->queue[done], e)) == 0) {
		struct file_entry *entry = f->queue[done++];
		entry->queued = false;
		prune(f, entry);
	}
	f->queue_len -= done;
	if (f->queue_len)
		memmove(f->queue, f->queue + done, f->queue_len * sizeof(struct file_entry *));
	return r;
}
