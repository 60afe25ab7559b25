#pragma once
/*
 * userns: which namespaces a cell has, and its ids.
 *
 * Keeps nothing.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/sync.h"

struct buf;
struct cell_spec;
struct err;

/* One row a namespace: CLONE_ flag, name in /proc/PID/ns, property that it gives. */
struct namespace
{
	uint64_t flag;
	const char *name;
	enum isolation_property property;
};
extern const struct namespace namespaces[NAMESPACES_N];

/* The flags that clone3 gets for this spec. */
uint64_t namespaces_flags(const struct cell_spec *spec);
/* The inodes of the caller's own namespaces below a /proc, 0 where the kernel has none. */
void namespaces_look(int proc, uint64_t ret[NAMESPACES_N]);

/* Map the same ids inside as outside: all of them for root, the caller's one otherwise. With
 * CELL_CAPS_SETID root alone is itself; every other id inside is one that owns nothing outside. */
int userns_map(pid_t pid, const struct cell_spec *spec, struct err *e);
/* The map that gives every id of a uid_map's text to itself; pure. */
int userns_identity(const char *map, struct buf *ret, struct err *e);
/* Does the text of a uid_map give `count` ids from `first` on; pure. */
bool userns_gives(const char *map, unsigned int first, unsigned int count);
