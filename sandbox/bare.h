#pragma once
/*
 * bare: a cell on a host that refuses namespaces: a folder of the host holds
 * all that is written, Landlock keeps the command in it, and the warden is a
 * subreaper in place of a process 1.
 *
 * What is private has paths of its own below the folder: TOP/tmp, TOP/home,
 * TOP/run, and TOP/project, a copy of the project. Whoever makes the spec makes
 * the folder, and names it where a cell has /tmp and the like.
 */
#include <stdint.h>

#include "sandbox/layout.h"

struct cell_spec;
struct err;
struct mounts;

/* STATUS_HOST where the kernel has no Landlock. */
int bare_check(struct err *e);
int bare_layout(const struct cell_spec *spec, struct layout *ret, struct err *e);
/* In the warden: makes what stands in the folder, opens what is handed out, listens. */
int bare_build(const struct cell_spec *spec, const struct layout *layout, struct mounts *m,
	       int *ret_listener, struct err *e);
/* In the command's process: gives up what can be given up. 1: but the host refuses filters of system
 * calls. */
int bare_give_up(const struct cell_spec *spec, int proc, struct err *e);
/* In the warden, at its end: kills what comes from it, and removes what is in the folder. */
void bare_end(const struct cell_spec *spec, int proc);
