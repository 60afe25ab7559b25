"""Ways out of a cell without namespaces. Prints the names of those that led out, one a line: on the
host all of them do, which shows that each can be told.

Usage: landlock_attempts.py FACTS.json    FACTS: what the host has, and where the attempts may write
"""

import ctypes
import errno
import json
import os
import resource
import signal
import socket
import sys

with open(sys.argv[1], encoding="utf-8") as text:
    HOST = json.load(text)
OWN = os.environ["TMPDIR"]
LIBC = ctypes.CDLL(None, use_errno=True)
ATTEMPTS = {}


def attempt(name):
    def keep(function):
        ATTEMPTS[name] = function
        return function

    return keep


def call(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")


def write(path):
    with open(path, "w", encoding="utf-8") as out:
        out.write("x")


for place in HOST["folders"]:
    ATTEMPTS["write into " + place] = lambda place=place: write(place + "/made")
    ATTEMPTS["make a folder in " + place] = lambda place=place: os.mkdir(place + "/folder")
    ATTEMPTS["a socket in " + place] = lambda place=place: socket.socket(socket.AF_UNIX).bind(place + "/socket")
    ATTEMPTS["a pipe in " + place] = lambda place=place: os.mkfifo(place + "/pipe")
    ATTEMPTS["a link in " + place] = lambda place=place: os.symlink("x", place + "/link")

FILE = HOST["file"]
ATTEMPTS["append to a file"] = lambda: os.close(os.open(FILE, os.O_WRONLY | os.O_APPEND))
ATTEMPTS["truncate a file"] = lambda: os.truncate(FILE, 1)
ATTEMPTS["link a file of the host into the own folder"] = lambda: os.link(FILE, OWN + "/linked")
ATTEMPTS["move a file away"] = lambda: os.rename(HOST["movable"], HOST["movable"] + ".moved")
ATTEMPTS["remove a file"] = lambda: os.unlink(HOST["removable"])
ATTEMPTS["remove a folder"] = lambda: os.rmdir(HOST["removable"] + ".d")
ATTEMPTS["read a secret"] = lambda: open(HOST["secret"], encoding="utf-8").close()
ATTEMPTS["read what is in /tmp"] = lambda: open(HOST["private"], encoding="utf-8").close()
ATTEMPTS["list the home"] = lambda: os.listdir(HOST["home"])


@attempt("write through a link")
def _():
    os.symlink(FILE, OWN + "/through")
    write(OWN + "/through")


PID = HOST["pid"]
ATTEMPTS["signal a process"] = lambda: os.kill(PID, 0)
ATTEMPTS["signal it by pidfd"] = lambda: signal.pidfd_send_signal(os.pidfd_open(PID), signal.SIGCONT)
ATTEMPTS["read its environment"] = lambda: open("/proc/%d/environ" % PID, "rb").read()
ATTEMPTS["open its memory"] = lambda: open("/proc/%d/mem" % PID, "rb").close()
ATTEMPTS["open its root"] = lambda: os.listdir("/proc/%d/root/" % PID)
ATTEMPTS["lower its limits"] = lambda: resource.prlimit(PID, resource.RLIMIT_CORE, (0, 0))
ATTEMPTS["lower its priority"] = lambda: os.setpriority(os.PRIO_PROCESS, PID, 10)
ATTEMPTS["pin it to a processor"] = lambda: os.sched_setaffinity(PID, os.sched_getaffinity(PID))
ATTEMPTS["signal who started us"] = lambda: os.kill(HOST.get("parent") or os.getppid(), 0)


def is_let_through(number, *args):
    """By the filter, whatever the kernel says then."""
    call(0 if LIBC.syscall(number, *args) >= 0 or ctypes.get_errno() != errno.EPERM else -1)


# On the host with what names nobody, which the kernel refuses in another way: root's are all of its own.
@attempt("lower the priority of all processes of the user")
def _():
    is_let_through(141, os.PRIO_USER + bool(HOST["parent"]), 0, os.getpriority(os.PRIO_PROCESS, 0))


@attempt("lower the priority of their input and output")
def _():
    is_let_through(251, 3, 0, 7 << 13)  # there is no such class


@attempt("trace it")
def _():
    call(LIBC.ptrace(16, PID, None, None))
    os.waitpid(PID, 0)
    call(LIBC.ptrace(17, PID, None, None))


@attempt("connect by TCP")
def _():
    socket.create_connection(("127.0.0.1", HOST["tcp"]), 5).close()


@attempt("listen by TCP")
def _():
    socket.create_server(("127.0.0.1", 0)).close()


@attempt("send by UDP")
def _():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", HOST["tcp"]))


@attempt("send by UDP over IPv6")
def _():
    socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b"x", ("::1", HOST["tcp"]))


@attempt("connect to an abstract socket")
def _():
    socket.socket(socket.AF_UNIX).connect("\0" + HOST["abstract"])


if os.getuid() == 0:
    ATTEMPTS["read the kernel's log"] = lambda: os.close(os.open("/dev/kmsg", os.O_RDONLY))
    ATTEMPTS["write a sysctl"] = lambda: os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))
    ATTEMPTS["own another's file"] = lambda: os.chown(FILE, 1, 1)


# What "reduced" says that it does not keep.
OPEN = {
    "root: the mode of a file": lambda: os.chmod(FILE, 0o600),
    "root: the times of a file": lambda: os.utime(FILE),
    "proc: all processes are listed": lambda: os.stat("/proc/%d" % PID),
    "net: a unix socket of the host": lambda: socket.socket(socket.AF_UNIX).connect(HOST["unix"]),
    "dev: what is typed at another terminal": lambda: os.close(os.open(HOST["terminal"], os.O_RDWR | os.O_NOCTTY)),
    "ipc: shared memory of the host": lambda: call(LIBC.shmget(HOST["shm"], 0, 0)),
}
ATTEMPTS.update(OPEN)

for title, act in ATTEMPTS.items():
    try:
        act()
    except OSError:
        continue
    print(title)
