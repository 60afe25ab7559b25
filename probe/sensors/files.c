#include "probe/sensors/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/sensors/file_undo.h"
#include "probe/sensors/sensors.h"
#include "probe/tracker/tracker.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"

/* ---- entries ---- */

struct file_entry *files_place_of(const struct file_entry *entry)
{
	const struct tree_node *node = &entry->node;
	while (node && !((const struct file_entry *)node)->place)
		node = node->parent;
	return (struct file_entry *)node;
}

int files_enqueue(struct files *f, struct file_entry *entry)
{
	entry->dirty = true;
	if (entry->queued)
		return 0;
	if (f->queue_len == f->queue_cap) {
		size_t cap = f->queue_cap ? f->queue_cap * 2 : 64;
		struct file_entry **at = reallocarray(f->queue, cap, sizeof(struct file_entry *));
		if (!at)
			return -ENOMEM;
		f->queue = at;
		f->queue_cap = cap;
	}
	f->queue[f->queue_len++] = entry;
	entry->queued = true;
	return 0;
}

int files_name(struct files *f, const struct file_entry *entry)
{
	const struct file_entry *top = files_place_of(entry);
	buf_clear(&f->id);
	int r = buf_puts(&f->id, top->place->path);
	if (!r && entry != top)
		r = buf_puts(&f->id, "/");
	return r ? r : tree_path(&top->node, &entry->node, &f->id);
}

int files_count_open(struct files *f, struct err *e)
{
	if (!f->watch || ++f->opens % TRACKER_OPENS_MAX)
		return 0;
	return tracker_fanotify.pump(f->watch, e);
}

int files_pass_on(int r, struct err *from, struct err *e)
{
	if (r && !from->code)
		err_set(from, -r, "watch files: %s", strerrordesc_np(-r));
	if (r && e)
		*e = *from;
	return r;
}

int64_t files_ns(struct timespec t)
{
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* ---- the row ---- */

static int look(struct files *f, struct err *e)
{
	int r = files_gather(f, e);
	if (!r)
		r = files_settle(f, e);
	if (!r) /* now that what they may write to is known */
		r = files_gather_writers(f, e);
	return r ? r : files_settle(f, e);
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
	f->now_ns = files_ns(now);
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
		return files_pass_on(r, &why, e);
	snprintf(f->why_scan, sizeof(f->why_scan), "%.200s", why.text);
	return 0;
}

static int files_open(const struct vantage *v, void **ret, struct err *e)
{
	cleanup(files_close_at) struct files *f = calloc(1, sizeof(*f));
	if (!f || tree_init(&f->tree, sizeof(struct file_entry)))
		return err_set(e, ENOMEM, "watch files: no memory");
	f->v = v;
	f->usual = (struct file_owner){ geteuid(), getegid() };
	for (size_t i = 0; i < v->places_len; i++) {
		struct file_entry *top =
			(struct file_entry *)tree_add_path(&f->tree, v->places[i].dir);
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
