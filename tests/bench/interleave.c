/*
 * interleave: how long commands take, from posix_spawn to the end of wait, in
 * turns within one run, so that what else the machine does meets all alike.
 *
 *   interleave [-r] [-u UID] ROUNDS NAME COMMAND... [--- NAME COMMAND...]...
 *
 * -r: at a realtime priority, so that only what is measured runs meanwhile.
 * Prints {"NAME": {"median": us, "p10": us, "p90": us}, ...}. Between two
 * launches it waits until everything that the last one left behind is gone.
 */
#include <assert.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COMMANDS_MAX  8
#define ROUNDS_WARMUP 10
#define SETTLE_US     2000 /* for what the kernel takes down after the last process: mounts, network */

struct command {
	const char *name;
	char **argv;
	double *us;
};

static double now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double launch(const struct command *command, posix_spawn_file_actions_t *actions)
{
	pid_t pid;
	int status;
	assert(command->argv[0]);
	double start = now_us();
	errno = posix_spawn(&pid, command->argv[0], actions, NULL, command->argv, environ);
	if (errno)
		err(1, "%s", command->argv[0]);
	if (waitpid(pid, &status, 0) != pid)
		err(1, "waitpid");
	double end = now_us();
	if (status != 0)
		errx(1, "%s: wait status %x", command->name, (unsigned int)status);
	while (waitpid(-1, NULL, 0) > 0) /* orphans come to us, their subreaper */
		continue;
	usleep(SETTLE_US);
	return end - start;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;
	return (x > y) - (x < y);
}

static void print(struct command *command, int rounds, const char *end)
{
	qsort(command->us, (size_t)rounds, sizeof(*command->us), by_value);
	printf("\"%s\": {\"median\": %.1f, \"p10\": %.1f, \"p90\": %.1f}%s", command->name,
	       command->us[rounds / 2], command->us[rounds / 10], command->us[rounds * 9 / 10], end);
}

/* Splits argv at "---"; the count. */
static size_t read_commands(char **argv, int rounds, struct command *ret)
{
	size_t n = 0;
	while (*argv) {
		if (n == COMMANDS_MAX || !argv[1])
			errx(64, "at most %d commands, each with a name", COMMANDS_MAX);
		ret[n] = (struct command){ argv[0], argv + 1, calloc((size_t)rounds, sizeof(double)) };
		if (!ret[n++].us)
			err(1, "calloc");
		while (*argv && strcmp(*argv, "---") != 0)
			argv++;
		if (*argv)
			*argv++ = NULL;
	}
	return n;
}

static void become(uid_t uid)
{
	if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0)
		err(1, "become user %u", uid);
}

static void become_realtime(void)
{
	const struct sched_param param = { .sched_priority = 1 };
	if (sched_setscheduler(0, SCHED_RR, &param) < 0)
		err(1, "become realtime");
}

int main(int argc, char **argv)
{
	for (int option; (option = getopt(argc, argv, "+ru:")) != -1;) {
		if (option == 'r')
			become_realtime();
		else if (option == 'u')
			become((uid_t)strtoul(optarg, NULL, 10));
		else
			return 64;
	}
	int rounds = argc - optind > 2 ? (int)strtol(argv[optind], NULL, 10) : 0;
	if (rounds < 1)
		errx(64, "usage: interleave [-r] [-u UID] ROUNDS NAME COMMAND... [--- ...]");
	struct command commands[COMMANDS_MAX];
	size_t n = read_commands(argv + optind + 1, rounds, commands);

	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (int i = -ROUNDS_WARMUP; i < rounds; i++) {
		for (size_t k = 0; k < n; k++) {
			double us = launch(&commands[k], &actions);
			if (i >= 0)
				commands[k].us[i] = us;
		}
	}
	printf("{");
	for (size_t k = 0; k < n; k++)
		print(&commands[k], rounds, k + 1 < n ? ", " : "}\n");
	return 0;
}
