#pragma once
/*
 * filter: the system calls a command may not make.
 *
 * The table is configs/seccomp/cell.json. It became BPF when fumehood was
 * built (filter_compile.c), in two variants, so a launch only hands it over.
 */
#include <stdbool.h>
#include <stddef.h>

struct err;

/* Filter the calling thread and what comes from it, for good. no_new_privs must be set. */
int filter_install(bool allow_nested, struct err *e);
/* Instructions of a variant. */
size_t filter_len(bool allow_nested);
