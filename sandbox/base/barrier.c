#include "sandbox/base/barrier.h"

#if FUMEHOOD_BARRIERS
#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"

#define FDS_LOOKED_AT 1024

/* Where the wall is not built, exec would stand in for it: of an ordinary user's capabilities it
 * keeps the ambient ones alone. */
static void keep_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
	if (syscall(SYS_capget, &header, sets) < 0)
		return;
	for (size_t i = 0; i < countof(sets); i++)
		sets[i].inheritable = sets[i].permitted;
	if (syscall(SYS_capset, &header, sets) < 0)
		return;
	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0);
}

/* Each of them is close-on-exec from birth, too. */
static void keep_descriptors(void)
{
	for (int fd = 3; fd < FDS_LOOKED_AT; fd++)
		fcntl(fd, F_SETFD, 0);
}

static const struct {
	const char *name;
	void (*leave_out)(void);
} deeds[] = {
	{ "caps", keep_capabilities },
	{ "cloexec", keep_descriptors },
};

static bool is_listed(const char *list, const char *name)
{
	size_t len = strlen(name);
	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, name, len) == 0 && (at[len] == ',' || !at[len]))
			return true;
	}
	return false;
}

bool barrier(const char *name)
{
	if (!is_listed(getenv("FUMEHOOD_WITHOUT"), name))
		return true;
	for (size_t i = 0; i < countof(deeds); i++)
		if (strcmp(deeds[i].name, name) == 0)
			deeds[i].leave_out();
	return false;
}
#endif
