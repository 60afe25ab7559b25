/*
 * emulate: run a command under a filter that refuses what some hosts refuse.
 *
 * Usage: emulate docker|inside|no-landlock|hang|kill|no-seccomp COMMAND...
 *   docker       as Docker's default profile: no namespaces, no mounts
 *   inside       namespaces are made, and nothing can be done in them, as where AppArmor
 *                restricts unprivileged user namespaces
 *   no-landlock  a kernel without it
 *   hang         namespaces are made, and work in them never comes to an end
 *   kill         whoever works in one is killed
 *   no-seccomp   no filter can be added to this one
 */
#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"

#define NEW_ANY                                                                        \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	 CLONE_NEWPID | CLONE_NEWNET)

static const char *const making[] = { "unshare", "setns" };
static const char *const working[] = { "mount",      "umount2",       "pivot_root", "fsopen",
				       "fsconfig",   "fsmount",       "fspick",     "open_tree",
				       "move_mount", "mount_setattr", "sethostname" };

static int refuse(scmp_filter_ctx filter, const char *const *names, size_t n)
{
	int r = 0;
	for (size_t i = 0; i < n && !r; i++) {
		int number = seccomp_syscall_resolve_name(names[i]);
		r = number == __NR_SCMP_ERROR
			    ? -ENOENT
			    : seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 0);
	}
	return r;
}

/* Any of the bits: a rule for each, since a filter compares under one mask. */
static int refuse_clone(scmp_filter_ctx filter)
{
	int r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	for (unsigned int bit = 1; bit && !r; bit <<= 1)
		if (NEW_ANY & bit)
			r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
					     SCMP_A0(SCMP_CMP_MASKED_EQ, bit, bit));
	return r;
}

static int refuse_docker(scmp_filter_ctx filter)
{
	int r = refuse(filter, working, countof(working));
	if (!r)
		r = refuse(filter, making, countof(making));
	return r ? r : refuse_clone(filter);
}

static int refuse_inside(scmp_filter_ctx filter)
{
	return refuse(filter, working, countof(working));
}

static int refuse_landlock(scmp_filter_ctx filter)
{
	return seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), 444, 0);
}

static int refuse_filters(scmp_filter_ctx filter)
{
	return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(seccomp), 0);
}

static int kill_who_asks(scmp_filter_ctx filter)
{
	return seccomp_rule_add(filter, SCMP_ACT_KILL_PROCESS, SCMP_SYS(sethostname), 0);
}

/* Whoever asks waits for a supervisor, which is main(), and which never answers. */
static int refuse_to_answer(scmp_filter_ctx filter)
{
	return seccomp_rule_add(filter, SCMP_ACT_NOTIFY, SCMP_SYS(sethostname), 0);
}

static const struct {
	const char *name;
	int (*refuse)(scmp_filter_ctx filter);
} hosts[] = {
	{ "docker", refuse_docker },        { "inside", refuse_inside },
	{ "no-landlock", refuse_landlock }, { "hang", refuse_to_answer },
	{ "kill", kill_who_asks },          { "no-seccomp", refuse_filters },
};

int main(int argc, char **argv)
{
	size_t i = 0;
	while (argc > 2 && i < countof(hosts) && strcmp(argv[1], hosts[i].name) != 0)
		i++;
	if (argc < 3 || i == countof(hosts)) {
		fprintf(stderr,
			"usage: emulate docker|inside|no-landlock|hang|kill|no-seccomp COMMAND...\n");
		return 64;
	}
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int r = filter ? hosts[i].refuse(filter) : -ENOMEM;
	if (!r)
		r = seccomp_load(filter);
	if (r) {
		fprintf(stderr, "emulate: %s\n", strerror(-r));
		return 70;
	}
	/* It must not be asked once more than it is listened to: the command's process has it not. */
	pid_t supervised = hosts[i].refuse == refuse_to_answer ? fork() : 0;
	if (supervised == 0) {
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		return 70;
	}
	int status = 0;
	waitpid(supervised, &status, 0);
	seccomp_release(filter);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 70;
}
