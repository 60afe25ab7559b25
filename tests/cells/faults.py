#!/usr/bin/python3
"""faults: hostile suites and full disks; each ends in a clear word and a correct record. TAP.

What the command line and fumehood.json refuse stands in tests/run/.
Usage: faults.py FUMEHOOD [NAME...]
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
CRASHED = "the test process ended during this test"
SPEAKER = """
def speaker():
    return max(map(int, os.listdir("/proc/self/fd")))
"""


@dataclass
class Fault:
    name: str
    suite: str  # what stands in test_a.py
    status: int
    said: str  # what it prints must match
    outcomes: dict  # of each test of the ledger
    end: str = "complete"
    options: list = field(default_factory=list)
    command: list = None
    file: bytes = b"test_a.py"
    holds: object = None  # of (test lines by name, end line): is the record right?


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
        holds=lambda tests, end: tests["test_closes"]["message"] == CRASHED,
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
        holds=lambda tests, end: end["exit"] == 128 + 11,
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


def run(fault, fumehood, top):
    project, home, out = (os.path.join(top, name) for name in ("project", "home", "out"))
    for folder in project, home, os.path.join(project, ".git"):
        os.mkdir(folder)
    with open(os.path.join(os.fsencode(project), fault.file), "w", encoding="utf-8") as f:
        f.write(dedent(fault.suite))
    options = ["--color=never", "--out", out, *fault.options]
    return subprocess.run(
        [fumehood, "run", *options, "--", *(fault.command or PYTEST)],
        cwd=project,
        env={"PATH": "/usr/bin:/bin", "HOME": home, "LANG": "C.UTF-8"},
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
    if outcomes != fault.outcomes:
        why.append("outcomes: %s" % outcomes)
    if end["outcome"] != fault.end:
        why.append("the order ended as %s" % end["outcome"])
    if fault.holds and not fault.holds(tests, end):
        why.append("the record: %s %s" % (tests, end))
    left = sorted(os.listdir(os.path.join(top, "project")))
    if left != sorted([".git", os.fsdecode(fault.file)]):
        why.append("the project became: %s" % left)
    return why + [text] if why else []


def main(fumehood, names):
    faults = [fault for fault in FAULTS if not names or fault.name in names]
    failed = 0
    for number, fault in enumerate(faults, 1):
        top = tempfile.mkdtemp(prefix="faults.", dir="/var/tmp")
        why = complaints(fault, os.path.abspath(fumehood), top)
        shutil.rmtree(top)
        failed += bool(why)
        print("%sok %d - %s" % ("not " if why else "", number, fault.name), flush=True)
        for line in "\n".join(why).splitlines()[:60]:
            print("#", line[:300].encode("ascii", "backslashreplace").decode())
    print("1..%d" % len(faults))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
