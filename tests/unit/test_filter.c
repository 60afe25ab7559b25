#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "sandbox/base/json.h"
#include "sandbox/base/text.h"
#include "sandbox/filter.h"
#include "tests/lib/tap.h"

enum filter { FILTER_NONE, FILTER_DEFAULT, FILTER_NESTED };

#define NOT_INSTALLED 255
#define ANY           (-1L) /* a pointer to nothing, no descriptor, every flag: harmless everywhere */

struct call {
	long number;
	long args[4];
};

static void put_on(enum filter filter)
{
	struct err e = ERR_NULL;
	if (filter == FILTER_NONE)
		return;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    filter_install(filter == FILTER_NESTED, &e) < 0)
		_exit(NOT_INSTALLED);
}

/* The errno of a call made in a child, 0 when it succeeds; NOT_INSTALLED also for a child that
 * dies. */
static int answer(enum filter filter, const struct call *call)
{
	pid_t pid = fork();
	if (pid == 0) {
		put_on(filter);
		const long *a = call->args;
		long r = syscall(call->number, a[0], a[1], a[2], a[3], ANY, ANY);
		_exit(r < 0 ? errno : 0);
	}
	int status;
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : NOT_INSTALLED;
}

static const struct {
	const char *name;
	int code;
} answers[] = { { "EPERM", EPERM }, { "ENOSYS", ENOSYS }, { "EAFNOSUPPORT", EAFNOSUPPORT } };

static int answer_code(const char *name)
{
	for (size_t i = 0; i < countof(answers); i++)
		if (text_eq(answers[i].name, name))
			return answers[i].code;
	return -1;
}

static int call_number(const cJSON *profile, const char *name)
{
	int number = seccomp_syscall_resolve_name(name);
	return number >= 0 ? number
			   : (int)json_number(cJSON_GetObjectItem(profile, "numbers"), name, -1);
}

/* Calls that are refused whatever their arguments; counts those that answer otherwise when there
 * is no filter, and that no capability guards. */
static int test_row(const cJSON *profile, const cJSON *row)
{
	int differ = 0;
	int want = answer_code(json_text(row, "answer"));
	bool lifted = json_text(row, "lifted_by");
	const cJSON *name;
	cJSON_ArrayForEach(name, cJSON_GetObjectItem(row, "names"))
	{
		struct call call = { call_number(profile, name->valuestring), { ANY, ANY, ANY, ANY } };
		if (call.number < 0) {
			tap_skip("not on this architecture", name->valuestring);
			continue;
		}
		int bare = answer(FILTER_NONE, &call);
		int nested = answer(FILTER_NESTED, &call);
		differ += bare != want;
		tap_ok(answer(FILTER_DEFAULT, &call) == want, "%s is refused (bare: %s)",
		       name->valuestring, strerrorname_np(bare));
		tap_ok(nested == (lifted ? bare : want), "%s is %s by allow-nested",
		       name->valuestring, lifted ? "lifted" : "not lifted");
	}
	return differ;
}

static void test_unconditional(const cJSON *profile)
{
	int differ = 0;
	const cJSON *row;
	cJSON_ArrayForEach(row, cJSON_GetObjectItem(profile, "refuse"))
	{
		if (!cJSON_GetObjectItem(row, "when"))
			differ += test_row(profile, row);
	}
	tap_ok(differ >= 8, "%d calls get their answer from the filter alone", differ);
}

static void test_allowed(const cJSON *profile)
{
	const cJSON *row;
	cJSON_ArrayForEach(row, cJSON_GetObjectItem(profile, "allow"))
	{
		const cJSON *name;
		cJSON_ArrayForEach(name, cJSON_GetObjectItem(row, "names"))
		{
			struct call call = { call_number(profile, name->valuestring),
					     { ANY, ANY, ANY, ANY } };
			int bare = answer(FILTER_NONE, &call);
			tap_ok(answer(FILTER_DEFAULT, &call) == bare, "%s is left alone (%s)",
			       name->valuestring, strerrorname_np(bare));
		}
	}
}

#define HIGH (1L << 40) /* the kernel takes an int: what stands above does not count */

static const struct {
	const char *what;
	struct call call;
	int want, nested;
} conditional[] = {
	{ "unshare nothing", { SYS_unshare, { 0 } }, 0, 0 },
	{ "unshare files", { SYS_unshare, { CLONE_FILES } }, 0, 0 },
	{ "unshare user", { SYS_unshare, { CLONE_NEWUSER } }, EPERM, ANY },
	{ "unshare user, files", { SYS_unshare, { CLONE_NEWUSER | CLONE_FILES } }, EPERM, ANY },
	{ "unshare mnt", { SYS_unshare, { CLONE_NEWUSER | CLONE_NEWNS } }, EPERM, ANY },
	{ "unshare time", { SYS_unshare, { CLONE_NEWTIME } }, EPERM, ANY },
	{ "unshare cgroup", { SYS_unshare, { CLONE_NEWCGROUP } }, EPERM, ANY },
	{ "unshare uts", { SYS_unshare, { CLONE_NEWUTS } }, EPERM, ANY },
	{ "unshare ipc", { SYS_unshare, { CLONE_NEWIPC } }, EPERM, ANY },
	{ "unshare pid", { SYS_unshare, { CLONE_NEWPID } }, EPERM, ANY },
	{ "unshare net", { SYS_unshare, { CLONE_NEWNET } }, EPERM, ANY },
	{ "clone user", { SYS_clone, { CLONE_NEWUSER | SIGCHLD } }, EPERM, ANY },
	{ "clone user, net", { SYS_clone, { CLONE_NEWUSER | CLONE_NEWNET } }, EPERM, ANY },
	{ "clone", { SYS_clone, { SIGCHLD } }, 0, 0 },
	{ "vsock", { SYS_socket, { AF_VSOCK, SOCK_STREAM } }, EAFNOSUPPORT, EAFNOSUPPORT },
	{ "vsock, high bits",
	  { SYS_socket, { HIGH | AF_VSOCK, SOCK_STREAM } },
	  EAFNOSUPPORT,
	  EAFNOSUPPORT },
	{ "alg", { SYS_socket, { AF_ALG, SOCK_SEQPACKET } }, EAFNOSUPPORT, EAFNOSUPPORT },
	{ "unix", { SYS_socket, { AF_UNIX, SOCK_STREAM } }, 0, 0 },
	{ "inet", { SYS_socket, { AF_INET, SOCK_STREAM } }, 0, 0 },
	{ "netlink", { SYS_socket, { AF_NETLINK, SOCK_RAW } }, 0, 0 },
	{ "TIOCSTI", { SYS_ioctl, { ANY, TIOCSTI } }, EPERM, EPERM },
	{ "TIOCSTI, high bits", { SYS_ioctl, { ANY, HIGH | TIOCSTI } }, EPERM, EPERM },
	{ "TIOCLINUX", { SYS_ioctl, { ANY, TIOCLINUX } }, EPERM, EPERM },
	{ "limits of process 1", { SYS_prlimit64, { 1 } }, EPERM, ANY },
	{ "limits of ourselves", { SYS_prlimit64, { 0 } }, 0, 0 },
	{ "TIOCGWINSZ", { SYS_ioctl, { ANY, TIOCGWINSZ } }, EBADF, EBADF },
	{ "a call of tomorrow", { 470 }, ENOSYS, ENOSYS },
	{ "a call of x32", { 0x40000000 + 39 }, ENOSYS, ENOSYS },
	{ "no call", { ANY }, ENOSYS, ENOSYS },
};

static void test_conditional(void)
{
	for (size_t i = 0; i < countof(conditional); i++) {
		const struct call *call = &conditional[i].call;
		int got = answer(FILTER_DEFAULT, call);
		tap_ok(got == conditional[i].want, "%s: %s", conditional[i].what,
		       got ? strerrorname_np(got) : "done");
		int want = conditional[i].nested == ANY ? answer(FILTER_NONE, call)
							: conditional[i].nested;
		got = answer(FILTER_NESTED, call);
		tap_ok(got == want, "%s, allow-nested: %s", conditional[i].what,
		       got ? strerrorname_np(got) : "done");
	}
}

#ifdef __x86_64__
static void test_foreign(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		put_on(FILTER_DEFAULT);
		long r = 20; /* getpid of i386 */
		__asm__ volatile("int $0x80" : "+a"(r) : : "memory");
		_exit(0);
	}
	int status;
	waitpid(pid, &status, 0);
	tap_ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS,
	       "a call of i386 is the end (status %x)", (unsigned int)status);
}
#else
static void test_foreign(void)
{
}
#endif

static const char works[] =
	"import asyncio, concurrent.futures, multiprocessing, os, socket, subprocess, threading\n"
	"t = threading.Thread(target=os.getpid); t.start(); t.join()\n"
	"pid = os.fork() or os._exit(3)\n"
	"assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3\n"
	"assert subprocess.check_output(['/bin/echo', 'a'], start_new_session=True) == b'a\\n'\n"
	"for how in 'fork', 'spawn', 'forkserver':\n"
	"    with multiprocessing.get_context(how).Pool(2) as pool:\n"
	"        assert pool.map(abs, [-1, -2]) == [1, 2]\n"
	"with concurrent.futures.ThreadPoolExecutor(4) as pool:\n"
	"    assert sum(pool.map(abs, range(9))) == 36\n"
	"asyncio.run(asyncio.create_subprocess_exec('/bin/true'))\n"
	"a, b = socket.socketpair(); a.send(b'x'); assert b.recv(1) == b'x'\n";

static void test_python(enum filter filter)
{
	static const char python[] = "/usr/bin/python3";
	if (access(python, X_OK) < 0) {
		tap_skip("no /usr/bin/python3", "python works");
		return;
	}
	pid_t pid = fork();
	if (pid == 0) {
		put_on(filter);
		execl(python, python, "-c", works, (char *)NULL);
		_exit(NOT_INSTALLED);
	}
	int status;
	waitpid(pid, &status, 0);
	tap_ok(status == 0, "python forks, threads, pools and spawns%s (status %x)",
	       filter == FILTER_NESTED ? ", allow-nested" : "", (unsigned int)status);
}

static void test_refused(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		struct err e = ERR_NULL;
		bool user = geteuid() != 0 || setresuid(65534, 65534, 65534) == 0;
		_exit(user && filter_install(false, &e) == -EACCES && *e.text ? 0 : 1);
	}
	int status;
	waitpid(pid, &status, 0);
	tap_ok(status == 0, "without no_new_privs a filter is refused, and that is said");
}

int main(void)
{
	cleanup_free char *text = NULL;
	cleanup_json cJSON *profile = NULL;
	struct err e = ERR_NULL;
	size_t len = 0;
	if (fd_load(AT_FDCWD, FILTER_PROFILE, 1 << 20, &text, &len, &e) < 0 ||
	    json_parse("cell.json", text, len, &profile, &e) < 0) {
		tap_ok(false, "%s", e.text);
		return tap_done();
	}
	test_unconditional(profile);
	test_allowed(profile);
	test_conditional();
	test_foreign();
	test_python(FILTER_DEFAULT);
	test_python(FILTER_NESTED);
	test_refused();
	tap_ok(filter_len(false) > filter_len(true) && filter_len(true) > 50,
	       "%zu instructions, %zu with allow-nested", filter_len(false), filter_len(true));
	return tap_done();
}
