#pragma once
/*
 * caps: the capabilities of the command, which are none, and how others give up theirs.
 *
 * The exception is root in a project that belongs to somebody else: without
 * DAC_OVERRIDE, CHOWN and FOWNER it could not write there, as it can on the
 * host. They count inside the cell's user namespace only.
 */
#include <stdbool.h>
#include <stdint.h>

struct cell_spec;
struct err;

/* What the command shall hold, a bit for each capability. Looks at the owner of the project. */
uint64_t caps_wanted(const struct cell_spec *spec);
/* Does the command keep any? The runner says so. */
bool caps_kept(const struct cell_spec *spec);

/* Give up all but `keep`: permitted, effective, inheritable, ambient and bounding, so that an exec
 * brings none back. Needs CAP_SETPCAP; the last thing of its kind, since no mount succeeds after. */
int caps_drop(uint64_t keep, struct err *e);
/* Give up all but `keep` of what this process holds itself: for one that executes nothing. */
int caps_hold(uint64_t keep, struct err *e);
/* All that are held. Who has no CAP_SETPCAP keeps the bounding set: with no_new_privs, nothing comes
 * of it. */
int caps_forget(struct err *e);
