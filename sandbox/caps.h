#pragma once
/*
 * caps: the capabilities of the command, which are none, and how others give up theirs.
 *
 * There are two exceptions, for root alone. In a project that belongs to somebody
 * else it could not write without DAC_OVERRIDE, CHOWN and FOWNER, as it can on the
 * host. And who asks for it has SETUID and SETGID. Both count for files only whose
 * owner and group the cell's user namespace knows, and such a one knows few
 * (userns.h): root, and the owner of the project in the first case.
 */
#include <stdint.h>
#include <sys/types.h>

struct cell_spec;
struct err;

struct caps {
	uint64_t held; /* a bit for each capability */
	uid_t uid;     /* whose files they shall count for, besides root's; 0: nobody's */
	gid_t gid;
};

/* What the command shall hold. Looks at the owner of the project: refuses SETID where that is not
 * root, who could not write there. */
int caps_wanted(const struct cell_spec *spec, struct caps *ret, struct err *e);

/* Give up all but `keep`: permitted, effective, inheritable, ambient and bounding, so that an exec
 * brings none back. Needs CAP_SETPCAP; the last thing of its kind, since no mount succeeds after. */
int caps_drop(uint64_t keep, struct err *e);
/* Give up all but `keep` of what this process holds itself: for one that executes nothing. */
int caps_hold(uint64_t keep, struct err *e);
/* All that are held. Who has no CAP_SETPCAP keeps the bounding set: with no_new_privs, nothing comes
 * of it. */
int caps_forget(struct err *e);
