"""What the benches have in common: a place, a suite that times itself, and a verdict in JSON."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

PYTHON = "/usr/bin/python3"
PYTEST = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
PRIORITY = 50
# The suite times itself, and says so in its output, which is the log of the order: its round trips,
# from a packet to the answer, and what it took from the first test to the last.
CONFTEST = """
import statistics, sys, time

clock, times, began = time.perf_counter_ns, [], []

def pytest_collection_finish(session):
    began.append(clock())
    adapter = sys.modules.get("fumehood_pytest")
    if adapter:
        ask = adapter.Looker.ask
        def timed(self, packet):
            before = clock()
            answer = ask(self, packet)
            times.append(clock() - before)
            return answer
        adapter.Looker.ask = timed

def pytest_unconfigure():
    print("\\nTESTS TOOK", (clock() - began[0]) / 1000)
    if times:
        print("ROUND TRIP", statistics.median(times) / 1000)
"""


def realtime():
    """As root, everything from here on runs before whatever else the machine does."""
    if os.geteuid() == 0:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    return os.geteuid() == 0


@contextlib.contextmanager
def place():
    folder = tempfile.mkdtemp(prefix="fumehood-bench-", dir="/var/tmp")
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextlib.contextmanager
def memory(folder):
    """As root, what lies below the folder lies in memory. False: it does not."""
    if os.geteuid() != 0:
        yield False
        return
    subprocess.run(["mount", "-t", "tmpfs", "fumehood-bench", folder], check=True)
    try:
        yield True
    finally:
        subprocess.run(["umount", folder], check=True)


def write_suite(folder, text):
    os.makedirs(folder, exist_ok=True)
    for name, content in (("conftest.py", CONFTEST), ("test_bench.py", text)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(content)
    return folder


def trivial(tests):
    return "".join("def test_%d():\n    pass\n\n\n" % n for n in range(tests))


class Bench:
    """Runs commands with an environment of their own, below a place."""

    def __init__(self, fumehood, folder):
        self.fumehood = os.path.abspath(fumehood)
        self.out = os.path.join(folder, "out")
        self.env = {"PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0", "LANG": "C.UTF-8",
                    "HOME": os.path.join(folder, "home")}
        os.mkdir(self.env["HOME"])

    def run(self, command, folder, fine=(0,)):
        """Seconds, and the output. An exit status that is not fine ends the bench."""
        began = time.perf_counter()
        done = subprocess.run(command, cwd=folder, env=self.env, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        took = time.perf_counter() - began
        text = done.stdout.decode()
        if done.returncode not in fine:
            sys.exit("%s in %s: exit status %d\n%s" % (command, folder, done.returncode, text))
        return took, text

    def cell_command(self, options=(), command=PYTEST):
        shutil.rmtree(self.out, ignore_errors=True)
        return [self.fumehood, "run", "-q", "--out", self.out, *options, "--", *command]

    def log(self):
        logs = os.path.join(self.out, "logs")
        with open(os.path.join(logs, os.listdir(logs)[0]), encoding="utf-8", errors="replace") as file:
            return file.read()

    def in_cell(self, folder, options=(), command=PYTEST):
        """Seconds, and the suite's output."""
        took, _ = self.run(self.cell_command(options, command), folder)
        return took, self.log()


def said(text, what):
    """Microseconds: what the suite says of itself."""
    return float(re.search("^%s ([\\d.]+)$" % what, text, re.MULTILINE)[1])


def report(found, bounds):
    """`bounds`: name, value, at most. Ends the program."""
    rows = [{"what": name, "is": round(value, 3), "at_most": most, "kept": value <= most}
            for name, value, most in bounds]
    realtime_now = os.sched_getscheduler(0) == os.SCHED_FIFO
    found = {**found, "load": os.getloadavg()[0], "realtime": realtime_now, "bounds": rows,
             "kept": all(row["kept"] for row in rows)}
    print(json.dumps(found, indent=1))
    sys.exit(not found["kept"])
