#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/closed.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/tap.h"

/* A small host, with folders before what is in them. A name that ends in '/' is a folder, others hold
 * a word. */
static const struct {
	const char *name;
	mode_t mode;
	bool closed; /* to be found */
} host[] = {
	{ "etc/", 0755 },
	{ "etc/passwd", 0644 },
	{ "etc/shadow", 0640, true },
	{ "etc/ssl/", 0755 },
	{ "etc/ssl/private/", 0710, true },
	{ "etc/ssl/private/key", 0644 },
	{ "etc/vpn/", 0755 },
	{ "etc/vpn/a/", 0755 },
	{ "etc/vpn/a/b/", 0755 },
	{ "etc/vpn/a/b/key", 0600, true },
	{ "var/", 0755 },
	{ "var/lib/", 0755 },
	{ "var/lib/private/", 0700, true },
	{ "var/lib/app/", 0755 },
	{ "var/lib/app/secret", 0600, true },
	{ "var/lib/app/data/", 0755 },
	{ "var/lib/app/data/deep", 0600 },
	{ "var/tmp/", 01777 },
	{ "var/tmp/mine", 0600 },
	{ "sys/", 0555 },
	{ "sys/kernel/", 0755 },
	{ "sys/kernel/tracing/", 0700, true },
	{ "sys/kernel/tracing/trace", 0640 },
	{ "sys/power/", 0755 },
	{ "sys/power/state", 0600 },
	{ "usr/", 0755 },
	{ "usr/rules/", 0700 },
	{ "data/", 0755 },
	{ "data/backup", 0600, true },
	{ "data/open", 0644 },
	{ "data/sub/", 0755 },
	{ "data/sub/file", 0600 },
	{ "lost+found/", 0700, true },
	/* Closed, and the project lies in it: what stands beside the project is closed for that. */
	{ "vault/", 0700 },
	{ "vault/project/", 0755 },
	{ "vault/project/key", 0600 },
	{ "vault/beside", 0644, true },
	{ "vault/more/", 0755, true },
};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

static void put(int root, const char *name, mode_t mode)
{
	size_t len = strlen(name);
	char folder[64];
	if (name[len - 1] == '/') {
		snprintf(folder, sizeof(folder), "%.*s", (int)len - 1, name);
		if (mkdirat(root, folder, 0700) < 0 || fchmodat(root, folder, mode, 0) < 0)
			abort();
		return;
	}
	cleanup_close int fd = openat(root, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, "word", 4) != 4 || fchmod(fd, mode) < 0)
		abort();
}

static bool found_is_right(const struct strv *found)
{
	size_t n = 0;
	for (size_t i = 0; i < countof(host); i++) {
		char path[64];
		snprintf(path, sizeof(path), "/%s", host[i].name);
		size_t len = strlen(path);
		if (path[len - 1] == '/')
			path[len - 1] = '\0';
		if (strv_has(found, path) != host[i].closed) {
			printf("# %s: %s\n", path, host[i].closed ? "not found" : "found");
			return false;
		}
		n += host[i].closed;
	}
	return found->len == n;
}

static void test_found(const struct closed_ask *ask)
{
	cleanup(strv_done) struct strv found = STRV_NULL;
	struct err e = ERR_NULL;
	int r = closed_find(ask, &found, &e);
	tap_ok(r == 0 && found_is_right(&found), "what others may not read is found %s", e.text);
}

static void test_owner(const struct closed_ask *ask)
{
	if (geteuid() == 0 && (fchownat(ask->root, "etc/shadow", 1, 1, 0) < 0 ||
			       fchownat(ask->root, "data/backup", 2, 2, 0) < 0))
		abort();
	struct closed_ask other = *ask;
	other.uid = other.gid = 2;
	cleanup(strv_done) struct strv found = STRV_NULL;
	int r = closed_find(&other, &found, NULL);
	if (geteuid() != 0) {
		tap_ok(r == 0 && found.len == 0, "what is another's the kernel refuses");
		return;
	}
	tap_ok(r == 0 && !strv_has(&found, "/etc/shadow"), "what is another's the kernel refuses");
	tap_ok(strv_has(&found, "/data/backup"), "... but not of him whose project it is");
}

static void test_lock(int root)
{
	put(root, "data/lock", 0600);
	cleanup_close int fd = openat(root, "data/lock", O_WRONLY | O_TRUNC | O_CLOEXEC);
	const struct strv none = STRV_NULL;
	const struct closed_ask ask = { root, geteuid(), getegid(), &none };
	cleanup(strv_done) struct strv found = STRV_NULL;
	int r = closed_find(&ask, &found, NULL);
	tap_ok(r == 0 && !strv_has(&found, "/data/lock"), "nothing can be read in an empty file");
	tap_ok(strv_has(&found, "/vault"), "a closed folder is found whole");
}

static void test_faults(const struct closed_ask *ask)
{
	for (int n = 1; fault_walk_on(n); n++) {
		cleanup(strv_done) struct strv found = STRV_NULL;
		struct err e = ERR_NULL;
		int r = closed_find(ask, &found, &e);
		bool hit = fault_walk_hit();
		tap_ok(r == 0 ? hit || found_is_right(&found) : hit && e.code == -r && !found.at,
		       "call %d fails: %s", n, e.text);
	}
}

int main(void)
{
	char top[] = "/tmp/fumehood-closed.XXXXXX";
	if (!mkdtemp(top))
		abort();
	cleanup_close int root = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < countof(host); i++)
		put(root, host[i].name, host[i].mode);
	cleanup(strv_done) struct strv known = STRV_NULL;
	if (strv_add(&known, "/vault/project"))
		abort();
	const struct closed_ask ask = { root, geteuid(), getegid(), &known };
	test_found(&ask);
	test_faults(&ask);
	test_owner(&ask);
	test_lock(root);
	nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return tap_done();
}
