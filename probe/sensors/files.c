#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "probe/sensors/file_state.h"
#include "probe/sensors/file_undo.h"
#include "probe/sensors/sensors.h"
#include "probe/sensors/writers.h"
#include "probe/tracker/tracker.h"
#include "probe/tracker/tree.h"
#include "probe/tracker/walk.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"

/*
 * A look gathers the entries that may have changed in a queue, and settles each: what is there now
 * is offered to the sink. Settling may queue more: what lies below a folder that came, went or
 * became another, and what an upper folder hides or shows in the tree under its overlay.
 *
 * An entry exists for every name in the places, and for what stood under an overlay once it was
 * dirty. It is told apart from what was seen last by its inode, size and times; where events tell
 * what was written, these only tell one folder from another.
 */

#define FRESH_NS 20000000LL /* times as near to a look as this may stay through another change */

/* What a scan compares. The access time moves when a file is mapped, and mtime does not when a
 * mapping is stored to. */
struct signature {
	uint64_t ino;
	uint64_t size;
	int64_t ctime_ns;
	int64_t atime_ns;
	mode_t mode;
};

struct entry {
	struct tree_node node;
	const struct vantage_place *place; /* on the folder of a place only */
	struct signature seen;
	uint64_t scanned; /* number of the look whose scan found it */
	bool present;     /* its name was in the scratch, if only as a whiteout */
	bool folder;
	bool fresh; /* changed so shortly before it was seen that `seen` proves nothing */
	bool hides; /* nothing shows through it of the tree under the overlay */
	bool base_known;
	bool base_stood;

	bool queued;
	bool dirty;
	bool told;   /* by an event */
	bool reread; /* though its signature may be the same */
	bool deep;   /* with all that stood below it */
};

struct files {
	const struct vantage *v;
	struct file_owner usual;
	void *watch; /* of tracker_fanotify; NULL: every look is a scan */
	void *scanner;
	char why_scan[256];    /* why not by fanotify; "": by fanotify, or there is none */
	unsigned int catch_up; /* looks by scan in place of events that were lost */

	struct tree tree;
	struct entry **queue;
	size_t queue_len;
	size_t queue_cap;

	bool learned; /* looked at least once */
	uint64_t looks;
	bool full;
	bool scan;   /* this look walks all places */
	bool events; /* there were some */
	unsigned int opens;

	/* of others, who can write without an event */
	bool mapped;
	uint64_t *held; /* inode numbers of what they have open to write to */
	size_t held_len;
	size_t held_cap;
	struct writers writers;

	const char *blind;
	int64_t now_ns;
	struct sink *sink;
	struct buf path; /* below the scratch */
	struct buf id;
};

/* ---- entries ---- */

static struct entry *place_of(const struct entry *entry)
{
	const struct tree_node *node = &entry->node;
	while (node && !((const struct entry *)node)->place)
		node = node->parent;
	return (struct entry *)node;
}

static int enqueue(struct files *f, struct entry *entry)
{
	entry->dirty = true;
	if (entry->queued)
		return 0;
	if (f->queue_len == f->queue_cap) {
		size_t cap = f->queue_cap ? f->queue_cap * 2 : 64;
		struct entry **at = reallocarray(f->queue, cap, sizeof(struct entry *));
		if (!at)
			return -ENOMEM;
		f->queue = at;
		f->queue_cap = cap;
	}
	f->queue[f->queue_len++] = entry;
	entry->queued = true;
	return 0;
}

/* Puts what the entry is called in the cell into f->id. */
static int name_entry(struct files *f, const struct entry *entry)
{
	const struct entry *top = place_of(entry);
	buf_clear(&f->id);
	int r = buf_puts(&f->id, top->place->path);
	if (!r && entry != top)
		r = buf_puts(&f->id, "/");
	return r ? r : tree_path(&top->node, &entry->node, &f->id);
}

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

/* ---- gathering ---- */

/* Our own opens are events, too. */
static int count_open(struct files *f, struct err *e)
{
	if (!f->watch || ++f->opens % TRACKER_OPENS_MAX)
		return 0;
	return tracker_fanotify.pump(f->watch, e);
}

/* What is there has to be read again; `told` by an event. */
static int mark(struct files *f, struct entry *entry, bool told)
{
	f->events |= told;
	entry->told |= told;
	entry->reread = true;
	return enqueue(f, entry);
}

static int mark_ino(struct files *f, uint64_t ino, bool told)
{
	int r = 0;
	struct tree_node *node = tree_by_ino(&f->tree, ino);
	for (; !r && node; node = tree_same_ino(node))
		r = mark(f, (struct entry *)node, told);
	return r;
}

static int on_event(void *with, const char *path, uint64_t ino)
{
	struct files *f = with;
	int r = mark_ino(f, ino, true);
	if (r || !path)
		return r;
	struct entry *entry = (struct entry *)tree_add_path(&f->tree, path);
	if (!entry)
		return -ENOMEM;
	return mark(f, entry, true);
}

static int on_open(void *with, uint64_t ino)
{
	struct files *f = with;
	int r = 0;
	struct tree_node *node = tree_by_ino(&f->tree, ino);
	for (; !r && node; node = tree_same_ino(node)) {
		f->events = true;
		r = name_entry(f, (struct entry *)node);
		if (!r)
			r = sink_met(f->sink, f->id.at);
	}
	return r;
}

struct scan {
	struct files *f;
	struct err *e;
};

static int on_scan(void *with, const char *path, uint64_t ino)
{
	struct files *f = ((const struct scan *)with)->f;
	(void)ino;
	struct entry *entry = (struct entry *)tree_add_path(&f->tree, path);
	if (!entry)
		return -ENOMEM;
	entry->scanned = f->looks;
	return enqueue(f, entry);
}

static int on_list(void *with)
{
	const struct scan *scan = with;
	return count_open(scan->f, scan->e);
}

/* Every name in the places, and every name that was there and is no more. */
static int scan_places(struct files *f, struct err *e)
{
	f->scan = true;
	struct tracker_report report = { .with = &(struct scan){ f, e },
					 .dirty = on_scan,
					 .list = on_list };
	int r = tracker_scan.drain(f->scanner, &report, e);
	struct tree_node *node = f->tree.root;
	for (; !r && node; node = tree_walk(f->tree.root, node)) {
		struct entry *entry = (struct entry *)node;
		if (entry->present && entry->scanned != f->looks)
			r = enqueue(f, entry);
	}
	return r;
}

static const struct vantage_place *place_at(const struct files *f, const char *path)
{
	const struct vantage_place *found = NULL;
	for (size_t i = 0; i < f->v->places_len; i++) {
		const struct vantage_place *place = &f->v->places[i];
		if (path_below(path, place->path) && (!found || path_below(place->path, found->path)))
			found = place;
	}
	return found;
}

static int hold(struct files *f, uint64_t ino)
{
	if (f->held_len == f->held_cap) {
		size_t cap = f->held_cap ? f->held_cap * 2 : 16;
		uint64_t *at = reallocarray(f->held, cap, sizeof(*at));
		if (!at)
			return -ENOMEM;
		f->held = at;
		f->held_cap = cap;
	}
	f->held[f->held_len++] = ino;
	return 0;
}

static int on_writer(void *with, const char *path, bool mapped)
{
	struct files *f = with;
	const struct vantage_place *place = place_at(f, path);
	if (!place)
		return 0;
	buf_clear(&f->path);
	int r = buf_printf(&f->path, "%s/%s", place->dir, path + strlen(place->path));
	const struct tree_node *node = r ? NULL : tree_find_path(&f->tree, f->path.at);
	f->mapped |= mapped;
	if (!node) /* it is gone */
		return r;
	return mapped ? mark_ino(f, node->ino, false) : hold(f, node->ino);
}

/* What a descriptor wrote without an event moved a time. */
static int suspect_held(struct files *f)
{
	int r = 0;
	for (size_t i = 0; i < f->held_len; i++) {
		struct tree_node *node = tree_by_ino(&f->tree, f->held[i]);
		for (; !r && node; node = tree_same_ino(node))
			r = enqueue(f, (struct entry *)node);
	}
	return r;
}

static int ask_writers(struct files *f, bool descriptors, struct err *e)
{
	const struct writers_tell tell = { .each = on_writer, .with = f };
	int proc = f->v->proc;
	int r = 0;
	if (descriptors) {
		f->held_len = 0;
		r = writers_descriptors(&f->writers, proc, &tell, e);
	}
	f->mapped = false;
	if (!r)
		r = writers_maps(&f->writers, proc, &tell, e);
	if (r != -ENOTTY)
		return r;
	f->blind = "stores through shared mappings, until the last look (kernel before 6.11)";
	return 0;
}

/* Nobody begins to hold a file but by opening it, and nobody lets go without an event: without one
 * those that were held still are, and only these can have been mapped meanwhile. */
static int gather_writers(struct files *f, struct err *e)
{
	bool anew = f->events || f->scan;
	if (f->v->proc < 0 || (!anew && !f->mapped && !f->held_len))
		return 0;
	int r = writers_list(&f->writers, f->v->proc, f->v->warden, e);
	if (r)
		return r;
	/* A scan sees all times, and needs no descriptors. */
	r = ask_writers(f, anew && f->watch && writers_moved(&f->writers, f->v->proc), e);
	return r ? r : suspect_held(f);
}

/* What a tracker says may be without words when there was no memory for them. */
static int pass_on(int r, struct err *from, struct err *e)
{
	if (r && !from->code)
		err_set(from, -r, "watch files: %s", strerrordesc_np(-r));
	if (r && e)
		*e = *from;
	return r;
}

/* 1: all places have to be scanned. */
static int gather_events(struct files *f, struct err *e)
{
	if (!f->watch)
		return 1;
	struct err lost = ERR_NULL;
	int r = tracker_fanotify.drain(f->watch,
				       &(struct tracker_report){ f, on_event, on_open, NULL }, &lost);
	if (r == -EOVERFLOW) {
		snprintf(f->why_scan, sizeof(f->why_scan), "in %u of the looks (%.200s)",
			 ++f->catch_up, lost.text);
		return 1;
	}
	return r ? pass_on(r, &lost, e) : f->full || !f->learned;
}

static int gather(struct files *f, struct err *e)
{
	int r = gather_events(f, e);
	return r > 0 ? scan_places(f, e) : r;
}

/* ---- settling ---- */

struct below {
	struct files *f;
	struct entry *entry;
	bool deep;
};

static int mark_name(void *with, const struct walk_name *name)
{
	const struct below *below = with;
	struct tree_node *node =
		tree_add(&below->f->tree, &below->entry->node, name->name, strlen(name->name));
	if (!node)
		return -ENOMEM;
	struct entry *entry = (struct entry *)node;
	entry->deep |= below->deep;
	entry->reread = true;
	return enqueue(below->f, entry);
}

/* Below a folder that came, by whatever name it had before, no event named the paths. */
static int mark_found(struct files *f, struct entry *entry, struct err *e)
{
	int r = count_open(f, e);
	return r ? r
		 : walk_list(f->v->scratch, f->path.at, mark_name,
			     &(struct below){ f, entry, false }, e);
}

static int mark_known(struct files *f, struct entry *entry)
{
	int r = 0;
	struct tree_node *node = tree_walk(&entry->node, &entry->node);
	for (; !r && node; node = tree_walk(&entry->node, node))
		r = enqueue(f, (struct entry *)node);
	return r;
}

/* Where a path lies in the tree under its overlay, borrowed from f->path. */
static const char *base_path(const struct files *f, const struct entry *top)
{
	const char *path = f->path.at + strlen(top->place->dir);
	return path + strspn(path, "/");
}

static int mark_base(struct files *f, struct entry *entry, struct err *e)
{
	const struct entry *top = place_of(entry);
	return walk_list(top->place->base, base_path(f, top), mark_name,
			 &(struct below){ f, entry, true }, e);
}

static int base_value(struct files *f, const struct entry *top, char **ret, struct err *e)
{
	cleanup(file_state_done) struct file_state state = FILE_STATE_NULL;
	int r = file_state_open(top->place->base, base_path(f, top), false, &state, e);
	state.links = 1; /* copying up breaks them, and is no deed of a test */
	return r || state.fd < 0 ? r : file_state_value(&state, &f->usual, ret, e);
}

/* Tell, once, what stood under the overlay before anything was done to it. */
static int offer_base(struct files *f, struct entry *entry, const char *value)
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

static bool is_hidden(const struct entry *entry)
{
	const struct entry *top = place_of(entry);
	while (entry != top) {
		entry = (const struct entry *)entry->node.parent;
		if (entry->hides)
			return true;
	}
	return false;
}

static int64_t to_ns(struct timespec t)
{
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static struct signature sign(const struct file_state *state)
{
	const struct stat *st = &state->st;
	if (state->fd < 0)
		return (struct signature){ 0 };
	return (struct signature){
		.ino = st->st_ino,
		.size = (uint64_t)st->st_size,
		.ctime_ns = to_ns(st->st_ctim),
		.atime_ns = S_ISREG(st->st_mode) ? to_ns(st->st_atim) : 0, /* a scan lists folders */
		.mode = st->st_mode,
	};
}

static bool same_signature(const struct signature *a, const struct signature *b)
{
	return a->ino == b->ino && a->size == b->size && a->ctime_ns == b->ctime_ns &&
	       a->atime_ns == b->atime_ns && a->mode == b->mode;
}

static bool is_folder(const struct file_state *state)
{
	return state->fd >= 0 && S_ISDIR(state->st.st_mode);
}

/* Could it be other than it was seen? */
static bool may_differ(const struct files *f, const struct entry *entry,
		       const struct file_state *state)
{
	struct signature now = sign(state);
	return f->full || entry->reread || entry->fresh || entry->present != (state->fd >= 0) ||
	       !same_signature(&now, &entry->seen);
}

/* Queue what is not what it was because this entry is not. */
static int spread(struct files *f, struct entry *entry, const struct file_state *state, struct err *e)
{
	bool folder = is_folder(state);
	bool another = !entry->folder || !folder || entry->seen.ino != state->st.st_ino;
	int r = 0;
	if (entry->folder && another)
		r = mark_known(f, entry);
	if (!r && folder && another && !f->scan)
		r = mark_found(f, entry, e);
	bool hides = state->fd >= 0 && (!folder || state->opaque);
	if (!r && vantage_is_overlay(place_of(entry)->place) && (entry->deep || hides != entry->hides))
		r = mark_base(f, entry, e);
	if (!r)
		entry->hides = hides;
	return r;
}

/* What was done that left no other value. Under an overlay, copying up is no deed, and folders are
 * touched by it whenever something below them is copied. */
static bool is_touch(const struct entry *entry, const struct file_state *state, const char *value,
		     const char *base)
{
	if (!entry->told || !vantage_is_overlay(place_of(entry)->place))
		return entry->told;
	return !is_folder(state) && (!value || entry->present || !text_eq(value, base));
}

static int offer(struct files *f, struct entry *entry, const struct file_state *state, struct err *e)
{
	const struct entry *top = place_of(entry);
	cleanup_free char *value = NULL;
	cleanup_free char *base = NULL;
	bool shows = state->fd < 0 && !is_hidden(entry);
	bool learn_base = !entry->base_known && f->learned;
	int r = name_entry(f, entry);
	if (r || covered(f, top->place))
		return r;
	if (state->fd >= 0 && !state->whiteout)
		r = file_state_value(state, &f->usual, &value, e);
	if (!r && vantage_is_overlay(top->place) && (shows || learn_base))
		r = base_value(f, top, &base, e);
	if (!r && learn_base)
		r = offer_base(f, entry, base);
	if (r)
		return r;
	return sink_offer(f->sink, &(struct offer){
					   .id = f->id.at,
					   .zone = zone_of(f->v, f->id.at),
					   .value = shows ? base : value,
					   .touched = is_touch(entry, state, value, base),
				   });
}

static void remember(struct files *f, struct entry *entry, const struct file_state *state)
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

static int settle(struct files *f, struct entry *entry, struct err *e)
{
	if (!place_of(entry))
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
	bool overlay = vantage_is_overlay(place_of(entry)->place);
	cleanup(file_state_done) struct file_state state = FILE_STATE_NULL;
	r = file_state_open(f->v->scratch, f->path.at, overlay, &state, e);
	if (r || !may_differ(f, entry, &state))
		return r;
	r = spread(f, entry, &state, e);
	if (!r)
		r = offer(f, entry, &state, e);
	if (!r)
		r = count_open(f, e);
	if (!r)
		remember(f, entry, &state);
	return r;
}

/* What a folder hides must be known before what lies below it is settled. */
static struct entry *first_dirty(struct entry *entry)
{
	struct entry *first = NULL;
	for (struct tree_node *node = &entry->node; node; node = node->parent)
		if (((struct entry *)node)->dirty)
			first = (struct entry *)node;
	return first;
}

static int settle_down_to(struct files *f, struct entry *entry, struct err *e)
{
	for (struct entry *next; (next = first_dirty(entry));) {
		int r = settle(f, next, e);
		if (r)
			return r;
		next->dirty = next->told = next->reread = next->deep = false;
	}
	return 0;
}

/* Forget what is nothing, and folders that were kept for it alone. */
static void prune(struct files *f, struct entry *entry)
{
	while (!entry->present && !entry->base_stood && !entry->queued && !entry->place &&
	       !entry->node.child && entry->node.parent) {
		struct entry *parent = (struct entry *)entry->node.parent;
		tree_remove(&f->tree, &entry->node);
		entry = parent;
	}
}

static int settle_all(struct files *f, struct err *e)
{
	size_t done = 0;
	int r = 0;
	while (done < f->queue_len && (r = settle_down_to(f, f->queue[done], e)) == 0) {
		struct entry *entry = f->queue[done++];
		entry->queued = false;
		prune(f, entry);
	}
	f->queue_len -= done;
	if (f->queue_len)
		memmove(f->queue, f->queue + done, f->queue_len * sizeof(struct entry *));
	return r;
}

/* ---- the row ---- */

static int look(struct files *f, struct err *e)
{
	int r = gather(f, e);
	if (!r)
		r = settle_all(f, e);
	if (!r) /* now that what they may write to is known */
		r = gather_writers(f, e);
	return r ? r : settle_all(f, e);
}

static int files_look(void *memory, const struct vantage *v, bool full, struct sink *sink,
		      struct err *e)
{
	struct files *f = memory;
	struct timespec now;
	(void)v;
	f->sink = sink;
	f->full = full;
	f->scan = false;
	f->events = false;
	f->looks++;
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	f->now_ns = to_ns(now);
	int r = look(f, e);
	if (r)
		return r;
	f->learned = true;
	r = sink_how(sink, f->watch ? tracker_fanotify.name : tracker_scan.name,
		     f->why_scan[0] ? f->why_scan : NULL);
	return r ? r : sink_blind(sink, f->blind);
}

static void files_close(void *memory)
{
	struct files *f = memory;
	if (f->watch)
		tracker_fanotify.close(f->watch);
	if (f->scanner)
		tracker_scan.close(f->scanner);
	tree_done(&f->tree);
	free(f->queue);
	free(f->held);
	writers_done(&f->writers);
	buf_done(&f->path);
	buf_done(&f->id);
	free(f);
}

static void files_close_at(struct files **f)
{
	if (*f)
		files_close(*f);
}

static int open_trackers(struct files *f, struct err *e)
{
	int r = tracker_scan.open(f->v, &f->scanner, e);
	if (f->v->fanotify < 0 && f->v->why_scan)
		snprintf(f->why_scan, sizeof(f->why_scan), "%.200s", f->v->why_scan);
	if (r || f->v->fanotify < 0)
		return r;
	struct err why = ERR_NULL;
	r = tracker_fanotify.open(f->v, &f->watch, &why);
	if (r != -ENOTSUP)
		return pass_on(r, &why, e);
	snprintf(f->why_scan, sizeof(f->why_scan), "%.200s", why.text);
	return 0;
}

static int files_open(const struct vantage *v, void **ret, struct err *e)
{
	cleanup(files_close_at) struct files *f = calloc(1, sizeof(*f));
	if (!f || tree_init(&f->tree, sizeof(struct entry)))
		return err_set(e, ENOMEM, "watch files: no memory");
	f->v = v;
	f->usual = (struct file_owner){ geteuid(), getegid() };
	for (size_t i = 0; i < v->places_len; i++) {
		struct entry *top = (struct entry *)tree_add_path(&f->tree, v->places[i].dir);
		if (!top)
			return err_set(e, ENOMEM, "watch files: no memory");
		top->place = &v->places[i];
	}
	int r = open_trackers(f, e);
	if (!r)
		*ret = take_ptr(&f);
	return r;
}

const struct sensor sensor_files = {
	.domain = "files",
	.came = "created",
	.went = "deleted",
	.change = file_state_change,
	.damages = true,
	.open = files_open,
	.close = files_close,
	.look = files_look,
	.undo = file_undo,
};
