#pragma once
/*
 * quotas: what a cell may take of things that count against its caller, or
 * that RLIMIT_NPROC does not bound: sysctls of its own namespaces.
 */
#include <stdbool.h>

struct cell_spec;
struct err;

/* proc: a mount of the cell's own /proc, still writable. *ret_processes: is kernel.pid_max the
 * cell's own, and lowered? */
int quotas_lower(const struct cell_spec *spec, int proc, bool *ret_processes, struct err *e);
