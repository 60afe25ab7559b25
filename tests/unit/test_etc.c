#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "sandbox/base/text.h"
#include "sandbox/cell_spec.h"
#include "sandbox/etc.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/tap.h"

static const struct cell_spec caller = { .uid = 1000, .gid = 100, .user = "u", .home = "/home/u" };

static void put(int dir_fd, const char *name, const char *text)
{
	cleanup_close int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || fd_write_full(fd, text, strlen(text)) < 0)
		abort();
}

static void test_accounts(int dir_fd)
{
	static const struct {
		const char *passwd, *made; /* made NULL: the host's file will do */
	} cases[] = {
		{ "u:x:1000:100::/home/u:/bin/sh\n", NULL },
		{ "root:x:0:0::/root:/bin/sh\nv:x:1000:1::/:/bin/sh", NULL },
		{ "root:x:0:0::/root:/bin/sh\n",
		  "root:x:0:0::/root:/bin/sh\nu:x:1000:100::/home/u:/bin/sh\n" },
		{ "a:x:1:1000::/:/bin/sh", /* a group of that number; no newline at the end */
		  "a:x:1:1000::/:/bin/sh\nu:x:1000:100::/home/u:/bin/sh\n" },
		{ "a:x:11000:1::/:\nb\n:::\n",
		  "a:x:11000:1::/:\nb\n:::\nu:x:1000:100::/home/u:/bin/sh\n" },
		{ "", "u:x:1000:100::/home/u:/bin/sh\n" },
	};
	for (size_t i = 0; i < countof(cases); i++) {
		put(dir_fd, "passwd", cases[i].passwd);
		cleanup(etc_done) struct etc etc = ETC_NULL;
		struct err e = ERR_NULL;
		int r = etc_make(&caller, dir_fd, &etc, &e);
		tap_ok(r == 0 && text_eq(etc.texts[ETC_PASSWD].at, cases[i].made), "passwd %s%s",
		       cases[i].passwd, e.text);
	}
	cleanup(etc_done) struct etc etc = ETC_NULL;
	unlinkat(dir_fd, "passwd", 0);
	put(dir_fd, "group", "users:x:100:\n");
	int r = etc_make(&caller, dir_fd, &etc, NULL);
	tap_ok(r == 0 && text_eq(etc.texts[ETC_PASSWD].at, "u:x:1000:100::/home/u:/bin/sh\n"),
	       "no passwd at all");
	tap_ok(r == 0 && !etc.texts[ETC_GROUP].at, "the group is there");
}

static void test_names(int dir_fd)
{
	put(dir_fd, "hosts", "10.0.0.1 db\n");
	put(dir_fd, "resolv.conf", "nameserver 10.0.0.2\n");
	struct cell_spec spec = caller;
	cleanup(etc_done) struct etc none = ETC_NULL;
	int r = etc_make(&spec, dir_fd, &none, NULL);
	tap_ok(r == 0 && strstr(none.texts[ETC_HOSTS].at, " localhost fumehood\n") &&
		       !strstr(none.texts[ETC_HOSTS].at, "db"),
	       "without a network hosts names us alone");
	tap_ok(r == 0 && strstr(none.texts[ETC_RESOLV_CONF].at, "nameserver 127.0.0.1\n"),
	       "... and nobody is asked");
	tap_ok(r == 0 && text_eq(none.texts[ETC_HOSTNAME].at, "fumehood\n"), "the host name");

	spec.network = CELL_NETWORK_HOST;
	cleanup(etc_done) struct etc host = ETC_NULL;
	r = etc_make(&spec, dir_fd, &host, NULL);
	tap_ok(r == 0 && strstr(host.texts[ETC_HOSTS].at, "10.0.0.1 db\n") &&
		       strstr(host.texts[ETC_HOSTS].at, " fumehood\n"),
	       "with the host's network its names are there too");
	tap_ok(r == 0 && text_eq(host.texts[ETC_RESOLV_CONF].at, "nameserver 10.0.0.2\n"),
	       "... and its server");
}

static void test_faults(int dir_fd)
{
	put(dir_fd, "passwd", "root:x:0:0::/root:/bin/sh\n");
	struct cell_spec spec = caller;
	for (int n = 1; fault_walk_on(n); n++) {
		cleanup(etc_done) struct etc etc = ETC_NULL;
		struct err e = ERR_NULL;
		int r = etc_make(&spec, dir_fd, &etc, &e);
		tap_ok(!fault_walk_hit() || (r < 0 && e.code == -r), "call %d fails: %s", n, e.text);
	}
}

int main(void)
{
	char dir[] = "/tmp/fumehood-etc.XXXXXX";
	if (!mkdtemp(dir))
		return 1;
	cleanup_close int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	test_accounts(dir_fd);
	test_names(dir_fd);
	test_faults(dir_fd);
	static const char *const made[] = { "passwd", "group", "hosts", "resolv.conf" };
	for (size_t i = 0; i < countof(made); i++)
		unlinkat(dir_fd, made[i], 0);
	rmdir(dir);
	return tap_done();
}
