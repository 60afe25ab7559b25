#pragma once
/*
 * follow: where a path really is, and which symbolic links lie on the way.
 *
 * Looks below a directory descriptor that stands for `/`: links to absolute
 * paths stay below it, so a test can give it a folder. Remembers which folders are
 * no links and which are missing: a PATH leads through the same few a thousand times.
 */
#include <limits.h>

#include "sandbox/base/map.h"
#include "sandbox/base/text.h"

#define FOLLOW_LINKS_MAX 40 /* as in the kernel */

struct follow {
	int root;
	struct map known; /* folders that were seen to be no links, or not to be there */
};

/* path is absolute. 0: *ret is the path without a link in it, and the links are added to `links`,
 * each by its own real path. 1: nothing is there that can be reached. Negative errno: no memory, or
 * reading failed. */
int follow(struct follow *f, const char *path, char ret[PATH_MAX], struct strv *links);
void follow_done(struct follow *f);
