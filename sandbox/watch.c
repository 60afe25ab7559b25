#include "sandbox/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/fanotify.h>

#include "sandbox/base/cleanup.h"

/* A rename comes as FAN_RENAME alone, which carries both names; the two MOVED events would only
 * tell it again. */
#define EVENTS                                                                              \
	(FAN_CREATE | FAN_DELETE | FAN_RENAME | FAN_ATTRIB | FAN_MODIFY | FAN_CLOSE_WRITE | \
	 FAN_OPEN | FAN_ONDIR)

/* Before 6.16 the kernel has no such thing for a user namespace. */
static int refused(const char *what, char *why, size_t why_len)
{
	int code = errno;
	const char *hint = code == EMFILE                    ? " (fs.fanotify.max_user_groups)"
			   : code == EPERM || code == EINVAL ? " (it needs Linux 6.16)"
							     : "";
	snprintf(why, why_len, "%s: %s%s", what, strerrordesc_np(code), hint);
	return -code;
}

int watch_open(int scratch, char *why, size_t why_len)
{
	/* NOLINTNEXTLINE(misc-redundant-expression): libc's macro names one flag twice */
	unsigned int flags =
		FAN_CLASS_NOTIF | FAN_REPORT_DFID_NAME_TARGET | FAN_NONBLOCK | FAN_CLOEXEC;
	cleanup_close int group = fanotify_init(flags, O_RDONLY | O_CLOEXEC);
	if (group < 0)
		return refused("fanotify_init", why, why_len);
	if (fanotify_mark(group, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, EVENTS, scratch, NULL) < 0)
		return refused("fanotify_mark", why, why_len);
	return take_fd(&group);
}
