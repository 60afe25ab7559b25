#include "sandbox/limits.h"

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

const struct limit limits[] = {
	{
		.resource = RLIMIT_CORE,
		.name = "core",
		/* Not 0: that stops a core file, but where core_pattern is a pipe the host's
		 * handler runs all the same, as the host's root, fed by the crash. The kernel takes
		 * 1 as "neither" (both tried). */
		.hard_max = 1,
		.why = "a crash leaves no core file and wakes no handler of the host; the wait status tells of it",
	},
	{
		.resource = RLIMIT_NOFILE,
		.name = "nofile",
		.soft_min = 1024,
		.hard_max = RLIM_INFINITY,
		.why = "suites are written for the usual 1024 descriptors",
	},
};
const size_t limits_len = countof(limits);

struct rlimit limit_of(const struct limit *limit, struct rlimit caller)
{
	struct rlimit r = caller;
	if (r.rlim_max > limit->hard_max)
		r.rlim_max = limit->hard_max;
	if (r.rlim_cur < limit->soft_min)
		r.rlim_cur = limit->soft_min;
	if (r.rlim_cur > r.rlim_max)
		r.rlim_cur = r.rlim_max;
	return r;
}

int limits_apply(struct err *e)
{
	for (size_t i = 0; i < limits_len; i++) {
		struct rlimit caller;
		if (getrlimit(limits[i].resource, &caller) < 0)
			return err_sys(e, "read the limit %s", limits[i].name);
		struct rlimit r = limit_of(&limits[i], caller);
		if (setrlimit(limits[i].resource, &r) < 0)
			return err_sys(e, "set the limit %s", limits[i].name);
	}
	return 0;
}
