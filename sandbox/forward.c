#include "sandbox/forward.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fault.h"
#include "sandbox/base/fd.h"
#include "sandbox/caps.h"
#include "sandbox/cell_spec.h"
#include "sandbox/landlock.h"

/* As many of one port wait to be accepted; later ones are sent again by the kernel. */
#define LISTEN_BACKLOG 64
/* When no descriptor or memory is left for another connection, it waits this long. */
#define RETRY_MS 100

#define LISTENERS_MAX (2 * CELL_FORWARDS_MAX)

_Static_assert(LISTENERS_MAX <= FD_SEND_MAX, "they are sent at once");

/* ---- in the cell ---- */

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static union address loopback(int family, in_port_t port)
{
	union address a = { .any.sa_family = (sa_family_t)family };
	if (family == AF_INET) {
		a.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		a.v4.sin_port = port;
	} else {
		a.v6.sin6_addr = in6addr_loopback;
		a.v6.sin6_port = port;
	}
	return a;
}

static in_port_t port_of(const union address *a)
{
	return a->any.sa_family == AF_INET ? a->v4.sin_port : a->v6.sin6_port;
}

/* 1: the kernel has no such family. */
static int listen_at(int family, uint16_t port, int *ret, struct err *e)
{
	cleanup_close int sock = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sock < 0)
		return errno == EAFNOSUPPORT ? 1 : err_sys(e, "open a socket for port %u", port);
	union address a = loopback(family, htons(port));
	int on = 1;
	if (family == AF_INET6 && setsockopt(sock, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0)
		return err_sys(e, "part ::1 from 127.0.0.1");
	if (bind(sock, &a.any, sizeof(a)) < 0)
		return errno == EADDRNOTAVAIL && family == AF_INET6
			       ? 1
			       : err_sys(e, "bind port %u in the cell", port);
	if (listen(sock, LISTEN_BACKLOG) < 0)
		return err_sys(e, "listen at port %u in the cell", port);
	*ret = take_fd(&sock);
	return 0;
}

int forward_listen(const struct cell_spec *spec, int *ret, size_t *ret_len, struct err *e)
{
	static const int families[] = { AF_INET, AF_INET6 };
	size_t n = 0;
	int r = 0;
	for (size_t i = 0; i < spec->forwards_len && r >= 0; i++)
		for (size_t k = 0; k < countof(families) && r >= 0; k++) {
			r = listen_at(families[k], spec->forwards[i], &ret[n], e);
			n += r == 0;
		}
	if (r < 0) {
		while (n)
			close(ret[--n]);
		return r;
	}
	*ret_len = n;
	return 0;
}

/* ---- the forwarder: what it gives up ---- */

/* What the code below does anyhow becomes all that it can. Where the kernel has no Landlock, the code
 * alone says so. */
static void give_up_all(const int *listeners, size_t n)
{
	uint16_t ports[LISTENERS_MAX];
	for (size_t i = 0; i < n; i++) {
		union address a = { 0 };
		getsockname(listeners[i], &a.any, &(socklen_t){ sizeof(a) });
		ports[i] = ntohs(port_of(&a));
	}
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 0);
	landlock_to_ports(ports, n);
	caps_hold(0, NULL);
}

/* ---- the forwarder: carrying ---- */

/* Bytes on their way from one socket to the other. */
struct flow {
	char bytes[FORWARD_BUFFER_LEN];
	size_t from;
	size_t to;
	bool ended; /* nothing more comes */
	bool shut;  /* and the other side was told */
};

struct connection {
	int inside;
	int outside;
	bool connecting;
	sa_family_t tried; /* the family that `outside` is of */
	bool second;       /* it is the other one than the client's */
	in_port_t port;
	struct flow out; /* inside to outside */
	struct flow in;
};

struct forwarder {
	const int *listeners;
	size_t listeners_len;
	int pidfd;
	bool pause; /* nothing is left to accept with */
	struct connection *connections[FORWARD_CONNECTIONS_MAX];
	size_t len;
};

static void connection_free(struct connection *c)
{
	fd_close_at(&c->inside);
	fd_close_at(&c->outside);
	free(c);
}

/* Begin to connect; false: it cannot be. */
static bool reach(struct connection *c, sa_family_t family)
{
	union address a = loopback(family, c->port);
	fd_close_at(&c->outside);
	c->tried = family;
	c->outside = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	c->connecting = true;
	return c->outside >= 0 &&
	       (connect(c->outside, &a.any, sizeof(a)) == 0 || errno == EINPROGRESS);
}

/* A service may listen at one of the two loopbacks alone, and a client that asks for localhost is
 * at ::1 first. */
static bool reach_other(struct connection *c)
{
	if (c->second)
		return false;
	c->second = true;
	return reach(c, c->tried == AF_INET ? AF_INET6 : AF_INET);
}

/* The client sees a reset, which is as near to "refused" as it gets when it was let in already. */
static void refuse(const struct connection *c)
{
	struct linger hard = { .l_onoff = 1 };
	setsockopt(c->inside, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
}

static void accept_one(struct forwarder *f, int listener)
{
	union address own = { 0 };
	struct connection *c = calloc(1, sizeof(*c));
	if (!c) {
		f->pause = true;
		return;
	}
	c->outside = -1;
	c->inside = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (c->inside < 0) {
		f->pause = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
		free(c);
		return;
	}
	getsockname(listener, &own.any, &(socklen_t){ sizeof(own) });
	c->port = port_of(&own);
	if (reach(c, own.any.sa_family) || reach_other(c)) {
		f->connections[f->len++] = c;
		return;
	}
	refuse(c);
	connection_free(c);
}

/* False: the connection is broken. */
static bool finish_connecting(struct connection *c)
{
	int code = 0;
	getsockopt(c->outside, SOL_SOCKET, SO_ERROR, &code, &(socklen_t){ sizeof(code) });
	if (!code) {
		c->connecting = false;
		return true;
	}
	if (reach_other(c))
		return true;
	refuse(c);
	return false;
}

static bool again(void)
{
	return errno == EAGAIN || errno == EINTR;
}

/* False: the connection is broken. */
static bool carry(struct flow *flow, int source, int target, bool readable)
{
	if (readable && !flow->ended && flow->to < sizeof(flow->bytes)) {
		ssize_t n = read(source, flow->bytes + flow->to, sizeof(flow->bytes) - flow->to);
		if (n < 0 && !again())
			return false;
		flow->ended = n == 0;
		flow->to += n > 0 ? (size_t)n : 0;
	}
	while (flow->from < flow->to) {
		ssize_t n =
			send(target, flow->bytes + flow->from, flow->to - flow->from, MSG_NOSIGNAL);
		if (n < 0)
			return again();
		flow->from += (size_t)n;
	}
	flow->from = flow->to = 0;
	if (flow->ended && !flow->shut) {
		flow->shut = true;
		shutdown(target, SHUT_WR);
	}
	return true;
}

static short wanted(const struct flow *reads, const struct flow *writes)
{
	short events = 0;
	if (!reads->ended && reads->to < sizeof(reads->bytes))
		events |= POLLIN;
	if (writes->from < writes->to)
		events |= POLLOUT;
	return events;
}

/* False: nothing more can come of it. */
static bool serve_connection(struct connection *c, int inside, int outside)
{
	if (c->connecting)
		return !outside || finish_connecting(c);
	if (!inside && !outside)
		return true;
	const int gone = POLLHUP | POLLERR;
	if (!carry(&c->out, c->inside, c->outside, inside & (POLLIN | gone)) ||
	    !carry(&c->in, c->outside, c->inside, outside & (POLLIN | gone)))
		return false;
	return !c->out.shut || !c->in.shut;
}

/* A socket that asks for nothing is not looked at, or its hang-up would wake us without end. */
static struct pollfd ask(int fd, short events)
{
	return (struct pollfd){ .fd = events ? fd : -1, .events = events };
}

static size_t ask_connections(const struct forwarder *f, struct pollfd *polls)
{
	size_t n = 0;
	for (size_t i = 0; i < f->len; i++) {
		const struct connection *c = f->connections[i];
		short inside = 0;
		short outside = POLLOUT;
		if (!c->connecting) {
			inside = wanted(&c->out, &c->in);
			outside = wanted(&c->in, &c->out);
		}
		polls[n++] = ask(c->inside, inside);
		polls[n++] = ask(c->outside, outside);
	}
	return n;
}

static void serve_connections(struct forwarder *f, const struct pollfd *polls)
{
	size_t kept = 0;
	for (size_t i = 0; i < f->len; i++) {
		struct connection *c = f->connections[i];
		if (serve_connection(c, polls[2 * i].revents, polls[2 * i + 1].revents))
			f->connections[kept++] = c;
		else
			connection_free(c);
	}
	f->len = kept;
}

static void serve(struct forwarder *f)
{
	struct pollfd polls[1 + LISTENERS_MAX + 2 * FORWARD_CONNECTIONS_MAX];
	struct pollfd *const listening = polls + 1;
	struct pollfd *const carrying = listening + f->listeners_len;
	for (;;) {
		bool open = f->len < FORWARD_CONNECTIONS_MAX && !f->pause;
		polls[0] = ask(f->pidfd, POLLIN);
		for (size_t i = 0; i < f->listeners_len; i++)
			listening[i] = ask(f->listeners[i], open ? POLLIN : 0);
		size_t n = 1 + f->listeners_len + ask_connections(f, carrying);
		if (poll(polls, n, f->pause ? RETRY_MS : -1) < 0 && errno != EINTR)
			return;
		if (polls[0].revents)
			return;
		f->pause = false;
		serve_connections(f, carrying);
		for (size_t i = 0; i < f->listeners_len; i++)
			if (listening[i].revents && f->len < FORWARD_CONNECTIONS_MAX)
				accept_one(f, f->listeners[i]);
	}
}

static int stand_alone(const int *listeners, size_t n, int pidfd, pid_t runner)
{
	int keep[LISTENERS_MAX + 5] = { 0, 1, 2, pidfd, fault_fd() };
	size_t keep_len = 5;
	for (size_t i = 0; i < n; i++)
		keep[keep_len++] = listeners[i];
	if (fd_null_standard(NULL) < 0 || fd_close_others(keep, keep_len, NULL) < 0)
		return -1;
	prctl(PR_SET_NAME, "forwarder");
	setpgid(0, 0); /* ctrl-C is the runner's to hear */
	return prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != runner ? -1 : 0;
}

int forward_start(const int *listeners, size_t n, int pidfd, pid_t *ret, struct err *e)
{
	pid_t runner = getpid();
	pid_t pid = fork();
	if (pid < 0)
		return err_sys(e, "fork the forwarder");
	if (pid > 0) {
		*ret = pid;
		return 0;
	}
	if (stand_alone(listeners, n, pidfd, runner) < 0)
		_exit(1);
	give_up_all(listeners, n);
	fault_point("forwarder");
	struct forwarder f = { .listeners = listeners, .listeners_len = n, .pidfd = pidfd };
	serve(&f);
	_exit(0);
}
