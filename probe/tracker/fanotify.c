#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe/tracker/tracker.h"
#include "probe/tracker/tree.h"
#include "probe/tracker/walk.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"

/*
 * An event names a folder and a name in it, and what the name stands for, by file handle. Handles
 * are never opened: on tmpfs they hold the inode number (watch_open() makes sure of it), and where
 * which folder lies is kept in a tree that starts from a walk and follows the events.
 *
 * The kernel merges an event into an older equal one of the same process, so a drain is a set
 * rather than a story: paths are told when it is over, removed folders are kept until then, and
 * where a moved folder is has to be confirmed.
 */

#define EVENTS_LEN    (64 * 1024)        /* bytes of events in one read */
#define EVENT_LEN_MAX 2048               /* bytes of one event, with two names and three handles */
#define KEPT_MAX      (16 * 1024 * 1024) /* bytes of events that wait for the next drain */
#define NAMINGS       (FAN_CREATE | FAN_DELETE | FAN_RENAME)
#define CHANGES       (NAMINGS | FAN_MODIFY | FAN_ATTRIB | FAN_CLOSE_WRITE)

struct folder {
	struct tree_node node;
	bool place; /* what lies below is told … */
	bool own;   /* … and what lies below this is not */
	bool gone;
};

/* What is told when the drain is over. */
struct note {
	struct folder *folder; /* NULL: the event is about the inode alone */
	size_t name;           /* where it stands in `names` */
	uint64_t ino;
	uint64_t mask;
};

struct watch {
	const struct vantage *v;
	pid_t self;
	struct tree folders;
	unsigned int opens;
	char *room;       /* EVENTS_LEN */
	struct buf kept;  /* events that were taken off the queue before this drain */
	const char *lost; /* why the events do not tell it all; NULL: they do */

	/* of the drain that goes on */
	struct note *notes;
	size_t notes_len;
	size_t notes_cap;
	struct buf names;
	uint64_t *unsettled; /* inode numbers of folders that were moved or removed */
	size_t unsettled_len;
	size_t unsettled_cap;
};

static struct folder *folder_by_ino(const struct watch *w, uint64_t ino)
{
	return (struct folder *)tree_by_ino(&w->folders, ino);
}

/* An array with room for one more, in place of `at`. NULL: no memory. */
static void *grown(void *at, size_t len, size_t *cap, size_t size)
{
	if (len < *cap)
		return at;
	size_t more = *cap ? *cap * 2 : 64;
	void *moved = reallocarray(at, more, size);
	if (moved)
		*cap = more;
	return moved;
}

/* ---- what an event says ---- */

struct spot {
	uint64_t folder; /* inode number; 0: not said */
	const char *name;
};
#define SPOT_NULL ((struct spot){ .name = "" })

struct event {
	uint64_t mask;
	struct spot at; /* of a rename: where it came from */
	struct spot to; /* of a rename */
	uint64_t ino;   /* of what stands there; 0: not said */
};

/* shmem_encode_fh(): generation, then both halves of the inode number. */
static uint64_t handle_ino(const struct file_handle *handle)
{
	uint32_t words[3];
	if (handle->handle_type != 1 || handle->handle_bytes != sizeof(words))
		return 0;
	memcpy(words, handle->f_handle, sizeof(words));
	return words[1] | (uint64_t)words[2] << 32;
}

static struct event parse(const char *bytes, const struct fanotify_event_metadata *m)
{
	struct event ev = { .mask = m->mask, .at = SPOT_NULL, .to = SPOT_NULL };
	const struct fanotify_event_info_fid *info;
	for (size_t at = m->metadata_len; at < m->event_len; at += info->hdr.len) {
		info = (const void *)(bytes + at);
		const struct file_handle *handle = (const void *)info->handle;
		struct spot spot = { .folder = handle_ino(handle),
				     .name = (const char *)handle->f_handle + handle->handle_bytes };
		switch (info->hdr.info_type) {
		case FAN_EVENT_INFO_TYPE_FID:
			ev.ino = spot.folder;
			break;
		case FAN_EVENT_INFO_TYPE_DFID_NAME:
		case FAN_EVENT_INFO_TYPE_OLD_DFID_NAME:
			ev.at = spot;
			break;
		case FAN_EVENT_INFO_TYPE_NEW_DFID_NAME:
			ev.to = spot;
			break;
		default:
			break;
		}
	}
	if (!ev.ino) /* a folder itself: "." in it */
		ev.ino = ev.at.folder;
	return ev;
}

/* ---- following the folders ---- */

static int unsettle(struct watch *w, uint64_t ino)
{
	uint64_t *at = grown(w->unsettled, w->unsettled_len, &w->unsettled_cap, sizeof(*at));
	if (!at)
		return -ENOMEM;
	w->unsettled = at;
	at[w->unsettled_len++] = ino;
	return 0;
}

/* Folder `ino` stands at a spot now. */
static int place_folder(struct watch *w, uint64_t ino, struct spot spot)
{
	struct folder *parent = folder_by_ino(w, spot.folder);
	struct folder *folder = folder_by_ino(w, ino);
	if (!parent)
		return 0; /* note() finds that out, too */
	if (!folder) {
		struct tree_node *node =
			tree_insert(&w->folders, &parent->node, spot.name, strlen(spot.name));
		if (!node)
			return -ENOMEM;
		tree_set_ino(&w->folders, node, ino);
		return 0;
	}
	int r = tree_move(&w->folders, &folder->node, &parent->node, spot.name);
	if (r == -ELOOP) {
		w->lost = "a folder was moved to and fro";
		return 0;
	}
	return r ? r : unsettle(w, ino);
}

static int follow(struct watch *w, const struct event *ev)
{
	int r = 0;
	if (ev->mask & FAN_CREATE)
		r = place_folder(w, ev->ino, ev->at);
	if (!r && (ev->mask & FAN_RENAME))
		r = place_folder(w, ev->ino, ev->to);
	struct folder *folder = folder_by_ino(w, ev->ino);
	if (!r && folder && (ev->mask & FAN_DELETE)) {
		folder->gone = true;
		r = unsettle(w, ev->ino);
	}
	return r;
}

/* Forget a removed folder, and those around it that waited for that. */
static void forget(struct watch *w, struct folder *folder)
{
	while (folder && folder->gone && !folder->node.child) {
		struct folder *parent = (struct folder *)folder->node.parent;
		tree_remove(&w->folders, &folder->node);
		folder = parent;
	}
}

static int confirm(struct watch *w, const struct folder *folder, struct buf *path)
{
	buf_clear(path);
	int r = tree_path(w->folders.root, &folder->node, path);
	if (r)
		return r;
	cleanup_close int fd = walk_open(w->v->scratch, path->at, O_PATH | O_DIRECTORY);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_ino != folder->node.ino)
		w->lost = "a folder is not where its events say";
	return 0;
}

static int confirm_all(struct watch *w)
{
	cleanup(buf_done) struct buf path = BUF_NULL;
	int r = 0;
	for (size_t i = 0; !r && !w->lost && i < w->unsettled_len; i++) {
		const struct folder *folder = folder_by_ino(w, w->unsettled[i]);
		if (folder && !folder->gone)
			r = confirm(w, folder, &path);
	}
	return r;
}

/* ---- taking events in ---- */

static int note(struct watch *w, struct note n, struct spot spot)
{
	n.folder = folder_by_ino(w, spot.folder);
	n.name = w->names.len;
	if (!n.folder && spot.folder)
		w->lost = "an event names a folder that is not known";
	struct note *at = grown(w->notes, w->notes_len, &w->notes_cap, sizeof(*at));
	if (!at)
		return -ENOMEM;
	w->notes = at;
	at[w->notes_len++] = n;
	return n.folder ? buf_add(&w->names, spot.name, strlen(spot.name) + 1) : 0;
}

/* The name counts only when it came or went: what is done to an inode is done to all its names, and
 * the one in the event may be gone since long. */
static int take_in(struct watch *w, const char *bytes, const struct fanotify_event_metadata *m)
{
	if (w->lost)
		return 0;
	struct event ev = parse(bytes, m);
	struct note n = { .ino = ev.ino, .mask = ev.mask };
	int r = ev.mask & FAN_ONDIR ? follow(w, &ev) : 0;
	if (!r)
		r = note(w, n, ev.mask & NAMINGS ? ev.at : SPOT_NULL);
	if (!r && (ev.mask & FAN_RENAME))
		r = note(w, n, ev.to);
	return r;
}

static int keep(struct watch *w, const char *bytes, const struct fanotify_event_metadata *m)
{
	if (w->kept.len < KEPT_MAX)
		return buf_add(&w->kept, bytes, m->event_len);
	w->lost = "too many events during one look";
	return 0;
}

/* What we read ourselves is no news; what we changed, putting things back, is. (An unprivileged group
 * is told no pid but its own.) */
static bool is_news(const struct watch *w, const struct fanotify_event_metadata *m)
{
	return m->pid != w->self || m->mask & CHANGES;
}

static int each_event(struct watch *w, const char *bytes, size_t len,
		      int (*take_event)(struct watch *, const char *,
					const struct fanotify_event_metadata *))
{
	struct fanotify_event_metadata m; /* copied: events are aligned to 4 bytes only */
	int r = 0;
	for (; !r && len; bytes += m.event_len, len -= m.event_len) {
		memcpy(&m, bytes, sizeof(m));
		if (m.mask & FAN_Q_OVERFLOW)
			w->lost = "the queue of events overflowed";
		else if (is_news(w, &m))
			r = take_event(w, bytes, &m);
	}
	return r;
}

static int read_events(struct watch *w,
		       int (*take_event)(struct watch *, const char *,
					 const struct fanotify_event_metadata *),
		       struct err *e)
{
	w->self = getpid();
	for (int r;;) {
		ssize_t n = read(w->v->fanotify, w->room, EVENTS_LEN);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			return err_sys(e, "read the events of the scratch");
		if (n <= 0)
			return 0;
		r = each_event(w, w->room, (size_t)n, take_event);
		if (r || n + EVENT_LEN_MAX <= EVENTS_LEN) /* one more would have fitted */
			return r;
	}
}

/* ---- telling ---- */

static bool is_told(const struct folder *folder)
{
	while (folder && !folder->place && !folder->own)
		folder = (const struct folder *)folder->node.parent;
	return folder && !folder->own;
}

static int tell(struct watch *w, const struct note *n, const struct tracker_report *report,
		struct buf *path)
{
	if ((n->mask & FAN_OPEN) && report->opened) {
		int r = report->opened(report->with, n->ino);
		if (r)
			return r;
	}
	if (!(n->mask & CHANGES))
		return 0;
	if (!is_told(n->folder))
		return report->dirty(report->with, NULL, n->ino);
	buf_clear(path);
	int r = tree_path(w->folders.root, &n->folder->node, path);
	if (!r)
		r = buf_printf(path, "/%s", w->names.at + n->name);
	return r ? r : report->dirty(report->with, path->at, n->ino);
}

static int tell_all(struct watch *w, const struct tracker_report *report)
{
	cleanup(buf_done) struct buf path = BUF_NULL;
	int r = 0;
	for (size_t i = 0; !r && i < w->notes_len; i++)
		r = tell(w, &w->notes[i], report, &path);
	return r;
}

/* ---- the tree from a walk ---- */

struct planting {
	struct watch *watch;
	struct err *e;
};

static int plant(void *with, const char *path, const struct walk_name *name)
{
	struct watch *w = ((const struct planting *)with)->watch;
	if (name->type != DT_DIR)
		return 0;
	struct tree_node *node = tree_add_path(&w->folders, path);
	if (!node)
		return -ENOMEM;
	tree_set_ino(&w->folders, node, name->ino);
	return 0;
}

static int before_list(void *with)
{
	const struct planting *planting = with;
	struct watch *w = planting->watch;
	return ++w->opens % TRACKER_OPENS_MAX ? 0 : read_events(w, keep, planting->e);
}

static struct folder *folder_at(struct watch *w, const char *path)
{
	return (struct folder *)tree_find_path(&w->folders, path);
}

static int plant_all(struct watch *w, struct err *e)
{
	static const struct walk_ops ops = { .each = plant, .list = before_list };
	struct stat st;
	if (fstat(w->v->scratch, &st) < 0)
		return err_sys(e, "stat the scratch");
	tree_done(&w->folders);
	int r = tree_init(&w->folders, sizeof(struct folder));
	if (r)
		return r;
	tree_set_ino(&w->folders, w->folders.root, st.st_ino);
	r = walk_all(w->v->scratch, "", NULL, &ops, &(struct planting){ w, e }, e);
	if (r)
		return r;
	for (size_t i = 0; i < w->v->places_len; i++) {
		struct folder *place = folder_at(w, w->v->places[i].dir);
		if (!place)
			return err_set(e, ENOENT, "%s is not in the scratch", w->v->places[i].dir);
		place->place = true;
	}
	struct folder *own = w->v->own_dir ? folder_at(w, w->v->own_dir) : NULL;
	if (own)
		own->own = true;
	return 0;
}

/* ---- the row ---- */

static void begin(struct watch *w)
{
	w->notes_len = 0;
	w->unsettled_len = 0;
	buf_clear(&w->names);
}

static int recover(struct watch *w, struct err *e)
{
	const char *why = take_ptr(&w->lost);
	int r = plant_all(w, e);
	return r ? r : err_set(e, EOVERFLOW, "%s", why);
}

static int drain(struct watch *w, const struct tracker_report *report, struct err *e)
{
	begin(w);
	int r = each_event(w, w->kept.at, w->kept.len, take_in);
	buf_clear(&w->kept);
	if (!r)
		r = read_events(w, take_in, e);
	if (!r && !w->lost)
		r = confirm_all(w);
	if (r)
		return r;
	if (w->lost)
		return recover(w, e);
	r = tell_all(w, report);
	for (size_t i = 0; i < w->unsettled_len; i++)
		forget(w, folder_by_ino(w, w->unsettled[i]));
	return r;
}

static int watch_drain(void *memory, const struct tracker_report *report, struct err *e)
{
	struct watch *w = memory;
	int r = drain(w, report, e);
	if (r && r != -EOVERFLOW)
		w->lost = "a look ended before all events were taken in";
	return r;
}

static int watch_pump(void *memory, struct err *e)
{
	return read_events(memory, keep, e);
}

static void watch_close(void *memory)
{
	struct watch *w = memory;
	tree_done(&w->folders);
	buf_done(&w->kept);
	buf_done(&w->names);
	free(w->notes);
	free(w->unsettled);
	free(w->room);
	free(w);
}

static void watch_close_at(struct watch **w)
{
	if (*w)
		watch_close(*w);
}

/* Handles of the scratch must be of the form that handle_ino() reads. */
static int check_handles(int scratch, struct err *e)
{
	union {
		struct file_handle head;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} handle = { .head.handle_bytes = MAX_HANDLE_SZ };
	int mount_id;
	struct stat st;
	if (fstat(scratch, &st) < 0 ||
	    name_to_handle_at(scratch, "", &handle.head, &mount_id, AT_EMPTY_PATH) < 0)
		return err_sys(e, "ask for the handle of the scratch");
	if (handle_ino(&handle.head) != st.st_ino)
		return err_set(e, ENOTSUP, "file handles of the scratch are not those of a tmpfs");
	return 0;
}

static int discard(struct watch *w, const char *bytes, const struct fanotify_event_metadata *m)
{
	(void)w;
	(void)bytes;
	(void)m;
	return 0;
}

static int watch_open(const struct vantage *v, void **ret, struct err *e)
{
	int r = check_handles(v->scratch, e);
	if (r)
		return r;
	cleanup(watch_close_at) struct watch *w = calloc(1, sizeof(*w));
	if (!w)
		return err_sys(e, "watch the scratch");
	w->v = v;
	w->room = malloc(EVENTS_LEN);
	if (!w->room)
		return err_sys(e, "watch the scratch");
	r = read_events(w, discard, e); /* what led to what the walk finds */
	w->lost = NULL;
	if (!r)
		r = plant_all(w, e);
	if (!r)
		*ret = take_ptr(&w);
	return r;
}

const struct tracker tracker_fanotify = {
	.name = "fanotify",
	.open = watch_open,
	.drain = watch_drain,
	.pump = watch_pump,
	.close = watch_close,
};
