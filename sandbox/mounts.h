#pragma once
/*
 * mounts: the cell's file tree, from the host's and a layout. Deeds in this
 * order, once, in the cell's namespaces:
 *
 *	mounts_begin	a scratch,
 *	mounts_proc	a /proc, both attached nowhere: somebody else can fill the one
 *			and use the other from here on
 *	mounts_enter	the host's tree, read-only, becomes the root
 *	mounts_prepare	what will be covered is cloned, overlays are made, half of them by
 *			somebody else: mounts_help, mounts_helped
 *	mounts_cover	everything is put in its place (the scratch is laid out now)
 *	mounts_seal	what the suite shall not write is made read-only
 *	mounts_leave	the old root goes
 *
 * Owns what the warden keeps of it: clones of the bases and of the scratch,
 * with which a later fork can mount overlays of its own, and the descriptors
 * that are handed out.
 */
#include <stdint.h>

#include "sandbox/base/fd.h"
#include "sandbox/devices.h"
#include "sandbox/layout.h"

struct cell_spec;
struct err;
struct scratch_disk;

#define MOUNTS_PLACES_MAX (CELL_TREES_MAX + CELL_PRIVATE_MAX)

struct mounts {
	bool on_disk; /* the scratch is no tmpfs */
	int root;     /* O_PATH: the cell's / */
	int proc;     /* open folders */
	int scratch;
	int scratch_clone;            /* a detached mount of the scratch */
	int bases[MOUNTS_PLACES_MAX]; /* by place; -1: no overlay */
	uint64_t made;                /* bit n: place n of the layout stands */

	/* detached mounts that wait to be attached */
	int scratch_mount;
	int proc_mount;
	int places[MOUNTS_PLACES_MAX];
	int devices[DEVICES_N];
	int git_dir;
	int layer;   /* of changes, that lies on the project; -1: none */
	int project; /* where mounts split it: what stands beside them, read-only */
	int *binds;
};

void mounts_init(struct mounts *m);
int mounts_begin(const struct cell_spec *spec, const struct scratch_disk *disk, struct mounts *m,
		 struct err *e);
int mounts_proc(struct mounts *m, struct err *e);
int mounts_enter(struct mounts *m, struct err *e);
int mounts_prepare(const struct cell_spec *spec, const struct layout *layout, struct mounts *m,
		   struct err *e);
/* What one process made for another, to be sent to it. */
struct mounts_help {
	uint64_t made; /* bit n: place n of the layout; two descriptors for each */
	int fds[FD_SEND_MAX];
	size_t fds_len;
};
/* For a fork of the one that goes on with mounts_prepare(), when /etc's files are on the scratch. */
int mounts_help(const struct layout *layout, struct mounts *m, struct mounts_help *ret,
		struct err *e);
int mounts_helped(const struct layout *layout, struct mounts *m, const struct mounts_help *help,
		  struct err *e);
int mounts_cover(const struct cell_spec *spec, const struct scratch_disk *disk,
		 const struct layout *layout, struct mounts *m, struct err *e);
int mounts_seal(const struct cell_spec *spec, struct mounts *m, struct err *e);
int mounts_leave(struct mounts *m, struct err *e);
