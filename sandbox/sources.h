#pragma once
/*
 * sources: descriptors onto what shows only to somebody who opens it within the
 * cell's namespaces: its IPC objects and its sockets.
 */
#include "sandbox/cell.h"

struct err;
struct cell_spec;

/* Mount the POSIX message queues at /dev/mqueue. A kernel without them is no failure. */
int sources_mount_queues(struct err *e);
/* -1 in ret[] for what this kernel does not have. What is the host's is not opened: the sockets of a
 * cell in its network, and all of it without namespaces. */
void sources_open(const struct cell_spec *spec, int ret[CELL_SOURCE_N]);
