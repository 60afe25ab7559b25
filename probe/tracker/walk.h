#pragma once
/*
 * walk: opening and listing what lies below a folder, whatever a test did to
 * the names in it: nothing followed, nothing left, nothing waited for.
 *
 * Paths are relative to the folder, "" is the folder itself, and may be longer
 * than PATH_MAX.
 */
#include <stdbool.h>
#include <stdint.h>

struct err;

#define WALK_PATH_MAX (16 * 1024) /* bytes in a path; what lies deeper is not looked at */

/* Flags as for open(2); O_CLOEXEC and O_NOFOLLOW are added. A descriptor, or -1 and errno: ELOOP
 * when a name on the way is a link, EXDEV when it is a mount. */
int walk_open(int root, const char *path, int flags);
/* Does errno say that there is nothing at a path, or that it cannot be reached? */
bool walk_absent(int error);

struct walk_name {
	const char *name;
	unsigned char type; /* DT_DIR, DT_REG, … */
	uint64_t ino;
};
/* Every name in one folder but "." and "..", until each() returns other than 0. A path that is no
 * folder, or no more, has no names. 0, or what each() returned, or a negative errno. */
int walk_list(int root, const char *path, int (*each)(void *with, const struct walk_name *name),
	      void *with, struct err *e);
struct walk_ops {
	int (*each)(void *with, const char *path, const struct walk_name *name);
	int (*list)(void *with); /* a folder is about to be opened; may be NULL */
};
/* Every path below `top`, a path below root, folders before what is in them. `skip`: a path that is
 * left out with all below it; NULL: none. */
int walk_all(int root, const char *top, const char *skip, const struct walk_ops *ops, void *with,
	     struct err *e);
