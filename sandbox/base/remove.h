#pragma once
/*
 * remove: a folder and all below it, whatever its modes and however deep.
 */
struct err;

/* No link is followed. Nobody may be at work in it: what comes meanwhile is an error (ENOTEMPTY). A
 * name that is not there is no error. */
int remove_tree(int dir_fd, const char *name, struct err *e);
