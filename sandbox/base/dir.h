#pragma once
/*
 * dir: the names in a folder.
 */
#include <dirent.h>

#include "sandbox/base/cleanup.h"

/* To list the folder at path below dir_fd, which is no link. NULL: errno says why. */
DIR *dir_open(int dir_fd, const char *path);
/* The next name, but . and ..; NULL at the end. */
const struct dirent *dir_next(DIR *dir);
void dir_close_at(DIR **dir);

#define cleanup_dir cleanup(dir_close_at)
