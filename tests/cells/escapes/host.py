"""host: what stands for the host while escapes.py makes its attempts, and what they aim at."""

import ctypes
import errno
import fcntl
import os
import platform
import secrets
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
from contextlib import contextmanager
from dataclasses import dataclass, field

libc = ctypes.CDLL(None, use_errno=True)

HOST = "/boot"  # a tmpfs of ours; in no cell is it writable
HOME = HOST + "/home"
PROJECT = HOST + "/project"
SYSTEM = "/srv"  # another: to root one of the folders that get an overlay
TOKEN = "token-" + secrets.token_hex(8)  # what only the host knows
KEY = 0x66756D65  # of SysV IPC
ROOT = os.getuid() == 0
SETID = "--setid" in sys.argv  # the cell's root may become others

# What glibc has no function for. (x86_64, aarch64)
NUMBERS = {
    "add_key": (248, 217),
    "bpf": (321, 280),
    "clone": (56, 220),
    "clone3": (435, 435),
    "init_module": (175, 105),
    "io_uring_setup": (425, 425),
    "ioperm": (173, -1),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
}
MACHINE = ["x86_64", "aarch64"].index(platform.machine())


def check(r):
    if r < 0:
        raise OSError(ctypes.get_errno(), "make the host")
    return r


def mount_tmpfs(path):
    check(libc.mount(b"host", path.encode(), b"tmpfs", 0, b"mode=0755"))


def loopback_up():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", b"lo", 0x41))  # SIOCSIFFLAGS: up, running


def make_host():
    mount_tmpfs(HOST)
    mount_tmpfs(SYSTEM)
    put(SYSTEM + "/something", "")
    os.makedirs(HOME + "/.cache")  # or a cell without a private home could not make one
    os.mkdir(PROJECT)
    loopback_up()


def put(path, text, mode=0o666):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)


def make_folder_for(path):
    os.makedirs(os.path.dirname(path), exist_ok=True)


def get(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def sysctl(name):
    try:
        return int(get("/proc/sys/" + name))
    except OSError:
        return -1


def control_terminal(terminal):
    """In a child that leads a session: make this its controlling terminal."""
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


# ---- scenes: what an attempt aims at ----


@dataclass
class Scene:
    inside: dict = field(default_factory=dict)  # environment of the attempt
    proof: object = lambda ran: ran.reached  # that it got through
    outside: dict = field(default_factory=dict)  # environment of the caller
    options: list = field(default_factory=list)  # of cell_run
    fds: tuple = ()  # left open by the caller
    terminal: int = None  # the caller's
    meanwhile: object = None  # done on the host when the attempt says that it is ready


def told(ran):
    """The host's secret stands in what the attempt printed."""
    return TOKEN in ran.said


@contextmanager
def nothing():
    """The kernel's answer is proof enough."""
    yield Scene()


def given(**scene):
    """What is given to the caller of the cell tells all."""

    @contextmanager
    def make():
        yield Scene(**scene)

    return make


def secret(path, *options, **scene):
    """A file to read."""

    @contextmanager
    def make():
        make_folder_for(path)
        put(path, TOKEN, 0o644)
        yield Scene({"FILE": path}, told, options=options, **scene)
        os.unlink(path)

    return make


def target(path, *options):
    """A file to change, or to remove."""

    @contextmanager
    def make():
        make_folder_for(path)
        put(path, "")
        gone = lambda ran: not os.path.exists(path) or get(path) == "reached"
        yield Scene({"FILE": path}, gone, options=options)
        if os.path.exists(path):
            os.unlink(path)

    return make


@contextmanager
def file_of_another():
    """What only user 1000 may read; the cell's root may become others."""
    with secret(HOST + "/another", "--setid")() as scene:
        os.chown(scene.inside["FILE"], 1000, 1000)
        os.chmod(scene.inside["FILE"], 0o600)
        yield scene


@contextmanager
def file_beside_a_foreign_project():
    """In a project of user 1000 root has capabilities; the file is user 2000's."""
    with secret(HOST + "/another")() as scene:
        os.chown(scene.inside["FILE"], 2000, 2000)
        os.chmod(scene.inside["FILE"], 0o600)
        os.chown(PROJECT, 1000, 1000)
        yield scene
        os.chown(PROJECT, 0, 0)


@contextmanager
def closed_file():
    """What only root may read."""
    with secret(SYSTEM + "/closed", "--closed")() as scene:
        os.chmod(scene.inside["FILE"], 0o600)
        yield scene


@contextmanager
def service_that_knows_its_users():
    """Who writes to it is told by the kernel; the cell's root may become others."""
    path = HOST + "/users"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        server.bind(path)
        os.chmod(path, 0o666)
        server.setblocking(False)

        def is_1000(_):
            _, ((_, _, credentials),), _, _ = server.recvmsg(100, socket.CMSG_SPACE(12))
            return struct.unpack("3i", credentials)[1] == 1000

        yield Scene({"AT": path}, is_1000, options=["--setid"])
    os.unlink(path)


@contextmanager
def handle():
    """The number of a hidden file in its file system."""
    with secret(HOST + "/hidden", "--hide", HOST + "/hidden")() as scene:
        buf = ctypes.create_string_buffer(struct.pack("Ii", 128, 0), 8 + 128)
        mount = ctypes.byref(ctypes.c_int())
        check(libc.name_to_handle_at(-100, scene.inside["FILE"].encode(), buf, mount, 0))
        scene.inside["HANDLE"] = buf.raw.hex()
        yield scene


def inherited(path):
    """A descriptor that the caller left open; HOME holds a secret."""

    @contextmanager
    def make():
        with secret(HOME + "/secret")() as scene:
            fd = os.open(path, os.O_RDONLY)
            scene.inside["FD"] = str(fd)
            scene.fds = (fd,)
            yield scene
            os.close(fd)

    return make


@contextmanager
def mounted_later():
    """What the host mounts when the cell stands."""
    folder = HOST + "/later"
    os.makedirs(folder, exist_ok=True)
    check(libc.mount(None, HOST.encode(), None, 1 << 20, None))  # shared

    def mount(_):
        mount_tmpfs(folder)
        put(folder + "/secret", TOKEN)

    yield Scene({"FILE": folder + "/secret"}, told, meanwhile=mount)
    libc.umount2(folder.encode(), 2)
    check(libc.mount(None, HOST.encode(), None, 1 << 18, None))  # private


@contextmanager
def device():
    """A device in the host's tree."""
    path = HOST + "/device"
    put(path, "")
    check(libc.mount(b"/dev/zero", path.encode(), None, 4096, None))  # bind
    yield Scene({"FILE": path})
    check(libc.umount2(path.encode(), 2))
    os.unlink(path)


@contextmanager
def pipe():
    path = HOST + "/pipe"
    os.mkfifo(path)
    os.chmod(path, 0o666)
    reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    yield Scene({"FILE": path}, lambda ran: os.read(reading, 100) == b"reached")
    os.close(reading)
    os.unlink(path)


@contextmanager
def setuid_program():
    path = HOST + "/id"
    shutil.copy("/usr/bin/id", path)
    os.chown(path, 65534, 65534)
    os.chmod(path, 0o4755)
    yield Scene({"FILE": path})
    os.unlink(path)


@contextmanager
def group_of_processes():
    """A control group of the host."""
    path = os.path.join(CGROUP, "fumehood-escapes")
    os.mkdir(path)
    yield Scene({"FILE": path + "/cgroup.procs"})
    os.rmdir(path)


@contextmanager
def child(work):
    """Do this in a process of its own, for as long as it is needed."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    yield pid
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def tell_everybody(server):
    while True:
        peer, _ = server.accept()
        peer.sendall(TOKEN.encode())
        peer.close()


def service(family, address, *options):
    """Tells a secret to whoever connects."""

    @contextmanager
    def make():
        with socket.socket(family, socket.SOCK_STREAM) as server:
            server.bind(address)
            server.listen()
            at = server.getsockname()
            with child(lambda: tell_everybody(server)):
                where = str(at[1]) if family == socket.AF_INET else address
                yield Scene({"AT": where.replace("\0", "@")}, told, options=options)
        if where[0] == "/":
            os.unlink(where)

    return make


@contextmanager
def agent():
    """A service with a socket in /tmp."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        with service(socket.AF_UNIX, folder + "/agent")() as scene:
            yield scene


@contextmanager
def traffic():
    """Something passes through the host's loopback."""

    def pass_by(_):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.sendto(TOKEN.encode(), ("127.0.0.1", 9))

    yield Scene({}, told, meanwhile=pass_by)


def route_message(kind):
    """To rtnetlink: 192.0.2.0/24 lies behind lo."""
    body = struct.pack("8BI", socket.AF_INET, 24, 0, 0, 254, 4, 253, 1, 0)
    body += struct.pack("HH4s", 8, 1, bytes((192, 0, 2, 0))) + struct.pack("HHI", 8, 4, 1)
    return struct.pack("IHHII", 16 + len(body), kind, 0x405, 1, 0) + body


@contextmanager
def routes():
    yield Scene(
        {"MESSAGE": route_message(24).hex()}, lambda ran: "\t000200C0\t" in get("/proc/net/route")
    )
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as s:
        s.send(route_message(25))


@contextmanager
def hostname():
    socket.sethostname("host")
    yield Scene({}, lambda ran: socket.gethostname() == "reached")


@contextmanager
def process():
    """One of the host, with a secret in its arguments and in its environment."""
    argv = ["python3", "-ISc", "import time; time.sleep(1000)", TOKEN]
    ran = subprocess.Popen(argv, executable="/usr/bin/python3", env={"SECRET": TOKEN})
    yield Scene({"PID": str(ran.pid)}, told), ran
    ran.kill()
    ran.wait()


@contextmanager
def process_to_read():
    with process() as (scene, _):
        yield scene


def is_dead(ran):
    for _ in range(20):
        if ran.poll() is not None:
            return True
        time.sleep(0.05)
    return False


@contextmanager
def process_to_kill():
    with process() as (scene, ran):
        scene.proof = lambda _: is_dead(ran)
        yield scene


@contextmanager
def process_to_slow_down():
    with process() as (scene, ran):
        nice = os.getpriority(os.PRIO_PROCESS, ran.pid)
        scene.proof = lambda _: os.getpriority(os.PRIO_PROCESS, ran.pid) != nice
        yield scene


@contextmanager
def process_beside_the_caller():
    """In its process group; a signal that others ignore is its end."""
    beside = []

    def prepare(group):
        os.setpgid(0, group)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGURG])

    def join(group):
        code = "import signal; signal.sigwait([signal.SIGURG])"
        argv = ["/usr/bin/python3", "-ISc", code]
        beside.append(subprocess.Popen(argv, preexec_fn=lambda: prepare(group)))

    yield Scene({}, lambda ran: is_dead(beside[0]), meanwhile=join)
    beside[0].kill()
    beside[0].wait()


def shown(screen):
    """What was written to a terminal; screen is the other end of it."""
    os.set_blocking(screen, False)
    try:
        return os.read(screen, 4096)
    except OSError:
        return b""


@contextmanager
def terminal():
    """The caller's, which it hands on."""
    screen, keyboard = os.openpty()
    yield Scene({}, lambda ran: b"reached" in shown(screen), terminal=keyboard)
    os.close(screen)
    os.close(keyboard)


@contextmanager
def terminal_that_answers():
    with terminal() as scene:
        scene.proof = lambda ran: ran.reached
        yield scene


@contextmanager
def other_terminal():
    """One that somebody else sits at."""
    screen, keyboard = os.openpty()
    yield Scene({"FILE": os.ttyname(keyboard)}, lambda ran: b"reached" in shown(screen))
    os.close(screen)
    os.close(keyboard)


@contextmanager
def shared_memory():
    shm = check(libc.shmget(KEY, 64, 0o1644))
    libc.shmat.restype = ctypes.c_void_p
    ctypes.memmove(libc.shmat(shm, None, 0), TOKEN.encode(), len(TOKEN))
    yield Scene({"KEY": str(KEY)}, told)
    check(libc.shmctl(shm, 0, None))


@contextmanager
def messages():
    queue = check(libc.msgget(KEY, 0o1644))
    check(libc.msgsnd(queue, struct.pack("l", 1) + TOKEN.encode(), len(TOKEN), 0))
    yield Scene({"KEY": str(KEY)}, told)
    check(libc.msgctl(queue, 0, None))


@contextmanager
def posix_messages():
    queue = check(libc.mq_open(b"/fumehood", os.O_CREAT | os.O_RDWR, 0o644, None))
    check(libc.mq_send(queue, TOKEN.encode(), len(TOKEN), 0))
    yield Scene({}, told)
    check(libc.mq_unlink(b"/fumehood"))
    os.close(queue)


@contextmanager
def keyring():
    """The caller's session keyring holds a key."""
    text = TOKEN.encode()
    check(libc.syscall(NUMBERS["keyctl"][MACHINE], 1, None))
    check(libc.syscall(NUMBERS["add_key"][MACHINE], b"user", text, text, len(text), -3))
    yield Scene({}, told)


@contextmanager
def both(one, other):
    with one as a, other as b:
        yield Scene({**a.inside, **b.inside}, told)


def missing(path):
    return lambda: None if os.path.exists(path) else "this host has no %s" % (path or "such file")


def unless_sysctl(name, low, high):
    """What the host lets everybody do, or nobody."""

    def why():
        value = sysctl(name)
        return None if low <= value <= high else "%s is %d here" % (name.replace("/", "."), value)

    return why


def unless_landlock():
    abi = libc.syscall(444, None, 0, 1)  # landlock_create_ruleset, which version
    return None if abi >= 2 else "this kernel has no Landlock 2"


def unless_foreign():
    return "root has no capabilities of a foreign project" if SETID else None


def unless_setid():
    return "to other users' programs the cell maps no user" if SETID else None


def no_call(name, *args):
    def why():
        r = libc.syscall(NUMBERS[name][MACHINE], *args)
        absent = r < 0 and ctypes.get_errno() == errno.ENOSYS
        return "this kernel has no %s" % name if absent else None

    return why


def no_family(family, kind):
    def why():
        try:
            socket.socket(family, kind).close()
        except OSError as e:
            return "this host has no such sockets: %s" % e.strerror
        return None

    return why


def find_cgroup():
    for path in "/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/pids":
        if os.path.exists(path + "/cgroup.procs"):
            return path
    return ""


def find_knob():
    for path in "/sys/module/printk/parameters/time", "/sys/kernel/mm/ksm/run":
        if os.path.exists(path):
            return path
    return ""


CGROUP = find_cgroup()
KNOB = find_knob()
