#include "sandbox/landlock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/dir.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"
#include "sandbox/cell_spec.h"
#include "sandbox/layout.h"

/* Debian 12 has headers of Linux 6.1, which is Landlock 2. The struct is that of Landlock 6; an older
 * kernel takes it while what it does not know is 0. */
struct ruleset_attr {
	uint64_t handled_access_fs;
	uint64_t handled_access_net;
	uint64_t scoped;
};
struct port_rule {
	uint64_t allowed_access;
	uint64_t port;
};
#define RULE_PORT       2
#define FS_TRUNCATE     (UINT64_C(1) << 14)
#define FS_IOCTL_DEV    (UINT64_C(1) << 15)
#define NET_BIND_TCP    (UINT64_C(1) << 0)
#define NET_CONNECT_TCP (UINT64_C(1) << 1)
#define SCOPE_ABSTRACT  (UINT64_C(1) << 0)
#define SCOPE_SIGNAL    (UINT64_C(1) << 1)
#define FS_OF_1         ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)
#define FS_READ \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define FS_OF_FILES                                                   \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | \
	 LANDLOCK_ACCESS_FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV)

/* What a cell has for itself, and would not be shown of the host. */
static const char *const not_shown[] = { "/tmp", "/var/tmp", "/run", "/dev" };
static const char *const nodes[] = { "null",    "zero", "full", "random",
				     "urandom", "tty",  "ptmx", "pts" };
static const char *const own[] = { "tmp",      "var-tmp",          "home", "project", "run/lock",
				   "run/user", "run/fumehood/drop" };

struct rules {
	const struct cell_spec *spec;
	int ruleset;
	uint64_t handled;
	char *not_shown[countof(not_shown)]; /* by their real paths; NULL: it is not there */
};

static void rules_done(struct rules *r)
{
	for (size_t i = 0; i < countof(r->not_shown); i++)
		free(r->not_shown[i]);
	fd_close_at(&r->ruleset);
}

int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	return abi < 0 ? 0 : (int)abi;
}

static uint64_t handled_of(int abi)
{
	uint64_t handled = FS_OF_1;
	if (abi >= 2)
		handled |= LANDLOCK_ACCESS_FS_REFER;
	if (abi >= 3)
		handled |= FS_TRUNCATE;
	if (abi >= 5)
		handled |= FS_IOCTL_DEV;
	return handled;
}

/* A name that is not there needs no rule; nor a link: to follow one is no access, and what it leads to is
 * shown for itself or not at all. */
static int allow(const struct rules *r, const char *path, uint64_t access, struct err *e)
{
	struct stat st;
	cleanup_close int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM
			       ? err_sys(e, "open %s", path)
			       : 0;
	if (fstat(fd, &st) < 0)
		return err_sys(e, "look at %s", path);
	if (S_ISLNK(st.st_mode))
		return 0;
	struct landlock_path_beneath_attr rule = {
		.allowed_access =
			access & r->handled & (S_ISDIR(st.st_mode) ? ~UINT64_C(0) : FS_OF_FILES),
		.parent_fd = fd,
	};
	if (syscall(SYS_landlock_add_rule, r->ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
		return err_sys(e, "allow %s", path);
	return 0;
}

/* ---- reading ---- */

static bool is_socket(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* Of a path to what is hidden: it lies elsewhere; in the path; the path is it, or lies in it. */
enum relation { APART, ABOVE, AT };

static enum relation relate(const char *path, const char *hidden)
{
	if (path_below(path, hidden))
		return AT;
	return path_below(hidden, path) ? ABOVE : APART;
}

static enum relation nearer(enum relation a, enum relation b)
{
	return a > b ? a : b;
}

/* whole: of the host's tree; else of something that is shown, in which only secrets are hidden. */
static enum relation relate_all(const struct rules *r, const char *path, bool whole)
{
	const struct cell_spec *spec = r->spec;
	enum relation found = APART;
	for (size_t i = 0; i < spec->hidden_len; i++)
		if (!is_socket(spec->hidden[i])) /* to connect to one is no access for Landlock */
			found = nearer(found, relate(path, spec->hidden[i]));
	if (!whole)
		return found;
	for (size_t i = 0; i < countof(r->not_shown); i++)
		if (r->not_shown[i])
			found = nearer(found, relate(path, r->not_shown[i]));
	for (size_t i = 0; i < spec->homes_len; i++)
		found = nearer(found, relate(path, spec->homes[i]));
	return spec->home ? nearer(found, relate(path, spec->home)) : found;
}

static int allow_reading(const struct rules *r, const char *path, bool whole, struct err *e);

/* Each name in it for itself: rules add up, and take nothing away. Its list is not to be had then. */
static int allow_parts(const struct rules *r, const char *path, bool whole, struct err *e)
{
	cleanup_dir DIR *dir = dir_open(AT_FDCWD, path);
	const struct dirent *entry;
	while (dir && (entry = dir_next(dir))) {
		char name[PATH_MAX];
		if (entry->d_type == DT_LNK ||
		    snprintf(name, sizeof(name), "%s/%s", text_eq(path, "/") ? "" : path,
			     entry->d_name) >= PATH_MAX)
			continue;
		int done = allow_reading(r, name, whole, e);
		if (done < 0)
			return done;
	}
	return 0;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as a path is
static int allow_reading(const struct rules *r, const char *path, bool whole, struct err *e)
{
	switch (relate_all(r, path, whole)) {
	case AT:
		return 0;
	case ABOVE:
		return allow_parts(r, path, whole, e);
	case APART:
		break;
	}
	return allow(r, path, FS_READ, e);
}

static int allow_host(const struct rules *r, struct err *e)
{
	const struct cell_spec *spec = r->spec;
	int done = allow_reading(r, "/", true, e);
	for (size_t i = 0; i < spec->binds_len && !done; i++)
		done = allow_reading(r, spec->binds[i].source, false, e);
	if (!done)
		done = allow_reading(r, spec->project, false, e);
	if (!done && spec->git_dir)
		done = allow_reading(r, spec->git_dir, false, e);
	for (size_t i = 0; i < countof(nodes) && !done; i++) {
		char path[32];
		snprintf(path, sizeof(path), "/dev/%s", nodes[i]);
		done = allow(r, path,
			     FS_READ | LANDLOCK_ACCESS_FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV, e);
	}
	return done;
}

static int allow_own(const struct rules *r, struct err *e)
{
	int done = allow(r, r->spec->top, FS_READ, e);
	for (size_t i = 0; i < countof(own) && !done; i++) {
		char path[PATH_MAX];
		snprintf(path, sizeof(path), "%s/%s", r->spec->top, own[i]);
		done = allow(r, path, r->handled, e);
	}
	return done;
}

/* All that a kernel's Landlock can take away. */
static struct ruleset_attr all_of(int abi)
{
	return (struct ruleset_attr){
		.handled_access_fs = handled_of(abi),
		.handled_access_net = abi >= 4 ? NET_BIND_TCP | NET_CONNECT_TCP : 0,
		.scoped = abi >= 6 ? SCOPE_ABSTRACT | SCOPE_SIGNAL : 0,
	};
}

void landlock_to_ports(const uint16_t *ports, size_t n)
{
	int abi = landlock_abi();
	const struct ruleset_attr attr = all_of(abi);
	cleanup_close int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	for (size_t i = 0; abi >= 4 && i < n; i++) {
		const struct port_rule rule = { NET_CONNECT_TCP, ports[i] };
		syscall(SYS_landlock_add_rule, ruleset, RULE_PORT, &rule, 0);
	}
	syscall(SYS_landlock_restrict_self, ruleset, 0);
}

int landlock_restrict(const struct cell_spec *spec, struct err *e)
{
	struct ruleset_attr attr = all_of(landlock_abi());
	if (spec->network == CELL_NETWORK_HOST)
		attr.handled_access_net = 0;
	cleanup(rules_done) struct rules rules = {
		.spec = spec,
		.handled = attr.handled_access_fs,
		.ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0),
	};
	if (rules.ruleset < 0)
		return err_sys(e, "make Landlock rules");
	for (size_t i = 0; i < countof(not_shown); i++)
		rules.not_shown[i] = realpath(not_shown[i], NULL);
	int r = allow_own(&rules, e);
	if (!r)
		r = allow_host(&rules, e);
	if (!r && syscall(SYS_landlock_restrict_self, rules.ruleset, 0) < 0)
		r = err_sys(e, "apply Landlock rules");
	return r;
}

/* ---- a cell with namespaces ---- */

static void allow_at(int ruleset, int fd, uint64_t access)
{
	struct landlock_path_beneath_attr rule = { .allowed_access = access, .parent_fd = fd };
	syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

static void allow_below(int ruleset, const char *path, uint64_t access)
{
	cleanup_close int fd = open(path, O_PATH | O_CLOEXEC);
	if (fd >= 0)
		allow_at(ruleset, fd, access);
}

void landlock_hold_writes(const struct layout *layout, uint64_t made)
{
	/* To move between folders is refused by every set of rules that does not allow it. */
	const uint64_t both = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REFER;
	const struct ruleset_attr attr = { .handled_access_fs = both };
	if (landlock_abi() < 2)
		return;
	cleanup_close int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (ruleset < 0)
		return;
	for (size_t i = 0; i < layout->len; i++)
		if (made >> i & 1)
			allow_below(ruleset, layout->places[i].path, both);
	/* The queues' own: mq_open() goes by a mount of the kernel's, which lies below no /dev. */
	static const char *const others[] = { "/dev", "/dev/mqueue", "/proc" };
	for (size_t i = 0; i < countof(others); i++)
		allow_below(ruleset, others[i], LANDLOCK_ACCESS_FS_WRITE_FILE);
	for (int fd = 0; fd < 3; fd++) /* what the caller gave, by /dev/stdout too */
		allow_at(ruleset, fd, LANDLOCK_ACCESS_FS_WRITE_FILE);
	syscall(SYS_landlock_restrict_self, ruleset, 0);
}

/* ---- what Landlock does not know ---- */

#define IOPRIO_WHO_USER 3 /* no header has it */

/* By these a process could be hindered that is not ours; 0, the caller itself, stays allowed, but for
 * all processes of the caller's user. */
static const struct {
	long call;
	unsigned int arg; /* which holds the number of a process */
	uint32_t user;    /* of the first, from here on: it is that of a user; 0: it never is */
} on_others[] = {
	{ SYS_prlimit64, 0, 0 },
	{ SYS_sched_setaffinity, 0, 0 },
	{ SYS_sched_setscheduler, 0, 0 },
	{ SYS_sched_setparam, 0, 0 },
	{ SYS_sched_setattr, 0, 0 },
	{ SYS_setpriority, 1, PRIO_USER },
	{ SYS_ioprio_set, 1, IOPRIO_WHO_USER },
};

#define LOAD_ARG(n) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, args[n]))
#define IS(value, then, otherwise) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), then, otherwise)
#define ANSWER(answer) BPF_STMT(BPF_RET | BPF_K, answer)

struct program {
	struct sock_filter rows[64];
	unsigned short len;
};

static void add(struct program *p, const struct sock_filter *rows, size_t n)
{
	assert(p->len + n <= countof(p->rows));
	memcpy(&p->rows[p->len], rows, n * sizeof(*rows));
	p->len = (unsigned short)(p->len + n);
}

static void add_others(struct program *p)
{
	for (size_t i = 0; i < countof(on_others); i++) {
		const uint32_t user = on_others[i].user ? on_others[i].user : UINT32_MAX;
		const struct sock_filter rows[] = {
			IS(on_others[i].call, 0, 6),
			LOAD_ARG(on_others[i].arg),
			IS(0, 0, 3),
			LOAD_ARG(0),
			BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, user, 1, 0),
			ANSWER(SECCOMP_RET_ALLOW),
			ANSWER(SECCOMP_RET_ERRNO | EPERM),
		};
		add(p, rows, countof(rows));
	}
}

static void add_network(struct program *p)
{
	static const struct sock_filter rows[] = {
		IS(SYS_socket, 0, 4),
		LOAD_ARG(0),
		IS(AF_UNIX, 2, 0),
		IS(AF_NETLINK, 1, 0),
		ANSWER(SECCOMP_RET_ERRNO | EACCES),
	};
	add(p, rows, countof(rows));
}

int landlock_filter(const struct cell_spec *spec, struct err *e)
{
	/* Calls of other architectures are killed by the cell's filter. */
	static const struct sock_filter number =
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	static const struct sock_filter allow_rest = ANSWER(SECCOMP_RET_ALLOW);
	struct program p = { .len = 0 };
	add(&p, &number, 1);
	add_others(&p);
	if (spec->network == CELL_NETWORK_NONE)
		add_network(&p);
	add(&p, &allow_rest, 1);
	const struct sock_fprog program = { p.len, p.rows };
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return err_sys(e, "install a filter beside Landlock");
	return 0;
}
