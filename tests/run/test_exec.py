"""fumehood exec: exit status, signals, terminal. Prints TAP.

The binary is the first argument. Runs as whoever calls.
"""

import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import time

import schema
from place import BINARY, NO_LONGER_THAN, Place, finish, ok, plan, wait_for

PYTHON = "/usr/bin/python3"
NULL_WRITE = "import ctypes; ctypes.memset(0, 1, 1)"

# name, command, exit status: what a plain shell says (peers/sandboxes.md 3.9).
STATUSES = [
    ("exit 7", ["sh", "-c", "exit 7"], 7),
    ("exit 255", ["sh", "-c", "exit 255"], 255),
    ("abort()", [PYTHON, "-c", "import os; os.abort()"], 134),
    ("a null write", [PYTHON, "-c", NULL_WRITE], 139),
    ("raise(SIGTERM)", ["sh", "-c", "kill -TERM $$"], 143),
    ("raise(SIGKILL)", ["sh", "-c", "kill -KILL $$"], 137),
    ("raise(SIGINT)", [PYTHON, "-c", "import os, signal; signal.signal(2, signal.SIG_DFL); os.kill(os.getpid(), 2)"], 130),
    ("raise(SIGPIPE)", ["sh", "-c", "kill -PIPE $$"], 141),
    ("not found", ["fumehood-no-such-command"], 127),
    ("not found, by path", ["./none"], 127),
    ("not executable", ["./plain"], 126),
    ("a folder", ["./folder"], 126),
    ("an interpreter that is not there", ["./orphan"], 127),
    ("a script without a first line", ["./bare", "6"], 6),
]

FILES = {"plain": "no program\n", "folder/x": "", "orphan": "#!/no/such/interpreter\n", "bare": "exit $1\n"}


def make_place():
    place = Place(FILES)
    for name in ("orphan", "bare"):
        os.chmod(os.path.join(place.project, name), 0o755)
    return place


def test_statuses():
    place = make_place()
    for name, command, expected in STATUSES:
        status, out, err = place.run(["exec", "-q", "--"] + command)
        ok(status == expected, "%s: %d" % (name, expected), status, out, err)
        plain = subprocess.run(
            ["sh", "-c", '"$@"; exit $?', "sh"] + command,
            cwd=place.project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=place.environment({}),
            check=False,
        )
        ok(plain.returncode == expected, "as a shell says", plain.returncode)
    place.done()


# Options, command, exit status, what stderr says.
FAULTS = [
    ([], [], 125, ["there is no command to run", "hint: say what to run: fumehood exec -- CMD"]),
    (["--oops"], ["true"], 125, ["there is no option --oops"]),
    (["--fail-on", "leak"], ["true"], 125, ["--fail-on is no option of exec", "hint: it is one of: check, run"]),
    (["--network", "some"], ["true"], 125, ['"some" is not among none, host']),
    (["--timeout", "300ms", "--grace", "100ms"], ["sleep", "600"], 124, []),
    (["--timeout", "300ms", "--grace", "100ms"], ["sh", "-c", "trap '' TERM; sleep 600"], 124, []),
    ([], ["fumehood-no-such-command"], 127, ["there is no command fumehood-no-such-command along PATH in the cell"]),
    ([], ["./plain"], 126, ["run ./plain: Permission denied"]),
]


def test_faults():
    place = make_place()
    for options, command, expected, texts in FAULTS:
        status, out, err = place.run(["exec"] + options + (["--"] + command if command else []))
        name = " ".join(options + ["--"] + command)
        ok(status == expected and all(t in err for t in texts), "%s: %d" % (name, expected), status, out, err)
    place.done()


def processes_with(marker):
    """Who has it in their arguments; a runner wipes those of the cell's first process."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as text:
                words = text.read().split(b"\0")
        except OSError:
            continue
        if marker.encode() in words and int(pid) != os.getpid():
            found.append(int(pid))
    return found


def marker_of(name):
    return "%s-%d" % (name, os.getpid())


def sleeper(marker, prelude=""):
    """A command that says so once it sleeps, and is known by an argument."""
    return ["sh", "-c", prelude + "echo begun; while :; do sleep 0.05; done", marker, marker]


def test_signals():
    table = [
        (signal.SIGTERM, "", 143),
        (signal.SIGINT, "", 130),
        (signal.SIGHUP, "", 129),
        (signal.SIGQUIT, "", 131),
        (signal.SIGUSR1, "", 138),
        (signal.SIGTERM, "trap 'exit 5' TERM; ", 5),
        (signal.SIGINT, "trap 'exit 6' INT; ", 6),
        (signal.SIGUSR2, "trap 'exit 7' USR2; ", 7),
        (signal.SIGKILL, "", -9),
        (signal.SIGKILL, "trap '' TERM INT HUP; setsid sleep 599 & ", -9),
    ]
    place = make_place()
    for number, prelude, expected in table:
        marker = marker_of("signal")
        process = place.start(["exec", "-q", "--"] + sleeper(marker, prelude), {})
        begun = process.stdout.readline() == b"begun\n"
        inside = [pid for pid in processes_with(marker) if pid != process.pid]
        process.send_signal(number)
        status = process.wait(NO_LONGER_THAN)
        gone = wait_for(lambda m=marker: not processes_with(m)) if number == signal.SIGKILL else not processes_with(marker)
        name = "%s %s" % (signal.Signals(number).name, "with " + prelude.split(";")[0] if prelude else "")
        ok(begun and inside and status == expected and gone, "%s: %d, nobody left" % (name, expected), begun, inside, status)
        process.communicate()
    place.done()


def test_daemon():
    place = make_place()
    marker = marker_of("daemon")
    command = ["sh", "-c", "setsid sh -c 'sleep 600; :' %s & exit 0" % marker]
    status, out, err = place.run(["exec", "-q", "--"] + command)  # which has no 600 seconds
    ok(status == 0, "a command that leaves a daemon ends at once", status, out, err)
    ok(not processes_with(marker), "and the daemon with it")
    place.done()


def state_of(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8") as text:
            return text.read().rpartition(")")[2].split()[0]
    except OSError:
        return None


# A shell whose child was stopped between vfork and exec waits for it, and stops when that goes on.
STOPPED = ("T", "D")


def test_jobs():
    place = make_place()
    for name, stop in (("ctrl-Z", lambda runner, inner: runner.send_signal(signal.SIGTSTP)),
                       ("a command that stops itself", lambda runner, inner: os.kill(inner, signal.SIGSTOP))):
        marker = marker_of("job")
        process = place.start(["exec", "-q", "--"] + sleeper(marker, "trap 'exit 9' USR1; "), {})
        begun = process.stdout.readline() == b"begun\n"
        inner = next((pid for pid in processes_with(marker) if pid != process.pid), 0)
        stop(process, inner)
        stopped = wait_for(lambda p=process, i=inner: state_of(p.pid) == "T" and state_of(i) in STOPPED)
        ok(begun and stopped, "%s: the runner and the command stop" % name, state_of(process.pid), state_of(inner))
        process.send_signal(signal.SIGCONT)
        ok(wait_for(lambda i=inner: state_of(i) in "SR"), "SIGCONT to the runner continues both")
        process.send_signal(signal.SIGUSR1)
        ok(process.wait(NO_LONGER_THAN) == 9, "and it ends as it would have")
        process.communicate()
    place.done()


def test_closed_terminal():
    """A pty whose other side goes: the kernel sends SIGHUP to the session's leader, the runner."""
    place = make_place()
    marker = marker_of("terminal")
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(place.project)
        os.execve(BINARY, [BINARY, "exec", "-q", "--"] + sleeper(marker), place.environment({}))
    seen = b""
    while b"begun" not in seen:
        seen += os.read(master, 1000)
    inside = [other for other in processes_with(marker) if other != pid]
    os.close(master)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    ok(inside and code == 129, "a closed terminal ends the command: 129", inside, code)
    ok(not processes_with(marker), "nobody is left")
    place.done()


class Seat:
    """Somebody at a terminal, who runs fumehood exec --tty there."""

    def __init__(self, place, command, rows=30, columns=90):
        sized, tell_sized = os.pipe()
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.read(sized, 1)
            os.chdir(place.project)
            os.execve(BINARY, [BINARY, "exec", "-q", "--tty", "--"] + command, place.environment({"TERM": "xterm"}))
        self.size(rows, columns)
        os.write(tell_sized, b"x")
        os.close(tell_sized)
        os.close(sized)
        self.usual = termios.tcgetattr(self.master)
        self.seen = b""

    def size(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def shows(self, text):
        until = time.monotonic() + NO_LONGER_THAN
        while text not in self.seen and time.monotonic() < until:
            try:
                self.seen += os.read(self.master, 65536)
            except OSError:
                break
        return text in self.seen

    def types(self, text):
        os.write(self.master, text)

    def is_raw(self):
        return not termios.tcgetattr(self.master)[3] & (termios.ICANON | termios.ECHO | termios.ISIG)

    def is_as_before(self):
        return termios.tcgetattr(self.master) == self.usual

    def ends(self):
        """The exit status; meanwhile what is shown is taken."""
        while True:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            if select.select([self.master], [], [], 0.02)[0]:
                try:
                    self.seen += os.read(self.master, 65536)
                except OSError:
                    time.sleep(0.02)


def test_tty():
    place = make_place()
    seat = Seat(place, ["sh", "-c", "trap 'stty size' WINCH; trap 'echo int; exit 5' INT; tty; stty size; echo $TERM; "
                                    "echo begun; while :; do sleep 0.05; done"])
    ok(seat.shows(b"begun") and b"/dev/pts/0" in seat.seen and b"30 90" in seat.seen and b"xterm" in seat.seen,
       "a terminal of the cell's own, as large as ours", seat.seen)
    ok(seat.is_raw(), "ours is raw meanwhile")
    seat.size(40, 100)
    ok(seat.shows(b"40 100"), "a new size is passed on", seat.seen)
    seat.types(b"\x03")
    ok(seat.ends() == 5 and b"int" in seat.seen, "ctrl-C is the command's", seat.seen)
    ok(seat.is_as_before(), "and ours is as it was")

    seat = Seat(place, ["sh", "-c", "echo begun; while :; do sleep 0.05; done"])
    begun = seat.shows(b"begun")
    os.kill(seat.pid, signal.SIGTSTP)
    stopped = wait_for(lambda: state_of(seat.pid) == "T")
    ok(begun and stopped and seat.is_as_before(), "a stop gives the terminal back")
    os.kill(seat.pid, signal.SIGCONT)
    ok(wait_for(seat.is_raw), "and takes it again")
    os.kill(seat.pid, signal.SIGTERM)
    ok(seat.ends() == 143 and seat.is_as_before(), "however it ends")

    seat = Seat(place, ["sh", "-c", "read line; echo \"<$line>\"; cat; echo end"])
    seat.types(b"typed\n")
    ok(seat.shows(b"<typed>"), "what is typed goes in")
    seat.types(b"\x04")
    ok(seat.ends() == 0 and b"end" in seat.seen, "ctrl-D ends it", seat.seen)

    marker = marker_of("tty")
    seat = Seat(place, sleeper(marker))
    begun = seat.shows(b"begun")
    os.close(seat.master)
    _, status = os.waitpid(seat.pid, 0)
    ok(begun and os.waitstatus_to_exitcode(status) == 129 and not processes_with(marker), "a closed terminal ends it", status)

    done = subprocess.run(
        [BINARY, "exec", "-q", "--tty", "--", "sh", "-c", "stty -echo -onlcr; seq 100000; cat; exit 3"],
        cwd=place.project,
        env=place.environment({}),
        input=b"in\nlast",
        capture_output=True,
        timeout=NO_LONGER_THAN,
        check=False,
    )
    numbers = b"".join(b"%d\n" % n for n in range(1, 100001))
    ok(done.returncode == 3 and numbers in done.stdout and done.stdout.endswith(b"in\nlast"),
       "without a terminal of ours: all that comes, and the end of what goes in", done.returncode, done.stdout[-80:], done.stderr)
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [BINARY, "exec", "-q", "--tty", "--", "sh", "-c", "seq 100000; exit 3"],
        cwd=place.project,
        env=place.environment({}),
        stdin=subprocess.DEVNULL,
        stdout=write_end,
        timeout=NO_LONGER_THAN,
        check=False,
    )
    os.close(write_end)
    ok(done.returncode == 3, "nobody reads: the command goes on", done)
    place.done()


def test_streams():
    place = make_place()

    def run(command, **streams):
        given = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        given.update(streams)
        return subprocess.run(
            [BINARY, "exec", "-q", "--"] + command,
            cwd=place.project,
            env=place.environment({}),
            timeout=NO_LONGER_THAN,
            check=False,
            **given,
        )

    done = run(["cat"])
    ok(done.returncode == 0 and done.stdout == b"", "stdin at its end", done)
    done = subprocess.run(
        [BINARY, "exec", "-q", "--", "cat"],
        cwd=place.project,
        env=place.environment({}),
        input=bytes(range(256)) * 4096,
        capture_output=True,
        timeout=NO_LONGER_THAN,
        check=False,
    )
    ok(done.returncode == 0 and done.stdout == bytes(range(256)) * 4096, "what goes in and out is whole")
    with open("/dev/full", "wb") as full:
        done = run([PYTHON, "-c", "print('x')"], stdout=full)
        ok(done.returncode == 120 and b"No space left" in done.stderr, "a stdout that is full is the command's", done)
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = run(["sh", "-c", "while echo y; do :; done"], stdout=write_end)
    os.close(write_end)
    ok(done.returncode == 141, "a pipe without a reader: SIGPIPE ends the command", done)
    done = run(["sh", "-c", "echo x >&1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ok(done.returncode == 0, "nobody listens", done)
    closed = subprocess.run(
        ["sh", "-c", '"$@" <&- >&- 2>&-', "sh", BINARY, "exec", "--", "sh", "-c", "exit 4"],
        cwd=place.project,
        env=place.environment({}),
        timeout=NO_LONGER_THAN,
        check=False,
    )
    ok(closed.returncode == 4, "no stdin, stdout and stderr at all", closed)
    done = run(["sh", "-c", "ls -l /proc/self/fd | grep -c -- '->'"])
    ok(done.stdout == b"4\n", "the command has 0, 1 and 2 and no more", done)
    done = run(["sh", "-c", "exec 2>/dev/null; : </dev/tty && echo has"])
    ok(done.stdout == b"", "and no controlling terminal", done)
    place.done()


def test_project():
    place = Place({"home/x": ""})
    folder = os.path.join(place.top, "no-project")
    os.makedirs(folder)
    open(os.path.join(folder, "there"), "w").close()
    done = subprocess.run(
        [BINARY, "exec", "-q", "--", "sh", "-c", "ls; echo x > new && cat new"],
        cwd=folder,
        env=place.environment({}),
        capture_output=True,
        timeout=NO_LONGER_THAN,
        check=False,
    )
    ok(done.returncode == 0 and done.stdout == b"there\nx\n", "a folder that is no project is one", done)
    ok(os.listdir(folder) == ["there"], "and stays as it was")
    for where in ("/", place.home):
        done = subprocess.run(
            [BINARY, "exec", "-q", "--", "true"],
            cwd=where,
            env=place.environment({}),
            capture_output=True,
            check=False,
        )
        ok(done.returncode == 125 and b"cannot be the project" in done.stderr, "but never " + where, done)
    place.done()


# All that can be read: in /etc, three folders down in /var, and at the top of others.
READS = """
import os
for top, depth in ("/etc", 99), ("/var", 3), ("/home", 3), ("/root", 3), ("/opt", 1), ("/srv", 1), ("/sys/kernel/tracing", 4):
    for folder, folders, files in os.walk(top):
        folders[:] = [name for name in folders if folder.count("/") < depth and name != "tmp"]
        for name in files:
            path = os.path.join(folder, name)
            try:
                with open(path, "rb") as f:
                    print(path * bool(f.read(1)))
            except OSError:
                pass
"""
# Of the paths that come, those that cannot be read.
REFUSED = "import os, sys; print([p for p in sys.stdin.read().split('\\n') if p and not os.access(p, os.R_OK)])"


def test_host():
    if os.getuid() != 0:
        return
    for owner in 0, 1000:
        place = Place({})
        os.chown(place.project, owner, owner)
        status, out, err = place.run(["exec", "-q", "--", PYTHON, "-c", READS])
        ok(status == 0 and "/etc/passwd" in out, "root's suite reads the host", status, err)
        asked = subprocess.run(
            [PYTHON, "-c", REFUSED],
            input=out,
            capture_output=True,
            text=True,
            cwd="/",
            user=65534,
            group=65534,
            extra_groups=[],
            check=True,
        )
        ok(asked.stdout == "[]\n", "but nothing that nobody could not, in a project of %d" % owner, asked.stdout)
        _, out, err = place.run(["exec", "-q", "--expose", "/etc/shadow", "--", "cat", "/etc/shadow"])
        with open("/etc/shadow", encoding="utf-8") as f:
            ok(out == f.read(), "unless it is asked for", err)
        place.done()


DEEDS = """
echo longer > content
rm gone
chmod 600 mode
rm -r folder
cat reread > /dev/null
printf same > rewritten
chmod 600 back; chmod 644 back
mkdir -p new/deep; for i in 1 2 3; do echo $i > new/deep/$i; done
ln -s /etc/passwd link
echo x > "new line
here"
echo tmp > /tmp/t; echo home > ~/h; mkdir -p ~/.cache; echo cache > ~/.cache/c; echo shm > /dev/shm/s
echo state > var/s
setsid sleep 600 & tail -f /dev/null &
exit 3
"""
DEED_FILES = {name: "short" for name in ("content", "gone", "mode", "folder/in", "reread", "back", "var/x")}
DEED_FILES["rewritten"] = "same"
DEED_FILES["deeds"] = DEEDS
DEED_FILES["fumehood.json"] = '{"version": 1, "state_dirs": ["var"], "fail_on": ["leak"]}'
# class, zone, path below the project, bytes
DEED_CHANGES = [
    ("changed", "source", "content", 7),
    ("deleted", "source", "gone", 5),
    ("attributes", "source", "mode", 0),
    ("deleted", "source", "folder", 0),
    ("deleted", "source", "folder/in", 5),
    ("created", "source", "new", 0),
    ("created", "source", "new/deep", 0),
    ("created", "source", "new/deep/1", 2),
    ("created", "source", "new/deep/2", 2),
    ("created", "source", "new/deep/3", 2),
    ("created", "source", "link", 0),
    ("created", "source", "new line\nhere", 2),
    ("created", "tmp", "/tmp/t", 4),
    ("created", "home", "~/h", 5),
    ("created", "cache", "~/.cache/c", 6),
    ("created", "shm", "/dev/shm/s", 4),
    ("created", "state", "var/s", 6),
]


def deed_place():
    place = Place(DEED_FILES)
    for name in ("content", "mode", "back"):
        os.chmod(os.path.join(place.project, name), 0o644)
    return place


def absolute(place, path):
    return path.replace("~", place.home, 1) if path[0] == "~" else os.path.join(place.project, path)


def test_changes_json():
    place = deed_place()
    status, out, err = place.run(["exec", "--json", "--report", "-", "--", "sh", "deeds"])
    report = json.loads(out) if out else {}
    wrong = schema.errors(schema.load("exec"), report)
    ok(status == 3 and not wrong and not err, "the report is JSON as its schema says", status, wrong, out, err)
    found = sorted((c["class"], c["zone"], c["key"]) for c in report.get("changes", []))
    expected = sorted((c, z, absolute(place, p)) for c, z, p, _ in DEED_CHANGES)
    ok(found == expected, "each change by class and zone, and no other", found)
    sums = {}
    for kind, zone, _, size in DEED_CHANGES:
        count, size_sum = sums.get((zone, kind), (0, 0))
        sums[zone, kind] = (count + 1, size_sum + size)
    told = {
        (zone, kind): (total["count"], total["bytes"])
        for zone, totals in report.get("zones", {}).items()
        for kind, total in totals.items()
        if total["count"]
    }
    ok(told == sums, "with counts and bytes", told)
    ok(sorted(p["name"] for p in report.get("processes", [])) == ["sleep", "tail"], "and who was left", report.get("processes"))
    ok(report.get("status") == 3 and report.get("signal") is None and report.get("unlisted") == 0, "and how it ended")
    left = sorted(os.listdir(place.project))
    ok(left == sorted({n.split("/")[0] for n in DEED_FILES} | {".git"}), "outside all is as it was", left)
    place.done()


def test_changes_text():
    place = deed_place()
    status, out, err = place.run(["exec", "--", "sh", "deeds"])
    lines = [
        "fumehood: status 3; 12 created (33 bytes), 1 changed (7 bytes), 3 deleted (10 bytes), 1 attributes",
        "  changed %s/content (5 -> 7 bytes)" % place.project,
        "  deleted %s/gone (file, 5 bytes)" % place.project,
        "  changed mode of %s/mode (mode 0644 -> 0600)" % place.project,
        "  created %s/new (dir) and 4 below it" % place.project,
        "  created $'%s/new line\\nhere' (file, 2 bytes)" % place.project,
        "  created %s/link (link, to /etc/passwd)" % place.project,
        "tmp: 1 created (4 bytes)",
        "left running, and ended: ",
    ]
    missing = [line for line in lines if line not in err]
    ok(status == 3 and not out and not missing, "people are told on stderr", missing, err)
    status, out, err = place.run(["exec", "-q", "--", "sh", "deeds"])
    ok(status == 3 and not out + err, "but not with -q", out, err)
    status, out, err = place.run(["exec", "--", "true"])
    ok(status == 0 and err == "fumehood: status 0; nothing changed\n", "nothing is nothing", err)
    many = "for i in 1 2 3 4 5 6 7 8 9; do : > a$i; : > b$i; : > c$i; done"
    _, _, err = place.run(["exec", "--", "sh", "-c", many])
    ok(err.count("\n  created") == 20 and "… and 7 more: -v lists them" in err, "a long list is cut, and says so", err)
    _, _, err = place.run(["exec", "-v", "--", "sh", "-c", many])
    ok(err.count("\n  created") == 27 and "more" not in err, "-v lists it", err)
    _, _, err = place.run(["exec", "--color", "always", "--", "sh", "-c", "echo x > 'a\033[2J'"])
    ok("\x1b[32m" in err and "\x1b[2J" not in err, "in colour, but not the command's", repr(err))
    place.done()


def test_report_file():
    place = deed_place()
    path = os.path.join(place.top, "report")
    with open(path, "w", encoding="utf-8") as old:
        old.write("x" * 100000)
    status, out, err = place.run(["exec", "-q", "--json", "--report", path, "--", "sh", "-c", "echo x > y"])
    with open(path, encoding="utf-8") as text:
        report = json.load(text)
    ok(status == 0 and not out + err and len(report["changes"]) == 1, "--report goes to a file, and -q leaves it alone")
    status, out, err = place.run(["exec", "--report", os.path.join(place.top, "none/report"), "--", "touch", "x"])
    ok(status == 125 and "--report: open" in err and "No such file" in err, "which must be there to open", status, err)
    status, _, err = place.run(["exec", "--report", "/dev/full", "--", "true"])
    ok(status == 125 and "write the report to /dev/full: No space left" in err, "and to take it", status, err)
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [BINARY, "exec", "--", "sh", "-c", "exit 6"],
        cwd=place.project,
        env=place.environment({}),
        stderr=write_end,
        timeout=NO_LONGER_THAN,
        check=False,
    )
    os.close(write_end)
    ok(done.returncode == 6, "a stderr that nobody reads costs no status", done)
    place.done()


READ = "import socket; print(socket.create_connection(('localhost', %d)).makefile().read())"
RENAME = [PYTHON, "-c", "import os; os.rename('data', 'moved')"]


def test_made_of():
    """What the cell is made of: a copy of the project, a disk, a port."""
    place = Place({"data/a": "kept"})
    status, _, err = place.run(["exec", "--"] + RENAME)
    ok(status == 1 and "Invalid cross-device link" in err, "a folder that was there cannot be renamed", status, err)
    status, _, err = place.run(["exec", "--project", "copy", "--"] + RENAME)
    ok(
        status == 0 and re.search(r"deleted \S+/project/data/a .*created \S+/project/moved ", err, re.S),
        "but in a copy, and that is told",
        status,
        err,
    )
    status, out, err = place.run(["exec", "--scratch", "..", "--", "sh", "-c", "echo x >/tmp/x; echo y >data/a; ls -A ~/../fumehood-*"])
    left = sorted(os.listdir(place.top))
    ok(status == 2 and out == "" and "/data/a" in err and "/tmp/x" in err, "a scratch on disk", status, out, err)
    ok(left == ["home", "project"], "... of which nothing is left", left)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(NO_LONGER_THAN)
        port = server.getsockname()[1]
        process = place.start(["exec", "--forward", str(port), "--", PYTHON, "-c", READ % port], {})
        with server.accept()[0] as peer:
            peer.sendall(b"hello")
        status, out, err = finish(process)
    ok(status == 0 and out == "hello\n", "a port of the host's loopback", status, out, err)
    place.done()


def test_hostile_leavings():
    """What a command leaves so that the look would hang, fail or not end."""
    place = Place({})
    script = (
        "import os\nos.mkfifo('fifo')\nos.mkdir('shut'); open('shut/in', 'w').close(); os.chmod('shut', 0)\n"
        "open('none', 'w').close(); os.chmod('none', 0)\nos.symlink('loop', 'loop')\n"
        "import socket\nsocket.socket(socket.AF_UNIX).bind('sock')\n"
        "with open('sparse', 'w') as s: s.truncate(1 << 33)\n"
        "os.mkdir(b'\\xff\\xfe')\nos.chdir('/tmp')\nfor i in range(400): os.mkdir('d' * 200); os.chdir('d' * 200)\n"
    )
    status, out, err = place.run(["exec", "--json", "--report", "-", "--", PYTHON, "-c", script])
    report = json.loads(out) if out else {}
    wrong = schema.errors(schema.load("exec"), report)
    names = {c["key"].rpartition("/")[2]: c["after"]["type"] for c in report.get("changes", []) if c["zone"] == "source"}
    expected = {"fifo": "fifo", "shut": "dir", "in": "file", "none": "file", "loop": "link", "sock": "socket",
                "sparse": "file", "\ufffd\ufffd": "dir"}
    ok(status == 0 and not wrong and names == expected, "whatever it left is told", status, wrong, names, err)
    place.done()


KEEP_DEEDS = """
mkdir -p out/deep; echo result > out/deep/result; echo tool > out/tool; chmod 4755 out/tool
printf changed > dist/old; rm dist/gone
cd out
ln -s deep/result good; ln -s ../tool deep/up
ln -s /etc/passwd absolute; ln -s ../../x outside; ln -s deep/../../x round; ln -s . here; ln -s here/../.. hop
mkfifo fifo; echo closed > closed; chmod 0 closed; mkdir shut; echo in > shut/in; chmod 0 shut
truncate -s 1G sparse
echo t > /tmp/fumehood-keep-t
"""
KEEP_FILES = {"deeds": KEEP_DEEDS, "dist/old": "old", "dist/gone": "gone", "dist/same": "same", "elsewhere/x": "x"}


def keep_place():
    place = Place(KEEP_FILES)
    os.makedirs(os.path.join(place.project, "deep"))
    return place


def listing(top):
    """Each path below top: its mode, and what is in it or where it leads."""
    found = {}
    for folder, folders, files in os.walk(top):
        for name in folders + files:
            path = os.path.join(folder, name)
            short = os.path.relpath(path, top)
            info = os.lstat(path)
            if os.path.islink(path):
                found[short] = os.readlink(path)
            elif os.path.isdir(path):
                found[short] = "%o" % (info.st_mode & 0o7777)
            else:
                found[short] = "%o %d" % (info.st_mode & 0o7777, info.st_size)
    return found


KEPT_OUT = {
    "deep": "755",
    "deep/result": "644 7",
    "deep/up": "../tool",
    "good": "deep/result",
    "here": ".",
    "tool": "755 5",
    "closed": "0 7",
    "shut": "0",
    "sparse": "644 1073741824",
}


def test_keep():
    place = keep_place()
    os.umask(0o022)
    before = os.stat(os.path.join(place.project, "dist/same"))
    args = ["exec", "--json", "--report", "-", "--keep", "out", "--keep", "dist", "--keep", "out/deep/result=made/by/r"]
    status, out, err = place.run(args + ["--", "sh", "deeds"])
    report = json.loads(out) if out else {}
    wrong = schema.errors(schema.load("exec"), report)
    ok(status == 0 and not err and not wrong, "results come out", status, err, wrong)
    found = listing(os.path.join(place.project, "out"))
    found.pop("shut/in", None)  # root can look into it
    ok(found == KEPT_OUT, "files, folders and links that stay within; no setuid", found)
    blocks = os.stat(os.path.join(place.project, "out/sparse")).st_blocks
    ok(blocks < 100, "holes stay holes", blocks)
    owners = {os.lstat(os.path.join(place.project, "out", name)).st_uid for name in found}
    ok(owners == {os.geteuid()}, "they are the caller's", owners)
    left_out = sorted(text.rpartition("/")[2].partition(":")[0] for text in report.get("not_kept", []))
    ok(left_out == ["absolute", "fifo", "hop", "outside", "round"], "what is left out is named", left_out)
    with open(os.path.join(place.project, "dist/old"), encoding="utf-8") as text:
        ok(text.read() == "changed", "what stood is replaced")
    after = os.stat(os.path.join(place.project, "dist/same"))
    ok(before.st_ino == after.st_ino and before.st_ctime_ns == after.st_ctime_ns, "what did not change is left alone")
    ok(os.path.exists(os.path.join(place.project, "dist/gone")), "nothing is deleted")
    ok(listing(os.path.join(place.project, "made")) == {"by": "755", "by/r": "644 7"}, "to another name, with the folders on the way")
    counts = {os.path.relpath(k["to"], place.project): (k["files"], k["bytes"]) for k in report.get("kept", [])}
    ok(counts.get("dist") == (1, 7) and counts.get("made/by/r") == (1, 7), "and counted", counts)
    ok(not os.path.exists("/tmp/fumehood-keep-t"), "what nobody asked for stays in the cell")
    strays = [name for name in listing(place.top) if ".fumehood-keep" in name]
    ok(not strays, "no temporary file is left", strays)
    os.chmod(os.path.join(place.project, "out/shut"), 0o700)
    place.done()


def helper_of(pid):
    """The runner's child that brings out: it has the runner's name."""
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid), encoding="utf-8") as text:
            children = text.read().split()
        for child in children:
            with open("/proc/%s/comm" % child, encoding="utf-8") as text:
                if text.read() == "fumehood\n":
                    return int(child)
    except OSError:
        pass
    return 0


def test_keep_killed():
    """kill -9 while a file is copied: no half of it, no temporary name, nobody."""
    place = keep_place()
    make = "mkdir out; head -c 128M /dev/zero > out/big; cp out/big out/second"
    process = place.start(["exec", "-q", "--keep", "out", "--", "sh", "-c", make], {})
    found = []
    wait_for(lambda: found.append(helper_of(process.pid)) or found[-1] or process.poll() is not None)
    helper = found[-1]
    if helper:
        os.kill(helper, signal.SIGSTOP)
    process.kill()
    process.wait(NO_LONGER_THAN)
    if helper:
        os.kill(helper, signal.SIGCONT)
    process.communicate()
    gone = wait_for(lambda: not os.path.exists("/proc/%d" % helper))
    left = {name: kind for name, kind in listing(place.project).items() if name.startswith("out")}
    whole = all(kind.endswith(" 134217728") for name, kind in left.items() if name != "out")
    ok(helper and gone and whole and not any(".fumehood-keep" in name for name in left), "killed while it brings out", helper, left)
    place.done()


# Options, command, exit status, what stderr says, what must not have come into being.
KEEP_FAULTS = [
    (["--keep", "none"], ["true"], 125, "--keep: in the cell, look at %s/none: No such file"),
    (["--keep", "none"], ["touch", "z"], 125, "created %s/z (file, 0 bytes)"),
    (["--keep", "none"], ["sh", "-c", "exit 3"], 3, "note: --keep: in the cell, look at %s/none: No such file"),
    (["--keep", "../x/../y"], ["true"], 125, "--keep %s/../x/../y: name a file or folder, without .. where nothing stands yet"),
    (["--keep", "/"], ["true"], 125, "--keep /: name a file or folder"),
    (["--keep", "new=/proc/x"], ["true"], 125, "you cannot write to /proc" if os.geteuid() else "--keep"),
    (["--keep", "link"], ["ln", "-s", "/etc/passwd", "link"], 125, "link is neither a file nor a folder in the cell"),
    (["--keep", "link/passwd"], ["ln", "-s", "/etc", "link"], 125, "in the cell, open the folder of %s/link/passwd: Too many levels of symbolic links"),
    (["--keep", "dist/old/x"], ["sh", "-c", "rm dist/old; mkdir dist/old; touch dist/old/x"], 125, "dist/old/x"),
    (["--keep", "dist"], ["sh", "-c", "mv elsewhere/x .; rm -r dist; echo > dist"], 125, "replace what stands where it goes: %s/dist: Is a directory"),
    (["--keep", "elsewhere=door/x"], ["touch", "elsewhere/y"], 0, "kept"),
    (["--keep", "elsewhere=dist/door"], ["touch", "elsewhere/y"], 125, "there is something else where a folder goes"),
]


def test_keep_faults():
    for options, command, expected, text in KEEP_FAULTS:
        place = keep_place()
        os.symlink(place.home, os.path.join(place.project, "door"))
        os.symlink(os.path.join(place.top, "none"), os.path.join(place.project, "dist/door"))
        before = listing(place.project)
        status, out, err = place.run(["exec"] + options + ["--"] + command)
        name = " ".join(options + ["--"] + command)
        text = text.replace("%s", place.project)
        ok(status == expected and text in err, name, status, out, err)
        if expected:
            ok(listing(place.project) == before, "and nothing is written", set(listing(place.project)) ^ set(before))
        place.done()


def main():
    test_statuses()
    test_keep()
    test_keep_killed()
    test_keep_faults()
    test_changes_json()
    test_changes_text()
    test_report_file()
    test_made_of()
    test_hostile_leavings()
    test_faults()
    test_signals()
    test_daemon()
    test_jobs()
    test_closed_terminal()
    test_tty()
    test_streams()
    test_project()
    test_host()
    return plan()


sys.exit(main())
