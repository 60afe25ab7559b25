#include "sandbox/base/fault.h"

#if FUMEHOOD_FAULTS
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>

/* Kept by every fork; a warden wipes its environment and cannot name the runner, so a bystander
 * outside does the killing when a byte reaches it. */
static struct {
	char name[64];
	int trigger;
	int *left; /* passes until it strikes; shared by all forks. NULL: the trigger is a trace */
} armed = { .trigger = -1 };

/* Answers when the runner is dead: whoever passed the point goes on in a world without it. */
static _Noreturn void stand_by(int fd, pid_t runner)
{
	char byte;
	struct pollfd death = { .fd = pidfd_open(runner, 0), .events = POLLIN };
	if (read(fd, &byte, 1) == 1) {
		kill(runner, SIGKILL);
		poll(&death, 1, -1);
		(void)!write(fd, &byte, 1);
	}
	_exit(0);
}

static void trace_to(const char *path)
{
	armed.trigger = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (armed.trigger < 0)
		abort();
}

static void trace(const char *name)
{
	char line[sizeof(armed.name)];
	int len = snprintf(line, sizeof(line), "%s\n", name);
	(void)!write(armed.trigger, line, (size_t)len);
}

void fault_arm(void)
{
	if (getenv("FUMEHOOD_TRACE")) {
		trace_to(getenv("FUMEHOOD_TRACE"));
		return;
	}
	const char *spec = getenv("FUMEHOOD_FAULT");
	const char *colon = spec ? strrchr(spec, ':') : NULL;
	if (!colon || (size_t)(colon - spec) >= sizeof(armed.name))
		return;
	int ends[2];
	int *left =
		mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (left == MAP_FAILED || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		abort();
	pid_t runner = getpid();
	pid_t bystander = fork();
	if (bystander < 0)
		abort();
	if (bystander == 0) {
		close(ends[1]);
		stand_by(ends[0], runner);
	}
	close(ends[0]);
	*left = (int)strtol(colon + 1, NULL, 10);
	memcpy(armed.name, spec, (size_t)(colon - spec));
	armed.trigger = ends[1];
	armed.left = left;
}

int fault_fd(void)
{
	return armed.trigger;
}

void fault_point(const char *name)
{
	if (armed.trigger >= 0 && !armed.left)
		trace(name);
	if (!armed.left || strcmp(armed.name, name) != 0)
		return;
	if (__atomic_sub_fetch(armed.left, 1, __ATOMIC_SEQ_CST) != 0)
		return;
	char byte = 'x';
	if (write(armed.trigger, &byte, 1) == 1)
		(void)!read(armed.trigger, &byte, 1);
}
#endif
