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
struct caps;
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

/* Map the same ids inside as outside: all of them for root, the caller's one otherwise. Where root
 * holds capabilities, root and whom they count for are themselves; every other id inside is one that
 * owns nothing outside. */
int userns_map(pid_t pid, const struct cell_spec *spec, const struct caps *caps, struct err *e);
/* That map, of which `own` is no other id; where `map`, which is the uid_map around us, gives no ids to
 * spare, there are two; pure. */
int userns_apart(const char *map, unsigned int own, struct buf *ret, struct err *e);
/* The map that gives every id of a uid_map's text to itself; pure. */
int userns_identity(const char *map, struct buf *ret, struct err *e);
/* Does the text of a uid_map give `count` ids from `first` on; pure. */
bool userns_gives(const char *map, unsigned int first, unsigned int count);
