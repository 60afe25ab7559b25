#!/usr/bin/python3
"""faults: hostile suites and full disks; each ends in a clear word and a correct record. TAP.

What the command line and fumehood.json refuse stands in tests/run/. A row that names a wall is run
again without it, when FUMEHOOD was built with barriers, and its forgery must get through then.
Usage: faults.py FUMEHOOD BARRIERS [NAME...]; BARRIERS is true or false
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from textwrap import dedent

NO_LONGER_THAN = 300  # seconds, for what must not hang
PYTEST = ["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
SECRET = "what only the host knows"
CLOSED = "the test process closed its connection during this test"
CRASHED = "the test process ended during this test"
SPEAKER = """
def speaker():
    return max(map(int, os.listdir("/proc/self/fd")))
"""
CONNECTION = (
    """
import fcntl
import os
import pytest
import socket
import struct


def interface(request, name=b"", index=0):
    return fcntl.ioctl(speaker(), request, struct.pack("16si20x", name, index))
"""
    + SPEAKER
)


@dataclass
class Fault:
    name: str
    suite: str  # what stands in test_a.py
    status: int
    said: str  # what it prints must match
    outcomes: dict  # of each test of the ledger; empty: status and summary tell
    end: str = "complete"
    options: list = field(default_factory=list)
    command: list = None
    file: bytes = b"test_a.py"
    holds: object = None  # of (test lines by name, end line): is the record right?
    wall: str = None  # what stops it (sandbox/base/barrier.h)
    forged: object = None  # of the same: did it get through without that wall?


def keys(line):
    return [delta["key"] for delta in line["deltas"] if delta["kind"] == "leak"]


FAULTS = [
    Fault(
        "the scratch is full",
        """
        def test_fills():
            with open("/tmp/big", "wb") as f:
                f.write(bytes(64 << 20))


        def test_after():
            pass
        """,
        2,
        "what the suite may write is full: --scratch-size",
        {"test_fills": "failed", "test_after": "passed"},
        options=["--scratch-size", "16M"],
        holds=lambda tests, end: "No space left on device" in tests["test_fills"]["message"],
    ),
    Fault(
        "the scratch is full, and a message has no room",
        """
        def test_fills():
            try:
                with open("/tmp/big", "wb") as f:
                    f.write(bytes(64 << 20))
            except OSError:
                pass


        def test_long():
            assert False, "y" * 100000


        def test_after():
            pass
        """,
        2,
        "failed test_a.py::test_long",
        {"test_fills": "passed", "test_long": "failed", "test_after": "passed"},
        options=["--scratch-size", "16M"],
        holds=lambda tests, end: "the rest could not be written" in tests["test_long"]["message"],
    ),
    Fault(
        "a path of 4095 bytes",
        """
        import os


        def test_long():
            path = "/tmp"
            while len(path) < 3830:
                path += "/" + "d" * 200
                os.mkdir(path)
            path += "/" + "e" * (4095 - len(path) - 1)
            open(path, "w").close()
        """,
        0,
        "1 passed",
        {"test_long": "passed"},
        holds=lambda tests, end: max(map(len, keys(tests["test_long"]))) == 4095,
    ),
    Fault(
        "a path of over 5000 bytes",
        """
        import os


        def test_longer():
            os.chdir("/tmp")
            for _ in range(25):
                os.mkdir("d" * 200)
                os.chdir("d" * 200)
            open("bottom", "w").close()
            os.chdir("/")
        """,
        0,
        "1 passed",
        {"test_longer": "passed"},
        holds=lambda tests, end: "/tmp" + "/" + "/".join(25 * ["d" * 200]) + "/bottom"
        in keys(tests["test_longer"]),
    ),
    Fault(
        "a test file whose name is no UTF-8",
        """
        def test_odd():
            open(b"/tmp/\\xfe", "w").close()
        """,
        0,
        "1 passed",
        {"test_odd": "passed"},
        file=b"test_\xff.py",
        holds=lambda tests, end: tests["test_odd"]["deltas"][0]["key_b64"] == "L3RtcC/+",
    ),
    Fault(
        "more changes than the queue of events holds",
        """
        def test_many():
            for i in range(17000):
                open("/tmp/%d" % i, "w").close()


        def test_after():
            open("/tmp/after", "w").close()
        """,
        0,
        "2 passed",
        {"test_many": "passed", "test_after": "passed"},
        options=["-q"],
        holds=lambda tests, end: len(keys(tests["test_many"])) == 17000
        and keys(tests["test_after"]) == ["/tmp/after"]
        and "overflowed" in end["tracker_why"],
    ),
    Fault(
        "closes every descriptor",
        """
        import os


        def test_closes():
            os.closerange(3, 65536)


        def test_after():
            pass
        """,
        3,
        "crashed test_a.py::test_closes",
        {"test_closes": "crashed", "test_after": "absent"},
        end="crashed",
        holds=lambda tests, end: tests["test_closes"]["message"] == CLOSED,
    ),
    Fault(
        "closes 0, 1 and 2",
        """
        import os


        def test_closes():
            os.closerange(0, 3)


        def test_after():
            pass
        """,
        0,
        "2 passed",
        {"test_closes": "passed", "test_after": "passed"},
    ),
    Fault(
        "dies of a signal",
        """
        import os


        def test_before():
            pass


        def test_dies():
            os.kill(os.getpid(), 11)


        def test_after():
            pass
        """,
        3,
        "crashed test_a.py::test_dies",
        {"test_before": "passed", "test_dies": "crashed", "test_after": "absent"},
        end="crashed",
        holds=lambda tests, end: end["exit"] == 128 + 11
        and tests["test_dies"]["message"] == CRASHED,
    ),
    Fault(
        "stops itself",
        """
        import os


        def test_stops():
            os.kill(os.getpid(), 19)


        def test_after():
            pass
        """,
        124,
        "timeout test_a.py::test_stops",
        {"test_stops": "timeout", "test_after": "absent"},
        end="timeout",
        options=["--timeout", "10s", "--grace", "1s"],
    ),
    Fault(
        "kills its parent, which is the warden",
        """
        import os


        def test_kills():
            os.kill(os.getppid(), 9)


        def test_after():
            pass
        """,
        0,
        "2 passed",
        {"test_kills": "passed", "test_after": "passed"},
    ),
    Fault(
        "kills its parent, which is the command",
        """
        import os
        import time


        def test_kills():
            os.kill(os.getppid(), 9)
            time.sleep(1000)


        def test_after():
            pass
        """,
        3,
        "crashed test_a.py::test_kills",
        {"test_kills": "crashed", "test_after": "absent"},
        end="crashed",
        command=["sh", "-c", '"$@"; true', "sh", *PYTEST],
        holds=lambda tests, end: end["exit"] == 128 + 9,
    ),
    Fault(
        "kills everybody else",
        """
        import os
        import subprocess


        def test_kills():
            child = subprocess.Popen(["sleep", "1000"])
            os.kill(-1, 9)
            assert child.wait() == -9
        """,
        0,
        "1 passed",
        {"test_kills": "passed"},
        holds=lambda tests, end: not end["survivors"],
    ),
    Fault(
        "starts processes until none more can be",
        """
        import os


        def test_starts():
            try:
                for started in range(100000):
                    os.posix_spawn("/bin/sleep", ["sleep", "1000"], {})
            except BlockingIOError:
                assert started > 1000
            else:
                assert False, "there is no limit"


        def test_after():
            pass
        """,
        0,
        "2 passed",
        {"test_starts": "passed", "test_after": "passed"},
        options=["-q"],
        holds=lambda tests, end: len(end["survivors"]) == len(tests["test_starts"]["deltas"]) > 1000,
    ),
    Fault(
        "forks a bomb",
        """
        import subprocess


        def test_bomb():
            subprocess.run(["bash", "-c", "bomb() { bomb | bomb & }; bomb; sleep 1000"])


        def test_after():
            pass
        """,
        124,
        "1 timed out",
        {"test_bomb": "timeout", "test_after": "absent"},
        end="timeout",
        options=["-q", "--timeout", "10s", "--grace", "1s"],
    ),
    Fault(
        "another process forges packets",
        """
        import os
        import socket

        FORGED = (
            b'{"v":1,"t":"finish","test":"test_a.py::test_forged","outcome":"passed","next":null}',
            b'{"v":1,"t":"hello","adapter":"evil","version":"1","rootdir":"/"}',
            b'{"v":1,"t":"done"}',
            b"junk",
            b"x" * 60000,
        )


        def test_forged():
            if os.fork() == 0:
                for packet in FORGED:
                    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                    s.connect("/run/fumehood/socket")
                    s.send(packet)
                    s.recv(100)
                os._exit(0)
            os.wait()
            assert False, "the true outcome"


        def test_after():
            pass
        """,
        2,
        "a packet of process [0-9]+ was refused: the first packet on a connection has to be hello",
        {"test_forged": "failed", "test_after": "passed"},
        holds=lambda tests, end: end["refused"] == 5
        and "the true outcome" in tests["test_forged"]["message"],
    ),
    Fault(
        "another process opens connections without end",
        """
        import os
        import socket


        def test_flood():
            if os.fork() == 0:
                kept = []
                for _ in range(900):
                    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
                    kept.append(s)
                    try:
                        s.connect("/run/fumehood/socket")
                        s.send(b"junk")
                    except OSError:
                        pass
                os._exit(0)
            os.wait()


        def test_after():
            pass
        """,
        0,
        "a packet of process [0-9]+ was refused: packet: it is no JSON object",
        {"test_flood": "passed", "test_after": "passed"},
    ),
    Fault(
        "what a test left says hello when its session is done",
        """
        import os
        import socket
        import time

        HELLO = b'{"v":1,"t":"hello","adapter":"evil","version":"1","rootdir":"/"}'


        def test_leaves():
            if os.fork() == 0:
                os.setsid()
                for _ in range(20):
                    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                    s.connect("/run/fumehood/socket")
                    s.send(HELLO)
                    if b"plan" in s.recv(4096):
                        with open("/run/fumehood/drop/evil", "w") as f:
                            f.write('{"v":1,"tests":[{"id":"evil"}]}')
                        s.send(b'{"v":1,"t":"collected","file":"evil"}')
                    time.sleep(0.1)
                os._exit(0)


        def test_after():
            pass
        """,
        0,
        "after the first session another may only come from the command: this process comes from "
        "nobody that lives",
        {"test_leaves": "passed", "test_after": "passed"},
        command=["sh", "-c", '"$@"; sleep 2', "sh", *PYTEST],
        wall="lineage",
        forged=lambda tests, end: any("evil" in name for name in tests),
    ),
    Fault(
        "a child tells the outcome of a test on the connection of the tests",
        "import os\n"
        + SPEAKER
        + dedent(
            """
            FORGED = b'{"v":1,"t":"finish","test":"test_a.py::test_told","outcome":"passed"}'


            def test_told():
                connection = os.dup(speaker())  # the adapter closes its own in children
                if os.fork() == 0:
                    os.write(connection, FORGED)
                    os._exit(0)
                os.wait()
                os.close(connection)
                assert False, "the true outcome"
            """
        ),
        2,
        "another process spoke on the adapter's connection",
        {"test_told": "failed"},
        wall="sender",
        forged=lambda tests, end: tests["test_told"]["outcome"] == "passed",
    ),
    Fault(
        "what the connection of the tests tells of a network",
        CONNECTION
        + dedent(
            """
            def test_looks():
                with open("/proc/net/unix") as f:
                    assert str(os.fstat(speaker()).st_ino) not in f.read().split()
                assert interface(0x8913, b"lo")[16] & 1 == 0, "reached: lo is up"  # SIOCGIFFLAGS
                with pytest.raises(OSError, match="No such device"):
                    interface(0x8910, index=2)  # SIOCGIFNAME
            """
        ),
        0,
        "1 passed",
        {"test_looks": "passed"},
        wall="handover",
        forged=lambda tests, end: "reached: lo is up" in tests["test_looks"]["message"],
    ),
    Fault(
        "a name for the connection of the tests, in the host's network",
        CONNECTION
        + dedent(
            """
            def test_names():
                name = "\\0fumehood-%d" % os.getpid()
                mine = socket.socket(fileno=os.dup(speaker()))
                mine.bind(name)
                with pytest.raises(OSError):
                    mine.listen()
                with pytest.raises(OSError):
                    mine.connect(name)
                mine.close()
                with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as other:
                    other.bind(name)
            """
        ),
        0,
        "1 passed",
        {"test_names": "passed"},
        options=["--network", "host"],
        wall="handover",
        forged=lambda tests, end: "Address already in use" in tests["test_names"]["message"],
    ),
    Fault(
        "the network of the connection of the tests, to enter it or to change it",
        CONNECTION
        + dedent(
            """
            def test_takes():
                with pytest.raises(PermissionError):
                    fcntl.ioctl(speaker(), 0x894C)  # SIOCGSKNS
                with pytest.raises(PermissionError):
                    interface(0x8914, b"lo", 1)  # SIOCSIFFLAGS: up
            """
        ),
        0,
        "1 passed",
        {"test_takes": "passed"},
        wall="caps",
        forged=lambda tests, end: "DID NOT RAISE" in tests["test_takes"]["message"],
    ),
    Fault(
        "who is at the other end of the connection of the tests",
        CONNECTION
        + dedent(
            """
            def test_asks():
                mine = socket.socket(fileno=os.dup(speaker()))
                assert mine.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 4) == bytes(4)
                try:
                    peer = mine.getsockopt(socket.SOL_SOCKET, 77)  # SO_PEERPIDFD
                except OSError:
                    return  # a kernel without it, or one that gives none of the dead
                with open("/proc/self/fdinfo/%d" % peer) as f:
                    assert "\\nPid:\\t-1\\n" in f.read()  # of the dead; of the looker it were 0
                os.close(peer)
            """
        ),
        0,
        "1 passed",
        {"test_asks": "passed"},
    ),
    Fault(
        "a message is a link to a file of the host",
        "import os\n"
        + SPEAKER
        + dedent(
            """
            TELL = b'{"v":1,"t":"finish","test":"test_a.py::test_links","outcome":"failed","file":"a"}'


            def test_links():
                os.symlink(os.path.dirname(os.getcwd()) + "/secret", "/run/fumehood/drop/a")
                os.write(speaker(), TELL)
            """
        ),
        3,
        "open a of the drop folder: Too many levels of symbolic links",
        {"test_links": "failed"},
        end="protocol",
        wall="drop",
        forged=lambda tests, end: tests["test_links"]["message"] == SECRET,
    ),
    Fault(
        "a child of the tests says hello when their session is done",
        """
        import atexit
        import socket
        import subprocess
        import sys

        HELLO = b'{"v":1,"t":"hello","adapter":"evil","version":"1","rootdir":"/"}'
        CHILD = '''
        import socket, sys
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.connect("/run/fumehood/socket")
        s.send(sys.argv[1].encode())
        assert s.recv(4096) == b""
        '''


        def test_registers():
            child = [sys.executable, "-c", "\\n".join(map(str.strip, CHILD.split("\\n")))]
            atexit.register(lambda: subprocess.run([*child, HELLO.decode()], check=True))
        """,
        0,
        "another may only come from the command: this process comes from one that ran tests",
        {"test_registers": "passed"},
    ),
    Fault(
        "a test holds all connections, and says nothing on them",
        """
        import os
        import socket
        import time


        def test_holds():
            if os.fork() == 0:
                kept = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(40)]
                for s in kept:
                    s.connect("/run/fumehood/socket")
                os.write(1, b"held")
                time.sleep(1000)
            time.sleep(0.2)


        def test_second():
            pass
        """,
        0,
        "process [0-9]+ was refused: it says nothing, and others wait to connect",
        {"test_holds": "passed", "test_second": "passed"},
        command=["sh", "-c", '"$@" -k holds; "$@" -k second', "sh", *PYTEST],
        holds=lambda tests, end: end["refused"] >= 24,
    ),
    Fault(
        "a child floods the connection of the tests",
        "import os\nimport time\n"
        + SPEAKER
        + dedent(
            """
            def test_floods():
                connection = os.dup(speaker())  # the adapter closes its own in children
                child = os.fork()
                while child == 0:
                    os.write(connection, b'{"v":1,"t":"done"}')
                os.close(connection)
                time.sleep(0.5)
                os.kill(child, 9)
                os.wait()


            def test_after():
                pass
            """
        ),
        0,
        "another process spoke on the adapter's connection",
        {"test_floods": "passed", "test_after": "passed"},
        holds=lambda tests, end: end["refused"] > 100,
    ),
    Fault(
        "children flood the socket with packets, small and large",
        """
        import os
        import socket
        import time


        def flood(packet):
            pid = os.fork()
            while pid == 0:
                try:
                    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                    s.connect("/run/fumehood/socket")
                    s.send(packet)
                    s.send(packet)
                except OSError:
                    pass
            return pid


        def test_floods():
            test_floods.children = [flood(b"x" * 100000)]
            time.sleep(0.2)
            test_floods.children.append(flood(b"junk"))
            time.sleep(0.5)


        def test_amid():
            assert len(test_floods.children) == 2


        def test_after():
            for child in test_floods.children:
                os.kill(child, 9)
                os.wait()
        """,
        0,
        "refused: a packet is over 65536 bytes",
        {"test_floods": "passed", "test_amid": "passed", "test_after": "passed"},
        holds=lambda tests, end: end["refused"] > 100,
    ),
    Fault(
        "the test process tells one result of many megabytes",
        "import json\nimport os\n"
        + SPEAKER
        + dedent(
            """
            def test_big():
                with open("/run/fumehood/drop/big", "w") as f:
                    json.dump({"v": 1, "message": "x" * (50 << 20)}, f)
                packet = {"v": 1, "t": "finish", "test": "test_a.py::test_big", "file": "big"}
                os.write(speaker(), json.dumps({**packet, "outcome": "failed"}).encode())
            """
        ),
        3,
        "the adapter broke the protocol: the adapter sent finish while the suite is between tests",
        {"test_big": "failed"},
        end="protocol",
        holds=lambda tests, end: len(tests["test_big"]["message"]) == 4 << 20,
    ),
    Fault(
        "opens all descriptors",
        """
        import os


        def test_opens():
            try:
                while True:
                    os.open("/dev/null", os.O_RDONLY)
            except OSError as e:
                assert e.errno == 24


        def test_fails():
            assert False, "y" * 100000


        def test_after():
            pass
        """,
        2,
        "1 failed, 2 passed",
        {"test_opens": "passed", "test_fails": "failed", "test_after": "passed"},
        options=["-q"],
        holds=lambda tests, end: len(keys(tests["test_opens"])) > 900
        and "the rest could not be written" in tests["test_fails"]["message"],
    ),
    Fault(
        "makes files until there is no inode",
        """
        import os


        def test_makes():
            os.mkdir("/tmp/many")
            try:
                for i in range(1 << 20):
                    os.mknod("/tmp/many/%d" % i)
            except OSError as e:
                assert e.errno == 28
            else:
                assert False, "there is no limit"


        def test_after():
            pass
        """,
        0,
        "2 passed",
        {"test_makes": "passed", "test_after": "passed"},
        options=["-q", "--scratch-size", "16M"],
        holds=lambda tests, end: len(keys(tests["test_makes"])) > 1000,
    ),
    Fault(
        "uses all the memory that it may",
        """
        import resource


        def test_uses():
            resource.setrlimit(resource.RLIMIT_AS, (256 << 20, 256 << 20))
            kept = []
            try:
                while True:
                    kept.append(bytearray(1 << 20))
            except MemoryError:
                kept.clear()


        def test_after():
            pass
        """,
        0,
        "2 passed",
        {"test_uses": "passed", "test_after": "passed"},
        holds=lambda tests, end: keys(tests["test_uses"]) == ["rlimit AS"],
    ),
    Fault(
        "asks the kernel for what no test may have",
        """
        import ctypes
        import errno
        import platform

        import pytest

        libc = ctypes.CDLL(None, use_errno=True)
        X86 = platform.machine() == "x86_64"
        CALLS = [
            (165 if X86 else 40, "mount", (b"none", b"/tmp", b"tmpfs", 0, None), errno.EPERM),
            (272 if X86 else 97, "unshare", (0x10000000,), errno.EPERM),
            (101 if X86 else 117, "ptrace", (16, 1, 0, 0), errno.EPERM),
            (425, "io_uring_setup", (1, ctypes.create_string_buffer(120)), errno.ENOSYS),
            (250 if X86 else 219, "keyctl", (0, -3, 0), errno.EPERM),
            (323 if X86 else 282, "userfaultfd", (1,), errno.EPERM),
            (321 if X86 else 280, "bpf", (0, bytes(72), 72), errno.EPERM),
            (298 if X86 else 241, "perf_event_open", (bytes(120), 0, -1, -1, 0), errno.EPERM),
        ]


        @pytest.mark.parametrize("number, name, args, answer", CALLS)
        def test_call(number, name, args, answer):
            assert libc.syscall(number, *args) == -1
            assert ctypes.get_errno() == answer
        """,
        0,
        "8 passed",
        {},
        options=["-q"],
    ),
    Fault(
        "the test process itself forges a packet",
        "import os\n"
        + SPEAKER
        + dedent(
            """
            def test_forged():
                os.write(speaker(), b'{"v":1,"t":"done"}')


            def test_after():
                pass
            """
        ),
        3,
        "the adapter broke the protocol: the adapter sent finish while the suite is idle",
        {"test_forged": "absent", "test_after": "absent"},
        end="protocol",
    ),
    Fault(
        "the test process itself sends junk",
        "import os\n"
        + SPEAKER
        + dedent(
            """
            def test_junk():
                os.write(speaker(), b"junk")


            def test_after():
                pass
            """
        ),
        3,
        "the adapter broke the protocol: packet: it is no JSON object",
        {"test_junk": "crashed", "test_after": "absent"},
        end="protocol",
    ),
    Fault(
        "removes all it can",
        """
        import subprocess


        def test_wipes():
            wipe = "rm -rf /tmp/* /tmp/.[!.]* /var/tmp/* /dev/shm/* ~/* ~/.[!.]* /run/* ./* 2>&1"
            subprocess.run(wipe, shell=True)


        def test_after():
            pass
        """,
        1,
        "FH105 test_a.py::test_wipes  deleted /tmp/fumehood-canary/keep",
        {"test_wipes": "passed", "test_after": "passed"},
    ),
]


def read_ledger(out):
    """Test lines by the test's name, and the end line."""
    with open(os.path.join(out, "ledger.jsonl"), encoding="utf-8") as f:
        lines = [json.loads(line) for line in f]
    tests = {line["test"].rpartition("::")[2]: line for line in lines if line["kind"] == "test"}
    return tests, next(line for line in lines if line["kind"] == "end")


def run(fault, fumehood, top, without=""):
    project, home, out = (os.path.join(top, name) for name in ("project", "home", "out"))
    for folder in project, home, os.path.join(project, ".git"):
        os.mkdir(folder)
    with open(os.path.join(os.fsencode(project), fault.file), "w", encoding="utf-8") as f:
        f.write(dedent(fault.suite))
    with open(os.path.join(top, "secret"), "w", encoding="utf-8") as f:
        json.dump({"v": 1, "message": SECRET}, f)
    options = ["--color=never", "--out", out, *fault.options]
    return subprocess.run(
        [fumehood, "run", *options, "--", *(fault.command or PYTEST)],
        cwd=project,
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": home,
            "LANG": "C.UTF-8",
            "FUMEHOOD_WITHOUT": without,
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=NO_LONGER_THAN,
        check=False,
    )


def complaints(fault, fumehood, top):
    """What is not as the row says."""
    try:
        ran = run(fault, fumehood, top)
    except subprocess.TimeoutExpired:
        return ["it hangs"]
    text = ran.stdout.decode(errors="replace")
    why = []
    if ran.returncode != fault.status:
        why.append("exit status %d, not %d" % (ran.returncode, fault.status))
    if not re.search(fault.said, text):
        why.append("it does not say: %s" % fault.said)
    tests, end = read_ledger(os.path.join(top, "out"))
    outcomes = {name: line["outcome"] for name, line in tests.items()}
    if fault.outcomes and outcomes != fault.outcomes:
        why.append("outcomes: %s" % outcomes)
    if end["outcome"] != fault.end:
        why.append("the order ended as %s" % end["outcome"])
    if fault.holds and not fault.holds(tests, end):
        why.append("the record: %s %s" % (tests, end))
    left = sorted(os.listdir(os.path.join(top, "project")))
    if left != sorted([".git", os.fsdecode(fault.file)]):
        why.append("the project became: %s" % left)
    return why + [text] if why else []


def complaints_without(fault, fumehood, top):
    """What is not as it would be without the wall."""
    run(fault, fumehood, top, fault.wall)
    tests, end = read_ledger(os.path.join(top, "out"))
    if fault.forged(tests, end):
        return []
    return ["without the wall %s it does not get through: %s %s" % (fault.wall, tests, end)]


def in_folder(work, *args):
    top = tempfile.mkdtemp(prefix="faults.", dir="/var/tmp")
    try:
        return work(*args, top)
    finally:
        shutil.rmtree(top)


def main(fumehood, barriers, names):
    faults = [fault for fault in FAULTS if not names or fault.name in names]
    failed = 0
    for number, fault in enumerate(faults, 1):
        why = in_folder(complaints, fault, os.path.abspath(fumehood))
        if fault.wall and barriers:
            why += in_folder(complaints_without, fault, os.path.abspath(fumehood))
        failed += bool(why)
        print("%sok %d - %s" % ("not " if why else "", number, fault.name), flush=True)
        for line in "\n".join(why).splitlines()[:60]:
            print("#", line[:300].encode("ascii", "backslashreplace").decode())
    print("1..%d" % len(faults))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2] == "true", sys.argv[3:]))
