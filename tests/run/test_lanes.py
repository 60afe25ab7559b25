"""Orders in several lanes at once: lanes_run, with orders of a file. Prints TAP.

Usage: test_lanes.py LANES_RUN
"""

import json
import os
import pty
import random
import re
import resource
import select
import signal
import sys
import termios
import time

from place import BINARY, Place, finish, ok, plan, wait_for

PYTEST = ["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider"]

SUITE = """
import os, time
kept = []
def test_a(): kept.append(1)
def test_b(): assert not kept
def test_c(): open('/tmp/c', 'w').close()
def test_d(): assert not os.path.exists('/tmp/c')
def test_e(): time.sleep(.1)
"""
IDS = ["test_a.py::test_" + letter for letter in "abcde"]
HANG = "import time\ndef test_a(): pass\ndef test_hangs(): time.sleep(600)\ndef test_z(): pass\n"


def orders(place, rows):
    path = os.path.join(place.top, "orders.json")
    with open(path, "w", encoding="utf-8") as out:
        json.dump(rows, out)
    return path


def start(place, rows, lanes, args=()):
    env = {"ORDERS": orders(place, rows), "LANES": str(lanes)}
    out = os.path.join(place.top, "out%d" % lanes)
    return place.start(["-q", "--out", out, *args, "--", *PYTEST], env), out


def lines_of(out):
    with open(os.path.join(out, "ledger.jsonl"), encoding="utf-8") as lines:
        return [json.loads(line) for line in lines.read().split("\n")[:-1]]


def matrix(lines):
    """What became of each test in each order, and what it left, in the order in which it ran."""
    found = {}
    for line in lines:
        if line["kind"] == "test":
            left = [delta["key"] for delta in line.get("deltas", []) if delta["kind"] == "leak"]
            found.setdefault(line["order"], []).append((line["test"], line["outcome"], left))
    return found


def rows_of_sweep():
    rows = [{"name": "canonical"}]
    for shift in range(5):
        tests = IDS[shift:] + IDS[:shift]
        rows.append({"name": "s%d" % shift, "view": "shuffled", "shuffle": "shuffle", "seed": shift, "tests": tests})
    rows.append({"name": "alone-1", "view": "isolated", "tests": [IDS[1]]})
    rows.append({"name": "gone", "view": "shuffled", "shuffle": "given", "tests": ["nowhere.py::test_x", IDS[0]]})
    return rows


def test_lanes():
    place = Place({"test_a.py": SUITE})
    seen = {}
    for lanes in (1, 2, 4):
        process, out = start(place, rows_of_sweep(), lanes)
        status, said, errors = finish(process)
        ok(status == 0 and said.endswith("done\n"), "a sweep in %d lanes" % lanes, said, errors)
        lines = lines_of(out)
        seen[lanes] = matrix(lines)
        begun = [line for line in lines if line["kind"] == "begin"]
        ok(
            [line["order"] for line in begun] == [row["name"] for row in rows_of_sweep()],
            "... begins each order once, in the order of the plan",
            begun,
        )
        used = {line["lane"] for line in begun}
        ok(used == set(range(lanes)), "... and uses its lanes", used)
    ok(seen[1] == seen[2] == seen[4], "no outcome, and nothing left behind, depends on the lanes", seen)
    outcome = {order: {test[-1]: word for test, word, _ in rows} for order, rows in seen[4].items()}
    ok(
        outcome["canonical"] == dict(a="passed", b="failed", c="passed", d="failed", e="passed")
        and outcome["alone-1"] == dict(b="passed")
        and outcome["s1"]["b"] == "passed",
        "each order is its own: what one leaves another does not find",
        outcome,
    )
    ok(
        [test for test, _, _ in seen[4]["s3"]] == IDS[3:] + IDS[:3],
        "tests run in the order asked for",
        seen[4]["s3"],
    )
    ends = {line["order"]: line.get("missing") for line in lines if line["kind"] == "end"}
    ok(
        ends.pop("gone") == ["nowhere.py::test_x"] and not any(ends.values()),
        "a test that is not there is missing in the end of its order",
        ends,
    )
    asked = {line["order"]: line for line in lines if line["kind"] == "order"}
    ok(asked["s3"]["shuffle"] == "shuffle" and asked["s3"]["seed"] == 3, "the order line says of which shuffle it is")
    place.done()


AGAIN = """
import pytest
kept = []
@pytest.fixture
def own(): return []
def test_a(own):
    own.append(1)
    assert own == [1]
def test_b():
    kept.append(1)
    assert kept == [1]
def test_c(): open('/tmp/c', 'a').write('x')
"""


def test_repeated():
    place = Place({"test_a.py": AGAIN})
    rows = [{"name": "repeated", "view": "repeated"}, {"name": "two", "view": "repeated", "tests": [IDS[1], IDS[0]]}]
    process, out = start(place, rows, 2)
    status, said, errors = finish(process)
    ok(status == 0 and said.count("spoke") == 2, "each test twice", said, errors)
    seen = {order: [(test[11:], word) for test, word, _ in rows] for order, rows in matrix(lines_of(out)).items()}
    ok(
        seen["repeated"]
        == [
            ("test_a", "passed"),
            ("test_a (again)", "passed"),
            ("test_b", "passed"),
            ("test_b (again)", "failed"),
            ("test_c", "passed"),
            ("test_c (again)", "passed"),
        ],
        "... in a row, with fixtures of its own and the same process",
        seen["repeated"],
    )
    ok(
        [test for test, _ in seen["two"]] == ["test_b", "test_b (again)", "test_a", "test_a (again)"],
        "... also some of them, in another order",
        seen["two"],
    )
    lefts = [left for test, _, left in matrix(lines_of(out))["repeated"] if "test_c" in test]
    ok(lefts == [["/tmp/c"], ["/tmp/c"]], "... and what the second leaves is told of it", lefts)
    place.done()


TOGETHER = """
import os, time
def test_a(): assert 'PYTEST_XDIST_WORKER' in os.environ
def test_b(): open('/tmp/b', 'w').close()
def test_c(): assert False
def test_d(): time.sleep(.2)
"""


def test_parallel():
    place = Place({"test_a.py": TOGETHER})
    rows = [{"name": "parallel", "view": "parallel"}]
    process, out = start(place, rows, 1)
    status, said, errors = finish(process)
    ok(status == 0 and "parallel spoke\n" in said, "tests at once", said, errors)
    lines = lines_of(out)
    seen = sorted(matrix(lines)["parallel"])
    words = [word for _, word, _ in seen]
    ok(words == ["passed", "passed", "failed", "passed"], "... in processes of xdist's", seen)
    ok(
        not any("state" in line or "deltas" in line for line in lines if line["kind"] == "test")
        and not lines[-1]["unattributed"],
        "... nobody looked between them, and nothing is charged to anybody",
        lines,
    )
    told = [text for line in lines if line["kind"] == "order" for text in line["said"]]
    ok(any("not looked at" in text for text in told), "... which is said", told)
    spoke = [line["can"] for line in lines if line["kind"] == "session"]
    ok(spoke and "parallel" in spoke[0] and "native" not in spoke[0], "the adapter says what it can", spoke)
    place.done()

    place = Place({"test_a.py": TOGETHER, "pytest.ini": "[pytest]\naddopts = -p no:xdist\n"})
    process, out = start(place, rows, 1)
    finish(process)
    end = lines_of(out)[-1]
    ok(
        end["outcome"] == "protocol" and end["why"].endswith("needs: parallel"),
        "where xdist is not there, the order ends with the reason",
        end,
    )
    place.done()


RANDOMLY = """
import random

def pytest_addoption(parser):
    parser.addoption("--randomly-dont-reorganize", action="store_false", dest="randomly_reorganize")
    parser.addoption("--randomly-seed", dest="randomly_seed", default="default")

def pytest_collection_modifyitems(config, items):
    if config.option.randomly_reorganize:
        random.Random(config.option.randomly_seed).shuffle(items)
"""


def test_native():
    """A plugin with the options of pytest-randomly."""
    place = Place({"test_a.py": SUITE, "randomly_too.py": RANDOMLY, "pytest.ini": "[pytest]\naddopts = -p randomly_too\n"})
    rows = [{"name": "canonical"}] + [
        {"name": "native%d" % seed, "view": "shuffled", "shuffle": "native", "seed": seed} for seed in (17, 18)
    ]
    process, out = start(place, rows, 2)
    status, said, errors = finish(process)
    lines = lines_of(out)
    tests = {line["order"]: line["tests"] for line in lines if line["kind"] == "order"}
    wanted = {"canonical": IDS}
    for seed in (17, 18):
        wanted["native%d" % seed] = list(IDS)
        random.Random(seed).shuffle(wanted["native%d" % seed])
    ok(status == 0 and tests == wanted, "the framework's own shuffle, and the order that it made", tests, said, errors)
    ran = {order: [test for test, _, _ in rows] for order, rows in matrix(lines).items()}
    ok(ran == wanted, "... which is the one that ran", ran)
    place.done()


VARIED = """
import os, time, locale
def test_seed(): assert os.environ['PYTHONHASHSEED'] == '0'
def test_zone(): assert time.tzname[0] == 'UTC'
def test_locale(): assert os.environ['LANG'] == 'C.UTF-8' and 'LC_ALL' not in os.environ
def test_umask():
    now = os.umask(0)
    os.umask(now)
    assert now == 0o22
"""


def test_varied():
    place = Place({"test_a.py": VARIED})
    varied = ["hashseed=1", "tz=EST5EDT", "locale=C", "umask=077"]
    rows = [{"name": "canonical"}] + [{"name": text.split("=")[0], "vary": [text]} for text in varied]
    process, out = start(place, rows, 2)
    status, said, errors = finish(process)
    ok(status == 0 and said.count("spoke") == 5, "orders that vary something else", said, errors)
    failed = {order: [n for n, row in enumerate(rows) if row[1] == "failed"] for order, rows in matrix(lines_of(out)).items()}
    ok(
        failed == {"canonical": [], "hashseed": [0], "tz": [1], "locale": [2], "umask": [3]},
        "each varies its own dimension, and no other",
        failed,
    )
    place.done()


def is_asleep(out, wanted):
    """So many orders have run their first test."""
    try:
        return sum(line["kind"] == "test" for line in lines_of(out)) >= wanted
    except OSError:
        return False


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as text:
        return text.read().split()


def test_timeout():
    place = Place({"test_a.py": SUITE, "test_z.py": HANG})
    rows = [{"name": "canonical"}, {"name": "alone-1", "view": "isolated", "tests": [IDS[1]]}]
    process, out = start(place, rows, 1, ["--timeout", "10s", "--grace", "500ms"])
    status, said, errors = finish(process)
    ok(status == 0 and said == "canonical spoke timeout\nalone-1 spoke\ndone\n", "a test that hangs ends its order alone", said, errors)
    rows = {test: word for test, word, _ in matrix(lines_of(out))["canonical"]}
    ok(
        rows["test_z.py::test_hangs"] == "timeout" and rows["test_z.py::test_z"] == "absent",
        "... it is named, and what comes after it is absent",
        rows,
    )
    place.done()


def test_interrupt():
    place = Place({"test_a.py": HANG})
    rows = [{"name": "canonical"}, {"name": "canonical-2"}, {"name": "canonical-3"}]
    process, out = start(place, rows, 2)
    wait_for(lambda: is_asleep(out, 2))
    process.send_signal(signal.SIGINT)
    status, said, errors = finish(process)
    ok(
        status == 0 and sorted(said.split("\n")) == ["", "canonical spoke interrupted", "canonical-2 spoke interrupted", "interrupted"],
        "one ctrl-C ends what runs, and nothing else begins",
        said,
        errors,
    )
    ends = [line["outcome"] for line in lines_of(out) if line["kind"] == "end"]
    ok(ends == ["interrupted"] * 2, "... and each order has its end", ends)
    place.done()


STUBBORN = "import signal, time\ndef test_a(): pass\ndef test_b():\n    signal.signal(signal.SIGINT, signal.SIG_IGN)\n    open('asleep', 'w').close()\n    time.sleep(600)\n"


def test_kill():
    place = Place({"test_a.py": STUBBORN})
    process, out = start(place, [{"name": "canonical"}, {"name": "canonical-2"}], 2, ["--grace", "1h"])
    wait_for(lambda: is_asleep(out, 2))
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    ok(process.poll() is None, "a test that does not hear ctrl-C goes on")
    process.send_signal(signal.SIGINT)
    status, said, errors = finish(process)
    ok(status == 0 and said.count("interrupted") == 3, "a second one kills all", said, errors)
    place.done()


def state_of(pid):
    with open("/proc/%d/stat" % pid, encoding="ascii") as text:
        return text.read().rsplit(")", 1)[1].split()[0]


TICK = "import time\ndef test_a(): pass\ndef test_b():\n    for n in range(30): time.sleep(.05)\n"


def test_pause():
    place = Place({"test_a.py": TICK})
    process, out = start(place, [{"name": "canonical"}, {"name": "canonical-2"}], 2)
    wait_for(lambda: is_asleep(out, 2))
    process.send_signal(signal.SIGTSTP)
    ok(wait_for(lambda: state_of(process.pid) == "T"), "SIGTSTP stops the runner")
    process.send_signal(signal.SIGCONT)
    status, said, errors = finish(process)
    ok(status == 0 and said.count("spoke") == 2, "... and all goes on when it is continued", said, errors)
    place.done()


def start_loud(place, rows, lanes):
    """With a display."""
    env = {"ORDERS": orders(place, rows), "LANES": str(lanes)}
    out = os.path.join(place.top, "loud")
    return ["--out", out, "--", *PYTEST], env, out


LANES_SHOWN = r"""fumehood: 0/3 orders  0:\d\d
  lane 0: canonical  1/3  test_a.py::test_hangs  for 0:\d\d
  lane 1: canonical-2  1/3  test_a.py::test_hangs  for 0:\d\d
"""
THREE = [{"name": "canonical"}, {"name": "canonical-2"}, {"name": "canonical-3"}]


def test_landlock():
    place = Place({"test_a.py": SUITE})
    process, out = start(place, THREE, 2, ["--isolation", "landlock"])
    status, said, errors = finish(process)
    seen = matrix(lines_of(out))
    words = [[word for _, word, _ in rows] for rows in seen.values()]
    ok(
        status == 0 and len(seen) == 3 and words == [words[0]] * 3,
        "without namespaces each order has a folder of its own",
        said,
        errors,
        seen,
    )
    own = "/tmp/fumehood-%d" % os.geteuid()
    ok(not os.path.exists(own) or not os.listdir(own), "... which is gone at the end", own)
    place.done()


def test_usr1():
    place = Place({"test_a.py": HANG})
    args, env, out = start_loud(place, THREE, 2)
    process = place.start(args, env)
    wait_for(lambda: is_asleep(out, 2))
    process.send_signal(signal.SIGUSR1)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    status, said, errors = finish(process)
    ok(status == 0 and re.search(LANES_SHOWN, errors), "SIGUSR1: what each lane does", errors)
    place.done()


class Terminal:
    """A terminal, and a shell on it that does what a test says: its child is the leader of the session."""

    def __init__(self, place, args, env, foreground):
        self.seen = ""
        read_end, write_end = os.pipe()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            self.be_shell(place, args, env, foreground, write_end)
        os.close(write_end)
        self.child = int(os.read(read_end, 16))
        os.close(read_end)

    @staticmethod
    def be_shell(place, args, env, foreground, write_end):
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        os.chdir(place.project)
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            if foreground:
                os.tcsetpgrp(0, os.getpid())
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            os.execve(BINARY, [BINARY] + args, place.environment(env))
        os.write(write_end, str(child).encode())
        _, status = os.waitpid(child, 0)
        os.tcsetpgrp(0, os.getpid())
        with open(os.path.join(place.top, "ended"), "w", encoding="ascii") as file:
            file.write("%d %s" % (status, bool(termios.tcgetattr(0)[3] & termios.ECHO)))
        os._exit(0)

    def echoes(self):
        return bool(termios.tcgetattr(self.fd)[3] & termios.ECHO)

    def read(self):
        """All that is there. False, so that it can stand before what is waited for."""
        while select.select([self.fd], [], [], 0)[0]:
            try:
                text = os.read(self.fd, 4096)
            except OSError:  # nobody has it open any more
                break
            self.seen += text.decode(errors="replace")
        return False

    def shows(self, pattern):
        return wait_for(lambda: self.read() or re.search(pattern, self.seen))

    def end(self, place):
        """The status of the runner, and whether it left a terminal that echoes."""
        path = os.path.join(place.top, "ended")
        wait_for(lambda: self.read() or (os.path.exists(path) and os.path.getsize(path)))
        os.waitpid(self.pid, 0)
        os.close(self.fd)
        with open(path, encoding="ascii") as file:
            status, echoes = file.read().split()
        return int(status), echoes == "True"


def test_key():
    place = Place({"test_a.py": HANG})
    args, env, out = start_loud(place, THREE, 2)
    terminal = Terminal(place, args, env, foreground=True)
    wait_for(lambda: terminal.read() or is_asleep(out, 2))
    ok(not terminal.echoes(), "a key is heard at once, and not shown")
    os.write(terminal.fd, b"x")
    ok(terminal.shows(r"lane 1: canonical-2  1/3  test_a.py::test_hangs  for 0:"), "it shows what each lane does", terminal.seen)
    os.kill(terminal.child, signal.SIGTSTP)
    ok(wait_for(lambda: terminal.read() or terminal.echoes()), "a runner that stops gives the terminal back")
    os.kill(terminal.child, signal.SIGCONT)
    ok(wait_for(lambda: terminal.read() or not terminal.echoes()), "... and takes it again when it goes on")
    os.write(terminal.fd, b"\x03")
    status, echoes = terminal.end(place)
    ok(status == 0 and "interrupted" in terminal.seen, "ctrl-C stays ctrl-C", status, terminal.seen)
    ok(echoes, "... and the terminal is as it was")
    place.done()

    place = Place({"test_a.py": HANG})
    args[1] = out = os.path.join(place.top, "quit")
    terminal = Terminal(place, args, dict(env, ORDERS=orders(place, THREE)), foreground=True)
    wait_for(lambda: terminal.read() or is_asleep(out, 2))
    os.write(terminal.fd, b"\x1c")
    status, echoes = terminal.end(place)
    ok(os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGQUIT and echoes, "ctrl-\\ ends it at once, and the terminal is as it was", status, echoes)
    place.done()


def test_background():
    place = Place({"test_a.py": SUITE})
    args, env, _ = start_loud(place, THREE, 2)
    terminal = Terminal(place, args, env, foreground=False)
    os.write(terminal.fd, b"x")
    status, echoes = terminal.end(place)
    ok(status == 0 and "done" in terminal.seen and echoes, "in the background it runs, and leaves the terminal alone", status, terminal.seen)
    ok("lane 0" not in terminal.seen, "... and a key is not for it", terminal.seen)
    place.done()


def test_too_many():
    place = Place({"test_a.py": SUITE})
    args, env, out = start_loud(place, THREE, 200)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, before[1]))
    status, said, errors = finish(place.start(args, env))
    resource.setrlimit(resource.RLIMIT_NOFILE, before)
    ok(status == 70 and "200 lanes are too many" in errors, "no more lanes than there can be descriptors for", errors)
    place.done()


def test_failure():
    """A log that cannot be written: ours to fail, in the second order; the first one's cell goes, too."""
    place = Place({"test_a.py": HANG})
    os.makedirs(os.path.join(place.top, "out2/logs/second.log"))
    process, out = start(place, [{"name": "first"}, {"name": "second"}], 2)
    status, said, errors = finish(process)
    ok(
        status == 70 and not said and errors.startswith("error: order second: write ") and "logs/second.log" in errors,
        "a failure of ours in one order is told with its name, and ends the others",
        said,
        errors,
    )
    kinds = [(line["kind"], line["order"]) for line in lines_of(out)]
    ok(("end", "first") not in kinds, "... which have no end", kinds)
    place.done()


test_lanes()
test_repeated()
test_parallel()
test_native()
test_varied()
test_timeout()
test_interrupt()
test_kill()
test_pause()
test_landlock()
test_usr1()
test_key()
test_background()
test_too_many()
test_failure()
sys.exit(plan())
