/*
 * floor: the least that a launch in fresh namespaces can cost, as the measure
 * for ours. No overlay, no private home, no filter, no check of anything.
 *
 *   floor COMMAND...
 */
#include <err.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <net/if.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAMESPACES                                                                                 \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | \
	 CLONE_NEWCGROUP | CLONE_NEWTIME)

/* By number: libc's <sys/mount.h> and the kernel's <linux/mount.h> do not go together. */
#define SYSTEM(name, ...)                                   \
	({                                                  \
		long r_ = syscall(SYS_##name, __VA_ARGS__); \
		if (r_ < 0)                                 \
			err(1, "%s", #name);                \
		(int)r_;                                    \
	})

static void write_map(pid_t pid, const char *name, const char *text)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		err(1, "%s", path);
	close(fd);
}

static void map_ids(pid_t pid)
{
	char users[64] = "0 0 4294967295\n";
	char groups[64] = "0 0 4294967295\n";
	if (getuid() != 0) {
		write_map(pid, "setgroups", "deny");
		snprintf(users, sizeof(users), "%u %u 1\n", getuid(), getuid());
		snprintf(groups, sizeof(groups), "%u %u 1\n", getgid(), getgid());
	}
	write_map(pid, "gid_map", groups);
	write_map(pid, "uid_map", users);
}

static void loopback_up(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (sock < 0 || ioctl(sock, SIOCSIFFLAGS, &lo) < 0)
		err(1, "loopback");
	close(sock);
}

static int new_mount(const char *type)
{
	int fs = SYSTEM(fsopen, type, FSOPEN_CLOEXEC);
	SYSTEM(fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
	int mount = SYSTEM(fsmount, fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	close(fs);
	return mount;
}

static void attach(int mount, const char *path)
{
	SYSTEM(move_mount, mount, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH);
	close(mount);
}

static void make_root(void)
{
	struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
		.propagation = 1 << 18, /* MS_PRIVATE */
	};
	int tree =
		SYSTEM(open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	SYSTEM(mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr));
	int proc = new_mount("proc"); /* while an unmasked one can be seen */
	SYSTEM(move_mount, tree, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH);
	SYSTEM(fchdir, tree);
	SYSTEM(pivot_root, ".", ".");
	SYSTEM(umount2, ".", 2 /* MNT_DETACH */);
	close(tree);
	attach(new_mount("tmpfs"), "/tmp");
	attach(proc, "/proc");
	SYSTEM(chdir, "/");
}

static _Noreturn void reap(pid_t command)
{
	int status;
	for (pid_t pid; (pid = wait(&status)) != command;)
		if (pid < 0)
			err(1, "wait");
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static _Noreturn void first_process(int mapped, char **command)
{
	char byte;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (read(mapped, &byte, 1) != 1)
		err(1, "the ids were not mapped");
	loopback_up();
	make_root();
	pid_t pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (pid > 0)
		reap(pid);
	execvp(command[0], command);
	err(127, "%s", command[0]);
}

int main(int argc, char **argv)
{
	int mapped[2];
	if (argc < 2 || pipe2(mapped, O_CLOEXEC) < 0)
		errx(64, "usage: floor COMMAND...");
	struct clone_args args = { .flags = NAMESPACES, .exit_signal = SIGCHLD };
	pid_t pid = SYSTEM(clone3, &args, sizeof(args));
	if (pid == 0)
		first_process(mapped[0], argv + 1);
	map_ids(pid);
	if (write(mapped[1], "", 1) != 1)
		err(1, "write");
	int status;
	if (waitpid(pid, &status, 0) != pid)
		err(1, "waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
