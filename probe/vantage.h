#pragma once
/*
 * vantage: where the looker looks from. Open descriptors onto one cell, and
 * names; plain data, borrowed from whoever opened it.
 *
 * A test makes one by hand onto a fixture folder and its own process.
 */
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A writable place: a folder of the scratch, and where the suite sees it. */
struct vantage_place {
	const char *dir;  /* below the scratch: "tmp", "upper/0" */
	const char *path; /* "/tmp", "/work/project" */
	int base;    /* what stood there, O_PATH: the tree under an overlay, or what was copied;
			     -1: the place began empty */
	bool copied; /* nothing of the base shows through */
};

/* What the suite may do where; the longest path that a name lies below decides. "/tmp/a-*" is every
 * name in /tmp that begins with "a-". */
struct vantage_zone {
	const char *path;
	const char *zone; /* state source tmp home cache shm system */
};

struct buf;
struct err;

#define VANTAGE_WHY_LEN 96

enum vantage_sysvipc { VANTAGE_SHM, VANTAGE_SEM, VANTAGE_MSG, VANTAGE_SYSVIPC_N };

struct vantage {
	int root;    /* the cell's /, O_PATH */
	int proc;    /* the cell's /proc */
	int scratch; /* the root of the scratch */
	pid_t warden; /* proc is the host's, and the cell's is what comes from that process; 0: all of
			 proc is the cell's, and process 1 the warden */
	int fanotify;         /* marks the scratch; -1: look by scan */
	const char *why_scan; /* why fanotify is -1 though it was wanted; NULL */
	/* Opened inside, for they show the namespace of who opened them; -1: there is none. */
	int sysvipc[VANTAGE_SYSVIPC_N]; /* /proc/sysvipc/shm, sem, msg */
	int queues;                     /* the mount of POSIX message queues */
	int sockets;                    /* NETLINK_SOCK_DIAG */
	bool sockets_shared; /* it shows those of others, too: what the cell's processes hold counts */
	const struct vantage_place *places;
	size_t places_len;
	const struct vantage_zone *zones;
	size_t zones_len;
	const char *own_dir; /* folder of the scratch that is ours and no part of any fingerprint:
				"run/fumehood"; NULL: none */
	bool show_values;    /* values of variables stand beside length and digest */
	const char *const *env_ignored; /* variables the framework moves itself; NULL-terminated or
					   NULL */

	const char *const *probes; /* the user's own, by name; NULL-terminated or NULL */
	/* Run one of them in the cell. 0: what it printed was appended to out. 1: it failed, and why
	 * says how. */
	int (*run_probe)(const void *with, size_t number, struct buf *out,
			 char why[VANTAGE_WHY_LEN], struct err *e);
	const void *run_with;

	pid_t pid;   /* the test process, as this process sees it; 0: none yet */
	pid_t inner; /* the same in the cell: its name below proc */
	bool amid; /* within a test: 0, 1 and 2 may be the framework's capture, and are passed over */
};

/* The place that an absolute path in the cell lies in, the innermost; NULL: in none. */
const struct vantage_place *place_of(const struct vantage *v, const char *path);
/* The zone of an absolute path in the cell; "system" when no row says. */
const char *zone_of(const struct vantage *v, const char *path);

static inline bool vantage_is_overlay(const struct vantage_place *place)
{
	assert(place);
	return place->base >= 0 && !place->copied;
}
