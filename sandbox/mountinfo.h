#pragma once
/*
 * mountinfo: where mounts stand, from the text of /proc/self/mountinfo.
 */
struct err;
struct strv;

/* The text of the caller's own, which is *ret's. */
int mountinfo_load(char **ret, struct err *e);
/* Adds every mount point, unescaped. A line that is no mountinfo is -EPROTO. */
int mountinfo_parse(const char *text, struct strv *ret, struct err *e);
