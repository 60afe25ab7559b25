#pragma once
/*
 * etc: the few files of /etc that a cell replaces, as texts: hosts, hostname,
 * resolv.conf, and passwd and group where the host has no line for the caller.
 */
#include <stddef.h>

#include "sandbox/base/buf.h"

struct cell_spec;
struct err;

enum etc_file { ETC_HOSTS, ETC_HOSTNAME, ETC_RESOLV_CONF, ETC_PASSWD, ETC_GROUP, ETC_N };
extern const char *const etc_names[ETC_N];

struct etc {
	struct buf texts[ETC_N]; /* at == NULL: the host's file will do */
};
#define ETC_NULL ((struct etc){ 0 })

/* Reads the host's files below etc_fd. */
int etc_make(const struct cell_spec *spec, int etc_fd, struct etc *ret, struct err *e);
void etc_done(struct etc *etc);
