#pragma once
/*
 * command: the process that becomes the command. While the warden mounts, it
 * fills the scratch, lowers quotas, makes some of the overlays, and gives up what
 * the suite shall not have. When the tree stands it tries every property of the
 * cell, tells the runner, waits for SYNC_GO, and executes.
 *
 * To the warden it says SYNC_LAID_OUT, later perhaps SYNC_EXEC_FAILED; to the
 * runner SYNC_OBSERVED; to both SYNC_ERR.
 */
#include "sandbox/layout.h"

struct err;
struct mounts;

struct command_setup {
	const struct cell_spec *spec;
	const struct layout *layout;
	uint64_t caps; /* those it keeps */
	int gate;      /* to the runner */
	struct mounts *mounts;
};

/* Execute argv[0], looked up along PATH of env, in place of this process. Returns only on failure, with
 * the errno that tells 126 from 127: one found but not allowed says more than one not found. */
int command_execute(const char *const *argv, const char *const *env);
/* Fork it. Its pid goes to *ret_pid, our end of the socket to it to *ret_sock. */
int command_fork(const struct command_setup *setup, pid_t *ret_pid, int *ret_sock, struct err *e);
