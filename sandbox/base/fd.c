#include "sandbox/base/fd.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

void fd_close_at(int *fd)
{
	if (*fd < 0)
		return;
	int saved = errno;
	close(*fd);
	*fd = -1;
	errno = saved;
}

ssize_t fd_read_full(int fd, void *bytes, size_t len)
{
	size_t done = 0;
	while (done < len) {
		ssize_t n = read(fd, (char *)bytes + done, len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

int fd_write_full(int fd, const void *bytes, size_t len)
{
	const char *at = bytes;
	while (len) {
		ssize_t n = write(fd, at, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int fd_load(int dir_fd, const char *path, size_t len_max, char **ret, size_t *ret_len, struct err *e)
{
	cleanup_close int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "open %s", path);
	return fd_load_open(fd, path, len_max, ret, ret_len, e);
}

int fd_load_open(int fd, const char *path, size_t len_max, char **ret, size_t *ret_len, struct err *e)
{
	cleanup_free char *text = NULL;
	size_t len = 0;
	size_t cap = 0;
	for (;;) { /* files in /proc have no size: read until they end */
		if (len + 1 >= cap) {
			cap = cap ? cap * 2 : 4096;
			char *more = realloc(text, cap);
			if (!more)
				return err_sys(e, "read %s", path);
			text = more;
		}
		ssize_t n = fd_read_full(fd, text + len, cap - 1 - len);
		if (n < 0)
			return err_sys(e, "read %s", path);
		len += (size_t)n;
		if (len > len_max)
			return err_set(e, EFBIG, "%s is over %zu bytes", path, len_max);
		if (len < cap - 1)
			break;
	}
	text[len] = '\0';
	*ret = take_ptr(&text);
	if (ret_len)
		*ret_len = len;
	return 0;
}

int fd_make_folders(const char *path, struct err *e)
{
	cleanup_free char *at = strdup(path);
	if (!at)
		return err_set(e, ENOMEM, "make %s", path);
	for (char *slash = at; slash;) {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		if (mkdir(at, 0700) < 0 && errno != EEXIST)
			return err_sys(e, "make %s", at);
		if (slash)
			*slash = '/';
	}
	return 0;
}

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

int fd_close_others(int *keep, size_t n, struct err *e)
{
	qsort(keep, n, sizeof(*keep), by_number);
	int from = 0;
	for (size_t i = 0; i < n; i++) {
		if (keep[i] > from &&
		    close_range((unsigned int)from, (unsigned int)keep[i] - 1, 0) < 0)
			return err_sys(e, "close the caller's descriptors");
		if (keep[i] >= from)
			from = keep[i] + 1;
	}
	if (close_range((unsigned int)from, ~0U, 0) < 0)
		return err_sys(e, "close the caller's descriptors");
	return 0;
}

int fd_null_standard(struct err *e)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		return err_sys(e, "open /dev/null");
	for (int fd = 0; fd < 3; fd++)
		if (null != fd && dup2(null, fd) < 0)
			return err_sys(e, "let go of descriptor %d", fd);
	if (null > 2)
		close(null);
	return 0;
}

int fd_send(int sock, const void *bytes, size_t len, const int *fds, size_t fds_len)
{
	assert(fds_len <= FD_SEND_MAX);
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int) * FD_SEND_MAX)];
	} control = { 0 };
	struct iovec io = { .iov_base = (void *)bytes, .iov_len = len };
	struct msghdr msg = { .msg_iov = &io, .msg_iovlen = 1 };
	if (fds_len) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * fds_len);
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof(int) * fds_len);
		memcpy(CMSG_DATA(&control.head), fds, sizeof(int) * fds_len);
	}
	for (;;) {
		ssize_t n = sendmsg(sock, &msg, MSG_NOSIGNAL);
		if (n >= 0)
			return 0;
		if (errno != EINTR)
			return -1;
	}
}

ssize_t fd_recv(int sock, void *bytes, size_t len, int *fds, size_t fds_max, size_t *ret_fds_len)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int) * FD_SEND_MAX)];
	} control = { 0 };
	struct iovec io = { .iov_base = bytes, .iov_len = len };
	struct msghdr msg = { .msg_iov = &io,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	ssize_t n;
	do
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -1;

	int got[FD_SEND_MAX];
	size_t got_len = 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t more = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		if (more > FD_SEND_MAX - got_len)
			more = FD_SEND_MAX - got_len;
		memcpy(got + got_len, CMSG_DATA(c), more * sizeof(int));
		got_len += more;
	}
	if ((msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || got_len > fds_max) {
		for (size_t i = 0; i < got_len; i++)
			close(got[i]);
		errno = EBADMSG;
		return -1;
	}
	if (got_len)
		memcpy(fds, got, got_len * sizeof(int));
	if (ret_fds_len)
		*ret_fds_len = got_len;
	return n;
}
