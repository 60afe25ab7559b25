#pragma once
/*
 * sockets: those of the host that have a path.
 *
 * Neither the network namespace nor a read-only mount keeps a process from
 * connecting to one that it can see (tried). So what lies outside the private
 * places has to be covered, one by one.
 */
#include "sandbox/base/text.h"

struct err;

#define SOCKETS_TEXT_MAX (16 << 20)

/* The paths that a text of /proc/net/unix names, each once. Relative ones are left out: nobody
 * knows to what. 0 or -ENOMEM. */
int sockets_parse(const char *text, struct strv *ret);
/* Those of them that stand below `root`, are sockets, and can be connected to by the caller. */
int sockets_find(int root, const char *text, struct strv *ret, struct err *e);
