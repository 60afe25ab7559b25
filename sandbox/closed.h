#pragma once
/*
 * closed: what of the host root may read and other users may not: shadow,
 * the keys of the host, the folders of services. A suite of root's sees what
 * any user could.
 *
 * Its mode tells, and who owns it: what is closed to root's id, too, the kernel
 * refuses without us. All of /etc is looked through, three folders down in /var,
 * what is mounted in /sys/kernel, elsewhere the top and what stands there; not what
 * a distribution puts into /usr.
 * Looks below one directory descriptor, changes nothing.
 */
#include <sys/types.h>

#include "sandbox/base/text.h"

struct err;

struct closed_ask {
	int root;  /* the folder that stands for `/` */
	uid_t uid; /* whose files the suite may read besides root's; 0: nobody's */
	gid_t gid;
	const struct strv *known; /* paths that are left out, and so is the way there */
};

int closed_find(const struct closed_ask *ask, struct strv *ret, struct err *e);
