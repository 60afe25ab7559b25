"""--isolation landlock: a ledger and a command on hosts that refuse namespaces, what it keeps in and what
it says that it does not, and nothing left behind. Prints TAP.

Usage: test_landlock.py FUMEHOOD EMULATE
"""

import ctypes
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

import schema
from place import NO_LONGER_THAN, ok, plan, wait_for

FUMEHOOD, EMULATE = map(os.path.realpath, sys.argv[1:3])
HERE = os.path.dirname(os.path.realpath(__file__))
PYTHON = "/usr/bin/python3"

ZERO = 'unshare --user --map-current-user --keep-caps sh -c \'echo 0 >/proc/sys/user/max_user_namespaces && "$@"\' sh "$@"'
HOSTS = [
    ("a host that refuses nothing", '"$@"'),
    ("Docker's filter", EMULATE + ' docker "$@"'),
    ("no user namespaces", ZERO),
]
KEPT = {"caps", "no_new_privs", "seccomp"}

SUITE = """
import os, pathlib, subprocess, tempfile

def test_names():
    top = os.path.dirname(os.environ["TMPDIR"])
    assert os.environ["HOME"] == top + "/home" and os.getcwd() == top + "/project"
    assert tempfile.gettempdir() == top + "/tmp" and os.environ["XDG_RUNTIME_DIR"].startswith(top + "/run/user/")
    assert os.path.expanduser("~") == top + "/home" and os.listdir(top + "/project")

def test_leaks():
    pathlib.Path(os.environ["TMPDIR"], "left").write_text("12345")

def test_tidy():
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "x").write_text("x")

def test_opens_left():
    assert pathlib.Path(os.environ["TMPDIR"], "left").read_text() == "12345"

def test_variable():
    os.environ["LEFT"] = "x"

def test_process():
    subprocess.Popen(["sleep", "%s"])

def test_daemon():
    subprocess.run(["setsid", "-f", "sleep", "%s"])
"""
DAMAGE = "import os\ndef test_damage(): os.unlink('data')\n"
LASTING = """
import subprocess, time

def test_lasts():
    subprocess.run(["setsid", "-f", "sleep", "%s"])
    time.sleep(600)
"""
REFUSED = "def test_refused(): open('/tmp/fumehood-refused', 'w')\n"

class Place:
    def __init__(self, files):
        self.top = tempfile.mkdtemp(prefix="fumehood-landlock.", dir="/var/tmp")
        self.tmp, self.home, self.project = (os.path.join(self.top, name) for name in ("tmp", "home", "project"))
        self.nap = str(100000 + int.from_bytes(os.urandom(3), "big"))  # by which our sleepers are told from others
        for folder in (self.tmp, self.home, self.project + "/.git"):
            os.makedirs(folder)
        for name, text in files.items():
            with open(os.path.join(self.project, name), "w", encoding="utf-8") as out:
                out.write(text.replace("%s", self.nap))

    def start(self, args, around='"$@"', env=None):
        found = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": self.home, "TMPDIR": self.tmp}
        found.update(env or {})
        return subprocess.Popen(
            ["/bin/sh", "-c", around, "sh"] + args,
            cwd=self.project,
            env=found,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, args, **how):
        process = self.start(args, **how)
        out, err = process.communicate(timeout=NO_LONGER_THAN)
        return process.returncode, out, err

    def landlock(self, command, args, **how):
        return self.run([FUMEHOOD, command, "--isolation", "landlock", *args], **how)

    def folder(self):
        found = glob.glob(self.home + "/.local/state/fumehood/*/runs/*")
        return max(found, key=os.path.getctime) if found else None

    def read(self, *names):
        texts = []
        for name in names:
            with open(os.path.join(self.project, name), encoding="utf-8") as text:
                texts.append(text.read())
        return "".join(texts)

    def sleepers(self):
        done = subprocess.run(["pgrep", "-f", "^sleep " + self.nap], capture_output=True, check=False)
        return done.stdout.split()

    def is_clean(self):
        return not os.listdir(self.tmp) and not self.sleepers()

    def done(self):
        shutil.rmtree(self.top, ignore_errors=True)


def ledger(path):
    with open(os.path.join(path, "ledger.jsonl"), encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def a_ledger(name, around):
    place = Place({"test_x.py": SUITE, "data": "x"})
    status, out, err = place.landlock("run", ["--", PYTHON, "-m", "pytest"], around=around)
    ok(status == 3 and "7 passed" in out, name + ": the suite runs, and reduced isolation is exit 3", out + err)
    same = "user, mount, ipc, uts, cgroup, time reduced: the namespace is the host's; pid reduced: "
    ok("isolation: 3 of 17 verified; " + same in out, name + ": the summary says what is missing", out)
    path = place.folder()
    wrong = schema.errors_of_run(path) if path else ["no run folder"]
    ok(not wrong, name + ": the run folder fits the schemas", "\n".join(wrong))
    rows = [row for line in ledger(path) for row in line.get("deltas", []) if row["kind"] == "leak"]
    found = {(row["domain"], row["what"], os.path.basename(row["key"])) for row in rows}
    wanted = {("files", "created", "left"), ("env", "added", "LEFT"), ("processes", "started", "sleep")}
    ok(found == wanted, name + ": the ledger names what was left", found)
    end = ledger(path)[-1]
    ok(len(end["survivors"]) == 2, name + ": and who was alive at the end", end["survivors"])
    ok(end["tracker"] == "scan" and end["tracker_why"], name + ": by a scan, and why", end)
    with open(path + "/run.json", encoding="utf-8") as text:
        about = json.load(text)
    reduced = {part for part, state in about["isolation"].items() if state == "reduced"}
    ok(
        KEPT == set(about["isolation"]) - reduced and reduced == set(about["isolation_why"]),
        name + ": what is kept is verified, the rest reduced, with the reason",
        about["isolation"],
    )
    ok(place.is_clean(), name + ": nothing is left behind", os.listdir(place.tmp))
    status, out, err = place.landlock("run", ["--accept-reduced", "all", "--", PYTHON, "-m", "pytest"], around=around)
    ok(status == 0, name + ": accepted, it is exit 0", out + err)
    status, out, err = place.landlock("exec", ["--", "/bin/true"], around=around)
    ok(status == 125 and "--accept-reduced user,mount,pid," in err, name + ": exec wants it accepted first", err)
    script = "echo new >new; rm data; pwd >&2; sleep %s & exit 7" % place.nap
    status, out, err = place.landlock("exec", ["--accept-reduced", "all", "--", "/bin/sh", "-c", script], around=around)
    ok(
        status == 7 and "/project/new (file, 4 bytes)" in err and "deleted " in err and "left running" in err,
        name + ": exec tells what changed",
        err,
    )
    ok(os.path.exists(place.project + "/data"), name + ": and the project is as it was")
    keep = ["--keep", "new", "--keep", place.home + "/it=it", "--", "/bin/sh", "-c", "echo new >new; echo it >~/it"]
    status, out, err = place.landlock("exec", ["--accept-reduced", "all", *keep], around=around)
    ok(status == 0 and place.read("new", "it") == "new\nit\n", name + ": but for what is kept", err)
    ok(wait_for(place.is_clean), name + ": nothing is left behind by it", os.listdir(place.tmp))
    place.done()


class Host:
    """Of the user, outside: files, a process, sockets, shared memory."""

    def __init__(self, place):
        self.extra = [tempfile.mkdtemp(prefix="fumehood-host.", dir=top) for top in ("/tmp", "/var/tmp", "/dev/shm")]
        for name in ("file", "movable", "removable", "private"):
            with open(self.extra[0] + "/" + name, "w", encoding="utf-8") as out:
                out.write("host")
        os.mkdir(self.extra[0] + "/removable.d")
        with open(place.home + "/.netrc", "w", encoding="utf-8") as out:
            out.write("secret")
        self.process = subprocess.Popen(["sleep", "1000"], env={"SECRET": "x"})
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.unix = socket.socket(socket.AF_UNIX)
        self.unix.bind(self.extra[0] + "/listening")
        self.unix.listen()
        self.abstract = socket.socket(socket.AF_UNIX)
        abstract = os.path.basename(self.extra[0])
        self.abstract.bind("\0" + abstract)
        self.abstract.listen()
        self.terminal = os.openpty()
        self.shm_key = int.from_bytes(os.urandom(3), "big") | 0x5000000
        self.libc = ctypes.CDLL(None)
        self.shm = self.libc.shmget(self.shm_key, 4096, 0o1600)
        self.facts = {
            "folders": self.extra + [place.home, place.project],
            "file": self.extra[0] + "/file",
            "movable": self.extra[0] + "/movable",
            "removable": self.extra[0] + "/removable",
            "private": self.extra[0] + "/private",
            "secret": place.home + "/.netrc",
            "home": place.home,
            "pid": self.process.pid,
            "tcp": self.tcp.getsockname()[1],
            "unix": self.extra[0] + "/listening",
            "abstract": abstract,
            "shm": self.shm_key,
            "terminal": os.ttyname(self.terminal[1]),
        }

    def done(self):
        self.process.kill()
        self.process.wait()
        self.libc.shmctl(self.shm, 0, None)
        for listening in (self.tcp, self.unix, self.abstract):
            listening.close()
        for end in self.terminal:
            os.close(end)
        for folder in self.extra:
            shutil.rmtree(folder, ignore_errors=True)


def attempts(place, around):
    """The names of those that led out: inside when `around` runs fumehood, else on the host."""
    host = Host(place)
    facts = dict(host.facts, parent=None if around else os.getpid())
    with open(place.project + "/facts.json", "w", encoding="utf-8") as out:
        json.dump(facts, out)
    shutil.copy(HERE + "/landlock_attempts.py", place.project + "/attempts.py")
    command = [PYTHON, "attempts.py", "facts.json"]
    if around:
        status, out, err = place.landlock("exec", ["-q", "--accept-reduced", "all", "--", *command], around=around)
    else:
        status, out, err = place.run(command)
    host.done()
    ok(status == 0, "the attempts come to their end", out + err)
    return out.splitlines()


def ways_out():
    place = Place({})
    outside = attempts(place, None)
    place.done()
    place = Place({})
    status, out, err = place.run([PYTHON, "-c", COUNT % (HERE + "/landlock_attempts.py")])
    ok(status == 0 and len(outside) >= 45, "outside, %d attempts lead out" % len(outside), out + err)
    is_open = [name for name in outside if name.split(":")[0] in ("root", "proc", "net", "dev", "ipc")]
    place.done()
    for name, around in HOSTS:
        place = Place({})
        found = attempts(place, around)
        for one in outside:
            if one in is_open:
                ok(one in found, "%s: reduced, as is said: %s" % (name, one))
            else:
                ok(one not in found, "%s: refused: %s" % (name, one.replace(os.sep, "/")))
        place.done()


COUNT = "import sys; sys.exit(not open('%s').read())"


def deaths():
    place = Place({"test_x.py": LASTING})
    args = [FUMEHOOD, "run", "--isolation", "landlock", "--", PYTHON, "-m", "pytest"]
    for name, number in ("KILL", signal.SIGKILL), ("TERM", signal.SIGTERM), ("INT", signal.SIGINT):
        process = place.start(["env"] + args, around='exec "$@"')
        ok(wait_for(place.sleepers), "a suite runs")
        process.send_signal(number)
        process.communicate(timeout=NO_LONGER_THAN)
        ok(process.returncode == (-9 if name == "KILL" else 130), "SIG%s to the runner" % name, process.returncode)
        ok(wait_for(place.is_clean), "SIG%s to the runner leaves nothing" % name, os.listdir(place.tmp))
    process = place.start(["env"] + args, around='exec "$@"')
    wait_for(place.sleepers)
    wardens = subprocess.run(["pgrep", "-x", "-P", str(process.pid), "warden"], capture_output=True, text=True, check=False)
    for pid in wardens.stdout.split():
        os.kill(int(pid), signal.SIGKILL)
    _, err = process.communicate(timeout=NO_LONGER_THAN)
    ok(process.returncode == 70 and "its process 1 was killed" in err, "a killed warden is told", err)
    for pid in place.sleepers():
        os.kill(int(pid), signal.SIGKILL)  # whom nobody could end
    os.makedirs(place.tmp + "/fumehood-%d/cell.left" % os.getuid(), 0o700, exist_ok=True)
    os.chmod(place.tmp + "/fumehood-%d" % os.getuid(), 0o700)
    status, _, err = place.landlock("exec", ["--accept-reduced", "all", "--", "/bin/true"])
    ok(status == 0 and place.is_clean(), "the next one removes what it left", err)
    status, out, err = place.landlock("run", ["--timeout", "2s", "--grace", "1s", "--", PYTHON, "-m", "pytest"])
    ok(status == 124 and wait_for(place.is_clean), "a time limit leaves nothing", out + err)
    if os.getuid():
        script = "import resource as r; print(r.getrlimit(r.RLIMIT_NPROC)[1])"
        status, out, err = place.landlock("exec", ["-q", "--accept-reduced", "all", "--", PYTHON, "-c", script])
        ok(status == 0 and 4096 <= int(out) < 30000, "a bound on processes", out + err)
    script = "for i in $(seq 200); do setsid -f sleep %s; done; exit 0" % place.nap
    status, _, err = place.landlock("exec", ["--accept-reduced", "all", "--", "/bin/sh", "-c", script])
    ok(status == 0 and wait_for(place.is_clean), "nor do 200 daemons", err)
    place.done()


def told():
    place = Place({"test_x.py": DAMAGE, "data": "x"})
    status, out, err = place.landlock("run", ["--", PYTHON, "-m", "pytest"])
    ok(status == 1 and "deleted " in out and "/project/data (file, 1 byte)" in out, "damage to the copy is damage", out + err)
    ok(os.path.exists(place.project + "/data"), "and the project stands")
    with open(place.project + "/test_x.py", "w", encoding="utf-8") as out:
        out.write(REFUSED)
    status, out, err = place.landlock("run", ["--", PYTHON, "-m", "pytest"])
    ok(status == 3 and "with --isolation landlock TMPDIR, HOME" in out, "a refusal has its likely cause", out + err)
    secret = place.project + "/unreadable"
    os.close(os.open(secret, os.O_CREAT, 0o000))
    if os.getuid():
        status, _, err = place.landlock("run", ["--", "/bin/true"])
        ok(status == 64 and "unreadable: Permission denied\nhint: a copy needs" in err, "what cannot be copied is named", err)
    os.unlink(secret)
    for args in (["--scratch-size", "64M"], ["--forward", "80"], ["--tracker", "fanotify"], ["--allow-nested"]):
        status, _, err = place.landlock("run", [*args, "--", "/bin/true"])
        ok(status == 64 and args[0] in err and "needs namespaces" in err, "%s is refused" % args[0], err)
    status, _, err = place.landlock("run", ["--", "/bin/true"], env={"TMPDIR": place.project})
    ok(status == 64 and "lies in the project" in err, "a TMPDIR in the project is refused", err)
    status, _, err = place.landlock("run", ["--", "/bin/true"], env={"TMPDIR": "/nowhere"})
    ok(status == 64 and "/nowhere" in err, "a TMPDIR that is not there is named", err)
    status, _, err = place.landlock("run", ["--", "/bin/true"], around=EMULATE + ' no-landlock "$@"')
    ok(status == 69 and "this kernel has no Landlock" in err, "a kernel without Landlock is told", err)
    status, out, err = place.landlock("run", ["--", "/bin/true"], around=EMULATE + ' no-seccomp "$@"')
    with open(place.folder() + "/run.json", encoding="utf-8") as text:
        why = json.load(text)["isolation_why"]
    ok("seccomp" in why and "TCP alone is refused" in why["net"], "a host that refuses filters: what is less", why)
    ok(place.is_clean(), "nothing is left behind", os.listdir(place.tmp))
    place.done()


def main():
    for name, around in HOSTS:
        a_ledger(name, around)
    ways_out()
    deaths()
    told()
    return plan()


sys.exit(main())
