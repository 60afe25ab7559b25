#pragma once
/*
 * mountinfo: where mounts stand, from the text of /proc/self/mountinfo.
 */
struct err;
struct strv;

/* Adds every mount point, unescaped. A line that is no mountinfo is -EPROTO. */
int mountinfo_parse(const char *text, struct strv *ret, struct err *e);
