#pragma once
/*
 * folder: a scratch folder of a test, gone with it.
 */
#include <assert.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct folder {
	char path[PATH_MAX]; /* real path */
};

static inline void folder_make(struct folder *f)
{
	char made[PATH_MAX];
	const char *tmp = getenv("TMPDIR");
	snprintf(made, sizeof(made), "%s/fumehood-test.XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(made) || !realpath(made, f->path))
		abort();
}

/* The path of a name in the folder, in a ring of four. */
static inline const char *folder_path(const struct folder *f, const char *name)
{
	static char paths[4][2 * PATH_MAX];
	static int turn;
	char *path = paths[turn++ % 4];
	snprintf(path, sizeof(paths[0]), "%s/%s", f->path, name);
	return path;
}

/* Makes a file, and the folders on the way; a folder when text is NULL. */
static inline void folder_put(const struct folder *f, const char *name, const char *text)
{
	char path[2 * PATH_MAX];
	snprintf(path, sizeof(path), "%s/%s", f->path, name);
	for (char *slash = path + strlen(f->path) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	if (!text) {
		mkdir(path, 0755);
		return;
	}
	FILE *out = fopen(path, "we");
	if (!out || fputs(text, out) < 0 || fclose(out))
		abort();
}

static inline int folder_remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static inline void folder_done(struct folder *f)
{
	nftw(f->path, folder_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
