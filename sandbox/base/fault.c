#include "sandbox/base/fault.h"

#if FUMEHOOD_FAULTS
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Kept by every fork; a warden wipes its environment and cannot name the runner, so a bystander
 * outside does the killing when a byte reaches it. */
static struct {
	char name[64];
	int trigger;
	int *left; /* passes until it strikes; shared by all forks */
} armed = { .trigger = -1 };

static _Noreturn void stand_by(int fd, pid_t runner)
{
	char byte;
	if (read(fd, &byte, 1) == 1)
		kill(runner, SIGKILL);
	_exit(0);
}

void fault_arm(void)
{
	const char *spec = getenv("FUMEHOOD_FAULT");
	const char *colon = spec ? strrchr(spec, ':') : NULL;
	if (!colon || (size_t)(colon - spec) >= sizeof(armed.name))
		return;
	int ends[2];
	int *left =
		mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (left == MAP_FAILED || pipe2(ends, O_CLOEXEC))
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
	if (!armed.left || strcmp(armed.name, name) != 0)
		return;
	if (__atomic_sub_fetch(armed.left, 1, __ATOMIC_SEQ_CST) == 0)
		(void)!write(armed.trigger, "x", 1);
}
#endif
