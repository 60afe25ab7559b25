#pragma once
/*
 * command: the process that becomes the command: it gives up what the suite
 * shall not have, looks around, tells the warden, waits for SYNC_GO, and
 * executes. It answers with SYNC_READY or SYNC_ERR, later perhaps with
 * SYNC_EXEC_FAILED.
 */
#include "sandbox/isolation.h"

/* Fork it. Its end of the channel goes to *ret_sock, its pid to *ret_pid. */
int command_fork(const struct isolation_scene *scene, pid_t *ret_pid, int *ret_sock, struct err *e);
