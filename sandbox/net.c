#include "sandbox/net.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/cell_spec.h"

#define LISTEN_BACKLOG 64

int net_loopback_up(struct err *e)
{
	cleanup_close int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return err_sys(e, "open a socket for the loopback");
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	if (ioctl(sock, SIOCSIFFLAGS, &lo) < 0)
		return err_sys(e, "bring the loopback up");
	return 0;
}

int net_listen(const char *path, int *ret, struct err *e)
{
	cleanup_close int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sock < 0)
		return err_sys(e, "open the adapters' socket");
	struct sockaddr_un where = { .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(where.sun_path))
		return err_set(e, ENAMETOOLONG,
			       "%s is too long for a socket: the kernel takes %zu bytes", path,
			       sizeof(where.sun_path) - 1);
	memcpy(where.sun_path, path, strlen(path));
	if (bind(sock, (struct sockaddr *)&where, sizeof(where)) < 0)
		return err_sys(e, "bind %s", path);
	if (listen(sock, LISTEN_BACKLOG) < 0)
		return err_sys(e, "listen at %s", path);
	*ret = take_fd(&sock);
	return 0;
}
