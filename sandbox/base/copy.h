#pragma once
/*
 * copy: a tree of files, copied as it is: contents (shared where the file
 * system can, holes kept), hard links, modes, times, links, pipes, extended
 * attributes; owners as far as the caller may give files away.
 *
 * Left out: devices, but for the whiteouts of a layer, and what `wants` refuses.
 * Nobody else may be at work in the new tree.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct stat;

struct copy_how {
	/* Is what stands at path, below `from`, wanted? 0: no, nor is anything below it; negative
	 * errno: it ends here. NULL: all is. */
	int (*wants)(void *with, const char *path, const struct stat *st, struct err *e);
	void *with;
	/* An overlay's upper layer, made with userxattr: the copy can be one of its lower layers. */
	bool layer;
};

/* The content of one file of len bytes into an empty one: shared where the file system can, holes
 * kept. 0, or -1 and errno. */
int copy_content(int from, int to, off_t len);

struct copy_result {
	uint64_t files; /* of every type */
	uint64_t bytes;
};

/* What stands in the folder `from` goes into the folder `to`, which has its own mode already.
 * `ret` may be NULL. */
int copy_tree(int from, int to, const struct copy_how *how, struct copy_result *ret, struct err *e);
