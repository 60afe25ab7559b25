"""fumehood as a whole: command line in; exit status, output and run folder out. Prints TAP.

A case is a suite of a few lines, a command line and what must come of it. The binary is the first argument; a second one chooses the cases whose name holds it. Runs as whoever calls, in a project, home and state folder of its own.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

import schema
from place import BINARY, NO_LONGER_THAN, Place, finish, ok, plan, skip, wait_for

PYTEST = ["/usr/bin/python3", "-m", "pytest", "-q"]


# What a case says: files, args (the command follows --), env; status; texts that out and err must
# have or, as a regular expression, match; findings as (code, test, key).
FAIL = "def test_ok(): pass\ndef test_fails(): assert 1 == 2\n"
LEAK = "def test_leaks(): open('/tmp/left', 'w').write('12345')\n"
WRITE = "import os\ndef test_writes():\n    open('/tmp/short', 'w').close()\n    os.unlink('/tmp/short')\n"
SLEEP = "import time\ndef test_first(): pass\ndef test_sleeps(): time.sleep(600)\ndef test_never(): pass\n"
RENAME = "import os\ndef test_rename(): os.rename('data', 'moved')\n"
COPY = """
import os
def test_links():
    os.link('a', 'b')
    open('a', 'w').write('2')
    assert open('b').read() == '2'
    os.unlink('b')
    open('a', 'w').write('1')
def test_folders():
    os.mkdir('x')
    os.rename('x', 'y')
    os.rmdir('y')
"""
SPOIL = """
import os, shutil
def whole(): return open('a').read() == 'kept' and open('d/f').read() == '1'
def test_delete(): os.unlink('a'); shutil.rmtree('d')
def test_1(): assert whole()
def test_write(): open('a', 'a').write('!')
def test_2(): assert whole()
def test_replace(): os.unlink('a'); os.mkdir('a'); open('a/x', 'w'); os.rename('d', 'e')
def test_3(): assert whole()
"""
CONFIG = "fumehood.json"

CASES = [
    # the command line
    ("no argument", dict(args=[], status=0, out=["([^\n]*\n){10,20}"], whole=True)),
    ("version", dict(args=["--version"], status=0, out=["^fumehood [0-9.]+$"])),
    ("help of a command", dict(args=["run", "--help"], status=0, out=["--pass-env NAME", "Exit status"])),
    ("short help", dict(args=["run", "-h"], status=0, out=["--pass-env NAME"], not_out=["Exit status"])),
    (
        "an unknown command",
        dict(args=["rnu"], status=64, err=["fumehood: there is no command rnu\nhint: did you mean run?"]),
    ),
    (
        "an unknown option",
        dict(args=["run", "--netwrok", "none"], status=64, err=["no option --netwrok\nhint: did you mean --network?"]),
    ),
    (
        "a control character in an argument",
        dict(args=["\x1b[2J"], status=64, err=[r"there is no command \x1b[2J"]),
    ),
    ("bisect: a mistake of ours ends the search", dict(args=["run", "--oops", "--bisect-exit"], status=128)),
    (
        "no command and no framework",
        dict(args=["run"], status=64, err=["no command was given", "hint: say what to run: fumehood run -- CMD"]),
    ),
    # fumehood.json
    (
        "config that is no JSON",
        dict(files={CONFIG: "{\n  oops"}, status=65, err=["fumehood.json:2:3: this is no JSON"]),
    ),
    (
        "config with an unknown key",
        dict(
            files={CONFIG: '{"version": 1,\n "netwrok": "none"}'},
            status=65,
            err=['fumehood.json:2:2: unknown key "netwrok"\nhint: did you mean "network"?'],
        ),
    ),
    (
        "config of another version",
        dict(files={CONFIG: '{"version": 9}'}, status=65, err=["the version is not known"]),
    ),
    (
        "config counts, and the command line over it",
        dict(
            files={
                CONFIG: '{"version": 1, "env": {"set": {"A": "file", "B": "file"}}}',
                "test_a.py": "import os\ndef test_a(): assert os.environ['A'] + os.environ['B'] == 'linefile'\n",
            },
            args=["run", "--env", "A=line"],
            status=0,
        ),
    ),
    # what a run finds
    (
        "a clean suite",
        dict(
            files={"test_a.py": "def test_a(): open('/tmp/x', 'w'); import os; os.unlink('/tmp/x')\n"},
            status=0,
            out=[r"^1 passed in [0-9.]+ s; nothing left behind\.$", "^isolation: ", "^run folder: /"],
            findings=[],
        ),
    ),
    (
        "failing tests and a leak",
        dict(
            files={"test_a.py": FAIL + LEAK},
            status=2,
            out=[
                r"^failed test_a.py::test_fails$",
                r"^    assert 1 == 2$",
                r"^FH101 test_a.py::test_leaks  created /tmp/left \(file, 5 bytes\)$",
                r"Exit status 2: 1 test failed\.$",
            ],
            findings=[("FH101", "test_a.py::test_leaks", "/tmp/left")],
        ),
    ),
    (
        "the suite may leave things in its state folder",
        dict(files={"test_a.py": LEAK}, args=["run", "--state-dir", "/tmp/left"], status=0, findings=[]),
    ),
    (
        "leaks fail when asked",
        dict(files={"test_a.py": LEAK}, args=["run", "--fail-on", "leak"], status=1, out=["1 thing left behind"]),
    ),
    (
        "restored: the next test starts from the base, and what was kept nowhere is said",
        dict(
            files={
                "data.txt": "kept",
                "test_a.py": "import os, pytest\n"
                "@pytest.fixture(scope='session')\n"
                "def db(): open('/tmp/db', 'w').write('1')\n"
                "def test_a():\n    os.unlink('data.txt')\n    open('/tmp/left', 'w').close()\n"
                "def test_b(): assert open('data.txt').read() == 'kept' and not os.path.exists('/tmp/left')\n"
                "def test_c(db): open('/tmp/early', 'w').close()\n"
                "open('/tmp/early', 'w').write('made by the collection')\n",
            },
            args=["run", "--restore"],
            status=1,
            out=[
                r"^FH101 test_a.py::test_a  created /tmp/left \(file, 0 bytes\), put back$",
                r"^FH105 test_a.py::test_a  deleted \S+/data.txt \(file, 4 bytes\), put back$",
                r"^FH102 test_a.py::test_c  changed /tmp/early \(22 -> 0 bytes\), not put back: its content was kept nowhere$",
                "3 passed",
            ],
        ),
    ),
    (
        "probes: what a command of the user's sees is part of the state",
        dict(
            files={
                "test_a.py": "import os\n"
                "def test_a(): open('rows', 'w').write('1')\n"
                "def test_b(): open('/tmp/slow', 'w').close(); open('/tmp/fail', 'w').close()\n"
                "def test_c(): os.unlink('/tmp/slow'); os.unlink('/tmp/fail')\n",
                CONFIG: '{"version": 1, "state_dirs": ["rows", "/tmp/*"], "custom": ['
                '{"name": "rows", "run": "cat rows; touch by_probe.$(ls | wc -l); sleep 99 & exit 0"},'
                '{"name": "fails", "run": ["test", "!", "-e", "/tmp/fail"]},'
                '{"name": "slow", "run": "test ! -e /tmp/slow || sleep 99", "timeout": "50ms"},'
                '{"name": "drips", "run": "while :; do echo; sleep .001; done", "timeout": "60ms"},'
                '{"name": "endless", "run": "yes"}, {"name": "none", "run": ["no/such"]},'
                '{"name": "caps", "run": "grep -E ^Cap[A-Za-z]+:.*[1-9a-f] /proc/self/status; test $? = 1"}]}',
            },
            status=0,
            out=[
                r"^FH181 test_a.py::test_a  changed probe rows \(0 -> 1 byte\)$",
                r"fails: it ended with status 1 \(in 1 of",
                r"slow: it took over 50 ms \(in 1 of",
                r"drips: it took over 60 ms \(in 7 of 7",
                "endless: it printed over 1048576 bytes",
                "none: it ended with status 127",
                "3 passed",
            ],
            not_out=["caps: ", r"FH1\d\d test.*by_probe", "FH141"],
        ),
    ),
    (
        "in the host's network the suite's sockets are told, and no others",
        dict(
            files={"test_a.py": "import socket\nkept = socket.socket()\ndef test_a(): kept.bind(('', 0)); kept.listen()\n"},
            args=["run", "--network", "host"],
            status=0,
            findings=[("FH161", "test_a.py::test_a", "tcp:0.0.0.0:ephemeral")],
            not_out=["not all of network"],
        ),
    ),
    (
        "probes: not without a cell of namespaces",
        dict(
            files={"test_a.py": LEAK},
            args=["run", "--isolation", "landlock", "--custom", "a=true"],
            status=64,
            err=["--isolation landlock: --custom needs namespaces"],
        ),
    ),
    (
        "contained: a write that is undone fails, too",
        dict(
            files={"test_a.py": WRITE},
            args=["run", "--contain"],
            status=1,
            out=["1 write outside of the state folders"],
            findings=[("FH106", "test_a.py::test_writes", "/tmp/short")],
        ),
    ),
    (
        "contained: a leak keeps its code",
        dict(
            files={"test_a.py": LEAK},
            args=["run", "--contain"],
            status=1,
            findings=[("FH101", "test_a.py::test_leaks", "/tmp/left")],
        ),
    ),
    (
        "contained: what is written in the state folders is allowed",
        dict(
            files={"test_a.py": WRITE + "def test_b(tmp_path): (tmp_path / 'b').touch()\n"},
            args=["run", "--contain", "--state-dir", "/tmp/short"],
            status=0,
            findings=[],
        ),
    ),
    (
        "contained: a scan says what it cannot see",
        dict(
            files={"test_a.py": WRITE},
            args=["run", "--contain", "--tracker", "scan"],
            status=0,
            out=["a scan sees what was written only where it stays"],
        ),
    ),
    ("not contained", dict(files={"test_a.py": WRITE}, status=0, findings=[])),
    (
        "damage fails",
        dict(
            files={"data.txt": "kept", "test_a.py": "import os\ndef test_wipes(): os.unlink('data.txt')\n"},
            status=1,
            out=[r"^FH105 test_a.py::test_wipes  deleted \S+/project/data.txt \(file, 4 bytes\)$"],
        ),
    ),
    ("exit zero", dict(files={"test_a.py": FAIL}, args=["run", "--exit-zero"], status=0)),
    ("bisect: a failing suite is bad", dict(files={"test_a.py": FAIL}, args=["run", "--bisect-exit"], status=2)),
    ("quiet", dict(files={"test_a.py": LEAK}, args=["run", "-q"], status=0, out=[r"^1 passed.*\n$"], whole=True, err=["^$"])),
    (
        "a domain that is not looked at",
        dict(
            files={"test_a.py": LEAK},
            args=["run", "--without", "files"],
            status=0,
            out=["not looked at, as asked: files"],
            findings=[],
        ),
    ),
    (
        "no tests",
        dict(
            files={"test_a.py": "x = 1\n"},
            status=4,
            out=["Exit status 4: no tests ran"],
            err=["  | no tests ran in "],
        ),
    ),
    (
        "a command that fails though no test does",
        dict(
            files={"test_a.py": "def test_a(): pass\n"},
            command=["sh", "-c", "/usr/bin/python3 -m pytest -q; echo after; exit 5"],
            status=2,
            out=["the command ended with status 5 though no test failed"],
            err=["  | after\n"],
        ),
    ),
    (
        "the time limit",
        dict(
            files={"test_a.py": SLEEP},
            args=["run", "--timeout", "3s", "--grace", "1s"],
            status=124,
            out=["Exit status 124: the time limit of the run passed"],
        ),
    ),
    (
        "a crash names the running test",
        dict(
            files={"test_a.py": "import os\ndef test_a(): pass\ndef test_dies(): os._exit(3)\ndef test_z(): pass\n"},
            status=3,
            out=["^crashed test_a.py::test_dies$", "1 crashed, 1 did not run, 1 passed"],
        ),
    ),
    (
        "a name that is no UTF-8",
        dict(
            files={"test_a.py": "def test_a(): open(b'/tmp/a\\xff', 'w')\n"},
            status=0,
            out=[r"created \$'/tmp/a\\xff'"],
            findings=[("FH101", "test_a.py::test_a", "/tmp/a\ufffd")],
        ),
    ),
    (
        "names that would drive a terminal",
        dict(
            files={"test_a.py": "def test_a(): open('/tmp/\\x1b[2J\\n', 'w'); assert 0, '\\x1b[31m'\n"},
            status=2,
            out=[r"created \$'/tmp/\\x1b\[2J\\n'", r"\\x1b\[31m"],
            not_out=["\x1b"],
        ),
    ),
    (
        "values stay untold",
        dict(
            files={"test_a.py": "import os\ndef test_a(): os.environ['NEW'] = 'hunter2'\n"},
            args=["run", "--env", "OLD=hunter3"],
            status=0,
            out=[r"FH111 test_a.py::test_a  added variable NEW \(7 bytes\)"],
            nowhere=["hunter"],
        ),
    ),
    (
        "unless they are asked for",
        dict(
            files={"test_a.py": "import os\ndef test_a(): os.environ['NEW'] = 'hunter2'\n"},
            args=["run", "--show-values"],
            status=0,
            out=[r"FH111 test_a.py::test_a  added variable NEW \(7 bytes, value hunter2\)"],
        ),
    ),
    (
        "a variable that is not set cannot be passed on",
        dict(
            files={"test_a.py": "def test_a(): pass\n"},
            args=["run", "--pass-env", "NOSUCH"],
            status=0,
            out=["not set outside, and so not passed on: NOSUCH"],
        ),
    ),
    # likely causes
    (
        "a variable that was not passed on",
        dict(
            files={"test_a.py": "import os\ndef test_a(): os.environ['SHOP_URL']\n"},
            env={"SHOP_URL": "x"},
            status=2,
            out=["SHOP_URL is set outside and is not passed on: --pass-env SHOP_URL"],
        ),
    ),
    (
        "and with the flag it passes",
        dict(
            files={"test_a.py": "import os\ndef test_a(): os.environ['SHOP_URL']\n"},
            env={"SHOP_URL": "x"},
            args=["run", "--pass-env", "SHOP_URL"],
            status=0,
        ),
    ),
    (
        "a file below home",
        dict(
            files={"home/.shop/conf": "x", "test_a.py": "import os\ndef test_a(): open(os.path.expanduser('~/.shop/conf'))\n"},
            status=2,
            out=["/home/.shop/conf is there outside, and the suite has a home of its own: --expose "],
        ),
    ),
    (
        "and with the flag it is there",
        dict(
            files={"home/.shop/conf": "x", "test_a.py": "import os\ndef test_a(): open(os.path.expanduser('~/.shop/conf'))\n"},
            args=["run", "--expose", "../home/.shop/conf"],
            status=0,
        ),
    ),
    (
        "no network",
        dict(
            files={"test_a.py": "import socket\ndef test_a(): socket.create_connection(('127.0.0.1', 9))\n"},
            status=2,
            out=["a loopback of its own: --network host"],
        ),
    ),
    # no adapter spoke
    (
        "a command that is not there",
        dict(command=["nosuchthing"], status=69, err=["there is no command nosuchthing along PATH in the cell: /"]),
    ),
    (
        "a command that cannot be run",
        dict(files={"x.sh": "echo\n"}, command=["./x.sh"], status=69, err=["run ./x.sh: Permission denied"]),
    ),
    (
        "a command without pytest",
        dict(
            command=["sh", "-c", "echo one; echo two >&2; exit 7"],
            status=69,
            err=["  | one\n  | two\n", "no pytest session began: sh ended with status 7\nhint: is this a pytest project"],
        ),
    ),
    (
        "a command that finds none",
        dict(command=["sh", "-c", "nosuchthing"], status=69, err=["status 127\nhint: 127 says that a command was not found"]),
    ),
    (
        "and why it may have failed",
        dict(
            command=["sh", "-c", "echo fetch: Connection refused; exit 1"],
            status=69,
            err=["likely cause: a connection failed, and the suite has a loopback of its own: --network host"],
        ),
    ),
    ("bisect: such a commit is skipped", dict(command=["false"], args=["run", "--bisect-exit"], status=125)),
    # what the cell is made of
    (
        "a folder of the project is renamed under an overlay",
        dict(
            files={"data/a": "kept", "test_a.py": RENAME},
            status=2,
            out=["a folder of the project was renamed, which an overlay cannot do: --project-mode copy"],
        ),
    ),
    (
        "and in a copy",
        dict(
            files={"data/a": "kept", "test_a.py": RENAME},
            args=["run", "--project", "copy"],
            status=1,
            out=[r"^FH105 test_a.py::test_rename  deleted \S+/project/data/a \(file, 4 bytes\)$", r"created \S+/project/moved \(dir\) and 1 below it$"],
        ),
    ),
    (
        "a copy that is left as it was",
        dict(
            files={CONFIG: '{"version": 1, "project_mode": "copy"}', "a": "1", "test_a.py": COPY},
            status=0,
            out=["^2 passed in [0-9.]+ s; nothing left behind\\.$"],
            findings=[],
        ),
    ),
    (
        "a copy is put back to what it was",
        dict(
            files={"a": "kept", "d/f": "1", "test_a.py": SPOIL},
            args=["run", "--project", "copy", "--restore"],
            status=1,
            out=["^6 passed ", r"deleted \S+/project/a \(file, 4 bytes\), put back$", r"changed \S+/project/a \(4 -> 5 bytes\), put back$"],
            not_out=["not put back"],
        ),
    ),
    (
        "a scratch on disk",
        dict(
            files={"test_a.py": LEAK, "data.txt": "kept", "test_b.py": "def test_b(): open('data.txt', 'a').write('!')\n"},
            args=["run", "--scratch", ".."],
            status=1,
            out=[
                "changed files were found by a scan: the scratch is on a disk",
                r"^FH101 test_a.py::test_leaks  created /tmp/left \(file, 5 bytes\)$",
                r"^FH105 test_b.py::test_b  changed \S+/project/data.txt ",
            ],
        ),
    ),
    (
        "a scratch that is not there",
        dict(files={"test_a.py": LEAK}, args=["run", "--scratch", "../disk"], status=64, err=["--scratch: .*disk: No such file"]),
    ),
    (
        "the network of the host",
        dict(files={"test_a.py": "def test_a(): pass\n"}, args=["run", "--network", "host", "-v"], status=0, out=["net off \\(asked\\)$"]),
    ),
    ("no port", dict(files={"test_a.py": LEAK}, args=["run", "--forward", "http"], status=64, err=['"http" is no port'])),
    # the run folder
    (
        "a run folder that holds a run",
        dict(
            files={"test_a.py": LEAK, "out/ledger.jsonl": ""},
            args=["run", "--out", "out"],
            status=64,
            err=["project/out holds a run already\nhint: name another folder with --out, or remove this one"],
        ),
    ),
    (
        "a run folder that is a file",
        dict(files={"test_a.py": LEAK, "out": ""}, args=["run", "--out", "out/x"], status=64, err=["Not a directory"]),
    ),
]


def fits(text, pattern, whole):
    if whole:
        return re.fullmatch(pattern, text, re.S) is not None
    return pattern in text or re.search(pattern, text, re.M) is not None


def texts_are_right(case, out, err):
    for pattern in case.get("out", []):
        if not fits(out, pattern, case.get("whole")):
            return "stdout lacks " + pattern
    for pattern in case.get("err", []):
        if not fits(err, pattern, case.get("whole")):
            return "stderr lacks " + pattern
    for text in case.get("not_out", []):
        if text in out:
            return "stdout has " + repr(text)
    return None


def all_texts(folder):
    for top, _, files in os.walk(folder):
        for name in files:
            with open(os.path.join(top, name), encoding="utf-8", errors="replace") as text:
                yield name, text.read()


def folder_is_right(case, folder):
    if not folder or not os.path.exists(os.path.join(folder, "findings.json")):
        return "there is no report" if "findings" in case else None
    wrong = schema.errors_of_run(folder)
    if wrong:
        return "; ".join(wrong[:5])
    with open(os.path.join(folder, "findings.json"), encoding="utf-8") as text:
        findings = json.load(text)["findings"]
    found = sorted((f["code"], f["test"], f["key"]) for f in findings)
    if "findings" in case and found != sorted(case["findings"]):
        return "found " + repr(found)
    for secret in case.get("nowhere", []):
        for name, text in all_texts(folder):
            if secret in text:
                return "%s is in %s" % (secret, name)
    return None


def run_case(name, case):
    place = Place(case.get("files", {}))
    args = list(case.get("args", ["run"]))
    if args[:1] == ["run"] and not {"--help", "-h"} & set(args) and (len(args) > 1 or case.get("files") or "command" in case):
        args += ["--"] + case.get("command", PYTEST)
    status, out, err = place.run(args, case.get("env"))
    why = texts_are_right(case, out, err)
    if not why and status != case["status"]:
        why = "status %d" % status
    why = why or folder_is_right(case, place.folder())
    ok(not why, name, why, "stdout:", out, "stderr:", err)
    place.done()


def ledger_has(place, text):
    folder = place.folder()
    if not folder:
        return False
    with open(os.path.join(folder, "ledger.jsonl"), encoding="utf-8") as lines:
        return text in lines.read()


def is_pending(pid, number):
    """Two signals of a kind that nobody has taken yet are one."""
    with open("/proc/%d/status" % pid, encoding="utf-8") as text:
        sets = re.findall(r"^(?:SigPnd|ShdPnd):\t(.*)$", text.read(), re.M)
    return any(int(found, 16) >> (number - 1) & 1 for found in sets)


def test_interrupt():
    place = Place({"test_a.py": SLEEP})
    process = place.start(["run", "--"] + PYTEST, {})
    begun = wait_for(lambda: ledger_has(place, '"kind":"test"'))
    process.send_signal(signal.SIGINT)
    status, out, err = finish(process)
    ok(
        begun and status == 130 and "Exit status 130: interrupted" in out and "2 did not run, 1 passed" in out,
        "ctrl-C stops and reports what there is",
        status,
        out,
        err,
    )
    place.done()


def test_ignored_hangup():
    place = Place({"test_a.py": "import time\ndef test_first(): pass\ndef test_sleeps(): time.sleep(3)\n"})
    usual = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    process = place.start(["run", "--"] + PYTEST, {})
    signal.signal(signal.SIGHUP, usual)
    begun = wait_for(lambda: ledger_has(place, '"kind":"test"'))
    process.send_signal(signal.SIGHUP)
    status, out, err = finish(process)
    ok(begun and status == 0 and "2 passed" in out, "under nohup a closed terminal stops nothing", status, out, err)
    place.done()


def test_second_interrupt():
    deaf = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    place = Place({"test_a.py": deaf + SLEEP})
    process = place.start(["run", "--grace", "1h", "--"] + PYTEST, {})
    begun = wait_for(lambda: ledger_has(place, '"kind":"test"'))
    process.send_signal(signal.SIGINT)
    heard = wait_for(lambda: not is_pending(process.pid, signal.SIGINT))
    process.send_signal(signal.SIGINT)
    status, out, err = finish(process)
    ok(
        begun and heard and status == 130 and "Exit status 130: interrupted" in out,
        "another one kills what does not listen",
        status,
        out,
        err,
    )
    place.done()


def looker_of(process):
    """The runner's child that is no cell's first process."""
    with open("/proc/%d/task/%d/children" % (process.pid, process.pid), encoding="utf-8") as text:
        children = text.read().split()
    for pid in children:
        with open("/proc/%s/comm" % pid, encoding="utf-8") as text:
            if text.read() == "fumehood\n":
                return int(pid)
    return None


def ends_soon(process):
    try:
        process.wait(3)
    except subprocess.TimeoutExpired:
        return False
    return True


def test_interrupt_of_last_look():
    place = Place({"test_a.py": "def test_first(): pass\n"})
    process = place.start(["run", "--", "sh", "-c", "/usr/bin/python3 -m pytest -q; sleep 1"], {})
    begun = wait_for(lambda: ledger_has(place, '"kind":"test"'))
    os.kill(looker_of(process), signal.SIGSTOP)
    time.sleep(1.5)  # the command has ended by then, or the first ctrl-C ends it
    asked = wait_for(lambda: process.send_signal(signal.SIGINT) or ends_soon(process))
    status, out, err = finish(process)
    wrong = folder_is_right({}, place.folder())
    ok(
        begun and asked and status == 130 and not wrong and "1 passed" in out and "the last look was interrupted" in out,
        "ctrl-C ends the last look, too",
        status,
        wrong,
        out,
        err,
    )
    place.done()


# What a shell says before, arguments, exit status, what stderr says.
NARROW = [
    ("ulimit -n 12", ["run", "--"] + PYTEST, 64, "12 descriptors may be open here, and a cell needs 128\nhint: raise the limit: ulimit -n 1024"),
    ("ulimit -S -n 12", ["run", "--"] + PYTEST, 0, ""),
    ("ulimit -f 0", ["run", "--"] + PYTEST, 64, "files may have 0 bytes here, and a cell needs 1048576\nhint: raise the limit: ulimit -f unlimited"),
    ("ulimit -n 12", ["exec", "--", "true"], 125, "12 descriptors may be open here"),
    ("ulimit -f 0", ["exec", "--", "true"], 125, "files may have 0 bytes here"),
    ("ulimit -f 4096", ["run", "--", "sh", "-c", "head -c 9000000 /dev/zero; " + " ".join(PYTEST)], 69, "write the log of order canonical: File too large\nhint: .*ulimit -f"),
    ("exec >/dev/full", ["run", "--"] + PYTEST, 69, "write to stdout: No space left on device"),
    ("exec >/dev/full", ["exec", "--help"], 69, "write to stdout: No space left on device"),
    ("exec >&-", ["run", "--"] + PYTEST, 0, ""),
]


def test_narrow_callers():
    for before, args, expected, text in NARROW:
        place = Place({"test_a.py": "def test_first(): pass\n"})
        run = subprocess.run(
            ["bash", "-c", before + ' && exec "$@"', "bash", BINARY] + args,
            cwd=place.project,
            env=place.environment({}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=NO_LONGER_THAN,
            check=False,
        )
        name = "%s: fumehood %s: %d" % (before, args[0], expected)
        ok(run.returncode == expected and re.search(text, run.stderr), name, run.returncode, run.stderr)
        place.done()


def test_json():
    place = Place({"test_a.py": FAIL + LEAK})
    status, out, _ = place.run(["run", "--json", "--"] + PYTEST)
    try:
        report = json.loads(out)
    except ValueError:
        report = {}
    wrong = schema.errors(schema.load("findings"), report)
    ok(
        status == 2 and not wrong and report["verdict"]["exit"] == 2 and report["tests"]["failed"] == 1,
        "--json prints the findings and nothing else",
        wrong,
        out,
    )
    folder = place.folder()
    modes = [oct(os.stat(os.path.join(folder, n)).st_mode & 0o777) for n in (".", "logs", "ledger.jsonl", "run.json")]
    ok(modes == ["0o700", "0o700", "0o600", "0o600"], "nobody else can read the run folder", modes)
    left = sorted(os.listdir(place.project))
    ok(left == [".git", "test_a.py"], "the project is as it was", left)
    ok(not os.path.exists("/tmp/left"), "and so is /tmp")
    place.done()


def test_ids_paste_back():
    suite = "import pytest\n@pytest.mark.parametrize('x', ['a b', '$HOME', \"it's\", '[1]', '\\\\n'])\ndef test_p(x): assert 0\n"
    place = Place({"test_a.py": suite})
    _, out, _ = place.run(["run", "--"] + PYTEST)
    words = re.findall(r"^failed (.*)$", out, re.M)
    right = 0
    for word in words:
        again = subprocess.run(
            ["bash", "-c", "/usr/bin/python3 -m pytest -q -p no:cacheprovider " + word],
            cwd=place.project,
            env=place.environment({"PYTHONDONTWRITEBYTECODE": "1"}),
            capture_output=True,
            text=True,
            check=False,
        )
        right += "1 failed" in again.stdout
    ok(len(words) == 5 and right == 5, "ids paste back into a shell", words, right)
    place.done()


def test_terminal():
    place = Place({"test_a.py": "".join("def test_%d(): open('/tmp/%d', 'w')\n" % (i, i) for i in range(30))})
    _, out, err = place.run(["run", "--"] + PYTEST, {"FUMEHOOD_FORCE_TTY": "100"})
    ok(
        "30/30" in err and err.endswith("\r\x1b[K") and "\x1b[33mFH101" in out,
        "a bar and colour on a terminal, and no bar left",
        repr(err),
    )
    ok("… and 10 more: see " in out, "a long list is cut, and says so", out)
    _, out, err = place.run(["run", "--"] + PYTEST)
    ok(out.count("FH101") == 30 and "\x1b" not in out + err, "elsewhere it is whole and plain", out)
    place.done()


def test_forward():
    """A service of the host, reached from a suite that has no other network."""
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]
    suite = "import socket\ndef test_a():\n  with socket.create_connection(('localhost', %d)) as s: assert s.recv(9) == b'hello'\n"
    place = Place({"test_a.py": suite % port})
    process = place.start(["run", "--forward", str(port), "--"] + PYTEST, {})
    server.settimeout(NO_LONGER_THAN)
    with server, server.accept()[0] as peer:
        peer.sendall(b"hello")
    status, out, err = finish(process)
    ok(status == 0 and "1 passed" in out, "a port of the host's loopback", status, out, err)
    status, out, err = place.run(["run", "--"] + PYTEST)
    hint = "a connection failed, and the suite has a loopback of its own: --network host, or --forward PORT"
    ok(status == 2 and hint in out, "and what to do without it", status, out, err)
    place.done()


def test_scratch_leftover():
    """What kill -9 leaves on the disk has the name of its run, and goes with the next one."""
    place = Place({"test_a.py": SLEEP})
    disk = os.path.join(place.top, "disk", "fumehood-%d" % os.getuid())
    os.mkdir(os.path.dirname(disk))
    process = place.start(["run", "--scratch", "../disk", "--"] + PYTEST, {})
    begun = wait_for(lambda: ledger_has(place, '"kind":"test"'))
    run = os.path.basename(place.folder())
    process.kill()
    finish(process)
    left = os.listdir(disk)
    ok(begun and [name.rpartition(".")[0] for name in left] == [run], "a scratch on disk is named by its run", left, run)
    status, out, err = place.run(["run", "--scratch", "../disk", "--", "false"])
    ok(not os.path.exists(disk), "and goes with the next one", status, out, err)
    place.done()


def test_full_run_folder():
    if os.geteuid() != 0:
        skip("a run folder that is full", "only root can mount a small file system")
        return
    place = Place({"test_a.py": "".join("def test_%d(): pass\n" % i for i in range(300))})
    script = (
        "mount -t tmpfs -o size=64k small ../home && exec %s run --out ../home/out -- /usr/bin/python3 -m pytest -q"
        % BINARY
    )
    run = subprocess.run(
        ["unshare", "-m", "sh", "-c", script],
        cwd=place.project,
        env=place.environment({}),
        capture_output=True,
        text=True,
        timeout=NO_LONGER_THAN,
        check=False,
    )
    ok(
        run.returncode == 69
        and "ledger.jsonl: No space left on device" in run.stderr
        and "hint: free some room there" in run.stderr,
        "a run folder that is full",
        run.returncode,
        run.stderr,
    )
    place.done()


def test_keep():
    place = Place({"test_a.py": "def test_first(): pass\n"})
    script = " ".join(PYTEST) + " --junitxml=out/junit.xml; ln -s /etc/passwd out/link; sleep 600 &"
    status, out, err = place.run(["run", "--keep", "out", "--", "sh", "-c", script])
    ok(
        status == 0 and os.listdir(os.path.join(place.project, "out")) == ["junit.xml"]
        and "kept %s/out (files: 1" % place.project in out and "not kept: %s/out/link: a link" % place.project in out,
        "--keep brings out what the suite left",
        status,
        out,
        err,
    )
    status, out, err = place.run(["run", "--keep", "none", "--"] + PYTEST)
    ok(
        status == 64 and "1 passed" in out and "--keep: in the cell, look at %s/none: No such" % place.project in err,
        "what is not there is no success",
        status,
        out,
        err,
    )
    place.done()


def test_closed_run_folder():
    if os.geteuid() == 0:
        skip("a run folder that cannot be written", "root can write everywhere")
        return
    place = Place({"test_a.py": LEAK, "closed/x": ""})
    os.chmod(os.path.join(place.project, "closed"), 0o500)
    status, _, err = place.run(["run", "--out", "closed/out", "--"] + PYTEST)
    ok(
        status == 64 and "closed/out: Permission denied\nhint: name a folder" in err,
        "a run folder that cannot be written",
        status,
        err,
    )
    place.done()


def main():
    chosen = sys.argv[2] if len(sys.argv) > 2 else ""
    for name, case in CASES:
        if chosen in name:
            run_case(name, case)
    if not chosen:
        run_others()
    return plan()


def run_others():
    test_json()
    test_ids_paste_back()
    test_terminal()
    test_interrupt()
    test_ignored_hangup()
    test_second_interrupt()
    test_interrupt_of_last_look()
    test_narrow_callers()
    test_forward()
    test_scratch_leftover()
    test_keep()
    test_full_run_folder()
    test_closed_run_folder()


sys.exit(main())
