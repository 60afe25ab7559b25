#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/sensor.h"
#include "probe/sensors/files.h"
#include "probe/tracker/tracker.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"

/* What is there has to be read again; `told` by an event. */
static int mark(struct files *f, struct file_entry *entry, bool told)
{
	f->events |= told;
	entry->told |= told;
	entry->reread = true;
	return files_enqueue(f, entry);
}

static int mark_ino(struct files *f, uint64_t ino, bool told)
{
	int r = 0;
	struct tree_node *node = tree_by_ino(&f->tree, ino);
	for (; !r && node; node = tree_same_ino(node))
		r = mark(f, (struct file_entry *)node, told);
	return r;
}

static int on_event(void *with, const char *path, uint64_t ino)
{
	struct files *f = with;
	int r = mark_ino(f, ino, true);
	if (r || !path)
		return r;
	struct file_entry *entry = (struct file_entry *)tree_add_path(&f->tree, path);
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
		r = files_name(f, (struct file_entry *)node);
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
	struct file_entry *entry = (struct file_entry *)tree_add_path(&f->tree, path);
	if (!entry)
		return -ENOMEM;
	entry->scanned = f->looks;
	return files_enqueue(f, entry);
}

static int on_list(void *with)
{
	const struct scan *scan = with;
	return files_count_open(scan->f, scan->e);
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
		struct file_entry *entry = (struct file_entry *)node;
		if (entry->present && entry->scanned != f->looks)
			r = files_enqueue(f, entry);
	}
	return r;
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
	const struct vantage_place *place = place_of(f->v, path);
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
			r = files_enqueue(f, (struct file_entry *)node);
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
int files_gather_writers(struct files *f, struct err *e)
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
	return r ? files_pass_on(r, &lost, e) : f->full || !f->learned;
}

int files_gather(struct files *f, struct err *e)
{
	int r = gather_events(f, e);
	return r > 0 ? scan_places(f, e) : r;
}
