#pragma once
/*
 * tracker: which files of the scratch may have changed since the last drain.
 *
 * Two rows of one interface: `fanotify` reads events, `scan` walks. Paths are
 * relative to the scratch ("tmp/a", "upper/0/src/b") and borrowed during the
 * call. Names below the vantage's own_dir and the overlays' work folders are
 * never told.
 */
#include <stdbool.h>

#include "probe/vantage.h"

struct err;

struct tracker_report {
	void *with;
	int (*dirty)(void *with, const char *path);  /* 0, or the negative errno that ends it */
	int (*opened)(void *with, const char *path); /* may be NULL; fanotify alone knows */
};

struct tracker {
	const char *name;
	int (*open)(const struct vantage *v, void **ret, struct err *e);
	/* -EOVERFLOW: events were lost; nothing was told, the caller walks with scan instead. */
	int (*drain)(void *memory, const struct tracker_report *report, struct err *e);
	void (*close)(void *memory);
};

extern const struct tracker tracker_fanotify;
extern const struct tracker tracker_scan;
