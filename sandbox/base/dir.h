#pragma once
/*
 * dir: folders, and the names in them.
 */
#include <dirent.h>
#include <stdbool.h>

#include "sandbox/base/cleanup.h"

/* To list the folder at path below dir_fd, which is no link. NULL: errno says why. */
DIR *dir_open(int dir_fd, const char *path);
/* The next name, but . and ..; NULL at the end. */
const struct dirent *dir_next(DIR *dir);
/* Is the name below dir_fd a folder, and no link to one? */
bool dir_is_folder(int dir_fd, const char *name);
void dir_close_at(DIR **dir);

#define cleanup_dir cleanup(dir_close_at)
