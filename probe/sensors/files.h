#pragma once
/*
 * files: what the parts of the files sensor share.
 *
 * A look gathers the entries that may have changed in a queue, and settles each: what is there now
 * is offered to the sink. Settling may queue more: what lies below a folder that came, went or
 * became another, and what an upper folder hides or shows in the tree under its overlay.
 *
 * An entry exists for every name in the places, and for what stood under an overlay once it was
 * dirty. It is told apart from what was seen last by its inode, size and times; where events tell
 * what was written, these only tell one folder from another.
 *
 * files.c is the row, files_gather.c finds what may have changed, and
 * files_settle.c looks at it.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "probe/sensors/file_state.h"
#include "probe/sensors/writers.h"
#include "probe/tracker/tree.h"
#include "probe/vantage.h"
#include "sandbox/base/buf.h"

struct err;
struct sink;

/* What a scan compares. The access time moves when a file is mapped, and mtime does not when a
 * mapping is stored to. */
struct file_signature {
	uint64_t ino;
	uint64_t size;
	int64_t ctime_ns;
	int64_t atime_ns;
	mode_t mode;
};

struct file_entry {
	struct tree_node node;
	const struct vantage_place *place; /* on the folder of a place only */
	struct file_signature seen;
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
	struct file_entry **queue;
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

/* The entry of the place that it lies in; NULL: in none. */
struct file_entry *files_place_of(const struct file_entry *entry);
int files_enqueue(struct files *f, struct file_entry *entry);
/* Puts what the entry is called in the cell into f->id. */
int files_name(struct files *f, const struct file_entry *entry);
/* A folder or file is about to be opened: our own opens are events, too. */
int files_count_open(struct files *f, struct err *e);
/* What a tracker says may be without words when there was no memory for them. */
int files_pass_on(int r, struct err *from, struct err *e);
int64_t files_ns(struct timespec t);

/* Queue the entries that may have changed. */
int files_gather(struct files *f, struct err *e);
/* The same for those that processes can write to without an event. */
int files_gather_writers(struct files *f, struct err *e);
/* Look at all that is queued, and tell of it. */
int files_settle(struct files *f, struct err *e);
