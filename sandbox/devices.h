#pragma once
/*
 * devices: a minimal /dev: six nodes of the host, a devpts of its own, and the
 * usual links; the folder itself is read-only.
 */
struct err;

/* The nodes, cloned while the host's /dev can be seen without MOUNT_ATTR_NODEV; -1: the host has
 * none. */
enum { DEVICES_N = 6 };
int devices_clone(int ret[DEVICES_N], struct err *e);

/* Make the folder `dev` of the scratch, with points to mount the nodes on. */
int devices_fill(int scratch, struct err *e);
/* Mount it, and the nodes. */
int devices_mount(int scratch, const int nodes[DEVICES_N], struct err *e);
