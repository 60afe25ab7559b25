#include "sandbox/sync.h"

#include <errno.h>
#include <sys/socket.h>

#include "sandbox/base/fault.h"
#include "sandbox/base/fd.h"

int sync_pair(int ret[2], struct err *e)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret) < 0)
		return err_sys(e, "make a control socket");
	return 0;
}

int sync_send(int sock, const struct sync_record *record, const int *fds, size_t fds_len,
	      struct err *e)
{
	fault_point("sync-send");
	if (fd_send(sock, record, sizeof(*record), fds, fds_len) < 0)
		return err_sys(e, "send to the other side of the cell");
	return 0;
}

int sync_tell(int sock, enum sync_kind kind, int signal, struct err *e)
{
	return sync_send(sock, &(struct sync_record){ .kind = kind, .signal = signal }, NULL, 0, e);
}

int sync_recv(int sock, struct sync_record *ret, int *fds, size_t fds_max, size_t *ret_fds_len,
	      struct err *e)
{
	/* Who ends with our words unread is reported before his last ones, once. */
	ssize_t len;
	do
		len = fd_recv(sock, ret, sizeof(*ret), fds, fds_max, ret_fds_len);
	while (len < 0 && errno == ECONNRESET);
	if (len == 0)
		return 0;
	if (len < 0)
		return err_sys(e, "hear from the other side of the cell");
	if (len != sizeof(*ret))
		return err_set(e, EPROTO, "the cell sent %zd bytes where a record has %zu", len,
			       sizeof(*ret));
	return 1;
}
