"""plants: the table of the planted suite. Everything else is made from it.

A row says what a test does, what of it must stand in the ledger as a leak (nothing, for a
control), and how a shell sees that leak without fumehood. The shell is a child of the test
process: $PPID is that process; environment, folder, umask, ignored and blocked signals are inherited
from it (spawning blocks all of the parent's for a moment).

Each row has its own keys, so that no row depends on another and the suite can run in any order.
In a text of the table, ${PROJECT} and ${HOME} stand for the folders of the run.
"""

import base64
from dataclasses import dataclass, field
from textwrap import dedent

ANY = {"any": True}  # a value, or a member of one, that differs from machine to machine


@dataclass
class Digest:
    """Stands for the XXH3-128 of bytes, until make.py has it computed."""

    of: bytes


@dataclass
class Leak:
    """One delta of kind `leak`. `by`: the test that leaves it, or the fixture; None: the only one."""

    domain: str
    what: str
    key: str
    zone: str = None
    before: object = None
    after: object = None
    damage: bool = False
    by: str = None
    key_b64: str = None  # where the name is no UTF-8


@dataclass
class Row:
    name: str
    module: str  # the whole test file
    leaks: list = field(default_factory=list)
    oracle: str = "false"  # exit status 0 when the leak is there
    select: str = ""  # what the oracle runs, where that is not the whole file
    outcomes: dict = field(default_factory=dict)  # of tests that do not pass
    cleans: dict = field(default_factory=dict)  # test: whose leak it removes


def plant(name, body, leaks, oracle, **more):
    """A row of one test, whose body is given, or of a whole module that defines its tests."""
    text = dedent(body).strip("\n")
    if "def test_" not in text:
        text = "def test_%s():\n%s" % (name, "".join("    %s\n" % line for line in text.split("\n")))
    return Row(name, text.rstrip("\n") + "\n", leaks, oracle, **more)


def control(name, body, oracle, **more):
    return plant(name, body, [], oracle, **more)


# What stands in `before` and `after`.


def file(content, mode="0644"):
    content = content.encode()
    return {"type": "file", "mode": mode, "size": len(content), "digest": Digest(content)}


def folder(mode="0755"):
    return {"type": "dir", "mode": mode}


def link(target):
    return {"type": "link", "mode": "0777", "target": target}


def tagged(review):
    """Of a file with an attribute."""
    return {**file("tagged\n"), "xattrs": Digest(b"user.reviewed\0" + review.encode())}


def shared_memory(size, mode="0600"):
    return {"id": ANY, "mode": mode, "size": size}


def semaphores(count, mode="0600"):
    return {"id": ANY, "mode": mode, "semaphores": count}


def messages(count, size, mode="0600"):
    return {"id": ANY, "mode": mode, "size": size, "messages": count}


def queue(size, mode="0600"):
    return {"mode": mode, "size": size}


def port(address, number):
    return {"address": address, "port": number, "ephemeral": number is ANY}


def local_socket(kind, listening=True):
    return {"type": kind, "listening": listening}


def text(content):
    """Of a variable."""
    return {"len": len(content), "digest": Digest(content.encode())}


def cwd(path, deleted=False):
    return {"path": path, "deleted": deleted}


def signal_is(action, blocked=False):
    return {"action": action, "blocked": blocked}


def descriptor(target, mode):
    return {"fd": ANY, "target": target, "mode": mode}


def process(comm, argv, state="alive", daemonised=False):
    line = Digest(b"".join(word.encode() + b"\0" for word in argv)) if argv else None
    ppid = 1 if daemonised else ANY
    value = {"pid": ANY, "comm": comm, "ppid": ppid, "state": state}
    return {**value, "cmdline": line, "daemonised": daemonised}


def thread(comm):
    return {"tid": ANY, "comm": comm}


# Leaks in files


def created(key, zone, after, **more):
    return Leak("files", "created", key, zone, None, after, **more)


def changed(what, key, before, after, **more):
    """Of a file of the project: it stood before the order, so this is damage."""
    return Leak("files", what, "${PROJECT}/data/" + key, "source", before, after, True, **more)


def deleted(key, before):
    return Leak("files", "deleted", "${PROJECT}/data/" + key, "source", before, None, True)


# The project, as it stands before each order: below data/.
FILES = {
    "appended.log": "first line\n",
    "same_size.txt": "version 1\n",
    "mapped.bin": "0123456789abcdef\n",
    "mapping_kept.bin": "0123456789abcdef\n",
    "renamed_over.txt": "old\n",
    "truncated.txt": "a long text\n",
    "run.sh": "#!/bin/sh\n",
    "deleted.txt": "needed\n",
    "moved.txt": "moved\n",
    "tree/a": "a\n",
    "tree/sub/b": "b\n",
    "linked.txt": "two names\n",
    "node": "a file\n",
    "tagged.txt": "tagged\n",
    "tag_changed.txt": "tagged\n",
    "tag_removed.txt": "tagged\n",
    "tag_and_back.txt": "tagged\n",
    "linked_for_a_while.txt": "two names\n",
    "rewritten.txt": "the same again\n",
    "replaced_by_same.txt": "the same again\n",
    "chmodded.txt": "closed and opened\n",
    "touched.txt": "only its time\n",
    "away_and_back.txt": "renamed twice\n",
    "v1": "1\n",
    "v2": "2\n",
}
TABLES = {"table": "1 row\n", "steady": "2 rows\n"}  # below var/, where all may change; each has a probe
XATTRS = {"tag_changed.txt": b"no", "tag_removed.txt": b"no", "tag_and_back.txt": b"no"}
LINKS = {"current": "v1", "swapped_and_back": "v1"}
SOURCES = {"planted_module.py": "ANSWER = 42\n"}
ENV = {
    "PLANTED_CHANGED": "before",
    "PLANTED_REMOVED": "before",
    "PLANTED_REMOVED_BY_C": "before",
    "PLANTED_RESTORED": "before",
}

FILE_PLANTS = [
    plant(
        "create",
        """
        with open("/tmp/upload.lock", "w") as f:
            f.write("held by 17\\n")
        """,
        [created("/tmp/upload.lock", "tmp", file("held by 17\n"))],
        "test -e /tmp/upload.lock",
    ),
    plant(
        "create_below_new_folders",
        """
        import os

        os.makedirs("/tmp/app/spool")
        with open("/tmp/app/spool/job-1", "w") as f:
            f.write("job\\n")
        """,
        [
            created("/tmp/app", "tmp", folder()),
            created("/tmp/app/spool", "tmp", folder()),
            created("/tmp/app/spool/job-1", "tmp", file("job\n")),
        ],
        "test -e /tmp/app/spool/job-1",
    ),
    plant(
        "create_in_renamed_folder",
        """
        import os

        os.mkdir("/tmp/stage")
        with open("/tmp/stage/part", "w") as f:
            f.write("part\\n")
        os.rename("/tmp/stage", "/tmp/published")
        """,
        [
            created("/tmp/published", "tmp", folder()),
            created("/tmp/published/part", "tmp", file("part\n")),
        ],
        "test -e /tmp/published/part",
    ),
    plant(
        "create_without_name_first",
        """
        import os

        fd = os.open("/tmp", os.O_TMPFILE | os.O_WRONLY, 0o600)
        os.write(fd, b"linked late\\n")
        os.link("/proc/self/fd/%d" % fd, "/tmp/late_name", src_dir_fd=fd)
        os.close(fd)
        """,
        [created("/tmp/late_name", "tmp", file("linked late\n", "0600"))],
        "test -e /tmp/late_name",
    ),
    plant(
        "create_fifo",
        """
        import os

        os.mkfifo("/tmp/queue", 0o600)
        """,
        [created("/tmp/queue", "tmp", {"type": "fifo", "mode": "0600"})],
        "test -p /tmp/queue",
    ),
    plant(
        "create_name_no_utf8",
        """
        with open(b"/tmp/report-\\xff\\n.txt", "w") as f:
            f.write("odd\\n")
        """,
        [
            created(
                "/tmp/report-\ufffd\n.txt",
                "tmp",
                file("odd\n"),
                key_b64=base64.b64encode(b"/tmp/report-\xff\n.txt").decode(),
            )
        ],
        "find /tmp -name 'report-*' | grep -q .",
    ),
    plant(
        "append",
        """
        with open("data/appended.log", "a") as f:
            f.write("second line\\n")
        """,
        [
            changed(
                "content",
                "appended.log",
                file("first line\n"),
                file("first line\nsecond line\n"),
            )
        ],
        "grep -q second data/appended.log",
    ),
    plant(
        "same_size_and_mtime",
        """
        import os

        was = os.stat("data/same_size.txt")
        with open("data/same_size.txt", "r+") as f:
            f.write("version 2\\n")
        os.utime("data/same_size.txt", ns=(was.st_atime_ns, was.st_mtime_ns))
        """,
        [changed("content", "same_size.txt", file("version 1\n"), file("version 2\n"))],
        "grep -q 2 data/same_size.txt",
    ),
    plant(
        "mmap",
        """
        import mmap

        with open("data/mapped.bin", "r+b") as f, mmap.mmap(f.fileno(), 0) as m:
            m[0:4] = b"XXXX"
        """,
        [
            changed(
                "content", "mapped.bin", file("0123456789abcdef\n"), file("XXXX456789abcdef\n")
            )
        ],
        "grep -q XXXX data/mapped.bin",
    ),
    plant(
        "mapping_kept",
        """
        import mmap

        with open("data/mapping_kept.bin", "r+b") as f:
            mapping = mmap.mmap(f.fileno(), 0)


        def test_first_store():
            mapping[0:1] = b"X"


        def test_store_through_held_mapping():
            mapping[1:2] = b"Y"
        """,
        [
            changed(
                "content",
                "mapping_kept.bin",
                file("0123456789abcdef\n"),
                file("X123456789abcdef\n"),
                by="test_first_store",
            ),
            changed(
                "content",
                "mapping_kept.bin",
                file("X123456789abcdef\n"),
                file("XY23456789abcdef\n"),
                by="test_store_through_held_mapping",
            ),
        ],
        "grep -q XY data/mapping_kept.bin",
    ),
    plant(
        "rename_over",
        """
        import os

        with open("data/renamed_over.new", "w") as f:
            f.write("new!\\n")
        os.replace("data/renamed_over.new", "data/renamed_over.txt")
        """,
        [changed("content", "renamed_over.txt", file("old\n"), file("new!\n"))],
        "grep -q new data/renamed_over.txt",
    ),
    plant(
        "rename_away",
        """
        import os

        os.rename("data/moved.txt", "data/moved.bak")
        """,
        [
            deleted("moved.txt", file("moved\n")),
            created("${PROJECT}/data/moved.bak", "source", file("moved\n")),
        ],
        "test ! -e data/moved.txt",
    ),
    plant(
        "truncate",
        """
        import os

        os.truncate("data/truncated.txt", 6)
        """,
        [changed("content", "truncated.txt", file("a long text\n"), file("a long"))],
        'test "$(stat -c %s data/truncated.txt)" = 6',
    ),
    plant(
        "chmod",
        """
        import os

        os.chmod("data/run.sh", 0o755)
        """,
        [changed("mode", "run.sh", file("#!/bin/sh\n"), file("#!/bin/sh\n", "0755"))],
        "test -x data/run.sh",
    ),
    plant(
        "setxattr",
        """
        import os

        os.setxattr("data/tagged.txt", "user.reviewed", b"yes")
        """,
        [
            changed("xattrs", "tagged.txt", file("tagged\n"), tagged("yes"))
        ],
        "getfattr --only-values -n user.reviewed data/tagged.txt | grep -q yes",
    ),
    plant(
        "xattr_changed",
        """
        import os

        os.setxattr("data/tag_changed.txt", "user.reviewed", b"yes")
        """,
        [changed("xattrs", "tag_changed.txt", tagged("no"), tagged("yes"))],
        "getfattr --only-values -n user.reviewed data/tag_changed.txt | grep -q yes",
    ),
    plant(
        "xattr_removed",
        """
        import os

        os.removexattr("data/tag_removed.txt", "user.reviewed")
        """,
        [changed("xattrs", "tag_removed.txt", tagged("no"), file("tagged\n"))],
        "! getfattr -n user.reviewed data/tag_removed.txt",
    ),
    plant(
        "symlink_swap",
        """
        import os

        os.symlink("v2", "data/current.new")
        os.replace("data/current.new", "data/current")
        """,
        [changed("target", "current", link("v1"), link("v2"))],
        'test "$(readlink data/current)" = v2',
    ),
    plant(
        "delete_canary",
        """
        import os

        os.remove("/tmp/fumehood-canary/keep")
        """,
        [Leak("files", "deleted", "/tmp/fumehood-canary/keep", "tmp", file(""), None, True)],
        "test ! -e /tmp/fumehood-canary/keep",
    ),
    plant(
        "change_canary",
        """
        import os

        with open(os.path.expanduser("~/fumehood-canary/keep"), "w") as f:
            f.write("taken\\n")
        """,
        [
            Leak(
                "files",
                "content",
                "${HOME}/fumehood-canary/keep",
                "home",
                file(""),
                file("taken\n"),
                True,
            )
        ],
        "grep -q taken ~/fumehood-canary/keep",
    ),
    plant(
        "delete_source",
        """
        import os

        os.remove("data/deleted.txt")
        """,
        [deleted("deleted.txt", file("needed\n"))],
        "test ! -e data/deleted.txt",
    ),
    plant(
        "delete_tree",
        """
        import shutil

        shutil.rmtree("data/tree")
        """,
        [
            deleted("tree", folder()),
            deleted("tree/a", file("a\n")),
            deleted("tree/sub", folder()),
            deleted("tree/sub/b", file("b\n")),
        ],
        "test ! -e data/tree",
    ),
    plant(
        "file_becomes_folder",
        """
        import os

        os.remove("data/node")
        os.mkdir("data/node")
        """,
        [changed("type", "node", file("a file\n"), folder())],
        "test -d data/node",
    ),
    plant(
        "hard_link",
        """
        import os

        os.link("data/linked.txt", "data/second_name.txt")
        """,
        [
            created("${PROJECT}/data/second_name.txt", "source", {**file("two names\n"), "links": 2}),
            changed("links", "linked.txt", file("two names\n"), {**file("two names\n"), "links": 2}),
        ],
        "test data/linked.txt -ef data/second_name.txt",
    ),
    plant(
        "create_in_source",
        """
        with open("data/report.txt", "w") as f:
            f.write("report\\n")
        """,
        [created("${PROJECT}/data/report.txt", "source", file("report\n"))],
        "test -e data/report.txt",
    ),
    plant(
        "create_in_home",
        """
        import os

        with open(os.path.expanduser("~/.uploadrc"), "w") as f:
            f.write("retries = 3\\n")
        """,
        [created("${HOME}/.uploadrc", "home", file("retries = 3\n"))],
        "test -e ~/.uploadrc",
    ),
    plant(
        "create_in_cache",
        """
        import os

        os.makedirs(os.path.expanduser("~/.cache/upload"))
        with open(os.path.expanduser("~/.cache/upload/index"), "w") as f:
            f.write("index\\n")
        """,
        [
            created("${HOME}/.cache/upload", "cache", folder()),
            created("${HOME}/.cache/upload/index", "cache", file("index\n")),
        ],
        "test -e ~/.cache/upload/index",
    ),
    plant(
        "create_in_shm",
        """
        with open("/dev/shm/upload-ring", "w") as f:
            f.write("ring\\n")
        """,
        [created("/dev/shm/upload-ring", "shm", file("ring\n"))],
        "test -e /dev/shm/upload-ring",
    ),
    plant(
        "left_by_module_fixture",
        """
        import pytest


        @pytest.fixture(scope="module")
        def spool():
            with open("/tmp/spool.pid", "w") as f:
                f.write("17\\n")
            yield


        def test_left_by_module_fixture(spool):
            pass
        """,
        [created("/tmp/spool.pid", "tmp", file("17\n"), by="spool")],
        "test -e /tmp/spool.pid",
    ),
    plant(
        "left_by_set_up_of_skipped",
        """
        import pytest


        @pytest.fixture
        def spooled():
            with open("/tmp/skipped.lock", "w") as f:
                f.write("17\\n")
            pytest.skip("only its set-up runs")


        def test_left_by_set_up_of_skipped(spooled):
            pass
        """,
        [created("/tmp/skipped.lock", "tmp", file("17\n"))],
        "test -e /tmp/skipped.lock",
        outcomes={"test_left_by_set_up_of_skipped": "skipped"},
    ),
    plant(
        "left_by_failing",
        """
        import pytest


        @pytest.mark.xfail(strict=True)
        def test_left_by_failing():
            with open("/tmp/failing.lock", "w") as f:
                f.write("17\\n")
            assert False
        """,
        [created("/tmp/failing.lock", "tmp", file("17\n"))],
        "test -e /tmp/failing.lock",
        outcomes={"test_left_by_failing": "xfailed"},
    ),
]

ENV_PLANTS = [
    plant(
        "env_set",
        """
        import os

        os.environ["PLANTED_SET"] = "1"
        """,
        [Leak("env", "added", "PLANTED_SET", after=text("1"))],
        'test "$PLANTED_SET" = 1',
    ),
    plant(
        "env_changed",
        """
        import os

        os.environ["PLANTED_CHANGED"] = "after"
        """,
        [Leak("env", "changed", "PLANTED_CHANGED", before=text("before"), after=text("after"))],
        'test "$PLANTED_CHANGED" = after',
    ),
    plant(
        "env_removed",
        """
        import os

        del os.environ["PLANTED_REMOVED"]
        """,
        [Leak("env", "removed", "PLANTED_REMOVED", before=text("before"))],
        'test -z "${PLANTED_REMOVED+set}"',
    ),
    plant(
        "env_set_by_c",
        """
        import ctypes

        ctypes.CDLL(None).setenv(b"PLANTED_BY_C", b"1", 1)
        """,
        [Leak("env", "added", "PLANTED_BY_C", after=text("1"))],
        'test "$PLANTED_BY_C" = 1',
    ),
    plant(
        "env_removed_by_c",
        """
        import ctypes
        import os

        ctypes.CDLL(None).unsetenv(b"PLANTED_REMOVED_BY_C")
        # Python's copy forgets it, too: else whoever restores os.environ puts it back.
        del os.environ._data[b"PLANTED_REMOVED_BY_C"]
        """,
        [Leak("env", "removed", "PLANTED_REMOVED_BY_C", before=text("before"))],
        'test -z "${PLANTED_REMOVED_BY_C+set}"',
    ),
]

# Where a leak would be felt by every later test, the row's second test takes it back.
PROCESS_PLANTS = [
    plant(
        "cwd",
        """
        import os


        def test_leaves():
            os.chdir("/usr")


        def test_puts_back():
            os.chdir("${PROJECT}")
        """,
        [
            Leak("process", "changed", "cwd", None, cwd("${PROJECT}"), cwd("/usr"), by="test_leaves"),
        ],
        'test "$(readlink /proc/$PPID/cwd)" = /usr',
        select="test_leaves",
        cleans={"test_puts_back": "test_leaves"},
    ),
    plant(
        "cwd_deleted",
        """
        import os


        def test_leaves():
            os.mkdir("/tmp/short_lived")
            os.chdir("/tmp/short_lived")
            os.rmdir("/tmp/short_lived")


        def test_puts_back():
            os.chdir("${PROJECT}")
        """,
        [
            Leak(
                "process",
                "changed",
                "cwd",
                before=cwd("${PROJECT}"),
                after=cwd("/tmp/short_lived", deleted=True),
                by="test_leaves",
            )
        ],
        "readlink /proc/$PPID/cwd | grep -q '(deleted)'",
        select="test_leaves",
        cleans={"test_puts_back": "test_leaves"},
    ),
    plant(
        "umask",
        """
        import os


        def test_leaves():
            os.umask(0o077)


        def test_puts_back():
            os.umask(0o022)
        """,
        [
            Leak(
                "process",
                "changed",
                "umask",
                before={"umask": "0022"},
                after={"umask": "0077"},
                by="test_leaves",
            )
        ],
        'test "$(umask)" = 0077',
        select="test_leaves",
        cleans={"test_puts_back": "test_leaves"},
    ),
    plant(
        "signal_ignored",
        """
        import signal

        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        """,
        [
            Leak(
                "process", "changed", "SIGUSR1", before=signal_is("default"), after=signal_is("ignored")
            )
        ],
        "test $((0x$(awk '/^SigIgn/ { print $2 }' /proc/self/status) & 0x200)) -ne 0",
    ),
    plant(
        "signal_caught",
        """
        import signal

        signal.signal(signal.SIGUSR2, lambda *_: None)
        """,
        [
            Leak(
                "process", "changed", "SIGUSR2", before=signal_is("default"), after=signal_is("caught")
            )
        ],
        "test $((0x$(awk '/^SigCgt/ { print $2 }' /proc/$PPID/status) & 0x800)) -ne 0",
    ),
    plant(
        "signal_blocked",
        """
        import signal

        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGURG})
        """,
        [
            Leak(
                "process", "changed", "SIGURG", before=signal_is("default"), after=signal_is("default", blocked=True)
            )
        ],
        "test $((0x$(awk '/^SigBlk/ { print $2 }' /proc/self/status) & 0x400000)) -ne 0",
    ),
    plant(
        "rlimit",
        """
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (4096, hard))
        """,
        [Leak("process", "changed", "rlimit MEMLOCK", before=ANY, after={"soft": 4096, "hard": ANY})],
        'test "$(prlimit --pid $PPID --memlock -o SOFT --noheadings)" = 4096',
    ),
    plant(
        "nice",
        """
        import os

        os.nice(1)
        """,
        [Leak("process", "changed", "nice", before=ANY, after=ANY)],
        'test "$(ps -o nice= -p $PPID)" -gt "$(ps -o nice= -p 1)"',
    ),
]

DESCRIPTOR_PLANTS = [
    plant(
        "descriptor_file",
        """
        kept = []


        def test_descriptor_file():
            kept.append(open("/etc/hostname"))
        """,
        [Leak("descriptors", "opened", "/etc/hostname", after=descriptor("/etc/hostname", "r"))],
        "ls -l /proc/$PPID/fd | grep -q /etc/hostname",
    ),
    plant(
        "descriptor_pipe",
        """
        import os


        def test_descriptor_pipe():
            os.pipe()
        """,
        [
            Leak("descriptors", "opened", "pipe", after=descriptor("pipe", "r")),
            Leak("descriptors", "opened", "pipe", after=descriptor("pipe", "w")),
        ],
        "ls -l /proc/$PPID/fd | grep -q pipe:",
    ),
    plant(
        "descriptor_socket",
        """
        import socket

        kept = []


        def test_descriptor_socket():
            kept.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        """,
        [Leak("descriptors", "opened", "socket", after=descriptor("socket", "rw"))],
        "ls -l /proc/$PPID/fd | grep -q socket:",
    ),
]

PROCESS_LIFE_PLANTS = [
    plant(
        "child",
        """
        import subprocess

        kept = []


        def test_child():
            kept.append(subprocess.Popen(["sleep", "1001"]))
        """,
        [Leak("processes", "started", "sleep", after=process("sleep", ["sleep", "1001"]))],
        'test "$(ps -o ppid= -C sleep)" -eq $PPID',
    ),
    plant(
        "daemon",
        """
        import os


        def test_daemon():
            ready, running = os.pipe()  # closed by exec: then the daemon is what it will be
            pid = os.fork()
            if pid == 0:
                os.setsid()
                if os.fork() == 0:
                    os.execvp("sleep", ["sleep", "1002"])
                os._exit(0)
            os.close(running)
            os.waitpid(pid, 0)
            os.read(ready, 1)
            os.close(ready)
        """,
        [
            Leak(
                "processes",
                "started",
                "sleep",
                after=process("sleep", ["sleep", "1002"], daemonised=True),
            )
        ],
        'test "$(ps -o ppid= -C sleep)" -eq 1',
    ),
    plant(
        "zombie",
        """
        import os
        import subprocess

        kept = []


        def test_zombie():
            kept.append(subprocess.Popen(["true"]))
            os.waitid(os.P_PID, kept[0].pid, os.WEXITED | os.WNOWAIT)
        """,
        [Leak("processes", "started", "true", after=process("true", None, state="zombie"))],
        "ps --ppid $PPID -o stat= | grep -q Z",
    ),
    plant(
        "thread",
        """
        import threading


        def test_thread():
            threading.Thread(target=threading.Event().wait, daemon=True).start()
        """,
        [Leak("threads", "started", "python3", after=thread("python3"))],
        'test "$(ls /proc/$PPID/task | wc -l)" -gt 1',
    ),
    plant(
        "thread_with_name",
        """
        import ctypes
        import threading


        def test_thread_with_name():
            named = threading.Event()

            def body():
                ctypes.CDLL(None).prctl(15, b"uploader", 0, 0, 0)  # PR_SET_NAME
                named.set()
                threading.Event().wait()

            threading.Thread(target=body, daemon=True).start()
            named.wait()
        """,
        [Leak("threads", "started", "uploader", after=thread("uploader"))],
        "cat /proc/$PPID/task/*/comm | grep -q uploader",
    ),
]

# What was made in the collection is no test's; so a test that only binds a socket, or only sends a
# message, leaves nothing in another domain.
C = """
import ctypes

libc = ctypes.CDLL(None, use_errno=True)
libc.sem_open.restype = ctypes.c_void_p
libc.sem_close.argtypes = [ctypes.c_void_p]
CREATE = 0o1000  # IPC_CREAT
REMOVE = 0  # IPC_RMID
"""


def c_plant(name, body, leaks, oracle, **more):
    return plant(name, C.lstrip() + dedent(body), leaks, oracle, **more)


IPC_PLANTS = [
    c_plant(
        "shm",
        """
        def test_shm():
            assert libc.shmget(0x0F1E1D, 8192, CREATE | 0o600) >= 0
        """,
        [Leak("ipc", "created", "shm:0xf1e1d", after=shared_memory(8192))],
        "ipcs -m | grep -q 0x000f1e1d",
    ),
    c_plant(
        "shm_attached",
        """
        libc.shmat.restype = ctypes.c_void_p


        def test_shm_attached():
            segment = libc.shmget(0, 4096, 0o640)
            assert libc.shmat(segment, None, 0) != ctypes.c_void_p(-1).value
        """,
        [Leak("ipc", "created", "shm:private", after=shared_memory(4096, "0640"))],
        "ipcs -m | awk '$4 == 640 && $6 == 1' | grep -q .",
    ),
    c_plant(
        "sem",
        """
        def test_sem():
            assert libc.semget(0x0F2E2D, 3, CREATE | 0o600) >= 0
        """,
        [Leak("ipc", "created", "sem:0xf2e2d", after=semaphores(3))],
        "ipcs -s | grep -q 0x000f2e2d",
    ),
    c_plant(
        "msg",
        """
        def test_msg():
            assert libc.msgget(0x0F3E3D, CREATE | 0o600) >= 0
        """,
        [Leak("ipc", "created", "msg:0xf3e3d", after=messages(0, 0))],
        "ipcs -q | grep -q 0x000f3e3d",
    ),
    c_plant(
        "msg_sent",
        """
        queue = libc.msgget(0x0F4E4D, CREATE | 0o600)


        def test_msg_sent():
            message = (ctypes.c_char * 16)(*bytes([1, 0, 0, 0, 0, 0, 0, 0]), *b"job")
            assert libc.msgsnd(queue, message, 3, 0) == 0
        """,
        [Leak("ipc", "changed", "msg:0xf4e4d", before=messages(0, 0), after=messages(1, 3))],
        "ipcs -q | awk '$1 == \"0x000f4e4d\" && $6 == 1' | grep -q .",
    ),
    c_plant(
        "queue",
        """
        import os


        def test_queue():
            os.close(libc.mq_open(b"/planted", os.O_CREAT | os.O_RDWR, 0o600, None))
        """,
        [Leak("ipc", "created", "mq:/planted", after=queue(0))],
        "test -e /dev/mqueue/planted",
    ),
    c_plant(
        "queue_sent",
        """
        import os

        jobs = libc.mq_open(b"/planted_jobs", os.O_CREAT | os.O_RDWR, 0o600, None)


        def test_queue_sent():
            assert libc.mq_send(jobs, b"job", 3, 0) == 0
        """,
        [Leak("ipc", "changed", "mq:/planted_jobs", before=queue(0), after=queue(3))],
        "grep -q QSIZE:3 /dev/mqueue/planted_jobs",
    ),
    c_plant(
        "named_semaphore",
        """
        import os


        def test_named_semaphore():
            libc.sem_close(libc.sem_open(b"/planted", os.O_CREAT, 0o600, 1))
        """,
        [
            created(
                "/dev/shm/sem.planted",
                "shm",
                {"type": "file", "mode": "0600", "size": 32, "digest": ANY},
            )
        ],
        "test -e /dev/shm/sem.planted",
    ),
]

CUSTOM_PLANTS = [
    plant(
        "row_added",
        """
        with open("var/table", "a") as f:
            f.write("1 more\\n")
        """,
        [Leak("custom", "changed", "table", before=text("1 row\n"), after=text("1 row\n1 more\n"))],
        "grep -q more var/table",
    ),
]

NETWORK_PLANTS = [
    plant(
        "tcp",
        """
        import socket

        server = socket.socket()


        def test_tcp():
            server.bind(("127.0.0.1", 8181))
            server.listen()
        """,
        [Leak("network", "opened", "tcp:127.0.0.1:8181", after=port("127.0.0.1", 8181))],
        "grep -q ' 0100007F:1FF5 00000000:0000 0A ' /proc/net/tcp",
    ),
    plant(
        "tcp_any_port",
        """
        import socket

        server = socket.socket(socket.AF_INET6)


        def test_tcp_any_port():
            server.bind(("::1", 0))
            server.listen()
        """,
        [
            Leak(
                "network",
                "opened",
                "tcp:[::1]:ephemeral",
                after={"address": "::1", "port": ANY, "ephemeral": True},
            )
        ],
        "grep -q ' 00000000000000000000000001000000:.*:0000 0A ' /proc/net/tcp6",
    ),
    plant(
        "udp",
        """
        import socket

        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


        def test_udp():
            server.bind(("0.0.0.0", 5353))
        """,
        [Leak("network", "opened", "udp:0.0.0.0:5353", after=port("0.0.0.0", 5353))],
        "grep -q ' 00000000:14E9 ' /proc/net/udp",
    ),
    plant(
        "unix_listening",
        """
        import socket

        server = socket.socket(socket.AF_UNIX)


        def test_unix_listening():
            server.bind("var/app.sock")
            server.listen()
        """,
        [Leak("network", "opened", "unix:var/app.sock", after=local_socket("stream"))],
        "grep -q ' 00010000 .* var/app.sock$' /proc/net/unix",
    ),
    plant(
        "unix_datagram",
        """
        import socket

        server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)


        def test_unix_datagram():
            server.bind("var/log.sock")
        """,
        [Leak("network", "opened", "unix:var/log.sock", after=local_socket("datagram", False))],
        "grep -q ' var/log.sock$' /proc/net/unix",
    ),
    plant(
        "abstract",
        """
        import socket

        server = socket.socket(socket.AF_UNIX)


        def test_abstract():
            server.bind("\\0planted")
            server.listen()
        """,
        [Leak("network", "opened", "unix:@planted", after=local_socket("stream"))],
        "grep -q ' @planted$' /proc/net/unix",
    ),
    plant(
        "served_by_child",
        """
        import socket
        import subprocess
        import sys

        SERVE = "import socket, sys; s = socket.create_server(('127.0.0.1', 8282)); print(); input()"
        child = subprocess.Popen(
            [sys.executable, "-c", "input();" + SERVE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )


        def test_served_by_child():
            child.stdin.write(b"\\n")
            child.stdin.flush()
            child.stdout.readline()
        """,
        [Leak("network", "opened", "tcp:127.0.0.1:8282", after=port("127.0.0.1", 8282))],
        "grep -q ' 0100007F:205A 00000000:0000 0A ' /proc/net/tcp",
    ),
]

CONTROLS = [
    control(
        "row_added_and_deleted",
        """
        import os

        with open("var/steady", "a") as f:
            f.write("1 more\\n")
        os.truncate("var/steady", 7)
        """,
        "! grep -qx '2 rows' var/steady || grep -q more var/steady",
    ),
    c_plant(
        "shm_removed",
        """
        def test_shm_removed():
            segment = libc.shmget(0x0F5E5D, 8192, CREATE | 0o600)
            assert libc.shmctl(segment, REMOVE, None) == 0
        """,
        [],
        "ipcs -m | grep -q 0x000f5e5d",
    ),
    c_plant(
        "sem_removed",
        """
        def test_sem_removed():
            assert libc.semctl(libc.semget(0x0F6E6D, 3, CREATE | 0o600), 0, REMOVE) == 0
        """,
        [],
        "ipcs -s | grep -q 0x000f6e6d",
    ),
    c_plant(
        "msg_removed",
        """
        def test_msg_removed():
            assert libc.msgctl(libc.msgget(0x0F7E7D, CREATE | 0o600), REMOVE, None) == 0
        """,
        [],
        "ipcs -q | grep -q 0x000f7e7d",
    ),
    c_plant(
        "msg_received",
        """
        queue = libc.msgget(0x0F8E8D, CREATE | 0o600)


        def test_msg_received():
            message = (ctypes.c_char * 16)(*bytes([1, 0, 0, 0, 0, 0, 0, 0]), *b"job")
            assert libc.msgsnd(queue, message, 3, 0) == 0
            assert libc.msgrcv(queue, message, 3, 0, 0) == 3
        """,
        [],
        "ipcs -q | awk '$1 == \"0x000f8e8d\" && $6 != 0' | grep -q .",
    ),
    c_plant(
        "queue_unlinked",
        """
        import os


        def test_queue_unlinked():
            os.close(libc.mq_open(b"/unlinked", os.O_CREAT | os.O_RDWR, 0o600, None))
            assert libc.mq_unlink(b"/unlinked") == 0
        """,
        [],
        "test -e /dev/mqueue/unlinked",
    ),
    c_plant(
        "semaphore_unlinked",
        """
        import os


        def test_semaphore_unlinked():
            libc.sem_close(libc.sem_open(b"/unlinked", os.O_CREAT, 0o600, 1))
            assert libc.sem_unlink(b"/unlinked") == 0
        """,
        [],
        "test -e /dev/shm/sem.unlinked",
    ),
    control(
        "tcp_closed",
        """
        import socket

        with socket.create_server(("127.0.0.1", 8383)) as server:
            with socket.create_connection(("127.0.0.1", 8383)):
                server.accept()[0].close()
        """,
        "grep -q ' 0100007F:20BF 00000000:0000 0A ' /proc/net/tcp",
    ),
    control(
        "udp_closed",
        """
        import socket

        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
            server.bind(("0.0.0.0", 5454))
        """,
        "grep -q ' 00000000:154E ' /proc/net/udp",
    ),
    control(
        "connected_pair",
        """
        import socket

        kept = socket.socketpair()


        def test_connected_pair():
            kept[0].send(b"not read")
        """,
        "false",
    ),
    control(
        "unix_closed",
        """
        import os
        import socket

        with socket.socket(socket.AF_UNIX) as server:
            server.bind("/tmp/closed.sock")
            server.listen()
        os.remove("/tmp/closed.sock")
        """,
        "grep -q closed.sock /proc/net/unix || test -e /tmp/closed.sock",
    ),
    control(
        "abstract_closed",
        """
        import socket

        with socket.socket(socket.AF_UNIX) as server:
            server.bind("\\0closed")
        """,
        "grep -q ' @closed$' /proc/net/unix",
    ),
    control(
        "xattr_and_back",
        """
        import os

        os.setxattr("data/tag_and_back.txt", "user.reviewed", b"yes")
        os.setxattr("data/tag_and_back.txt", "user.second", b"yes")
        os.setxattr("data/tag_and_back.txt", "user.reviewed", b"no")
        os.removexattr("data/tag_and_back.txt", "user.second")
        """,
        "! getfattr --only-values -n user.reviewed data/tag_and_back.txt | grep -qx no",
    ),
    control(
        "hard_link_removed",
        """
        import os

        os.link("data/linked_for_a_while.txt", "data/linked_short.txt")
        os.remove("data/linked_short.txt")
        """,
        'test "$(stat -c %h data/linked_for_a_while.txt)" != 1',
    ),
    control(
        "tmp_path",
        """
        def test_tmp_path(tmp_path):
            (tmp_path / "inner").mkdir()
            (tmp_path / "inner" / "file").write_text("mine")
        """,
        "false",
    ),
    control(
        "create_and_delete",
        """
        import os

        with open("/tmp/create_and_delete", "w") as f:
            f.write("gone soon")
        os.remove("/tmp/create_and_delete")
        """,
        "test -e /tmp/create_and_delete",
    ),
    control(
        "same_content_again",
        """
        with open("data/rewritten.txt", "w") as f:
            f.write("the same again\\n")
        """,
        "! grep -qx 'the same again' data/rewritten.txt",
    ),
    control(
        "replaced_by_same",
        """
        import os

        with open("data/replaced_by_same.new", "w") as f:
            f.write("the same again\\n")
        os.replace("data/replaced_by_same.new", "data/replaced_by_same.txt")
        """,
        "! grep -qx 'the same again' data/replaced_by_same.txt || test -e data/replaced_by_same.new",
    ),
    control(
        "chmod_and_back",
        """
        import os

        os.chmod("data/chmodded.txt", 0o600)
        os.chmod("data/chmodded.txt", 0o644)
        """,
        'test "$(stat -c %a data/chmodded.txt)" != 644',
    ),
    control(
        "touch",
        """
        import os

        os.utime("data/touched.txt", (1, 1))
        """,
        "! grep -qx 'only its time' data/touched.txt",
    ),
    control(
        "rename_and_back",
        """
        import os

        os.rename("data/away_and_back.txt", "data/away")
        os.rename("data/away", "data/away_and_back.txt")
        """,
        "test ! -e data/away_and_back.txt || test -e data/away",
    ),
    control(
        "symlink_swap_and_back",
        """
        import os

        for target in "v2", "v1":
            os.symlink(target, "data/swapped.new")
            os.replace("data/swapped.new", "data/swapped_and_back")
        """,
        'test "$(readlink data/swapped_and_back)" != v1',
    ),
    control(
        "pycache",
        """
        import py_compile

        import planted_module

        assert planted_module.ANSWER == 42
        py_compile.compile(planted_module.__file__)
        """,
        "false",
    ),
    control(
        "pytest_cache",
        """
        def test_pytest_cache(request):
            request.config.cache.set("planted/answer", 42)
        """,
        "false",
    ),
    control(
        "temporary_directory",
        """
        import os
        import tempfile

        with tempfile.TemporaryDirectory() as where:
            with open(os.path.join(where, "file"), "w") as f:
                f.write("gone soon")
        """,
        "find /tmp -mindepth 1 -maxdepth 1 -name 'tmp*' | grep -q .",
    ),
    control(
        "temporary_file",
        """
        import tempfile

        with tempfile.NamedTemporaryFile() as f:
            f.write(b"gone soon")
        """,
        "find /tmp -mindepth 1 -maxdepth 1 -name 'tmp*' | grep -q .",
    ),
    control(
        "module_fixture_folder",
        """
        import os
        import shutil

        import pytest


        @pytest.fixture(scope="module")
        def server_root():
            os.mkdir("/tmp/server_root")
            with open("/tmp/server_root/index", "w") as f:
                f.write("index")
            yield
            shutil.rmtree("/tmp/server_root")


        def test_first(server_root):
            assert os.path.exists("/tmp/server_root/index")


        def test_second(server_root):
            assert os.path.exists("/tmp/server_root/index")
        """,
        "test -e /tmp/server_root",
    ),
    control(
        "session_fixture_file",
        """
        import os

        import pytest


        @pytest.fixture(scope="session")
        def socket_path():
            with open("/tmp/session.sock", "w"):
                pass
            yield
            os.remove("/tmp/session.sock")


        def test_session_fixture_file(socket_path):
            assert os.path.exists("/tmp/session.sock")
        """,
        "test -e /tmp/session.sock",
    ),
    control(
        "class_fixture_descriptor",
        """
        import pytest


        @pytest.fixture(scope="class")
        def log():
            with open("/etc/passwd") as f:
                yield f


        class TestLog:
            def test_first(self, log):
                assert not log.closed

            def test_second(self, log):
                assert not log.closed
        """,
        "ls -l /proc/$PPID/fd | grep -q /etc/passwd",
    ),
    control(
        "setup_module_env",
        """
        import os


        def setup_module():
            os.environ["PLANTED_MODULE"] = "1"


        def teardown_module():
            del os.environ["PLANTED_MODULE"]


        def test_first():
            assert os.environ["PLANTED_MODULE"] == "1"


        def test_second():
            assert os.environ["PLANTED_MODULE"] == "1"
        """,
        'test -n "${PLANTED_MODULE+set}"',
    ),
    control(
        "monkeypatch_env",
        """
        def test_monkeypatch_env(monkeypatch):
            monkeypatch.setenv("PLANTED_MONKEY", "1")
            monkeypatch.delenv("PLANTED_RESTORED")
        """,
        'test -n "${PLANTED_MONKEY+set}" || test "$PLANTED_RESTORED" != before',
    ),
    control(
        "monkeypatch_chdir",
        """
        def test_monkeypatch_chdir(monkeypatch, tmp_path):
            monkeypatch.chdir(tmp_path)
        """,
        'test "$(readlink /proc/$PPID/cwd)" != "$PROJECT"',
    ),
    control(
        "monkeypatch_attr",
        """
        import os

        def test_monkeypatch_attr(monkeypatch):
            monkeypatch.setattr(os, "getcwd", lambda: "/nowhere")
        """,
        "false",
    ),
    control(
        "env_restored",
        """
        import os

        os.environ["PLANTED_RESTORED"] = "meanwhile"
        os.environ["PLANTED_SHORT"] = "1"
        os.environ["PLANTED_RESTORED"] = "before"
        del os.environ["PLANTED_SHORT"]
        """,
        'test -n "${PLANTED_SHORT+set}" || test "$PLANTED_RESTORED" != before',
    ),
    control(
        "env_patch_dict",
        """
        import os
        from unittest import mock

        with mock.patch.dict(os.environ, {"PLANTED_PATCHED": "1"}, clear=True):
            assert list(os.environ) == ["PLANTED_PATCHED"]
        """,
        'test -n "${PLANTED_PATCHED+set}" || test "$PLANTED_RESTORED" != before',
    ),
    control(
        "cwd_restored",
        """
        import os

        was = os.open(".", os.O_PATH)
        os.chdir("/")
        os.fchdir(was)
        os.close(was)
        """,
        'test "$(readlink /proc/$PPID/cwd)" != "$PROJECT"',
    ),
    control(
        "umask_restored",
        """
        import os

        os.umask(os.umask(0o077))
        """,
        'test "$(umask)" != 0022',
    ),
    control(
        "signal_restored",
        """
        import signal

        was = signal.signal(signal.SIGALRM, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, was)
        """,
        "test $((0x$(awk '/^SigIgn/ { print $2 }' /proc/self/status) & 0x2000)) -ne 0",
    ),
    control(
        "descriptor_closed",
        """
        import os

        fd = os.open("/etc/group", os.O_RDONLY)
        os.close(fd)
        for end in os.pipe():
            os.close(end)
        """,
        "ls -l /proc/$PPID/fd | grep -q /etc/group",
    ),
    control(
        "child_waited",
        """
        import subprocess

        subprocess.run(["true"], check=True)
        with subprocess.Popen(["sleep", "1003"]) as child:
            child.kill()
        """,
        "ps -C sleep,true",
    ),
    control(
        "thread_joined",
        """
        import threading

        thread = threading.Thread(target=int)
        thread.start()
        thread.join()
        """,
        'test "$(ls /proc/$PPID/task | wc -l)" -gt 1',
    ),
]

PLANTS = FILE_PLANTS + ENV_PLANTS + PROCESS_PLANTS + DESCRIPTOR_PLANTS + PROCESS_LIFE_PLANTS
PLANTS += CUSTOM_PLANTS + IPC_PLANTS + NETWORK_PLANTS
ROWS = PLANTS + CONTROLS
