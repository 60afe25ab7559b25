/*
 * boundary_sensors: what a clean look costs, sensor by sensor, in one process.
 *
 *   boundary_sensors [ROUNDS]
 *
 * The subject is the system's python3, at rest in namespaces of its own (pid, ipc,
 * net), with 30 variables and 13 descriptors, and no socket. Prints {"DOMAIN": {"median": us, …}}
 * with "all" for one fingerprint of all of them; taken in turns, so that what
 * else the machine does meets all alike.
 */
#include <assert.h>
#include <err.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "probe/fingerprint.h"
#include "probe/sensors/sensors.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"

#define ROUNDS_DEFAULT 5000
#define ROUNDS_WARMUP  100
#define QUEUES_DIR     "/mnt"
#define VARIABLES      30
#define DESCRIPTORS    13

static const struct {
	const char *name;
	const struct sensor *sensors[8];
} subjects[] = {
	{ "env", { &sensor_env } },
	{ "process", { &sensor_process } },
	{ "descriptors", { &sensor_descriptors } },
	{ "processes", { &sensor_processes } },
	{ "threads", { &sensor_threads } },
	{ "ipc", { &sensor_ipc } },
	{ "network", { &sensor_network } },
	{ "all",
	  { &sensor_env, &sensor_process, &sensor_descriptors, &sensor_processes, &sensor_threads,
	    &sensor_ipc, &sensor_network } },
};

/* Go on as process 1 of a pid namespace whose /proc is mounted; the caller waits for it. */
static void enter_namespace(void)
{
	if (unshare((geteuid() ? CLONE_NEWUSER : 0) | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC |
		    CLONE_NEWNET))
		err(69, "make namespaces");
	pid_t pid = fork();
	if (pid < 0)
		err(70, "fork");
	if (pid) {
		int status;
		waitpid(pid, &status, 0);
		exit(WIFEXITED(status) ? WEXITSTATUS(status) : 70);
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) ||
	    mount("mqueue", QUEUES_DIR, "mqueue", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
		err(69, "mount /proc and the message queues");
}

static _Noreturn void be_subject(int ready)
{
	cleanup(strv_done) struct strv env = STRV_NULL;
	char script[128];
	for (int i = 0; i < VARIABLES; i++)
		if (strv_addf(&env, "BENCH_VARIABLE_%d=%s", i, "/usr/local/sbin:/usr/local/bin"))
			_exit(70);
	dup2(ready, 3);
	for (int fd = 4; fd < DESCRIPTORS; fd++)
		if (dup2(0, fd) < 0)
			_exit(70);
	snprintf(script, sizeof(script), "import os, signal\nos.write(3, b'x')\nsignal.pause()");
	execve("/usr/bin/python3", (char *[]){ (char *)"python3", (char *)"-c", script, NULL },
	       env.at);
	_exit(127);
}

static pid_t start_subject(void)
{
	int ends[2];
	char byte;
	if (pipe2(ends, O_CLOEXEC))
		err(70, "pipe");
	pid_t pid = fork();
	if (pid == 0)
		be_subject(ends[1]);
	close(ends[1]);
	if (pid < 0 || read(ends[0], &byte, 1) != 1)
		errx(70, "python3 did not start");
	close(ends[0]);
	return pid;
}

static double now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double look(struct fingerprint *f)
{
	struct err e = ERR_NULL;
	struct delta_list deltas = DELTA_LIST_NULL;
	double start = now_us();
	int r = fingerprint_look(f, 1, &deltas, NULL, &e);
	double us = now_us() - start;
	if (r || deltas.len)
		errx(70, "this look is not clean: %s", r ? e.text : deltas.at[0].key);
	return us;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;
	return (x > y) - (x < y);
}

static void print(const char *name, double *us, size_t n, const char *comma)
{
	qsort(us, n, sizeof(*us), compare);
	printf(" \"%s\": {\"median\": %.2f, \"p10\": %.2f, \"p90\": %.2f}%s\n", name, us[n / 2],
	       us[n / 10], us[n * 9 / 10], comma);
}

int main(int argc, char **argv)
{
	long asked = argc > 1 ? strtol(argv[1], NULL, 10) : ROUNDS_DEFAULT;
	if (asked <= 0)
		errx(64, "usage: boundary_sensors [ROUNDS]");
	size_t rounds = (size_t)asked;
	double *us[countof(subjects)];
	struct fingerprint *prints[countof(subjects)];
	struct err e = ERR_NULL;
	enter_namespace();
	pid_t pid = start_subject();
	struct vantage v = { .root = open("/", O_PATH | O_CLOEXEC),
			     .proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
			     .sysvipc = { open("/proc/sysvipc/shm", O_RDONLY | O_CLOEXEC),
					  open("/proc/sysvipc/sem", O_RDONLY | O_CLOEXEC),
					  open("/proc/sysvipc/msg", O_RDONLY | O_CLOEXEC) },
			     .queues = open(QUEUES_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
			     .sockets = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC,
					       NETLINK_SOCK_DIAG),
			     .pid = pid,
			     .inner = pid };
	for (size_t i = 0; i < countof(subjects); i++) {
		us[i] = calloc(rounds, sizeof(double));
		if (!us[i] || fingerprint_new(&v, subjects[i].sensors, &prints[i], &e))
			errx(70, "%s: %s", subjects[i].name, e.text);
		look(prints[i]);
	}
	for (size_t round = 0; round < rounds + ROUNDS_WARMUP; round++)
		for (size_t i = 0; i < countof(subjects); i++) {
			double took = look(prints[i]);
			if (round >= ROUNDS_WARMUP)
				us[i][round - ROUNDS_WARMUP] = took;
		}
	printf("{\"rounds\": %zu,\n", rounds);
	for (size_t i = 0; i < countof(subjects); i++) {
		print(subjects[i].name, us[i], rounds, i + 1 < countof(subjects) ? "," : "}");
		fingerprint_free(prints[i]);
		free(us[i]);
	}
	return 0;
}
