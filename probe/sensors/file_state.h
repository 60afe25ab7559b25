#pragma once
/*
 * file_state: what stands at one path, and the JSON object that tells all that
 * counts about it.
 *
 * Owns a descriptor that only points (O_PATH): nothing was opened, so nothing
 * waited and no one was disturbed. Borrows root and path until it is done.
 */
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

struct err;

struct file_state {
	int root;
	const char *path;
	int fd; /* -1: nothing is there */
	struct stat st;
	nlink_t links; /* names of what is no folder: told when there is more than one */
	/* only below the upper folder of an overlay */
	bool whiteout; /* says that nothing is there */
	bool opaque;   /* a folder that hides the one below it */
};
#define FILE_STATE_NULL ((struct file_state){ .fd = -1 })

/* `upper`: root belongs to the upper folder of an overlay. */
int file_state_open(int root, const char *path, bool upper, struct file_state *ret, struct err *e);
void file_state_done(struct file_state *state);

/* The value of an entry. Owner and group are left out where they are these. *ret is freed by the
 * caller. The inode must be there and no whiteout. */
struct file_owner {
	uid_t uid;
	gid_t gid;
};
int file_state_value(const struct file_state *state, const struct file_owner *usual, char **ret,
		     struct err *e);
/* The attributes that count become those of `from`; -1: there are none. Both only point. */
int file_state_copy_xattrs(int from, int to, struct err *e);
/* What differs between two values: type content target mode owner xattrs links, the
 * first that does. */
const char *file_state_change(const char *before, const char *after);
