#pragma once
/*
 * survivors: who is alive in a cell beside its warden.
 */
#include <sys/types.h>

struct cell_event;

/* Fills survivors and survivors_len from an open /proc. Zombies do not count. top: whoever comes from
 * that process; 0: all but process 1, as it is in a pid namespace of its own. */
void survivors_list(int proc, pid_t top, struct cell_event *ret);
/* How many threads a user has in an open /proc. */
unsigned long survivors_threads(int proc, uid_t uid);
/* Signal all that come from top. */
void survivors_signal(int proc, pid_t top, int signal);
