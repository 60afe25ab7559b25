#pragma once
/*
 * file_undo: make what stands at one path as it stood before a test.
 *
 * Everything is done through the cell's own mounts, seen from outside: a raw
 * removal in the upper folder of an overlay leaves ghosts, but for a whiteout,
 * which is taken away there to let the tree below show again. No link is
 * followed and no mount left, whatever a process of the cell does meanwhile.
 */
struct delta;
struct err;
struct vantage;

/* 0: it is as it was. What cannot be brought back is left as it is, and e says why. */
int file_undo(const struct vantage *v, const struct delta *d, struct err *e);
