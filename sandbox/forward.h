#pragma once
/*
 * forward: single ports of the host's loopback inside a cell that has no other
 * network.
 *
 * The cell's side makes sockets that listen at 127.0.0.1 and ::1 in its network
 * namespace; the runner gives them to a forwarder, a process on the host that
 * accepts there, connects to the same port of the host's loopback and carries
 * bytes. It can do nothing else: no file, no capability, no other port. It ends
 * with the cell and with the runner.
 *
 * Owns nothing but its own connections, FORWARD_CONNECTIONS_MAX at once; more
 * wait until one is closed.
 */
#include <stddef.h>
#include <sys/types.h>

struct cell_spec;
struct err;

#define FORWARD_CONNECTIONS_MAX 256
#define FORWARD_BUFFER_LEN      16384 /* of a connection, each way */

/* Sockets of each port of the spec, in the caller's network namespace: two a port, or one where the
 * kernel has no IPv6. */
int forward_listen(const struct cell_spec *spec, int *ret, size_t *ret_len, struct err *e);
/* Fork the forwarder, a child of the caller. It borrows the sockets, and a pidfd of the process with
 * which it ends. */
int forward_start(const int *listeners, size_t n, int pidfd, pid_t *ret, struct err *e);
