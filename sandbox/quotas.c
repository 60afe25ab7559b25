#include "sandbox/quotas.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "sandbox/base/barrier.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "sandbox/cell_spec.h"

/* Enough for a suite that tests watchers, or for warm forks, which need a user namespace each. */
static const struct {
	const char *name;
	unsigned int value;
} rows[] = {
	{ "sys/user/max_user_namespaces", 64 },
	{ "sys/user/max_fanotify_groups", 8 },
	{ "sys/user/max_inotify_instances", 64 },
};

static int write_number(int proc, const char *name, unsigned int value, struct err *e)
{
	cleanup_close int fd = openat(proc, name, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "open /proc/%s", name);
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", value);
	if (fd_write_full(fd, text, (size_t)len) < 0)
		return err_sys(e, "write %s to /proc/%s", text, name);
	return 0;
}

/* kernel.pid_max is the pid namespace's own since 6.14; before that it is the host's. */
static bool has_own_pid_max(void)
{
	struct utsname u;
	int major = 0;
	int minor = 0;
	if (uname(&u) < 0 || sscanf(u.release, "%d.%d", &major, &minor) != 2) // NOLINT(cert-err34-c)
		return false;
	return major > 6 || (major == 6 && minor >= 14);
}

int quotas_lower(const struct cell_spec *spec, int proc, bool *ret_processes, struct err *e)
{
	if (!barrier("quotas"))
		return 0;
	for (size_t i = 0; i < countof(rows); i++) {
		int r = write_number(proc, rows[i].name, rows[i].value, e);
		if (r < 0)
			return r;
	}
	bool own = has_own_pid_max();
	int r = own ? write_number(proc, "sys/kernel/pid_max", spec->pid_max, e) : 0;
	if (!r)
		*ret_processes = own;
	return r;
}
