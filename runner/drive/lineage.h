#pragma once
/*
 * lineage: which process may open a session.
 *
 * The first one to say hello is believed: no test has run. Whoever comes after
 * it may be what a test left behind, to say what it likes of tests that never
 * ran. So it has to be the same process again, or to descend from the command
 * by processes that ran no tests: a child of a test is one of the test process,
 * and an orphan descends from nobody.
 *
 * Reads /proc. Owns the list of those who spoke.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct lineage_member {
	pid_t pid;
	uint64_t since; /* start time: a number may be given again */
};

struct lineage {
	pid_t top; /* of the first: what the warden, or who stands for it, started */
	struct lineage_member *spoke;
	size_t len;
};
#define LINEAGE_NULL ((struct lineage){ 0 })

/* Why this process may open no session, or NULL. warden: where descent ends. */
const char *lineage_refuse(const struct lineage *l, pid_t pid, pid_t warden);
/* It opened one. 0 or -ENOMEM. */
int lineage_add(struct lineage *l, pid_t pid, pid_t warden);
void lineage_done(struct lineage *l);

/* On its way out, or gone: its descriptors are closed by the kernel, not by itself. */
bool lineage_is_ending(pid_t pid);
