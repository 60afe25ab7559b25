#pragma once
/*
 * cell: one command in a fresh little Linux.
 *
 * cell_start() makes the namespaces and returns when everything stands and has
 * been looked at from inside (`isolation`); the command waits for cell_go().
 * From then on the warden (the cell's process 1, a fork of the caller) tells
 * what happens through cell_read(), until CELL_EXITED; then the survivors are
 * still alive and can be looked at; cell_release() ends them and the cell.
 * When the caller dies, at any instant, the cell dies.
 *
 * Owns the warden's pidfd, its sockets, the forwarder of ports, a scratch on
 * disk and the descriptors in `view`, until cell_view_done() gives those up
 * early (after a fork handed them on).
 */
#include "sandbox/cell_spec.h"
#include "sandbox/scratch_disk.h"

struct err;

enum isolation_state { ISOLATION_OFF_ASKED, ISOLATION_VERIFIED, ISOLATION_REDUCED };

/* Each property is tried inside: made, looked at, confirmed. The order of the rows of
 * isolation_names[]. */
enum isolation_property {
	ISOLATION_USER,
	ISOLATION_MOUNT,
	ISOLATION_PID,
	ISOLATION_NET,
	ISOLATION_IPC,
	ISOLATION_UTS,
	ISOLATION_CGROUP,
	ISOLATION_TIME,
	ISOLATION_ROOT,    /* the host's tree is read-only */
	ISOLATION_SCRATCH, /* private tmp, var-tmp, shm, home, run, cache: empty and writable */
	ISOLATION_OVERLAY, /* a write to the project stays in the cell */
	ISOLATION_PROC,
	ISOLATION_DEV,
	ISOLATION_CAPS,
	ISOLATION_NO_NEW_PRIVS,
	ISOLATION_SECCOMP,
	ISOLATION_LIMITS,
	ISOLATION_N,
};
extern const char *const isolation_names[ISOLATION_N];

struct isolation {
	enum isolation_state state[ISOLATION_N];
	char why[ISOLATION_N][96]; /* what was seen where it is not VERIFIED */
};

/* A writable place of the cell: a folder of the scratch, and where it is seen. */
struct cell_place {
	char *dir;  /* below the scratch: "tmp", "home", "upper/0" */
	char *path; /* absolute path in the cell: "/tmp", "/work/project" */
	int base; /* O_PATH clone of what stood there: under an overlay, or what was copied; -1: the
		       place began empty */
	bool copied;
};

#define CELL_PRIVATE_MAX 8 /* private places: tmp, var-tmp, shm, run, home, cache, and room */

/* What shows only to who opens it in the cell's namespaces. */
enum cell_source {
	CELL_SOURCE_SHM, /* /proc/sysvipc/shm, sem and msg */
	CELL_SOURCE_SEM,
	CELL_SOURCE_MSG,
	CELL_SOURCE_QUEUES,  /* the mount of POSIX message queues, an open folder */
	CELL_SOURCE_SOCKETS, /* NETLINK_SOCK_DIAG; in the host's network it shows the host's, too */
	CELL_SOURCE_N,
};

/* What may be looked at from outside. */
struct cell_view {
	int root;    /* O_PATH: the cell's / */
	int proc;    /* the cell's /proc, an open folder */
	int scratch; /* the root of the scratch, an open folder */
	int userns;  /* for setns(userns, CLONE_NEWUSER): the warden's pidfd refuses it to a user */
	int fanotify;               /* marks the whole scratch; non-blocking; -1: not made */
	int listener;               /* SEQPACKET, listening at CELL_SOCKET */
	int sources[CELL_SOURCE_N]; /* -1: this kernel has none */
	int errands;                /* for errand_run(); -1: the spec has none */
	char why_no_fanotify[96];
	pid_t warden; /* proc is the host's, and the cell's is what comes from that one; 0: all of proc is */
	struct cell_place places[CELL_TREES_MAX + CELL_PRIVATE_MAX];
	size_t places_len;
};
#define CELL_VIEW_NULL ((struct cell_view){ -1, -1, -1, -1, -1, -1, { -1, -1, -1, -1, -1 }, -1 })

struct cell {
	pid_t pid; /* of the warden, outside */
	int pidfd;
	bool bare; /* without namespaces: the warden cleans up when it sees that we are gone */
	int control;
	int gate; /* to the command, until cell_go() */
	int tty;  /* the other side of the command's terminal, of spec.tty; -1: it has none */
	pid_t forwarder; /* of ports; 0: none */
	struct scratch_disk disk;
	struct cell_view view;
	struct isolation isolation;
};
#define CELL_NULL                                  \
	((struct cell){ .pidfd = -1,               \
			.control = -1,             \
			.gate = -1,                \
			.tty = -1,                 \
			.disk = SCRATCH_DISK_NULL, \
			.view = CELL_VIEW_NULL })

int cell_start(const struct cell_spec *spec, struct cell *ret, struct err *e);
/* Let the command run. */
int cell_go(struct cell *cell, struct err *e);

enum cell_event_kind {
	CELL_EXITED,  /* the command ended; survivors stand below */
	CELL_STOPPED, /* the command stopped, and not by cell_signal() */
	CELL_GONE,    /* the warden itself is gone (killed from outside, or released) */
};
#define CELL_SURVIVORS_MAX 64
struct cell_event {
	enum cell_event_kind kind;
	int wait_status;  /* as waitpid gives it */
	bool timed_out;   /* we stopped it, for timeout_ms */
	bool asked;       /* we stopped it, for cell_stop() or cell_kill() */
	bool exec_failed; /* the command never ran: exec_error is its errno */
	int exec_error;
	uint32_t survivors_len; /* all that were alive; the first CELL_SURVIVORS_MAX are told */
	struct cell_survivor {
		pid_t pid; /* in the cell */
		char comm[16];
	} survivors[CELL_SURVIVORS_MAX];
};

/* Wait for what the warden says next; poll cell->control (POLLIN) to do something meanwhile. */
int cell_read(struct cell *cell, struct cell_event *ret, struct err *e);

/* Ask the command to stop: signal to its process group, SIGKILL after grace_ms. */
int cell_stop(struct cell *cell, int signal, struct err *e);
/* Kill the command at once; CELL_EXITED follows. After that: kill the survivors, and CELL_EXITED
 * follows once more, with those that could not be killed in ten seconds. */
int cell_kill(struct cell *cell, struct err *e);
/* After CELL_EXITED: kill whatever still lives, and wait until it is dead. -EBUSY: some do not die. */
int cell_end_survivors(struct cell *cell, struct err *e);
/* Pass a signal on to the command (SIGTSTP, SIGCONT, SIGUSR1, SIGWINCH …). */
int cell_signal(struct cell *cell, int signal, struct err *e);

/* End whatever still lives, and the warden. Does not wait: its teardown goes on in the background,
 * cell_done() reaps it. */
int cell_release(struct cell *cell, struct err *e);
void cell_view_done(struct cell_view *view);
/* Kills what is left, waits for the warden, closes everything. Accepts CELL_NULL. */
void cell_done(struct cell *cell);
