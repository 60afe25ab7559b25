#pragma once
/*
 * sync: what the runner, the warden and the command's process tell each other
 * while a cell lives: records of one size over SEQPACKET, descriptors beside
 * them. Whoever fails sends its struct err whole, and the other side raises it
 * as its own.
 *
 * Owns nothing. A record of another size or kind is -EPROTO.
 */
#include <stddef.h>
#include <stdint.h>

#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "sandbox/cell.h"

enum sync_kind {
	/* runner to warden */
	SYNC_MAPPED = 1, /* the ids of the user namespace are mapped */
	SYNC_PLANNED,    /* the layout is on the board; also warden to command: help */
	SYNC_STOP,       /* signal */
	SYNC_KILL,
	SYNC_SIGNAL, /* signal */
	SYNC_RELEASE,
	SYNC_GO, /* also runner to command */
	/* command to warden, and back */
	SYNC_LAID_OUT,    /* the scratch is; made, and descriptors: struct mounts_help */
	SYNC_MADE,        /* made: the tree stands */
	SYNC_EXEC_FAILED, /* err.code */
	/* to the runner */
	SYNC_OBSERVED, /* isolation; from the command */
	SYNC_READY,    /* ready; descriptors in the order of enum sync_fd, then bases */
	SYNC_EXITED,   /* event */
	SYNC_STOPPED,
	SYNC_ERR, /* err; also command to warden */
};

/* The descriptors that come with SYNC_READY, before the bases of the overlays. */
enum sync_fd {
	SYNC_FD_ROOT,
	SYNC_FD_PROC,
	SYNC_FD_SCRATCH,
	SYNC_FD_USERNS,
	SYNC_FD_LISTENER,
	SYNC_FD_FANOTIFY, /* this and what follows may be missing: ready.came */
	SYNC_FD_SOURCES,
	SYNC_FD_ERRANDS = SYNC_FD_SOURCES + CELL_SOURCE_N,
	SYNC_FD_N,
};
_Static_assert(SYNC_FD_N + CELL_TREES_MAX <= FD_SEND_MAX, "all that is ready goes in one message");

#define NAMESPACES_N 8 /* rows of namespaces[] in userns.h */

struct sync_record {
	uint32_t kind;
	int32_t signal;
	union {
		struct err err;
		struct cell_event event;
		uint64_t made; /* bit n: place n of the layout stands */
		struct sync_ready {
			uint64_t made;
			uint32_t came;                     /* bit n: descriptor n of enum sync_fd */
			uint64_t namespaces[NAMESPACES_N]; /* the inode of each, from inside */
			char why_no_fanotify[96];
		} ready;
		struct isolation isolation;
	};
};

int sync_pair(int ret[2], struct err *e);
int sync_send(int sock, const struct sync_record *record, const int *fds, size_t fds_len,
	      struct err *e);
/* A record that is its kind and a signal alone. */
int sync_tell(int sock, enum sync_kind kind, int signal, struct err *e);
/* 1: a record came. 0: the other side is gone. *ret_fds_len may be NULL when none is expected. */
int sync_recv(int sock, struct sync_record *ret, int *fds, size_t fds_max, size_t *ret_fds_len,
	      struct err *e);
