#include "sandbox/isolation.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "sandbox/base/text.h"
#include "sandbox/landlock.h"
#include "sandbox/userns.h"

#define PROBE ".fumehood-probe"

const char *const isolation_names[ISOLATION_N] = {
	[ISOLATION_USER] = "user",
	[ISOLATION_MOUNT] = "mount",
	[ISOLATION_PID] = "pid",
	[ISOLATION_NET] = "net",
	[ISOLATION_IPC] = "ipc",
	[ISOLATION_UTS] = "uts",
	[ISOLATION_CGROUP] = "cgroup",
	[ISOLATION_TIME] = "time",
	[ISOLATION_ROOT] = "root",
	[ISOLATION_SCRATCH] = "scratch",
	[ISOLATION_OVERLAY] = "overlay",
	[ISOLATION_PROC] = "proc",
	[ISOLATION_DEV] = "dev",
	[ISOLATION_CAPS] = "caps",
	[ISOLATION_NO_NEW_PRIVS] = "no_new_privs",
	[ISOLATION_SECCOMP] = "seccomp",
	[ISOLATION_LIMITS] = "limits",
};

static void set(struct isolation *i, enum isolation_property p, enum isolation_state state)
{
	i->state[p] = state;
	i->why[p][0] = '\0';
}

static void verified(struct isolation *i, enum isolation_property p)
{
	set(i, p, ISOLATION_VERIFIED);
}

static __attribute__((format(printf, 3, 4))) void
reduced(struct isolation *i, enum isolation_property p, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	vsnprintf(i->why[p], sizeof(i->why[p]), fmt, args);
	va_end(args);
	i->state[p] = ISOLATION_REDUCED;
}

static void look_root(struct isolation *ret)
{
	if (mkdir("/" PROBE, 0700) == 0) {
		rmdir("/" PROBE);
		reduced(ret, ISOLATION_ROOT, "a folder could be made in /");
	} else if (errno != EROFS) {
		reduced(ret, ISOLATION_ROOT, "mkdir in /: %s", strerrordesc_np(errno));
	} else {
		verified(ret, ISOLATION_ROOT);
	}
}

/* Make a file where the suite sees the place; it must show on the scratch, and go. */
static bool try_file(const struct isolation_scene *s, const struct layout_place *place,
		     struct isolation *ret, enum isolation_property p)
{
	char kept[LAYOUT_DIR_LEN + sizeof(PROBE)];
	snprintf(kept, sizeof(kept), "%s/" PROBE, place->dir);
	/* From within: its path may be the longest there can be. */
	if (chdir(place->path) < 0 || mknod(PROBE, S_IFREG | 0600, 0) < 0) {
		/* Where the caller may not write, nothing can leave the cell either. */
		if (place->overlay && (errno == EACCES || errno == EPERM || errno == EEXIST))
			return true;
		reduced(ret, p, "%.40s: %s", place->path, strerrordesc_np(errno));
		return false;
	}
	bool there = faccessat(s->scratch, kept, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	unlink(PROBE);
	if (!there)
		reduced(ret, p, "%.40s: a new file is not on the scratch", place->path);
	return there;
}

/* It must be the folder of the scratch itself; one such folder is like the other. */
static bool look_private(const struct isolation_scene *s, const struct layout_place *place,
			 struct isolation *ret)
{
	struct stat seen;
	struct stat kept;
	if (stat(place->path, &seen) < 0 || fstatat(s->scratch, place->dir, &kept, 0) < 0) {
		reduced(ret, ISOLATION_SCRATCH, "%.40s: %s", place->path, strerrordesc_np(errno));
		return false;
	}
	if (seen.st_dev != kept.st_dev || seen.st_ino != kept.st_ino) {
		reduced(ret, ISOLATION_SCRATCH, "%.40s is not on the scratch", place->path);
		return false;
	}
	return strcmp(place->dir, "tmp") != 0 || try_file(s, place, ret, ISOLATION_SCRATCH);
}

/* Of the overlays the project's are tried; root's others are made in the same way. */
static void look_places(const struct isolation_scene *s, bool project, struct isolation *ret)
{
	enum isolation_property p = project ? ISOLATION_OVERLAY : ISOLATION_SCRATCH;
	bool any = false;
	for (size_t i = 0; i < s->layout->len; i++) {
		const struct layout_place *place = &s->layout->places[i];
		if (place->project != project || (!project && place->overlay))
			continue;
		any = true;
		if (!(s->places_made >> i & 1)) {
			reduced(ret, p, "%.40s was not made", place->path);
			return;
		}
		if (project ? !try_file(s, place, ret, p) : !look_private(s, place, ret))
			return;
	}
	if (any)
		verified(ret, p);
}

static void look_proc(struct isolation *ret)
{
	static const char *const dangerous[] = { "/proc/sysrq-trigger",
						 "/proc/sys/kernel/core_pattern" };
	char self[32];
	ssize_t len = readlink("/proc/self", self, sizeof(self) - 1);
	self[len > 0 ? len : 0] = '\0';
	if (strtol(self, NULL, 10) != getpid()) {
		reduced(ret, ISOLATION_PROC, "/proc is not of this pid namespace");
		return;
	}
	for (size_t i = 0; i < countof(dangerous); i++)
		if (access(dangerous[i], W_OK) == 0) {
			reduced(ret, ISOLATION_PROC, "%s can be written", dangerous[i]);
			return;
		}
	verified(ret, ISOLATION_PROC);
}

static void look_dev(struct isolation *ret)
{
	cleanup_close int fd = open("/dev/null", O_WRONLY | O_CLOEXEC | O_NOCTTY);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0 || write(fd, "", 1) != 1)
		reduced(ret, ISOLATION_DEV, "/dev/null: %s", strerrordesc_np(errno));
	else if (!S_ISCHR(st.st_mode) || st.st_rdev != makedev(1, 3))
		reduced(ret, ISOLATION_DEV, "/dev/null is something else");
	else
		verified(ret, ISOLATION_DEV);
}

/* The value of a line of /proc/self/status. */
static uint64_t status_value(const char *status, const char *key, int base)
{
	const char *at = strstr(status, key);
	return at ? strtoull(at + strlen(key), NULL, base) : UINT64_MAX;
}

static void look_caps(const struct isolation_scene *s, const char *status, struct isolation *ret)
{
	static const char *const sets[] = { "\nCapInh:", "\nCapPrm:", "\nCapEff:", "\nCapBnd:",
					    "\nCapAmb:" };
	for (size_t i = 0; i < countof(sets); i++) {
		/* Who has no namespace may have to keep the bounding set: no_new_privs is what counts. */
		if (s->spec->isolation != CELL_ISOLATION_FULL && text_eq(sets[i], "\nCapBnd:"))
			continue;
		uint64_t held = status_value(status, sets[i], 16);
		if (held & ~s->caps) {
			reduced(ret, ISOLATION_CAPS, "%s %016jx", sets[i] + 1, (uintmax_t)held);
			return;
		}
	}
	if (s->spec->caps == CELL_CAPS_SETID)
		set(ret, ISOLATION_CAPS, ISOLATION_OFF_ASKED);
	else
		verified(ret, ISOLATION_CAPS);
}

static void look_seccomp(const struct isolation_scene *s, const char *status, struct isolation *ret)
{
	if (s->unfiltered || status_value(status, "\nSeccomp:", 10) != 2)
		reduced(ret, ISOLATION_SECCOMP, "no filter is on");
	else if (!s->spec->allow_nested && (unshare(CLONE_NEWUSER) == 0 || errno != EPERM))
		reduced(ret, ISOLATION_SECCOMP, "a namespace could be made");
	else
		verified(ret, ISOLATION_SECCOMP);
}

static void look_privileges(const struct isolation_scene *s, struct isolation *ret)
{
	cleanup_free char *status = NULL;
	if (fd_load(s->proc, "self/status", 1 << 16, &status, NULL, NULL) < 0) {
		reduced(ret, ISOLATION_CAPS, "/proc/self/status cannot be read");
		reduced(ret, ISOLATION_NO_NEW_PRIVS, "/proc/self/status cannot be read");
		reduced(ret, ISOLATION_SECCOMP, "/proc/self/status cannot be read");
		return;
	}
	look_caps(s, status, ret);
	look_seccomp(s, status, ret);
	if (status_value(status, "\nNoNewPrivs:", 10) == 1)
		verified(ret, ISOLATION_NO_NEW_PRIVS);
	else
		reduced(ret, ISOLATION_NO_NEW_PRIVS, "it is not set");
}

static void look_limits(const struct isolation_scene *s, struct isolation *ret)
{
	struct rlimit core;
	if (getrlimit(RLIMIT_CORE, &core) < 0 || core.rlim_max > 1)
		reduced(ret, ISOLATION_LIMITS, "a crash may leave a core file");
	else if (!s->limited)
		reduced(ret, ISOLATION_LIMITS, "this kernel has no kernel.pid_max for a cell alone");
	else
		verified(ret, ISOLATION_LIMITS);
}

void isolation_observe_self(const struct isolation_scene *scene, struct isolation *ret)
{
	for (size_t i = 0; i < ISOLATION_N; i++)
		reduced(ret, (enum isolation_property)i, "nobody looked");
	look_privileges(scene, ret);
	look_limits(scene, ret);
}

void isolation_observe_tree(const struct isolation_scene *scene, struct isolation *ret)
{
	look_root(ret);
	look_places(scene, false, ret);
	look_places(scene, true, ret);
	look_proc(ret);
	look_dev(ret);
}

/* ---- without namespaces ---- */

/* A folder can be made there. */
static bool can_write(const char *folder)
{
	char path[PATH_MAX];
	if (snprintf(path, sizeof(path), "%s/" PROBE, folder) >= PATH_MAX || mkdir(path, 0700) < 0)
		return false;
	rmdir(path);
	return true;
}

static void look_bare_root(const struct isolation_scene *s, struct isolation *ret)
{
	const char *const folders[] = { "/", "/tmp", "/dev/shm", s->spec->project, s->spec->home };
	for (size_t i = 0; i < countof(folders); i++)
		if (folders[i] && can_write(folders[i])) {
			reduced(ret, ISOLATION_ROOT, "a folder could be made in %.40s", folders[i]);
			return;
		}
	if (landlock_abi() < 3)
		reduced(ret, ISOLATION_ROOT,
			"your files can be cut (Landlock below 3), their modes, owners and times changed");
	else
		reduced(ret, ISOLATION_ROOT,
			"nothing can be written; modes, owners and times of your files can");
}

static void look_bare_places(const struct isolation_scene *s, struct isolation *ret)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/tmp", s->spec->top);
	if (!can_write(path))
		reduced(ret, ISOLATION_SCRATCH, "TMPDIR cannot be written: %s",
			strerrordesc_np(errno));
	else
		reduced(ret, ISOLATION_SCRATCH,
			"TMPDIR, HOME and cache are private; /tmp, /var/tmp and /dev/shm are refused");
	snprintf(path, sizeof(path), "%s/project", s->spec->top);
	if (!can_write(path))
		reduced(ret, ISOLATION_OVERLAY, "the copy of the project cannot be written");
	else
		reduced(ret, ISOLATION_OVERLAY, "a copy in another place stands for the project");
}

static void look_bare_processes(struct isolation *ret)
{
	reduced(ret, ISOLATION_PROC, "it is the host's: all processes are listed");
	if (kill(getppid(), 0) == 0)
		reduced(ret, ISOLATION_PID, "your other processes can be seen, and be signalled");
	else
		reduced(ret, ISOLATION_PID,
			"other processes can be seen, but not signalled or traced");
}

static void look_bare_net(const struct isolation_scene *s, struct isolation *ret)
{
	const struct sockaddr_in local = { .sin_family = AF_INET,
					   .sin_port = htons(1),
					   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	cleanup_close int four = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cleanup_close int six = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (s->spec->network == CELL_NETWORK_HOST)
		set(ret, ISOLATION_NET, ISOLATION_OFF_ASKED);
	else if (four >= 0 && connect(four, (const struct sockaddr *)&local, sizeof(local)) < 0 &&
		 errno == EACCES)
		reduced(ret, ISOLATION_NET, "it is the host's; TCP alone is refused");
	else if (four >= 0 || six >= 0)
		reduced(ret, ISOLATION_NET, "it is the host's");
	else
		reduced(ret, ISOLATION_NET,
			"no internet sockets, loopback neither; the host's unix sockets can be reached");
}

static void look_bare_dev(struct isolation *ret)
{
	look_dev(ret);
	if (ret->state[ISOLATION_DEV] == ISOLATION_VERIFIED)
		reduced(ret, ISOLATION_DEV,
			"the host's nodes; null, zero, full, random and your other terminals are open");
}

static void look_bare_limits(const struct isolation_scene *s, struct isolation *ret)
{
	struct rlimit processes;
	if (ret->state[ISOLATION_LIMITS] != ISOLATION_VERIFIED)
		return;
	bool bounded = s->spec->uid != 0 && getrlimit(RLIMIT_NPROC, &processes) == 0 &&
		       processes.rlim_max != RLIM_INFINITY;
	reduced(ret, ISOLATION_LIMITS,
		bounded ? "nothing bounds what is written"
			: "nothing bounds processes, or what is written");
}

void isolation_observe_bare(const struct isolation_scene *scene, struct isolation *ret)
{
	look_bare_root(scene, ret);
	look_bare_places(scene, ret);
	look_bare_processes(ret);
	look_bare_net(scene, ret);
	look_bare_dev(ret);
	look_bare_limits(scene, ret);
}

/* Without namespaces more can be said of these than that they are the host's. */
static bool is_told(enum isolation_property p)
{
	return p == ISOLATION_PID || p == ISOLATION_NET;
}

void isolation_compare(const struct cell_spec *spec, const uint64_t *inside,
		       const uint64_t *outside, struct isolation *isolation)
{
	uint64_t flags = namespaces_flags(spec);
	for (size_t i = 0; i < NAMESPACES_N; i++) {
		enum isolation_property p = namespaces[i].property;
		if (!(flags & namespaces[i].flag))
			set(isolation, p, ISOLATION_OFF_ASKED);
		else if (isolation->state[p] == ISOLATION_REDUCED && spec->isolation && is_told(p))
			continue; /* by who looked from inside */
		else if (!inside[i] || inside[i] == outside[i])
			reduced(isolation, p, "the namespace is the host's");
		else
			verified(isolation, p);
	}
}
