#pragma once
/*
 * shared_maps: files that processes have mapped shared and writable. A store
 * through such a mapping raises no event and moves no time.
 */
struct err;

/* Tells each path, as the processes below proc see it; a path can come more than once, and what was
 * removed ends in " (deleted)". 0, what each() returned, or -ENOTTY: this kernel cannot be asked
 * (before 6.11). */
int shared_maps(int proc, int (*each)(void *with, const char *path), void *with, struct err *e);
