#pragma once
/*
 * tracker: which files of the scratch may have changed since the last drain.
 *
 * Two rows of one interface: `fanotify` reads events, `scan` walks. Paths are
 * relative to the scratch ("tmp/a", "upper/0/src/b") and borrowed during the
 * call. Names below the vantage's own_dir and the overlays' work folders are
 * never told.
 */
#include <stdint.h>

#include "probe/vantage.h"

struct err;

/* Each call returns 0, or the negative errno that ends the drain. */
struct tracker_report {
	void *with;
	/* fanotify: something happened to the inode `ino`, and so to every name it has; where a
	 * name in a place came or went, path is that name, else NULL. scan: path is there, ino is 0;
	 * what is in a place and not told is not there. */
	int (*dirty)(void *with, const char *path, uint64_t ino);
	/* Somebody opened the inode. May be NULL; fanotify alone knows. */
	int (*opened)(void *with, uint64_t ino);
	/* scan is about to open a folder. May be NULL. */
	int (*list)(void *with);
};

struct tracker {
	const char *name;
	int (*open)(const struct vantage *v, void **ret, struct err *e);
	/* -EOVERFLOW: events were lost, and e says how; nothing was told, the caller walks with scan
	 * instead. The next drain is whole again. */
	int (*drain)(void *memory, const struct tracker_report *report, struct err *e);
	/* Whoever opens files of the scratch by the thousand calls this every TRACKER_OPENS_MAX, or
	 * these opens fill the queue of events. NULL: no need. */
	int (*pump)(void *memory, struct err *e);
	void (*close)(void *memory);
};
#define TRACKER_OPENS_MAX 4096

extern const struct tracker tracker_fanotify;
extern const struct tracker tracker_scan;
