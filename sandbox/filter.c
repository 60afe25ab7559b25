#include "sandbox/filter.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/base/barrier.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/filter_program.h"

/* The kernel only reads what it is given here. */
static const struct {
	const struct sock_filter *at;
	unsigned short len;
} programs[] = {
	[false] = { program_default, countof(program_default) },
	[true] = { program_nested, countof(program_nested) },
};

size_t filter_len(bool allow_nested)
{
	return programs[allow_nested].len;
}

int filter_install(bool allow_nested, struct err *e)
{
	if (!barrier("filter"))
		return 0;
	const struct sock_fprog program = {
		.len = programs[allow_nested].len,
		.filter = (struct sock_filter *)programs[allow_nested].at,
	};
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return err_sys(e, "install the system call filter");
	return 0;
}
