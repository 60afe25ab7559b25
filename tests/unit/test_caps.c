#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/wait.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "sandbox/caps.h"
#include "sandbox/cell_spec.h"
#include "tests/lib/tap.h"

#define KEEP \
	(UINT64_C(1) << CAP_DAC_OVERRIDE | UINT64_C(1) << CAP_CHOWN | UINT64_C(1) << CAP_FOWNER)

#define SETID (UINT64_C(1) << CAP_SETUID | UINT64_C(1) << CAP_SETGID)

static void test_wanted(void)
{
	char theirs[] = "/tmp/fumehood-caps-XXXXXX";
	if (!mkdtemp(theirs)) {
		tap_ok(false, "a folder to own");
		return;
	}
	bool given = geteuid() == 0 && chown(theirs, 1, 1) == 0;
	bool foreign = given || geteuid() != 0;
	const struct {
		const char *why;
		struct cell_spec spec;
		uint64_t want;
		bool refused;
	} cases[] = {
		{ "root in a foreign project", { .project = theirs }, foreign ? KEEP : 0 },
		{ "refused", { .project = theirs, .caps = CELL_CAPS_NONE }, 0 },
		{ "other ids", { .project = "/", .caps = CELL_CAPS_SETID }, SETID },
		{ "other ids in a foreign project",
		  { .project = theirs, .caps = CELL_CAPS_SETID },
		  foreign ? 0 : SETID,
		  foreign },
		{ "a user", { .project = theirs, .uid = 1001 }, 0 },
		{ "root in its own project", { .project = "/" }, 0 },
		{ "no project", { .project = "/nonexistent" }, 0 },
	};
	for (size_t i = 0; i < countof(cases); i++) {
		struct caps wanted;
		struct err e = ERR_NULL;
		int r = caps_wanted(&cases[i].spec, &wanted, &e);
		bool whose = wanted.held == KEEP ? wanted.uid != 0 : wanted.uid == 0;
		tap_ok(wanted.held == cases[i].want && whose && (r < 0) == cases[i].refused &&
			       (e.status == STATUS_USAGE) == cases[i].refused,
		       "what is kept: %s", cases[i].why);
	}
	rmdir(theirs);
}

static bool put(const char *path, const char *text)
{
	cleanup_close int fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && fd_write_full(fd, text, strlen(text)) == 0;
}

/* Be what the cell's first process is: root in a user namespace of its own. */
static bool become_root(void)
{
	char uid_map[32];
	char gid_map[32];
	snprintf(uid_map, sizeof(uid_map), "0 %u 1", geteuid());
	snprintf(gid_map, sizeof(gid_map), "0 %u 1", getegid());
	return unshare(CLONE_NEWUSER) == 0 && put("/proc/self/setgroups", "deny") &&
	       put("/proc/self/uid_map", uid_map) && put("/proc/self/gid_map", gid_map);
}

/* Exec awk as uid 0 after the drop; it leaves with 0 when the five sets of its status, as the kernel
 * sees them, are what was asked. */
static void exec_and_look(uint64_t keep)
{
	char program[256];
	snprintf(program, sizeof(program),
		 "/^Cap(Prm|Eff|Bnd)/ && $2 == \"%016llx\" { n++ }"
		 "/^Cap(Inh|Amb)/ && $2 ~ /^0+$/ { n++ }"
		 "END { exit n != 5 }",
		 (unsigned long long)keep);
	struct err e = ERR_NULL;
	if (caps_drop(keep, &e) < 0)
		_exit(101);
	execl("/usr/bin/awk", "awk", program, "/proc/self/status", (char *)NULL);
	_exit(102);
}

static void test_drop(uint64_t keep, const char *what)
{
	pid_t pid = fork();
	if (pid == 0) {
		if (!become_root())
			_exit(77);
		exec_and_look(keep);
	}
	int status = -1;
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		tap_skip("no user namespaces here", what);
		return;
	}
	tap_ok(status == 0, "%s (status %x)", what, (unsigned int)status);
}

static void test_refused(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		struct err e = ERR_NULL;
		cap_t none = cap_init();
		bool gone = none && cap_set_proc(none) == 0;
		_exit(gone && caps_drop(0, &e) == -EPERM && strstr(e.text, "bounding") ? 0 : 1);
	}
	int status = -1;
	waitpid(pid, &status, 0);
	tap_ok(status == 0, "who may not drop them is told so");
}

int main(void)
{
	test_wanted();
	test_drop(0, "an exec as uid 0 brings nothing back");
	test_drop(KEEP, "an exec as uid 0 has the three, and only them");
	test_refused();
	return tap_done();
}
