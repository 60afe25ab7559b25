#include "runner/drive/wire.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "runner/drive/handover.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fault.h"
#include "sandbox/base/fd.h"

#define YIELDED_US 50 /* a yield that takes longer let somebody else run */

void wire_init(struct wire *w, int listener)
{
	w->listener = listener;
	w->conns_len = 0;
	w->rhythm = RHYTHM_NULL;
}

void wire_drop(struct wire *w, size_t conn)
{
	assert(conn < w->conns_len);
	close(w->conns[conn].fd);
	memmove(&w->conns[conn], &w->conns[conn + 1],
		(w->conns_len - conn - 1) * sizeof(w->conns[0]));
	w->conns_len--;
}

void wire_done(struct wire *w)
{
	while (w->conns_len)
		wire_drop(w, w->conns_len - 1);
}

int wire_answer(struct wire *w, size_t conn, const char *packet)
{
	ssize_t n = send(w->conns[conn].fd, packet, strlen(packet), MSG_NOSIGNAL | MSG_DONTWAIT);
	return n < 0 ? -errno : 0;
}

int wire_hand_over(struct wire *w, size_t conn, const char *packet)
{
	int ends[2];
	int r = handover_pair(ends);
	if (r)
		return r;
	cleanup_close int ours = ends[0];
	cleanup_close int theirs = ends[1];
	int on = 1; /* before anybody can send on it */
	if (setsockopt(ours, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) ||
	    fcntl(ours, F_SETFL, O_NONBLOCK) ||
	    fd_send(w->conns[conn].fd, packet, strlen(packet), &theirs, 1))
		return -errno;
	fd_close_at(&w->conns[conn].fd);
	w->conns[conn].fd = take_fd(&ours);
	return 0;
}

static void welcome(struct wire *w)
{
	cleanup_close int fd = accept4(w->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	fault_point("looker-welcome");
	int on = 1; /* the listener has it too, but a sender may have been quicker */
	setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
	w->conns[w->conns_len++] = (struct wire_conn){ .fd = take_fd(&fd) };
}

/* Whoever came first and never said hello makes room. */
static bool crowded(const struct wire *w, struct wire_news *ret)
{
	for (size_t i = 0; i < w->conns_len; i++) {
		struct ucred peer = { 0 };
		socklen_t len = sizeof(peer);
		if (w->conns[i].pid)
			continue;
		getsockopt(w->conns[i].fd, SOL_SOCKET, SO_PEERCRED, &peer, &len);
		*ret = (struct wire_news){ .kind = WIRE_CROWD, .conn = i, .pid = peer.pid };
		return true;
	}
	return false;
}

/* The sender's number as the kernel tells it, and an end to descriptors that came along. */
static pid_t sender(struct msghdr *msg)
{
	pid_t pid = 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_CREDENTIALS) {
			struct ucred cred;
			memcpy(&cred, CMSG_DATA(c), sizeof(cred));
			pid = cred.pid;
		} else if (c->cmsg_type == SCM_RIGHTS) {
			size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
			for (size_t i = 0; i < n; i++) {
				int fd;
				memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
				close(fd);
			}
		}
	}
	return pid;
}

/* True when something came: a packet or the end. */
static bool take_from(struct wire *w, size_t conn, struct wire_news *ret)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int) * 8)];
	} control;
	struct iovec io = { .iov_base = w->room, .iov_len = EVENT_LEN_MAX };
	struct msghdr msg = { .msg_iov = &io,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(w->conns[conn].fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	*ret = (struct wire_news){ .kind = WIRE_HANGUP, .conn = conn };
	if (n <= 0)
		return true;
	ret->kind = WIRE_PACKET;
	ret->pid = sender(&msg);
	w->room[n] = '\0';
	ret->bytes = w->room;
	ret->len = msg.msg_flags & MSG_TRUNC ? EVENT_LEN_MAX + 1 : (size_t)n;
	return true;
}

static int64_t now_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Whoever else wants the processor gets it, and ends this. */
static bool poll_for(struct wire *w, size_t conn, struct wire_news *ret)
{
	int64_t start = now_us();
	for (int64_t last = start, now; last - start < RHYTHM_POLL_US_MAX; last = now) {
		if (take_from(w, conn, ret))
			return true;
		sched_yield();
		now = now_us();
		if (now - last > YIELDED_US)
			break;
	}
	return false;
}

/* What is there, or comes within `wait_us` (negative: whenever). 1: something; 0: nothing. */
static int sleep_for(struct wire *w, int other, int64_t wait_us, struct wire_news *ret, struct err *e)
{
	const struct timespec wait = { .tv_sec = wait_us / 1000000,
				       .tv_nsec = wait_us % 1000000 * 1000 };
	for (;;) {
		struct pollfd polls[2 + WIRE_CONNS_MAX];
		size_t conns = w->conns_len;
		polls[0] = (struct pollfd){ .fd = w->listener, .events = POLLIN };
		for (size_t i = 0; i < conns; i++)
			polls[1 + i] = (struct pollfd){ .fd = w->conns[i].fd, .events = POLLIN };
		polls[1 + conns] = (struct pollfd){ .fd = other, .events = POLLIN };
		int n = ppoll(polls, (nfds_t)(2 + conns), wait_us < 0 ? NULL : &wait, NULL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, "wait for the adapter");
		if (n == 0)
			return 0;
		if (polls[1 + conns].revents) { /* first, so that no flood of packets hides it */
			*ret = (struct wire_news){ .kind = WIRE_OTHER };
			return 1;
		}
		/* Before packets, of which there may be no end; and one alone, since of connections
		 * there may be none either. */
		if (polls[0].revents && w->conns_len < WIRE_CONNS_MAX)
			welcome(w);
		else if (polls[0].revents && crowded(w, ret))
			return 1;
		for (size_t k = 0; k < conns; k++) {
			size_t i = (w->turn + k) % conns;
			if (!polls[1 + i].revents || !take_from(w, i, ret))
				continue;
			w->turn = i + 1; /* whoever spoke goes to the end of the queue */
			return 1;
		}
	}
}

int wire_next(struct wire *w, int other, int expected, bool wait, struct wire_news *ret,
	      struct err *e)
{
	int64_t start = now_us();
	int64_t nap = !wait ? 0 : expected < 0 ? -1 : rhythm_nap_us(&w->rhythm);
	enum rhythm_how how = RHYTHM_SLEPT;
	int r = sleep_for(w, other, nap, ret, e);
	if (r == 0 && !wait) {
		*ret = (struct wire_news){ .kind = WIRE_OTHER };
		return 0;
	}
	if (r == 0) {
		how = poll_for(w, (size_t)expected, ret) ? RHYTHM_POLLED : RHYTHM_MISSED;
		r = how == RHYTHM_POLLED ? 1 : sleep_for(w, other, -1, ret, e);
	}
	if (r > 0 && expected >= 0 && ret->kind == WIRE_PACKET)
		rhythm_heard(&w->rhythm, now_us() - start, how);
	return r < 0 ? r : 0;
}
