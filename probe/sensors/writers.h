#pragma once
/*
 * writers: files that processes can still write to although no event will tell.
 *
 * A store through a shared mapping raises none, and moves no time. Nor does
 * splice(2) or sendfile(2) into a file that was opened through an overlay,
 * until that is closed.
 */
#include <stdbool.h>

struct err;
struct roll;

struct writers {
	struct roll *processes; /* room for their numbers */
	int proc;
	bool descriptors; /* ask for these, too */
	/* Tells a path as the processes see it; one can come more than once, and what was removed
	 * ends in " (deleted)". */
	int (*each)(void *with, const char *path, bool mapped);
	void *with;
};
/* 0, what each() returned, or -ENOTTY: this kernel cannot be asked for mappings (before 6.11). */
int writers_ask(const struct writers *ask, struct err *e);
