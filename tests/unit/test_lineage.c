#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/drive/lineage.h"
#include "tests/lib/tap.h"

/* A process of the chain: tells its number, starts the one below it, and stands. */
static _Noreturn void stand(int depth, int numbers)
{
	do {
		pid_t pid = getpid();
		if (write(numbers, &pid, sizeof(pid)) != sizeof(pid))
			_exit(1);
	} while (depth-- > 0 && fork() == 0);
	for (;;)
		pause();
}

#define CHAIN 4 /* the command, its child, its grandchild … */

static void start_chain(pid_t chain[CHAIN])
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC))
		abort();
	pid_t pid = fork();
	if (pid == 0)
		stand(CHAIN - 1, ends[1]);
	for (int i = 0; i < CHAIN; i++)
		if (read(ends[0], &chain[i], sizeof(chain[i])) != sizeof(chain[i]))
			abort();
	close(ends[0]);
	close(ends[1]);
}

/* Whether it still has that parent. A process that ends is known as ending before its children go to
 * another. */
static bool is_child_of(pid_t pid, pid_t parent)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", parent, parent);
	FILE *children = fopen(path, "re");
	bool found = false;
	// NOLINTNEXTLINE(cert-err34-c): the kernel's numbers fit
	for (int child; children && fscanf(children, "%d", &child) == 1;)
		found |= child == pid;
	if (children)
		fclose(children);
	return found;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static bool says(const char *why, const char *what)
{
	return why && strstr(why, what);
}

static void test_descent(void)
{
	pid_t warden = getpid();
	pid_t a[CHAIN];
	struct lineage l = LINEAGE_NULL;
	start_chain(a);
	tap_ok(!lineage_refuse(&l, a[2], warden), "the first is believed");
	lineage_add(&l, a[2], warden);
	tap_ok(l.top == a[0], "it comes from the command");
	tap_ok(!lineage_refuse(&l, a[2], warden), "the same again");
	tap_ok(!lineage_refuse(&l, a[1], warden), "its parent, which is the command's child");
	tap_ok(!lineage_refuse(&l, a[0], warden), "the command itself");
	tap_ok(says(lineage_refuse(&l, a[3], warden), "from one that ran tests"), "not its child");
	tap_ok(says(lineage_refuse(&l, warden, warden), "from nobody"), "not who is above");
	pid_t b[CHAIN];
	start_chain(b);
	tap_ok(says(lineage_refuse(&l, b[1], warden), "from nobody"), "not another's descendant");
	for (int i = CHAIN; i-- > 0;)
		kill(b[i], SIGKILL);
	waitpid(b[0], NULL, 0);

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	kill(a[2], SIGKILL); /* the command's child does not reap it */
	while (!lineage_is_ending(a[2]) || is_child_of(a[3], a[2]))
		usleep(1000);
	tap_ok(says(lineage_refuse(&l, a[3], warden), "from nobody"), "nor its orphan");
	lineage_done(&l);
	for (int i = CHAIN; i-- > 0;)
		kill(a[i], SIGKILL);
	waitpid(a[0], NULL, 0);
}

static void test_ending(void)
{
	pid_t pid = fork();
	if (pid == 0)
		for (;;)
			pause();
	tap_ok(!lineage_is_ending(pid), "a process that lives");
	kill(pid, SIGKILL);
	siginfo_t info;
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	tap_ok(lineage_is_ending(pid), "one that nobody has waited for");
	end(pid);
	tap_ok(lineage_is_ending(pid), "one that is gone");
	struct lineage l = LINEAGE_NULL;
	lineage_add(&l, getpid(), getppid());
	tap_ok(says(lineage_refuse(&l, pid, getppid()), "from nobody"), "it opens no session");
	lineage_done(&l);
}

int main(void)
{
	test_descent();
	test_ending();
	return tap_done();
}
