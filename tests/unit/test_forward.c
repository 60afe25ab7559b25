#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "sandbox/forward.h"
#include "sandbox/landlock.h"
#include "tests/lib/tap.h"

static struct sockaddr_in at(const char *host, in_port_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = port };
	inet_pton(AF_INET, host, &a.sin_addr);
	return a;
}

static int listen_at(const char *host, in_port_t *port)
{
	struct sockaddr_in a = at(host, *port);
	socklen_t len = sizeof(a);
	int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (sock < 0 || bind(sock, (struct sockaddr *)&a, len) || listen(sock, 8) ||
	    getsockname(sock, (struct sockaddr *)&a, &len))
		abort();
	*port = a.sin_port;
	return sock;
}

static int connect_to(const char *host, in_port_t port)
{
	struct sockaddr_in a = at(host, port);
	int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (sock < 0 || connect(sock, (struct sockaddr *)&a, sizeof(a)) == 0)
		return sock;
	int code = errno;
	close(sock);
	return -code;
}

/* What a process that is left to one port can do: bit 0 that port, 1 another one, 2 a file, 3 a port
 * of its own. */
static int deeds_left(in_port_t port, in_port_t other)
{
	pid_t pid = fork();
	if (pid == 0) {
		const uint16_t ports[] = { ntohs(port) };
		in_port_t any = 0;
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		landlock_to_ports(ports, 1);
		int done = connect_to("127.0.0.1", port) >= 0;
		done |= (connect_to("127.0.0.1", other) >= 0) << 1;
		done |= (open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0) << 2;
		struct sockaddr_in a = at("127.0.0.1", any);
		int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		done |= (bind(sock, (struct sockaddr *)&a, sizeof(a)) == 0) << 3;
		_exit(done);
	}
	int status = 0;
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

static void test_fence(void)
{
	in_port_t port = 0;
	in_port_t other = 0;
	cleanup_close int one = listen_at("127.0.0.1", &port);
	cleanup_close int two = listen_at("127.0.0.1", &other);
	int done = deeds_left(port, other);
	if (landlock_abi() < 4)
		tap_ok(done & 1, "its port # SKIP this kernel's Landlock knows no ports");
	else
		tap_ok(done == 1, "its port, and no other, no file, no port of its own: %d", done);
}

/* Other addresses of the loopback stand for the cell's network. */
static void test_carry(void)
{
	in_port_t port = 0;
	cleanup_close int service = listen_at("127.0.0.1", &port);
	cleanup_close int listener = listen_at("127.0.0.2", &port);
	int gone[2];
	if (fcntl(listener, F_SETFL, O_NONBLOCK) || pipe2(gone, O_CLOEXEC))
		abort();
	pid_t forwarder = 0;
	struct err e = ERR_NULL;
	char got[8] = "";
	if (!tap_ok(forward_start(&listener, 1, gone[0], &forwarder, &e) == 0, "a forwarder %s",
		    e.text))
		return;
	cleanup_close int client = connect_to("127.0.0.2", port);
	cleanup_close int peer = accept4(service, NULL, NULL, SOCK_CLOEXEC);
	tap_ok(client >= 0 && peer >= 0 && fd_write_full(client, "there", 5) == 0 &&
		       fd_read_full(peer, got, 5) == 5 && strcmp(got, "there") == 0,
	       "what is sent arrives");
	shutdown(client, SHUT_WR);
	tap_ok(read(peer, got, 1) == 0 && fd_write_full(peer, "back", 4) == 0 &&
		       fd_read_full(client, got, 4) == 4,
	       "... and an end of it, and what is sent after it the other way");
	fd_close_at(&service);
	fd_close_at(&peer);
	cleanup_close int late = connect_to("127.0.0.2", port);
	tap_ok(late >= 0 && read(late, got, 1) < 0 && errno == ECONNRESET,
	       "nobody there outside is a reset");
	int status = -1;
	close(gone[1]); /* the cell is gone */
	tap_ok(waitpid(forwarder, &status, 0) == forwarder && status == 0, "it ends with the cell");
	close(gone[0]);
}

int main(void)
{
	test_fence();
	test_carry();
	return tap_done();
}
