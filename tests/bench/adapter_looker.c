/*
 * adapter_looker: a looker that looks at nothing, to measure an adapter alone.
 *
 * adapter_looker FOLDER SPIN_US LOOK_US COMMAND...: runs the command with
 * FUMEHOOD_SOCKET set to FOLDER/socket, answers what it says (polling SPIN_US
 * before it sleeps, and busy for LOOK_US before it answers), and prints, as
 * JSON, how long the command took and how much of a CPU it used.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"

#define PACKET_LEN_MAX 65536

static double now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int listen_at(const char *path, struct err *e)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	size_t len = strlen(path) + 1;
	if (len > sizeof(at.sun_path))
		return err_set(e, ENAMETOOLONG, "%s", path);
	memcpy(at.sun_path, path, len);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 8))
		return err_sys(e, "listen at %s", path);
	return fd;
}

/* The next packet; 0: the other side is gone. */
static ssize_t hear(int conn, char *packet, double spin_us)
{
	for (double end = now_us() + spin_us; now_us() < end; sched_yield()) {
		ssize_t len = recv(conn, packet, PACKET_LEN_MAX, MSG_DONTWAIT);
		if (len >= 0 || errno != EAGAIN)
			return len;
	}
	return recv(conn, packet, PACKET_LEN_MAX, 0);
}

static bool is(const char *packet, size_t len, const char *kind)
{
	return memmem(packet, len < 128 ? len : 128, kind, strlen(kind));
}

static int answer(int conn, const char *packet, size_t len)
{
	if (is(packet, len, "\"done\""))
		return 0;
	const char *text = is(packet, len, "\"hello\"") ? "{\"t\":\"plan\",\"file\":\"plan.json\"}"
							: "{\"t\":\"go\"}";
	return send(conn, text, strlen(text), MSG_NOSIGNAL) < 0 ? -1 : 0;
}

static void serve(int conn, double spin_us, double look_us)
{
	char packet[PACKET_LEN_MAX];
	ssize_t len;
	while ((len = hear(conn, packet, spin_us)) > 0) {
		for (double end = now_us() + look_us; now_us() < end;)
			;
		if (answer(conn, packet, (size_t)len))
			return;
	}
}

static pid_t start(char **command, const char *path)
{
	pid_t pid = fork();
	if (pid)
		return pid;
	setenv("FUMEHOOD_SOCKET", path, 1);
	execvp(command[0], command);
	_exit(127);
}

static int run(char **argv, struct err *e)
{
	cleanup_free char *path = NULL;
	if (asprintf(&path, "%s/socket", argv[1]) < 0)
		return err_sys(e, "listen");
	cleanup_close int listener = listen_at(path, e);
	if (listener < 0)
		return listener;
	double began = now_us();
	pid_t pid = start(&argv[4], path);
	cleanup_close int conn = pid < 0 ? -1 : accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (conn < 0)
		return err_sys(e, "run %s", argv[4]);
	serve(conn, strtod(argv[2], NULL), strtod(argv[3], NULL));
	int status;
	struct rusage used;
	if (wait4(pid, &status, 0, &used) < 0)
		return err_sys(e, "wait for %s", argv[4]);
	double cpu_us = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 +
			(double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
	printf("{\"us\":%.0f,\"cpu_us\":%.0f,\"status\":%d}\n", now_us() - began, cpu_us, status);
	return 0;
}

int main(int argc, char **argv)
{
	struct err e = ERR_NULL;
	if (argc < 5)
		err_set(&e, EINVAL, "usage: adapter_looker FOLDER SPIN_US LOOK_US COMMAND...");
	else
		run(argv, &e);
	if (e.code)
		fprintf(stderr, "adapter_looker: %s\n", e.text);
	return e.code != 0;
}
