#pragma once
/*
 * landlock: what can be taken from a process without namespaces.
 *
 * Files: the cell's own folder can be written, the host's read but for what is
 * private in a cell (homes, /tmp, /run, devices …), unless it is visible there.
 * Processes outside can be neither traced nor, from Landlock 6 on, signalled.
 * Internet sockets: none at all, since Landlock knows ports and no addresses.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cell_spec;
struct err;
struct layout;

/* Which Landlock the kernel has. 0: none that can be used here. */
int landlock_abi(void);

/* Restrict the calling thread and what comes from it, for good. no_new_privs must be set. */
int landlock_restrict(const struct cell_spec *spec, struct err *e);
/* In the same way, in a cell that has namespaces: what is no place of it cannot be opened for writing.
 * A read-only mount sees to files; but the kernel writes to a named pipe whatever it lies on, and a
 * process of the host may be reading. made: the places that stand, a bit for each. Does what the
 * kernel has (Landlock 2), as it is a second wall for all but pipes. */
void landlock_hold_writes(const struct layout *layout, uint64_t made);
/* In the same way: no file, and TCP to these ports alone; as much of it as the kernel has. */
void landlock_to_ports(const uint16_t *ports, size_t n);
/* In the same way, what Landlock does not know: sockets of every family but unix and netlink, unless
 * the cell has the host's network; setting limits and priorities of another process. */
int landlock_filter(const struct cell_spec *spec, struct err *e);
