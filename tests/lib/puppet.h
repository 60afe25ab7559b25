#pragma once
/*
 * puppet: a child that does what the test tells it, one deed at a time, and
 * stands still between them, as a test process does at a boundary.
 *
 * It is a fork, so that a deed is a function of the test.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

struct puppet {
	pid_t pid;
	int sock;
};

struct puppet_order {
	void (*deed)(const char *arg);
	char arg[256];
};

static inline _Noreturn void puppet_live(int sock)
{
	struct puppet_order order;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (recv(sock, &order, sizeof(order), 0) == sizeof(order)) {
		order.deed(order.arg);
		if (send(sock, "", 1, MSG_NOSIGNAL) != 1)
			break;
	}
	_exit(0);
}

static inline void puppet_start(struct puppet *p)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		abort();
	p->pid = fork();
	if (p->pid < 0)
		abort();
	if (p->pid == 0) {
		close(ends[0]);
		puppet_live(ends[1]);
	}
	close(ends[1]);
	p->sock = ends[0];
}

/* Returns when it is done; at once when the deed ends the puppet. */
static inline void puppet_do(const struct puppet *p, void (*deed)(const char *arg), const char *arg)
{
	struct puppet_order order = { .deed = deed };
	char answer;
	for (size_t i = 0; arg && arg[i] && i + 1 < sizeof(order.arg); i++)
		order.arg[i] = arg[i];
	if (send(p->sock, &order, sizeof(order), MSG_NOSIGNAL) != sizeof(order) ||
	    recv(p->sock, &answer, 1, 0) < 0)
		abort();
}

static inline void puppet_done(struct puppet *p)
{
	kill(p->pid, SIGKILL);
	waitpid(p->pid, NULL, 0);
	close(p->sock);
}
