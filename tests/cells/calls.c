/*
 * calls: ask the kernel, from inside a cell, for what a suite must not get, and
 * for what it may have. TAP: a line for each row of the table. Run by calls.sh.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/fanotify.h>
#include <linux/kcmp.h>
#include <linux/keyctl.h>
#include <linux/landlock.h>
#include <linux/perf_event.h>
#include <linux/quota.h>
#include <linux/reboot.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "tests/lib/tap.h"

#define AT(x)                ((long)(x))
#define WARDEN               1
#define DEVICE(major, minor) ((major) << 8 | (minor)) /* makedev() is no constant */
#define STRANGER             12345                    /* an id that is not ours */
#define DIED                 255

static char room[4096];
static char word[8];
static struct iovec local = { word, sizeof(word) };
static struct iovec remote = { room, sizeof(word) };
static struct timeval now;
static struct timespec now_too;
static struct timex clock_read;
static struct timex clock_set = { .modes = ADJ_OFFSET };
static struct clone_args clone_user = { .flags = CLONE_NEWUSER, .exit_signal = SIGCHLD };
static struct sched_param realtime = { 1 };
static struct rlimit core_at_large = { RLIM_INFINITY, RLIM_INFINITY };
static struct mount_attr writable = { .attr_clr = MOUNT_ATTR_RDONLY };
static struct perf_event_attr counter = {
	.type = PERF_TYPE_SOFTWARE, .size = sizeof(counter), .exclude_kernel = 1, .exclude_hv = 1
};
static union bpf_attr map = {
	.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1
};
static struct landlock_ruleset_attr ruleset = { .handled_access_fs = LANDLOCK_ACCESS_FS_EXECUTE };
static gid_t strangers[] = { STRANGER };
static struct __user_cap_header_struct caps_header = { .version = _LINUX_CAPABILITY_VERSION_3 };
static struct __user_cap_data_struct all_caps[2] = { { ~0U, ~0U, 0 }, { 0 } };

/* Of the first that fails, or 0. */
static int trace_child(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	bool done = ptrace(PTRACE_ATTACH, pid, NULL, NULL) == 0 &&
		    waitpid(pid, NULL, __WALL) == pid &&
		    process_vm_readv(pid, &local, 1, &remote, 1, 0) == sizeof(word);
	int code = done ? 0 : errno;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return code;
}

/* It has effect on nobody, and the warden lives. */
static int kill_everybody(void)
{
	if (kill(WARDEN, SIGKILL) < 0 || kill(WARDEN, SIGSTOP) < 0)
		return errno;
	return getppid() == 0 || kill(WARDEN, 0) < 0 ? ESRCH : 0;
}

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): in the order of reading
static const struct row {
	const char *what;
	int want; /* errno; 0: it is done, and harmless */
	long number;
	long args[6];
	int (*deed)(void); /* in place of a call */
	bool unmapped;     /* EINVAL for a user, in whose namespace there is no such id */
} rows[] = {
	/* the tree */
	{ "mount", EPERM, SYS_mount, { AT("none"), AT("/tmp"), AT("tmpfs") } },
	{ "mount: remount /", EPERM, SYS_mount, { 0, AT("/"), 0, MS_REMOUNT | MS_BIND } },
	{ "mount: bind", EPERM, SYS_mount, { AT("/usr"), AT("/tmp"), 0, MS_BIND } },
	{ "umount2", EPERM, SYS_umount2, { AT("/tmp"), MNT_DETACH } },
	{ "pivot_root", EPERM, SYS_pivot_root, { AT("."), AT(".") } },
	{ "open_tree", EPERM, SYS_open_tree, { AT_FDCWD, AT("/"), OPEN_TREE_CLONE } },
	{ "open_tree, without a clone", EPERM, SYS_open_tree, { AT_FDCWD, AT("/") } },
	{ "move_mount", EPERM, SYS_move_mount, { AT_FDCWD, AT("/tmp"), AT_FDCWD, AT("/usr") } },
	{ "fsopen", EPERM, SYS_fsopen, { AT("tmpfs") } },
	{ "fspick", EPERM, SYS_fspick, { AT_FDCWD, AT("/tmp") } },
	{ "fsconfig", EPERM, SYS_fsconfig, { 0, FSCONFIG_CMD_CREATE } },
	{ "fsmount", EPERM, SYS_fsmount, { 0 } },
	{ "mount_setattr",
	  EPERM,
	  SYS_mount_setattr,
	  { AT_FDCWD, AT("/"), AT_RECURSIVE, AT(&writable), sizeof(writable) } },
	{ "chroot", EPERM, SYS_chroot, { AT("/tmp") } },
	{ "open_by_handle_at", EPERM, SYS_open_by_handle_at, { AT_FDCWD, AT(room) } },
	{ "a character device", EPERM, SYS_mknodat, { AT_FDCWD, AT("c"), S_IFCHR, DEVICE(1, 1) } },
	{ "a block device", EPERM, SYS_mknodat, { AT_FDCWD, AT("b"), S_IFBLK, DEVICE(8, 0) } },
	/* namespaces */
	{ "unshare user", EPERM, SYS_unshare, { CLONE_NEWUSER } },
	{ "unshare mount", EPERM, SYS_unshare, { CLONE_NEWNS } },
	{ "unshare pid", EPERM, SYS_unshare, { CLONE_NEWPID } },
	{ "unshare net", EPERM, SYS_unshare, { CLONE_NEWNET } },
	{ "unshare ipc", EPERM, SYS_unshare, { CLONE_NEWIPC } },
	{ "unshare uts", EPERM, SYS_unshare, { CLONE_NEWUTS } },
	{ "unshare cgroup", EPERM, SYS_unshare, { CLONE_NEWCGROUP } },
	{ "unshare time", EPERM, SYS_unshare, { CLONE_NEWTIME } },
	{ "unshare files", 0, SYS_unshare, { CLONE_FILES } },
	{ "clone user", EPERM, SYS_clone, { CLONE_NEWUSER | SIGCHLD } },
	{ "clone net", EPERM, SYS_clone, { CLONE_NEWNET | SIGCHLD } },
	{ "clone3", ENOSYS, SYS_clone3, { AT(&clone_user), sizeof(clone_user) } },
	{ "setns", EPERM, SYS_setns, { 0, CLONE_NEWNET } },
	/* other processes */
	{ "trace a child, and read its memory", 0, 0, { 0 }, trace_child },
	{ "ptrace: be traced", 0, SYS_ptrace, { PTRACE_TRACEME } },
	{ "ptrace the warden", EPERM, SYS_ptrace, { PTRACE_ATTACH, WARDEN } },
	{ "ptrace: seize the warden", EPERM, SYS_ptrace, { PTRACE_SEIZE, WARDEN } },
	{ "process_vm_readv of the warden",
	  EPERM,
	  SYS_process_vm_readv,
	  { WARDEN, AT(&local), 1, AT(&remote), 1 } },
	{ "process_vm_writev of the warden",
	  EPERM,
	  SYS_process_vm_writev,
	  { WARDEN, AT(&local), 1, AT(&remote), 1 } },
	{ "kcmp with the warden", EPERM, SYS_kcmp, { WARDEN, WARDEN, KCMP_FILES } },
	{ "move_pages of the warden", EPERM, SYS_move_pages, { WARDEN, 0 } },
	{ "prlimit of the warden", EPERM, SYS_prlimit64, { WARDEN, RLIMIT_CORE, AT(&core_at_large) } },
	{ "kill and stop the warden", 0, 0, { 0 }, kill_everybody },
	/* keys */
	{ "add_key", EPERM, SYS_add_key, { AT("user"), AT("a"), AT("b"), 1, KEY_SPEC_USER_KEYRING } },
	{ "request_key", EPERM, SYS_request_key, { AT("user"), AT("a"), AT("b"), 0 } },
	{ "keyctl: read",
	  EPERM,
	  SYS_keyctl,
	  { KEYCTL_READ, KEY_SPEC_SESSION_KEYRING, AT(room), sizeof(room) } },
	{ "keyctl: join", EPERM, SYS_keyctl, { KEYCTL_JOIN_SESSION_KEYRING } },
	/* windows into the kernel */
	{ "io_uring_setup", ENOSYS, SYS_io_uring_setup, { 1, AT(room) } },
	{ "io_uring_enter", ENOSYS, SYS_io_uring_enter, { 0 } },
	{ "io_uring_register", ENOSYS, SYS_io_uring_register, { 0 } },
	{ "userfaultfd", EPERM, SYS_userfaultfd, { 1 } },
	{ "bpf: a map", EPERM, SYS_bpf, { BPF_MAP_CREATE, AT(&map), sizeof(map) } },
	{ "perf_event_open", EPERM, SYS_perf_event_open, { AT(&counter), 0, -1, -1 } },
	{ "syslog: read", EPERM, SYS_syslog, { 3, AT(room), sizeof(room) } },
	{ "syslog: clear", EPERM, SYS_syslog, { 5 } },
	{ "seccomp: ask", 0, SYS_seccomp, { SECCOMP_GET_NOTIF_SIZES, 0, AT(room) } },
	{ "landlock: a ruleset", 0, SYS_landlock_create_ruleset, { AT(&ruleset), 8 } },
	/* the machine */
	{ "init_module", EPERM, SYS_init_module, { AT(room), 4, AT("") } },
	{ "finit_module", EPERM, SYS_finit_module, { 0, AT("") } },
	{ "delete_module", EPERM, SYS_delete_module, { AT("none") } },
	{ "kexec_load", EPERM, SYS_kexec_load, { 0 } },
	{ "kexec_file_load", EPERM, SYS_kexec_file_load, { -1, -1 } },
	{ "reboot", EPERM, SYS_reboot, { LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, 77 } },
	{ "swapon", EPERM, SYS_swapon, { AT("/tmp/none") } },
	{ "swapoff", EPERM, SYS_swapoff, { AT("/tmp/none") } },
	{ "acct", EPERM, SYS_acct, { AT("/tmp/none") } },
	{ "quotactl", EPERM, SYS_quotactl, { QCMD(Q_SYNC, USRQUOTA) } },
	{ "settimeofday", EPERM, SYS_settimeofday, { AT(&now) } },
	{ "clock_settime", EPERM, SYS_clock_settime, { CLOCK_REALTIME, AT(&now_too) } },
	{ "adjtimex: set", EPERM, SYS_adjtimex, { AT(&clock_set) } },
	{ "adjtimex: read", 0, SYS_adjtimex, { AT(&clock_read) } },
	{ "sethostname", EPERM, SYS_sethostname, { AT("a"), 1 } },
	{ "setdomainname", EPERM, SYS_setdomainname, { AT("a"), 1 } },
	{ "vhangup", EPERM, SYS_vhangup, { 0 } },
#ifdef SYS_iopl
	{ "iopl", EPERM, SYS_iopl, { 3 } },
	{ "ioperm", EPERM, SYS_ioperm, { 0x80, 1, 1 } },
#endif
	/* who we are */
	{ "setuid", EPERM, SYS_setuid, { STRANGER }, NULL, true },
	{ "setgid", EPERM, SYS_setgid, { STRANGER }, NULL, true },
	{ "setresuid", EPERM, SYS_setresuid, { STRANGER, STRANGER, STRANGER }, NULL, true },
	{ "setgroups", EPERM, SYS_setgroups, { 1, AT(strangers) } },
	{ "capset", EPERM, SYS_capset, { AT(&caps_header), AT(all_caps) } },
	{ "prctl: drop of the bounding set", EPERM, SYS_prctl, { PR_CAPBSET_DROP, CAP_CHOWN } },
	{ "prctl: securebits", EPERM, SYS_prctl, { PR_SET_SECUREBITS, SECBIT_NOROOT } },
	{ "prctl: where memory lies", EPERM, SYS_prctl, { PR_SET_MM, PR_SET_MM_BRK, AT(room) } },
	{ "prctl: undo no_new_privs", EINVAL, SYS_prctl, { PR_SET_NO_NEW_PRIVS, 0 } },
	{ "prctl: dumpable", 0, SYS_prctl, { PR_SET_DUMPABLE, 1 } },
	{ "personality", 0, SYS_personality, { ADDR_NO_RANDOMIZE } },
	/* more than our share */
	{ "setpriority", EACCES, SYS_setpriority, { PRIO_PROCESS, 0, -5 } },
	{ "sched_setscheduler", EPERM, SYS_sched_setscheduler, { 0, SCHED_FIFO, AT(&realtime) } },
	{ "ioprio_set: real time", EPERM, SYS_ioprio_set, { 1, 0, 1 << 13 } },
	{ "prlimit: raise", EPERM, SYS_prlimit64, { 0, RLIMIT_CORE, AT(&core_at_large) } },
	{ "fanotify_init: permission", EPERM, SYS_fanotify_init, { FAN_CLASS_CONTENT } },
	{ "fanotify_init", 0, SYS_fanotify_init, { FAN_REPORT_FID } },
	{ "inotify_init1", 0, SYS_inotify_init1, { IN_CLOEXEC } },
	/* sockets and terminals */
	{ "packets", EPERM, SYS_socket, { AF_PACKET, SOCK_RAW } },
	{ "raw IP", EPERM, SYS_socket, { AF_INET, SOCK_RAW, 1 } },
	{ "vsock", EAFNOSUPPORT, SYS_socket, { AF_VSOCK, SOCK_STREAM } },
	{ "ciphers", EAFNOSUPPORT, SYS_socket, { AF_ALG, SOCK_SEQPACKET } },
	{ "bluetooth", EAFNOSUPPORT, SYS_socket, { AF_BLUETOOTH, SOCK_RAW } },
	{ "a Unix socket", 0, SYS_socket, { AF_UNIX, SOCK_STREAM } },
	{ "a TCP socket", 0, SYS_socket, { AF_INET, SOCK_STREAM } },
	{ "netlink", 0, SYS_socket, { AF_NETLINK, SOCK_RAW } },
	{ "TIOCSTI", EPERM, SYS_ioctl, { 0, TIOCSTI, AT("x") } },
	{ "TIOCLINUX", EPERM, SYS_ioctl, { 0, TIOCLINUX, AT("\6") } },
	/* the cell's own */
	{ "shmget", 0, SYS_shmget, { 7, 4096, IPC_CREAT | 0600 } },
	{ "msgget", 0, SYS_msgget, { 7, IPC_CREAT | 0600 } },
	{ "semget", 0, SYS_semget, { 7, 1, IPC_CREAT | 0600 } },
	{ "mq_open", 0, SYS_mq_open, { AT("calls"), O_CREAT | O_RDWR, 0600, 0 } },
	{ "memfd_create", 0, SYS_memfd_create, { AT("calls"), 0 } },
	/* what this table does not know */
	{ "a call of tomorrow", ENOSYS, 999, { 0 } },
};

/* The errno of a row, 0 when it was done. In a child, for who knows what it does to us. */
static int answer(const struct row *row)
{
	pid_t pid = fork();
	if (pid == 0) {
		alarm(10);
		if (row->deed)
			_exit(row->deed());
		const long *a = row->args;
		_exit(syscall(row->number, a[0], a[1], a[2], a[3], a[4], a[5]) < 0 ? errno : 0);
	}
	int status;
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : DIED;
}

int main(void)
{
	gettimeofday(&now, NULL);
	clock_gettime(CLOCK_REALTIME, &now_too);
	for (size_t i = 0; i < countof(rows); i++) {
		int code = answer(&rows[i]);
		int want = rows[i].unmapped && getuid() != 0 ? EINVAL : rows[i].want;
		tap_ok(code == want, "%s: %s", rows[i].what, code ? strerrorname_np(code) : "done");
	}
	return tap_done();
}
