#include "sandbox/sources.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/mount.h"

#define QUEUES_DIR "/dev/mqueue"

int sources_mount_queues(struct err *e)
{
	cleanup_close int mount = -1;
	struct err why = ERR_NULL;
	int r = mount_new("mqueue", NULL, 0,
			  MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, &mount, &why);
	if (r == -ENODEV)
		return 0;
	if (r < 0) {
		*e = why;
		return r;
	}
	return mount_at(mount, QUEUES_DIR, e);
}

/* In a network of the cell's own it is bound by us, or the kernel would name it after the process
 * outside that first asks through it. */
static int open_sockets(bool own)
{
	static const struct sockaddr_nl name = { .nl_family = AF_NETLINK, .nl_pid = 1 };
	cleanup_close int sock = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (sock < 0 || (own && bind(sock, (const struct sockaddr *)&name, sizeof(name)) < 0))
		return -1;
	return take_fd(&sock);
}

void sources_open(const struct cell_spec *spec, int ret[CELL_SOURCE_N])
{
	bool bare = spec->isolation == CELL_ISOLATION_LANDLOCK;
	for (size_t i = 0; i < CELL_SOURCE_N; i++)
		ret[i] = -1;
	ret[CELL_SOURCE_SOCKETS] = open_sockets(!bare && spec->network == CELL_NETWORK_NONE);
	if (bare)
		return;
	ret[CELL_SOURCE_SHM] = open("/proc/sysvipc/shm", O_RDONLY | O_CLOEXEC);
	ret[CELL_SOURCE_SEM] = open("/proc/sysvipc/sem", O_RDONLY | O_CLOEXEC);
	ret[CELL_SOURCE_MSG] = open("/proc/sysvipc/msg", O_RDONLY | O_CLOEXEC);
	ret[CELL_SOURCE_QUEUES] = open(QUEUES_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}
