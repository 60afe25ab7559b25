#pragma once
/*
 * cell_spec: what a cell shall be. Plain data, made by the runner, checked
 * before anything is done with it.
 *
 * Owns nothing: every pointer is borrowed from whoever built the spec, and must
 * outlive cell_start().
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

/* How much of a cell the host is asked for. LANDLOCK needs no namespace, and gives less: bare.h. */
enum cell_isolation { CELL_ISOLATION_FULL, CELL_ISOLATION_LANDLOCK };
enum cell_network { CELL_NETWORK_NONE, CELL_NETWORK_HOST };
/* What root keeps, inside: what a project of somebody else needs, nothing, or becoming another id. */
enum cell_caps { CELL_CAPS_NEEDED, CELL_CAPS_NONE, CELL_CAPS_SETID };

/* Something of the host that is visible read-only: a file or a folder. A symbolic link is made
 * again as it is, never followed. */
struct cell_bind {
	const char *source; /* absolute, on the host */
	const char *target; /* absolute, in the cell; made when it lies in a private folder */
};

/* A file that we bring: stands read-only in the cell, below CELL_RUN_DIR. */
struct cell_file {
	const char *name; /* relative to CELL_RUN_DIR; folders on the way are made */
	const void *data;
	size_t len;
};

#define CELL_RUN_DIR  "/run/fumehood"        /* ours, in the cell; not part of any fingerprint */
#define CELL_SOCKET   CELL_RUN_DIR "/socket" /* where adapters connect */
#define CELL_DROP_DIR CELL_RUN_DIR "/drop"   /* 1777: long messages, named in packets as `file` */
/* A folder with a file in it, in each private place: who deletes it would have deleted yours. */
#define CELL_CANARY       "fumehood-canary"
#define CELL_HOSTNAME     "fumehood"
#define CELL_TREES_MAX    48 /* overlays in one cell */
#define CELL_FORWARDS_MAX 16
#define CELL_HOMES_MAX    4

/* A command that is run in the cell when somebody outside asks for it; see errand.h. */
struct cell_errand {
	const char *const *argv;
};

struct cell_spec {
	/* who calls; the same ids inside */
	uid_t uid;
	gid_t gid;
	const char *user;         /* name for /etc/passwd when the host's has no line for uid */
	const char *home;         /* becomes private and empty; NULL: the caller has none */
	const char *const *homes; /* of others, or folders of them: so do these */
	size_t homes_len;

	const char *project; /* real path of the tree that gets an overlay at its own place */
	bool project_copy;   /* a copy of it instead: no overlay, and none of its limits */
	const char *layer; /* a folder of changes that lies on the project, made by a cell; NULL */
	enum cell_isolation isolation;
	const char *top; /* real path of the folder that is the scratch with LANDLOCK; else NULL */
	const char *project_seen; /* where the command finds the project: at its own place, or below top */
	const char *git_dir; /* a git dir outside project, exposed read-only; NULL */
	const char *cwd;
	const char *const *argv; /* argv[0] is looked up along PATH of env */
	const char *const *env;  /* the whole environment, built; see env.h */

	const struct cell_bind *binds;
	size_t binds_len;
	/* Secrets below a bind: each is covered by an empty file or folder. */
	const char *const *hidden;
	size_t hidden_len;
	const struct cell_file *files;
	size_t files_len;

	const struct cell_errand *errands;
	size_t errands_len;

	enum cell_network network;
	const uint16_t *forwards; /* ports of the host's loopback that the cell has, too */
	size_t forwards_len;
	const char *name;        /* of what the cell has on the host while it runs; NULL: "cell" */
	const char *scratch_dir; /* real path: the scratch lies in there, not in memory; NULL */
	uint64_t scratch_bytes;  /* limit of the scratch tmpfs */
	uint64_t scratch_inodes;
	uint32_t pid_max; /* processes and threads at once, by kernel.pid_max of the cell */
	bool no_canary;
	bool no_watch;     /* make no fanotify mark: the tracker will be `scan` */
	bool allow_nested; /* let the suite make namespaces of its own */
	enum cell_caps caps;

	bool umask_given; /* else it is 022 */
	mode_t umask;
	uint32_t timeout_ms; /* of the command; 0: none */
	uint32_t grace_ms;   /* between asking to stop and killing */

	bool tty; /* the command gets a terminal of the cell's own as 0, 1 and 2; cell.tty is its other side */
	int stdin_fd; /* borrowed; what the command gets as 0, 1 and 2 otherwise */
	int stdout_fd;
	int stderr_fd;
};

/* Refuses with STATUS_USAGE what no cell can be made of: project or cwd that is not absolute, is
 * `/`, home or an ancestor of home; an empty argv; a bind or file that leaves its place; limits of
 * zero. Pure: looks at the spec alone. */
int cell_spec_check(const struct cell_spec *spec, struct err *e);
