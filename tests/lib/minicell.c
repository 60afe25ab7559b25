#include "tests/lib/minicell.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/fd.h"

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	printf("Bail out! minicell: %s: %m\n", what);
	fflush(stdout);
	_exit(1);
}

static bool write_map(pid_t pid, const char *name, const char *text)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	cleanup_close int fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && fd_write_full(fd, text, strlen(text)) == 0;
}

static bool map_ids(pid_t pid)
{
	char uid[64] = "0 0 4294967295";
	char gid[64] = "0 0 4294967295";
	if (geteuid() != 0) {
		snprintf(uid, sizeof(uid), "%d %d 1", (int)geteuid(), (int)geteuid());
		snprintf(gid, sizeof(gid), "%d %d 1", (int)getegid(), (int)getegid());
		if (!write_map(pid, "setgroups", "deny"))
			return false;
	}
	return write_map(pid, "gid_map", gid) && write_map(pid, "uid_map", uid);
}

static void mount_at(const char *type, const char *at, const char *options)
{
	must(mkdir(at, 0755) == 0, at);
	must(mount(type, at, type, 0, options) == 0, at);
}

static void furnish(const char *root)
{
	must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "make mounts private");
	must(mount("tmpfs", root, "tmpfs", 0, "mode=755") == 0, "mount a root");
	must(chdir(root) == 0 && chroot(root) == 0, "enter the root");
	mount_at("proc", "/proc", NULL);
	must(mkdir(MINICELL_BASE, 0755) == 0, MINICELL_BASE);
}

static int wait_for(pid_t pid)
{
	int status;
	must(waitpid(pid, &status, 0) == pid, "wait");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void live(int ready, const char *root, int (*inside)(void))
{
	char go;
	must(read(ready, &go, 1) == 1, "wait for the id maps");
	must(unshare(CLONE_NEWPID) == 0, "make a pid namespace");
	pid_t first = fork();
	must(first >= 0, "fork");
	if (first > 0)
		_exit(wait_for(first));
	furnish(root);
	int status = inside();
	fflush(stdout);
	exit(status);
}

int minicell_enter(int (*inside)(void))
{
	char root[] = "/tmp/fumehood-minicell.XXXXXX";
	int ready[2];
	int made[2];
	char said;
	must(mkdtemp(root) && pipe2(ready, O_CLOEXEC) == 0 && pipe2(made, O_CLOEXEC) == 0, "begin");
	fflush(stdout);
	pid_t pid = fork();
	must(pid >= 0, "fork");
	if (pid == 0) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
			_exit(77);
		must(write(made[1], "", 1) == 1, "tell");
		live(ready[0], root, inside);
	}
	close(made[1]);
	bool unshared = read(made[0], &said, 1) == 1;
	must(!unshared || map_ids(pid), "map ids");
	must(write(ready[1], "", 1) == 1, "tell");
	int status = wait_for(pid);
	rmdir(root);
	if (status == 77) {
		printf("1..0 # SKIP this host gives no user namespace\n");
		status = 0;
	}
	close(made[0]);
	close(ready[0]);
	close(ready[1]);
	return status;
}

static int open_dir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(fd >= 0, path);
	return fd;
}

static int watch_scratch(int scratch)
{
	int fd = fanotify_init(FAN_CLASS_NOTIF | FAN_REPORT_DFID_NAME_TARGET | FAN_NONBLOCK |
				       FAN_CLOEXEC,
			       O_RDONLY);
	must(fd >= 0, "fanotify_init");
	must(fanotify_mark(fd, FAN_MARK_ADD | FAN_MARK_FILESYSTEM,
			   FAN_CREATE | FAN_DELETE | FAN_RENAME | FAN_ATTRIB | FAN_MODIFY |
				   FAN_CLOSE_WRITE | FAN_OPEN | FAN_ONDIR,
			   scratch, NULL) == 0,
	     "fanotify_mark");
	return fd;
}

static const struct vantage_zone zones[] = {
	{ "/tmp", "tmp" },
	{ "/home", "home" },
	{ "/home/project", "source" },
	{ "/tmp/state", "state" },
};

void minicell_make(struct minicell *ret, bool watch)
{
	mount_at("tmpfs", "/scratch", "mode=755");
	static const char *const dirs[] = { "/scratch/tmp",
					    "/scratch/home",
					    "/scratch/run",
					    "/scratch/upper",
					    "/scratch/upper/0",
					    "/scratch/work",
					    "/scratch/work/0",
					    "/tmp",
					    "/home",
					    "/scratch/home/project",
					    "/scratch/tmp/fumehood" };
	umask(0);
	for (size_t i = 0; i < countof(dirs); i++)
		must(mkdir(dirs[i], 0755) == 0, dirs[i]);
	umask(022);
	must(mount("/scratch/tmp", "/tmp", NULL, MS_BIND, NULL) == 0, "/tmp");
	must(mount("/scratch/home", "/home", NULL, MS_BIND, NULL) == 0, "/home");
	must(mount("overlay", "/home/project", "overlay", 0,
		   "lowerdir=" MINICELL_BASE ",upperdir=/scratch/upper/0,workdir=/scratch/work/0,"
		   "userxattr,index=off,xino=off,volatile") == 0,
	     "/home/project");
	*ret = (struct minicell){ .places = { { "tmp", "/tmp", -1 },
					      { "home", "/home", -1 },
					      { "upper/0", "/home/project",
						open_dir(MINICELL_BASE) } } };
	ret->v = (struct vantage){
		.root = open_dir("/"),
		.proc = open_dir("/proc"),
		.scratch = open_dir("/scratch"),
		.fanotify = -1,
		.places = ret->places,
		.places_len = countof(ret->places),
		.zones = zones,
		.zones_len = countof(zones),
		.own_dir = "tmp/fumehood",
	};
	if (watch)
		ret->v.fanotify = watch_scratch(ret->v.scratch);
}

void minicell_done(struct minicell *cell)
{
	static const char *const mounts[] = { "/home/project", "/home", "/tmp", "/scratch" };
	close(cell->v.root);
	close(cell->v.proc);
	close(cell->v.scratch);
	close(cell->places[2].base);
	if (cell->v.fanotify >= 0)
		close(cell->v.fanotify);
	for (size_t i = 0; i < countof(mounts); i++)
		must(umount2(mounts[i], MNT_DETACH) == 0 && rmdir(mounts[i]) == 0, mounts[i]);
}

pid_t minicell_start(void (*deed)(void))
{
	fflush(stdout);
	pid_t pid = fork();
	must(pid >= 0, "fork");
	if (pid > 0)
		return pid;
	must(chdir("/") == 0, "/");
	deed();
	_exit(0);
}

void minicell_wait(pid_t pid)
{
	must(wait_for(pid) == 0, "a deed");
}

void minicell_do(void (*deed)(void))
{
	minicell_wait(minicell_start(deed));
}
