#include "sandbox/userns.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sandbox/base/barrier.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "sandbox/caps.h"
#include "sandbox/cell_spec.h"

#define MAP_LEN_MAX 65536 /* 340 lines are the kernel's bound */
/* Ids that nobody gives away: above those of systemd's containers, below where programs take a number
 * for negative. Inside they are 1 to 65534. */
#define APART_FIRST 0x70000000U
#define APART_LEN   65534U

const struct namespace namespaces[NAMESPACES_N] = {
	{ CLONE_NEWUSER, "user", ISOLATION_USER },       { CLONE_NEWNS, "mnt", ISOLATION_MOUNT },
	{ CLONE_NEWPID, "pid", ISOLATION_PID },          { CLONE_NEWNET, "net", ISOLATION_NET },
	{ CLONE_NEWIPC, "ipc", ISOLATION_IPC },          { CLONE_NEWUTS, "uts", ISOLATION_UTS },
	{ CLONE_NEWCGROUP, "cgroup", ISOLATION_CGROUP }, { CLONE_NEWTIME, "time", ISOLATION_TIME },
};

uint64_t namespaces_flags(const struct cell_spec *spec)
{
	uint64_t flags = 0;
	for (size_t i = 0; i < countof(namespaces); i++)
		if (barrier(namespaces[i].name))
			flags |= namespaces[i].flag;
	if (spec->network == CELL_NETWORK_HOST)
		flags &= ~(uint64_t)CLONE_NEWNET;
	return flags;
}

void namespaces_look(int proc, uint64_t ret[NAMESPACES_N])
{
	for (size_t i = 0; i < countof(namespaces); i++) {
		char path[32];
		struct stat st;
		snprintf(path, sizeof(path), "self/ns/%s", namespaces[i].name);
		ret[i] = fstatat(proc, path, &st, 0) < 0 ? 0 : st.st_ino;
	}
}

static int write_file(pid_t pid, const char *name, const char *text, struct err *e)
{
	assert(text);
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	cleanup_close int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "open %s", path);
	if (fd_write_full(fd, text, strlen(text)) < 0)
		return err_sys(e, "write %s", path);
	return 0;
}

int userns_identity(const char *map, struct buf *ret, struct err *e)
{
	for (const char *line = map; *line;) {
		unsigned int first;
		unsigned int count;
		// NOLINTNEXTLINE(cert-err34-c): the kernel's numbers fit
		if (sscanf(line, "%u %*u %u", &first, &count) != 2)
			return err_set(e, EPROTO, "an id map has a line that is none");
		if (buf_printf(ret, "%u %u %u\n", first, first, count) < 0)
			return err_set(e, ENOMEM, "out of memory");
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	return 0;
}

bool userns_gives(const char *map, unsigned int first, unsigned int count)
{
	for (const char *line = map; *line; line += *line == '\n') {
		unsigned int from;
		unsigned int len;
		// NOLINTNEXTLINE(cert-err34-c): the kernel's numbers fit
		if (sscanf(line, "%u %*u %u", &from, &len) == 2 && first >= from &&
		    first - from < len && len - (first - from) >= count)
			return true;
		line += strcspn(line, "\n");
	}
	return false;
}

/* Every id that the caller itself can name: all of them, or those of the container around us. */
static int map_all(pid_t pid, const char *name, struct err *e)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/%s", name);
	cleanup_free char *own = NULL;
	cleanup(buf_done) struct buf identity = BUF_NULL;
	int r = fd_load(AT_FDCWD, path, MAP_LEN_MAX, &own, NULL, e);
	if (!r)
		r = userns_identity(own, &identity, e);
	if (r < 0)
		return r;
	if (!identity.at)
		return err_set(e, EPROTO, "%s is empty", path);
	return write_file(pid, name, identity.at, e);
}

static int map_one(pid_t pid, const char *name, unsigned int id, struct err *e)
{
	char text[64];
	snprintf(text, sizeof(text), "%u %u 1\n", id, id);
	return write_file(pid, name, text, e);
}

/* Root is itself, and so is `own`; every other id is one that owns nothing outside, as far as there
 * are such. Who becomes user 1000 inside finds no door open that stands open for user 1000 outside, and
 * capabilities count for no file of the others. */
int userns_apart(const char *map, unsigned int own, struct buf *ret, struct err *e)
{
	int r = buf_printf(ret, "0 0 1\n");
	unsigned int below = own && own <= APART_LEN ? own - 1 : APART_LEN;
	unsigned int above = APART_LEN - below - (own && own <= APART_LEN);
	if (own && !r)
		r = buf_printf(ret, "%u %u 1\n", own, own);
	if (userns_gives(map, APART_FIRST, APART_LEN)) {
		if (below && !r)
			r = buf_printf(ret, "1 %u %u\n", APART_FIRST, below);
		if (above && !r)
			r = buf_printf(ret, "%u %u %u\n", own + 1, APART_FIRST + own, above);
	}
	return r < 0 ? err_set(e, ENOMEM, "out of memory") : 0;
}

static int map_apart(pid_t pid, const char *name, unsigned int own, struct err *e)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/%s", name);
	cleanup_free char *around = NULL;
	cleanup(buf_done) struct buf map = BUF_NULL;
	int r = fd_load(AT_FDCWD, path, MAP_LEN_MAX, &around, NULL, e);
	if (!r)
		r = userns_apart(around, own, &map, e);
	return r < 0 ? r : write_file(pid, name, map.at, e);
}

/* Who asked to become others needs them. */
static int check_spare(const char *path, struct err *e)
{
	cleanup_free char *around = NULL;
	int r = fd_load(AT_FDCWD, path, MAP_LEN_MAX, &around, NULL, e);
	if (r < 0 || userns_gives(around, APART_FIRST, APART_LEN))
		return r;
	err_set(e, ENOSPC, "--caps setid: there are no ids to spare here");
	return err_hint(e, "the container around us would have to map %u ids from %u on", APART_LEN,
			APART_FIRST);
}

static int map_for_root(pid_t pid, const struct cell_spec *spec, const struct caps *caps,
			struct err *e)
{
	if (!caps->held || !barrier("apart")) {
		int r = map_all(pid, "gid_map", e);
		return r < 0 ? r : map_all(pid, "uid_map", e);
	}
	int r = 0;
	if (spec->caps == CELL_CAPS_SETID)
		r = check_spare("/proc/self/uid_map", e);
	if (!r)
		r = map_apart(pid, "gid_map", caps->gid, e);
	return r < 0 ? r : map_apart(pid, "uid_map", caps->uid, e);
}

int userns_map(pid_t pid, const struct cell_spec *spec, const struct caps *caps, struct err *e)
{
	if (spec->uid == 0) {
		int r = map_for_root(pid, spec, caps, e);
		/* Root without CAP_SETGID is a user like others. */
		if (r != -EPERM || spec->caps == CELL_CAPS_SETID)
			return r;
	}
	int r = write_file(pid, "setgroups", "deny", e);
	if (!r)
		r = map_one(pid, "gid_map", spec->gid, e);
	return r < 0 ? r : map_one(pid, "uid_map", spec->uid, e);
}
