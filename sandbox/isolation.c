#include "sandbox/cell.h"

const char *const isolation_names[ISOLATION_N] = {
	[ISOLATION_USER] = "user",
	[ISOLATION_MOUNT] = "mount",
	[ISOLATION_PID] = "pid",
	[ISOLATION_NET] = "net",
	[ISOLATION_IPC] = "ipc",
	[ISOLATION_UTS] = "uts",
	[ISOLATION_CGROUP] = "cgroup",
	[ISOLATION_TIME] = "time",
	[ISOLATION_ROOT] = "root",
	[ISOLATION_SCRATCH] = "scratch",
	[ISOLATION_OVERLAY] = "overlay",
	[ISOLATION_PROC] = "proc",
	[ISOLATION_DEV] = "dev",
	[ISOLATION_CAPS] = "caps",
	[ISOLATION_NO_NEW_PRIVS] = "no_new_privs",
	[ISOLATION_SECCOMP] = "seccomp",
	[ISOLATION_LIMITS] = "limits",
};
