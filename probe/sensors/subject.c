#include "probe/sensors/subject.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>

#include "probe/sensor.h"
#include "probe/vantage.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

int subject_follow(struct subject *s, const struct vantage *v, struct err *e)
{
	if (v->pid == 0)
		return SUBJECT_NONE;
	if (s->pid == v->pid && s->inner == v->inner) /* if it has ended, reading will tell */
		return s->pidfd < 0 ? SUBJECT_NONE : SUBJECT_SAME;
	int pidfd = pidfd_open(v->pid, 0);
	if (pidfd < 0 && errno != ESRCH)
		return err_sys(e, "hold the test process %d", v->pid);
	subject_done(s);
	*s = (struct subject){ .pid = v->pid, .inner = v->inner, .pidfd = pidfd };
	return subject_gone(s) ? SUBJECT_NONE : SUBJECT_NEW;
}

bool subject_gone(struct subject *s)
{
	struct pollfd ended = { .fd = s->pidfd, .events = POLLIN };
	if (s->pidfd >= 0 && poll(&ended, 1, 0) > 0)
		fd_close_at(&s->pidfd);
	return s->pidfd < 0;
}

int subject_open(const struct subject *s, const struct vantage *v, const char *name, int flags)
{
	char path[NAME_MAX];
	snprintf(path, sizeof(path), "%d/%s", s->inner, name);
	int fd = openat(v->proc, path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int failed(struct subject *s, struct sink *sink, int r, const char *what, struct err *e)
{
	if (r == -ENOMEM)
		return err_set(e, ENOMEM, "read %s", what);
	if (subject_gone(s))
		return 0;
	if (r != -EPERM && r != -EACCES)
		return err_set(e, -r, "read %s: %s", what, strerrordesc_np(-r));
	char why[128];
	snprintf(why, sizeof(why), "%s may not be read: %s", what, strerrordesc_np(-r));
	return sink_blind(sink, why);
}

int subject_look(struct subject *s, const struct subject_ops *ops, void *memory,
		 const struct vantage *v, bool full, struct sink *sink, struct err *e)
{
	int state = subject_follow(s, v, e);
	if (state < 0 || state == SUBJECT_NONE)
		return state < 0 ? state : 0;
	if (state == SUBJECT_NEW)
		ops->leave(memory);
	int r = ops->look(memory, v, full, sink);
	if (!r)
		return 0;
	ops->leave(memory);
	return failed(s, sink, r, ops->what, e);
}

void subject_done(struct subject *s)
{
	fd_close_at(&s->pidfd);
	*s = SUBJECT_NULL;
}
