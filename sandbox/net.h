#pragma once
/*
 * net: the loopback of a cell, and the socket at which adapters knock.
 */
struct err;

/* Bring lo up; the kernel gives it 127.0.0.1 and ::1. There is no ping, as on hosts that leave
 * net.ipv4.ping_group_range alone. */
int net_loopback_up(struct err *e);
/* A SEQPACKET socket that listens at path. */
int net_listen(const char *path, int *ret, struct err *e);
