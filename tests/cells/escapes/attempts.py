"""attempts: the table of escapes.py, and what its attempts have at hand in the cell.

A row says what is tried, which answer it gets, and which walls (sandbox/base/barrier.h) have to be
left out for it to get through. Where `refused` is None there is no error: the attempt is let run,
and nothing of it is seen on the host. Walls joined by "+" cannot be left out one without the other.
"""

import os
import signal
import socket
import struct
from dataclasses import dataclass
from textwrap import dedent

from host import (
    CGROUP,
    HOME,
    HOST,
    KNOB,
    MACHINE,
    NUMBERS,
    PROJECT,
    ROOT,
    SYSTEM,
    TOKEN,
    agent,
    both,
    closed_file,
    device,
    file_beside_a_foreign_project,
    file_of_another,
    given,
    group_of_processes,
    handle,
    hostname,
    inherited,
    keyring,
    messages,
    missing,
    mounted_later,
    no_call,
    no_family,
    nothing,
    other_terminal,
    posix_messages,
    pipe,
    process_beside_the_caller,
    process_to_kill,
    process_to_read,
    process_to_slow_down,
    routes,
    secret,
    service,
    service_that_knows_its_users,
    setuid_program,
    shared_memory,
    target,
    terminal,
    terminal_that_answers,
    told,
    traffic,
    unless_foreign,
    unless_landlock,
    unless_setid,
    unless_sysctl,
)

PRELUDE = """
import ctypes, errno, fcntl, os, signal, socket, struct, subprocess, sys, time
libc = ctypes.CDLL(None, use_errno=True)
NUMBERS = %r
def call(name, *args):
    args = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    if name in NUMBERS:
        r = libc.syscall(ctypes.c_long(NUMBERS[name]), *args)
    else:
        r = getattr(libc, name)(*args)
    if r < 0:
        raise OSError(ctypes.get_errno(), name)
    return r
def past(expected, name, *args):  # the kernel got as far as this answer, past all permission
    try:
        call(name, *args)
    except OSError as e:
        if e.errno != expected:
            raise
def read(path, n=4096):
    with open(path, "rb") as f:
        print(f.read(n))
def write(path, text="reached"):  # what is there is not made
    with open(path, "r+b", buffering=0) as f:
        f.write(text.encode())
def wait():  # until the host has done its part
    print("ready", flush=True)
    sys.stdin.readline()
E = os.environ
try:
    %s
except OSError as e:
    print("refused", errno.errorcode.get(e.errno, "timeout"))
else:
    print("reached")
"""


def command(attempt):
    numbers = {name: both[MACHINE] for name, both in NUMBERS.items()}
    body = dedent(attempt).strip().replace("\n", "\n    ")
    return ["/usr/bin/python3", "-ISc", PRELUDE % (numbers, body)]


# ---- the table ----


@dataclass
class Row:
    name: str
    scene: object
    attempt: str
    refused: str  # by which errno
    walls: tuple
    only: str = None  # root: an ordinary user is refused outside a cell, too
    moot: object = lambda: None  # why it cannot succeed on this host, if so

    def concerns(self):
        return self.only is None or ROOT


OF_HOST = "user+quotas", "caps"  # what only the host's own root may; quotas are of a namespace
PROCESSES = "pid+proc+quotas"  # without the namespace there is no /proc to mount, no limit to set
PRIVATE_FD = "descriptors", "cloexec"
WARDEN = "dumpable", "caps", "landlock"
MEMORY = () if ROOT else ("landlock",)  # which the host's root may read, traced or not

ROWS = [
    # files
    Row("read a key below home", secret(HOME + "/.ssh/id"), "read(E['FILE'])", "ENOENT", ("home",)),
    Row(
        "write a file",
        target(HOST + "/file"),
        "write(E['FILE'])",
        "EROFS",
        ("read-only", "landlock"),
    ),
    Row("remove a file", target(HOST + "/file"), "os.unlink(E['FILE'])", "EROFS", ("read-only",)),
    Row(
        "write through a link in the project",
        target(HOST + "/file"),
        """
        os.symlink(E['FILE'], "way-out")
        write("way-out")
        """,
        "EROFS",
        ("read-only", "landlock"),
    ),
    Row(
        "write through /proc/self/root",
        target(HOST + "/file"),
        "write('/proc/self/root' + E['FILE'])",
        "EROFS",
        ("read-only", "landlock"),
    ),
    Row(
        "open a descriptor for writing, by its magic link",
        target(HOST + "/file"),
        "write('/proc/self/fd/%d' % os.open(E['FILE'], os.O_RDONLY))",
        "EROFS",
        ("read-only", "landlock"),
    ),
    Row(
        "write in the project",
        target(PROJECT + "/file"),
        "write(E['FILE'])",
        None,
        ("overlay", "read-only", "landlock"),
    ),
    Row(
        "write in a folder of the system",
        target(SYSTEM + "/file"),
        "write(E['FILE'])",
        None,
        ("overlay", "read-only", "landlock"),
        only="root",
    ),
    Row(
        "write to a tool that is shown below home",
        target(HOST + "/tool", "--bind", HOST + "/tool=" + HOME + "/bin/tool"),
        "write('%s/bin/tool')" % HOME,
        "EROFS",
        ("read-only",),
    ),
    Row(
        "write in a git folder outside the project",
        target(HOST + "/git/HEAD", "--git-dir", HOST + "/git"),
        "write(E['FILE'])",
        "EROFS",
        ("read-only", "landlock"),
    ),
    Row(
        "read a secret below what is shown",
        secret(HOST + "/tools/key", "--hide", HOST + "/tools/key"),
        "read(E['FILE'])",
        None,
        ("hide",),
    ),
    Row(
        "read what only root may read",
        closed_file,
        "read(E['FILE'])",
        None,
        ("hide",),
        only="root",
    ),
    Row(
        "read a key in another's home",
        secret(SYSTEM + "/homes/ann/.ssh/id", "--homes", SYSTEM + "/homes"),
        "read(E['FILE'])",
        "ENOENT",
        ("homes",),
        only="root",
    ),
    Row(
        "read what belongs to another user than a foreign project",
        file_beside_a_foreign_project,
        "read(E['FILE'])",
        "EACCES",
        ("apart",),
        only="root",
        moot=unless_foreign,
    ),
    Row(
        "read what belongs to another user",
        file_of_another,
        """
        os.setgid(1000)
        os.setuid(1000)
        read(E['FILE'])
        """,
        "EACCES",
        ("apart",),
        only="root",
    ),
    Row(
        "tell a service that one is another user",
        service_that_knows_its_users,
        """
        s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        s.connect(E['AT'])
        me = struct.pack("3i", os.getpid(), 1000, 1000)
        s.sendmsg([b"hi"], [(socket.SOL_SOCKET, 2, me)])  # SCM_CREDENTIALS
        """,
        None,
        ("apart",),
        only="root",
    ),
    Row(
        "open a hidden file by its number",
        handle,
        """
        there = os.open("%s", os.O_RDONLY)
        fd = call("open_by_handle_at", there, bytes.fromhex(E["HANDLE"]), os.O_RDONLY)
        print(os.read(fd, 100))
        """
        % HOST,
        "EPERM",
        ("filter", *OF_HOST),
        only="root",
    ),
    Row(
        "write to a pipe that a process reads",
        pipe,
        "write(E['FILE'])",
        "EACCES",
        ("landlock",),
        moot=unless_landlock,
    ),
    Row(
        "the old root below the new one",
        target(HOST + "/file"),
        "write('/..' + E['FILE'])",
        "EROFS",
        ("old-root", "landlock"),
    ),
    Row(
        "see what the host mounts later",
        mounted_later,
        """
        wait()
        read(E['FILE'])
        """,
        "ENOENT",
        ("private",),
    ),
    Row(
        "read through a file of the caller",
        inherited(HOME + "/secret"),
        "print(os.pread(int(E['FD']), 100, 0))",
        "EBADF",
        PRIVATE_FD,
    ),
    Row(
        "read below a folder of the caller",
        inherited(HOME),
        "print(os.read(os.open('secret', os.O_RDONLY, dir_fd=int(E['FD'])), 100))",
        "EBADF",
        PRIVATE_FD,
    ),
    # mounts and namespaces
    Row(
        "make the tree writable",
        target(HOST + "/file"),
        """
        call("mount", None, b"%s", None, 0x1020, None)  # MS_REMOUNT, MS_BIND
        write(E['FILE'])
        """
        % HOST,
        "EPERM",
        ("filter", "caps", "landlock"),
    ),
    Row(
        "unmount what covers the home",
        secret(HOME + "/.ssh/id"),
        """
        call("umount2", b"%s", 2)  # MNT_DETACH
        read(E['FILE'])
        """
        % HOME,
        "EPERM",
        ("filter", "caps", "landlock"),
    ),
    Row(
        "clone the tree without what covers it",
        secret(HOME + "/.ssh/id"),
        """
        tree = call("open_tree", -100, b"%s", 1)  # OPEN_TREE_CLONE
        print(os.read(os.open("home/.ssh/id", os.O_RDONLY, dir_fd=tree), 100))
        """
        % HOST,
        "EPERM",
        ("filter", "caps"),
    ),
    Row(
        "make a file system",
        nothing,
        "call('fsopen', b'tmpfs', 0)",
        "EPERM",
        ("filter", "caps"),
    ),
    Row(
        "change the root of the namespace",
        nothing,
        "call('pivot_root', b'.', b'.')",
        "EPERM",
        ("filter", "caps", "landlock"),
    ),
    Row("chroot", nothing, "call('chroot', b'/tmp')", "EPERM", ("caps",)),
    Row(
        "a user namespace by unshare",
        nothing,
        "call('unshare', 0x10000000)",
        "EPERM",
        ("filter",),
    ),
    Row(
        "a user namespace by clone",
        nothing,
        "call('clone', 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0) or os._exit(0)",
        "EPERM",
        ("filter",),
    ),
    Row(
        "a user namespace by clone3",
        nothing,
        """
        args = struct.pack("11Q", 0x10000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0)
        call('clone3', args, len(args)) or os._exit(0)
        """,
        "ENOSYS",
        ("filter",),
    ),
    Row(
        "enter the host's tree by a descriptor of the caller",
        inherited("/proc/self/ns/mnt"),
        """
        call('setns', int(E['FD']), 0x20000)
        read(E['FILE'])
        """,
        "EPERM",
        (*PRIVATE_FD, "filter", *OF_HOST),
    ),
    # sockets and network
    Row(
        "an agent's socket in /tmp",
        agent,
        """
        s = socket.socket(socket.AF_UNIX)
        s.connect(E['AT'])
        print(s.recv(100))
        """,
        "ENOENT",
        ("tmp",),
    ),
    Row(
        "a service's socket elsewhere",
        service(socket.AF_UNIX, HOST + "/service", "--hide", HOST + "/service"),
        """
        s = socket.socket(socket.AF_UNIX)
        s.connect(E['AT'])
        print(s.recv(100))
        """,
        "ECONNREFUSED",
        ("hide",),
    ),
    Row(
        "an abstract socket",
        service(socket.AF_UNIX, "\0fumehood-escapes"),
        """
        s = socket.socket(socket.AF_UNIX)
        s.connect(E['AT'].replace('@', '\\0'))
        print(s.recv(100))
        """,
        "ECONNREFUSED",
        ("net",),
    ),
    Row(
        "a service at the loopback",
        service(socket.AF_INET, ("127.0.0.1", 0)),
        """
        s = socket.create_connection(('127.0.0.1', int(E['AT'])))
        print(s.recv(100))
        """,
        "ECONNREFUSED",
        ("net",),
    ),
    Row(
        "listen to the loopback's traffic",
        traffic,
        """
        s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        s.bind(("lo", 0))
        s.settimeout(1)
        wait()
        print(s.recv(2000))
        """,
        "EPERM",
        ("net", *OF_HOST),
    ),
    Row(
        "change the routes",
        routes,
        """
        s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        s.send(bytes.fromhex(E["MESSAGE"]))
        code = -struct.unpack_from("i", s.recv(1000), 16)[0]
        if code:
            raise OSError(code, "route")
        """,
        "EPERM",
        ("net", *OF_HOST),
    ),
    Row(
        "the hypervisor, by vsock",
        nothing,
        "socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)",
        "EAFNOSUPPORT",
        ("filter",),
        moot=no_family(socket.AF_VSOCK, socket.SOCK_STREAM),
    ),
    Row(
        "the kernel's ciphers",
        nothing,
        "socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)",
        "EAFNOSUPPORT",
        ("filter",),
        moot=no_family(socket.AF_ALG, socket.SOCK_SEQPACKET),
    ),
    # processes
    Row("kill a process", process_to_kill, "os.kill(int(E['PID']), 9)", "ESRCH", (PROCESSES,)),
    Row(
        "signal the caller's process group",
        process_beside_the_caller,
        """
        wait()
        os.kill(0, signal.SIGURG)
        """,
        None,
        ("session",),
    ),
    Row(
        "make all processes of the user nice",
        process_to_slow_down,
        """
        try:
            os.setpriority(os.PRIO_USER, os.getuid(), 7)
        except PermissionError:
            pass  # the warden: the others are nice
        """,
        None,
        (PROCESSES, *OF_HOST),
    ),
    Row(
        "read a process's arguments",
        process_to_read,
        "read('/proc/%s/cmdline' % E['PID'])",
        "ENOENT",
        ("proc",),
    ),
    Row(
        "read a process's environment",
        process_to_read,
        "read('/proc/%s/environ' % E['PID'])",
        "ENOENT",
        ("proc", *OF_HOST, *MEMORY),
    ),
    Row(
        "read the home through another's root",
        lambda: both(process_to_read(), secret(HOME + "/.ssh/id")()),
        "read('/proc/%s/root' % E['PID'] + E['FILE'])",
        "ENOENT",
        ("proc", *OF_HOST, "landlock"),
    ),
    Row(
        "trace a process",
        process_to_kill,
        """
        call('ptrace', 16, int(E['PID']), 0, 0)
        call('ptrace', 8, int(E['PID']), 0, 0)
        """,
        "ESRCH",
        (PROCESSES, *OF_HOST, "landlock"),
    ),
    Row(
        "read the runner's environment",
        given(outside={"SECRET": TOKEN}, proof=told),
        """
        with open("/proc/%d/stat" % os.getppid()) as f:
            runner = f.read().split()[3]
        read("/proc/%s/environ" % runner)
        """,
        "ENOENT",
        (PROCESSES, *OF_HOST, *MEMORY),
    ),
    # the warden
    Row(
        "kill the warden",
        given(proof=lambda ran: ran.result.get("gone")),
        """
        os.kill(os.getppid(), 9)
        time.sleep(0.1)
        """,
        None,
        (PROCESSES,),
    ),
    # Seized: attached to, it would be stopped, and the cell would never end.
    Row("trace the warden", nothing, "call('ptrace', 0x4206, 1, 0, 0)", "EPERM", WARDEN),
    Row(
        "read the warden's memory by system call",
        nothing,
        """
        def vm_read(at):
            buf = ctypes.create_string_buffer(8)
            local = (ctypes.c_void_p * 2)(ctypes.addressof(buf), 8)
            return call("process_vm_readv", 1, local, 1, (ctypes.c_void_p * 2)(at, 8), 1, 0)
        try:
            vm_read(8)
        except OSError as e:
            if e.errno != errno.EFAULT:
                raise
        with open("/proc/1/maps") as f:
            vm_read(int(f.readline().split("-")[0], 16))
        """,
        "EPERM",
        WARDEN,
    ),
    Row(
        "write the warden's memory by its file",
        nothing,
        "os.open('/proc/1/mem', os.O_RDWR)",
        "EACCES",
        WARDEN,
    ),
    Row(
        "take the warden's descriptors",
        nothing,
        """
        warden = call("pidfd_open", 1, 0)
        for fd in range(100):
            try:
                call("pidfd_getfd", warden, fd, 0)
                break
            except OSError as e:
                if e.errno != errno.EBADF:
                    raise
        else:
            raise OSError(errno.EBADF, "none is open")
        """,
        "EPERM",
        WARDEN,
    ),
    Row(
        "open the warden's descriptors by their files",
        nothing,
        "print(os.readlink('/proc/1/fd/' + os.listdir('/proc/1/fd')[0]))",
        "EACCES",
        WARDEN,
    ),
    Row(
        "take the warden's limits down",
        nothing,
        "call('prlimit', 1, 7, struct.pack('2Q', 64, 64), None)",
        "EPERM",
        ("filter",),
    ),
    Row(
        "read the runner's arguments in the warden",
        given(options=["--file", "name=" + TOKEN], proof=told),
        "read('/proc/1/cmdline', 1 << 16)",
        None,
        ("wipe",),
    ),
    Row(
        "read the runner's environment in the warden",
        given(outside={"SECRET": TOKEN}, proof=told),
        "read('/proc/1/environ', 1 << 16)",
        "EACCES",
        ("wipe", *WARDEN),
    ),
    # what is ours
    Row(
        "write the layers raw, by our descriptor",
        nothing,
        """
        for fd in os.listdir("/proc/self/fd"):
            try:
                os.mkdir("upper/0/raw", dir_fd=int(fd))
                break
            except OSError:
                pass
        else:
            raise OSError(errno.EBADF, "none is open")
        """,
        "EBADF",
        ("cloexec",),
    ),
    Row(
        "speak to the warden on our socket",
        nothing,
        """
        for fd in os.listdir("/proc/self/fd"):
            try:
                socket.socket(fileno=int(fd)).send(b"something")
                break
            except OSError:
                pass
        else:
            raise OSError(errno.EBADF, "none is open")
        """,
        "EBADF",
        ("cloexec",),
    ),
    Row(
        "listen where adapters connect",
        nothing,
        """
        os.unlink("/run/fumehood/socket")
        socket.socket(socket.AF_UNIX).bind("/run/fumehood/socket")
        """,
        "EROFS",
        ("run-dir",),
    ),
    Row(
        "write the adapter's code",
        given(options=["--file", "adapter.py=pass"]),
        "write('/run/fumehood/adapter.py')",
        "EROFS",
        ("run-dir",),
    ),
    # terminals
    Row(
        "type into the caller's terminal",
        terminal,
        """
        for letter in b"reached":
            fcntl.ioctl(0, 0x5412, bytes([letter]))  # TIOCSTI
        """,
        "EPERM",
        ("filter", "session"),
        moot=unless_sysctl("dev/tty/legacy_tiocsti", 1, 1),
    ),
    Row(
        "ask the console's driver",
        terminal_that_answers,
        """
        try:
            fcntl.ioctl(0, 0x541C, b"\\6")  # TIOCLINUX; only a console knows it
        except OSError as e:
            if e.errno != errno.ENOTTY:
                raise
        """,
        "EPERM",
        ("filter",),
    ),
    Row(
        "write to the caller's terminal by /dev/tty",
        terminal,
        "write('/dev/tty')",
        "ENXIO",
        ("session",),
    ),
    Row(
        "write to another's terminal",
        other_terminal,
        "write(E['FILE'])",
        "ENOENT",
        ("dev", "nodev"),
    ),
    # devices and levers of the machine
    Row("a device in the tree", device, "read(E['FILE'], 1)", "EACCES", ("nodev",)),
    Row(
        "make a device",
        nothing,
        """
        os.mknod("/tmp/zero", 0o20666, os.makedev(1, 5))
        read("/tmp/zero", 1)
        """,
        "EPERM",
        ("nodev", *OF_HOST),
        only="root",
    ),
    Row(
        "the kernel's log, by its device",
        nothing,
        "os.open('/dev/kmsg', os.O_WRONLY)",
        "ENOENT",
        ("dev", "nodev"),
        only="root",
        moot=missing("/dev/kmsg"),
    ),
    Row(
        "the kernel's log, by system call",
        nothing,
        "call('klogctl', 3, ctypes.create_string_buffer(64), 64)",
        "EPERM",
        ("filter", *OF_HOST),
        only="root",
        moot=unless_sysctl("kernel/dmesg_restrict", 1, 2),
    ),
    Row(
        "core_pattern",
        nothing,
        """
        with open("/proc/sys/kernel/core_pattern") as f:
            was = f.read()
        write("/proc/sys/kernel/core_pattern", was)
        """,
        "EROFS",
        ("proc-seal",),
        only="root",
    ),
    Row(
        "sysrq-trigger",
        nothing,
        "os.open('/proc/sysrq-trigger', os.O_WRONLY)",
        "EROFS",
        ("proc-seal",),
        only="root",
        moot=missing("/proc/sysrq-trigger"),
    ),
    Row(
        "where interrupts go",
        nothing,
        """
        with open("/proc/irq/default_smp_affinity") as f:
            was = f.read()
        write("/proc/irq/default_smp_affinity", was)
        """,
        "EROFS",
        ("proc-seal",),
        only="root",
        moot=missing("/proc/irq/default_smp_affinity"),
    ),
    Row(
        "the kernel's memory by /proc/kcore",
        nothing,
        """
        with open("/proc/kcore", "rb") as f:
            if f.read(4) != b"\\x7fELF":
                raise OSError(errno.ENODATA, "it is empty")
        """,
        "ENODATA",
        ("proc-seal", *OF_HOST),
        only="root",
        moot=missing("/proc/kcore"),
    ),
    Row(
        "names of keys by /proc/keys",
        keyring,
        "read('/proc/keys', 1 << 16)",
        None,
        ("proc-seal",),
        moot=missing("/proc/keys"),
    ),
    Row(
        "keys of the caller's session",
        keyring,
        """
        ids = (ctypes.c_int * 16)()
        n = call("keyctl", 11, -3, ids, 64) // 4  # KEYCTL_READ the session's keyring
        for key in ids[:n]:
            buf = ctypes.create_string_buffer(100)
            call("keyctl", 11, key, buf, 100)
            print(buf.raw)
        """,
        "EPERM",
        ("filter",),
    ),
    Row(
        "a setting in /sys",
        given(inside={"FILE": KNOB}),
        """
        with open(E["FILE"]) as f:
            was = f.read()
        write(E["FILE"], was)
        """,
        "EROFS",
        ("read-only", "landlock"),
        only="root",
        moot=missing(KNOB),
    ),
    Row(
        "join a control group",
        group_of_processes,
        "write(E['FILE'], '0')",
        "EROFS",
        ("read-only", "landlock"),
        only="root",
        moot=missing(CGROUP),
    ),
    Row(
        "the host's name",
        hostname,
        "call('sethostname', b'reached', 7)",
        "EPERM",
        ("uts", *OF_HOST),
    ),
    Row(
        "the clock",
        nothing,
        "call('settimeofday', struct.pack('ll', *divmod(time.time_ns() // 1000, 10**6)), None)",
        "EPERM",
        ("filter", *OF_HOST),
        only="root",
    ),
    Row(
        "load a module",
        nothing,
        "past(errno.ENOEXEC, 'init_module', b'no module', 9, b'')",
        "EPERM",
        ("filter", *OF_HOST),
        only="root",
        moot=no_call("init_module", b"", 0, b""),
    ),
    Row(
        "another kernel",
        nothing,
        "past(errno.EINVAL, 'kexec_load', 0, 0, None, 0xffff)",
        "EPERM",
        ("filter", *OF_HOST),
        only="root",
        moot=no_call("kexec_load", 0, 0, None, 0xFFFF),
    ),
    Row("reboot", nothing, "past(errno.EINVAL, 'reboot', 77)", "EPERM", ("filter", "caps")),
    Row(
        "swap",
        nothing,
        "past(errno.ENOENT, 'swapon', b'/tmp/none', 0)",
        "EPERM",
        ("filter", *OF_HOST),
        only="root",
    ),
    Row(
        "process accounting",
        nothing,
        "past(errno.ENOENT, 'acct', b'/tmp/none')",
        "EPERM",
        ("filter", *OF_HOST),
        only="root",
    ),
    Row(
        "ports of the machine",
        nothing,
        "call('ioperm', 0x80, 1, 1)",
        "EPERM",
        ("filter", *OF_HOST),
        only="root",
        moot=no_call("ioperm", 0x80, 1, 0),
    ),
    # windows into the kernel
    Row(
        "bpf",
        nothing,
        "call('bpf', 0, struct.pack('4I', 2, 4, 4, 1) + bytes(56), 72)",
        "EPERM",
        ("filter", *OF_HOST),
        only="root",
    ),
    Row(
        "perf_event_open",
        nothing,
        """
        attr = struct.pack('IIQQQQQ', 1, 112, 0, 0, 0, 0, 0x60)  # software, without the kernel
        call('perf_event_open', attr + bytes(64), 0, -1, -1, 0)
        """,
        "EPERM",
        ("filter",),
        moot=unless_sysctl("kernel/perf_event_paranoid", -1, 2),
    ),
    Row("userfaultfd", nothing, "call('userfaultfd', 1)", "EPERM", ("filter",)),
    Row(
        "io_uring",
        nothing,
        "call('io_uring_setup', 1, ctypes.create_string_buffer(120))",
        "ENOSYS",
        ("filter",),
        moot=unless_sysctl("kernel/io_uring_disabled", -1, 0),
    ),
    Row(
        "a set-user-id program",
        setuid_program,
        """
        if subprocess.check_output([E["FILE"], "-u"]) != b"65534\\n":
            raise OSError(errno.EPERM, "it has no effect")
        """,
        "EPERM",
        ("nosuid", "no_new_privs+filter"),  # a filter needs no_new_privs
        only="root",
        moot=unless_setid,
    ),
    # memory and messages of others
    Row(
        "shared memory of SysV",
        shared_memory,
        """
        shm = call("shmget", int(E["KEY"]), 64, 0)
        libc.shmat.restype = ctypes.c_void_p
        print(ctypes.string_at(libc.shmat(shm, None, 0), 64))
        """,
        "ENOENT",
        ("ipc",),
    ),
    Row(
        "messages of SysV",
        messages,
        """
        queue = call("msgget", int(E["KEY"]), 0)
        buf = ctypes.create_string_buffer(108)
        call("msgrcv", queue, buf, 100, 0, 0o4000)
        print(buf.raw)
        """,
        "ENOENT",
        ("ipc",),
    ),
    Row(
        "messages of POSIX",
        posix_messages,
        """
        buf = ctypes.create_string_buffer(8192)
        call("mq_receive", call("mq_open", b"/fumehood", os.O_RDONLY), buf, 8192, None)
        print(buf.raw[:100])
        """,
        "ENOENT",
        ("ipc",),
    ),
    Row(
        "shared memory of POSIX",
        secret("/dev/shm/fumehood-escapes-%d" % os.getuid()),
        "read(E['FILE'])",
        "ENOENT",
        ("dev", "shm"),
    ),
    # what a user has only so many of
    Row(
        "all watches of the user",
        nothing,
        "[call('inotify_init') for _ in range(80)]",
        "EMFILE",
        ("quotas",),
        moot=unless_sysctl("user/max_inotify_instances", 100, 1 << 31),
    ),
    Row(
        "processes without end",
        given(options=["--pid-max", "310"]),
        """
        for _ in range(330):
            if os.fork() == 0:
                time.sleep(60)
        """,
        "EAGAIN",
        ("quotas",),
    ),
]
