#pragma once
/*
 * watch: the fanotify group that sees every change on the scratch.
 *
 * Must be made inside the cell: the mark needs CAP_SYS_ADMIN over the user
 * namespace that owns the filesystem.
 */
#include <stddef.h>

/* The group, or a negative errno with the reason in why: no failure, the tracker scans instead. */
int watch_open(int scratch, char *why, size_t why_len);
