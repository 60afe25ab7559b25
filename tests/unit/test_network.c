#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe/fingerprint.h"
#include "probe/sensors/sensors.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "tests/lib/deltas.h"
#include "tests/lib/folder.h"
#include "tests/lib/tap.h"

/* A network namespace of our own; a folder stands for /proc, with us as process 1. */
struct scene {
	struct folder dir;
	char own_dir[PATH_MAX];
	struct vantage v;
	const struct sensor *sensors[2];
	struct fingerprint *f;
};

static void scene_begin(struct scene *s)
{
	folder_make(&s->dir);
	folder_put(&s->dir, "own", NULL);
	if (symlink("/proc/self", folder_path(&s->dir, "1")))
		abort();
	snprintf(s->own_dir, sizeof(s->own_dir), "%s", folder_path(&s->dir, "own") + 1);
	s->v = (struct vantage){ .proc = open(s->dir.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
				 .own_dir = s->own_dir,
				 .sockets = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC,
						   NETLINK_SOCK_DIAG) };
	s->sensors[0] = &sensor_network;
	s->sensors[1] = NULL;
	if (fingerprint_new(&s->v, s->sensors, &s->f, NULL))
		abort();
}

static void scene_end(struct scene *s)
{
	fingerprint_free(s->f);
	close(s->v.proc);
	close(s->v.sockets);
	folder_done(&s->dir);
}

static void look(struct scene *s, int by, const char *expected, const char *name)
{
	struct delta_list deltas = DELTA_LIST_NULL;
	struct err e = ERR_NULL;
	int r = fingerprint_look(s->f, by, &deltas, NULL, &e);
	cleanup_free char *text = r ? strdup(e.text) : deltas_text(&deltas, false);
	delta_list_done(&deltas);
	tap_ok(text_eq(text, expected), "%s: %s", name, text);
}

static int inet(int family, int type, uint16_t port)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	int sock = socket(family, type | SOCK_CLOEXEC, 0);
	int r = family == AF_INET ? bind(sock, (struct sockaddr *)&v4, sizeof(v4))
				  : bind(sock, (struct sockaddr *)&v6, sizeof(v6));
	if (sock < 0 || r)
		abort();
	return sock;
}

/* `name` may begin with NUL; it is as long as said. */
static int local(int type, const char *name, size_t len)
{
	struct sockaddr_un where = { .sun_family = AF_UNIX };
	memcpy(where.sun_path, name, len);
	int sock = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	if (sock < 0 || bind(sock, (struct sockaddr *)&where, (socklen_t)(sizeof(sa_family_t) + len)))
		abort();
	return sock;
}

static void test_inet(struct scene *s)
{
	int tcp = inet(AF_INET, SOCK_STREAM, 8080);
	look(s, 1, "", "bound, but not listening");
	listen(tcp, 1);
	look(s, 2, "leak opened tcp:0.0.0.0:8080\n", "listening");
	int udp = inet(AF_INET6, SOCK_DGRAM, 0);
	int six = inet(AF_INET6, SOCK_STREAM, 81);
	listen(six, 1);
	look(s, 3, "leak opened tcp:[::]:81\nleak opened udp:[::]:ephemeral\n", "IPv6");
	close(tcp);
	close(udp);
	close(six);
	look(s, 4,
	     "leak closed tcp:0.0.0.0:8080 restored\n"
	     "leak closed tcp:[::]:81 restored\n"
	     "leak closed udp:[::]:ephemeral restored\n",
	     "closed");
}

static void test_local(struct scene *s)
{
	int stream = local(SOCK_STREAM, "app.sock", 8);
	listen(stream, 1);
	look(s, 1, "leak opened unix:app.sock\n", "AF_UNIX");
	int hidden = local(SOCK_STREAM, "\0a\0b", 4);
	look(s, 1, "leak opened unix:@a@b\n", "a name in no file tree");
	int any = local(SOCK_DGRAM, "", 0);
	look(s, 1, "leak opened unix:@(any)\n", "a name that the kernel chose");
	int peer = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un where = { .sun_family = AF_UNIX, .sun_path = "app.sock" };
	if (connect(peer, (struct sockaddr *)&where, sizeof(where)))
		abort();
	int accepted = accept4(stream, NULL, NULL, SOCK_CLOEXEC);
	look(s, 2, "", "a connection, though the accepted end has its listener's name");
	close(peer);
	close(accepted);
	close(stream);
	unlink("app.sock");
	look(s, 3, "leak closed unix:app.sock restored\n", "a listener closed");
	close(hidden);
	look(s, 3, "leak closed unix:@a@b restored\n", "an abstract name given back");
	close(any);
	look(s, 3, "leak closed unix:@(any) restored\n", "another");
}

static void test_own(struct scene *s)
{
	struct sockaddr_un where = { .sun_family = AF_UNIX, .sun_path = "own/socket" };
	snprintf(where.sun_path, sizeof(where.sun_path), "/%.90s/s", s->own_dir);
	int listener = local(SOCK_STREAM, where.sun_path, strlen(where.sun_path));
	listen(listener, 1);
	look(s, 1, "", "a listener below our own folder");
	int peer = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(peer, (struct sockaddr *)&where, sizeof(where)))
		abort();
	int accepted = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	look(s, 1, "", "and a connection to it");
	int asked = s->v.sockets;
	s->v.sockets = s->v.proc; /* to ask it is an error */
	look(s, 2, "", "while there are ours alone the kernel is not asked");
	int other = inet(AF_INET, SOCK_STREAM, 82);
	look(s, 2, "look at network: ask for sockets: Socket operation on non-socket",
	     "with one more it is");
	s->v.sockets = asked;
	close(other);
	close(listener);
	close(peer);
	close(accepted);
}

/* As if the network were everybody's: what our own process does not hold is not told. */
static void test_shared(struct scene *s)
{
	int others = inet(AF_INET, SOCK_STREAM, 83);
	listen(others, 1);
	pid_t holder = fork(); /* out of sight: no process of the fixture's /proc */
	if (holder == 0) {
		pause();
		_exit(0);
	}
	close(others);
	fingerprint_free(s->f);
	s->v.sockets_shared = true;
	if (symlink("/proc/self", folder_path(&s->dir, "2")) ||
	    fingerprint_new(&s->v, s->sensors, &s->f, NULL))
		abort();
	look(s, DELTA_STOOD, "", "what is there is learned");
	int ours = inet(AF_INET, SOCK_STREAM, 84);
	listen(ours, 1);
	look(s, 1, "leak opened tcp:0.0.0.0:84\n", "of a shared network, what the cell holds");
	close(ours);
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	look(s, 2, "leak closed tcp:0.0.0.0:84 restored\n", "and nothing of others");
}

static void test_none(void)
{
	struct vantage v = { .proc = AT_FDCWD, .sockets = -1 };
	const struct sensor *const sensors[] = { &sensor_network, NULL };
	struct fingerprint *f;
	if (fingerprint_new(&v, sensors, &f, NULL))
		abort();
	int r = fingerprint_look(f, 1, NULL, NULL, NULL);
	tap_ok(!r && fingerprint_blind(f, "network"), "a kernel without sock_diag: %s",
	       fingerprint_blind(f, "network"));
	fingerprint_free(f);
}

int main(void)
{
	test_none();
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET)) {
		printf("ok 2 # SKIP no namespaces here: %s\n1..2\n", strerror(errno));
		return 0;
	}
	struct scene s;
	int before = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	scene_begin(&s);
	if (chdir(s.dir.path))
		abort();
	look(&s, DELTA_STOOD, "", "a namespace with a socket of ours");
	test_inet(&s);
	test_local(&s);
	test_own(&s);
	test_shared(&s);
	close(before);
	scene_end(&s);
	return tap_done();
}
