"""Plain pytest, a fresh process and a fresh cell an execution: what the tests of fumehood hold it to.

No adapter, no fingerprints: `fumehood exec` gives the cell (some suites empty the machine's temp
folder), and a plugin of a few lines the order.
"""

import concurrent.futures
import json
import os
import random
import shutil
import subprocess
import tempfile
import threading

PYTHON = "/usr/bin/python3"
PLUGIN = os.path.join(os.path.dirname(os.path.realpath(__file__)), "plain_plugin")
OPTIONS = ["-q", "-p", "no:cacheprovider", "-o", "addopts=", "--continue-on-collection-errors"]
SECONDS_MAX = 300
TIMES = 3  # what is told happens that often, of as many


class Ran:
    """What became of the tests of one process, in execution order."""

    def __init__(self, lines, status, stderr):
        self.collected = []
        self.outcomes = {}  # id -> letter; C: it was running when the process ended
        self.status, self.stderr = status, stderr
        for line in lines:
            if "collected" in line:
                self.collected = line["collected"]
            else:
                self.outcomes[line.get("start", line.get("test"))] = line.get("outcome", "C")

    def passed(self, test):
        return self.outcomes.get(test) in ("P", "x")


class Plain:
    """Runs a suite. Counts the processes and the tests that they executed."""

    def __init__(self, fumehood, project, options=(), lanes=2, autoload=True, path=".:src"):
        self.project, self.lanes = project, lanes
        self.processes = self.executions = 0
        self.lock = threading.Lock()
        self.place = tempfile.mkdtemp(prefix="fumehood-plain-", dir=os.environ.get("TMPDIR", "/var/tmp"))
        shutil.copytree(PLUGIN, os.path.join(self.place, "plugin"), ignore=shutil.ignore_patterns("__pycache__"))
        expose = os.path.join(self.place, "plugin")
        self.env = {"PYTHONPATH": "%s:%s" % (path, expose), "PYTHONDONTWRITEBYTECODE": "1"}
        if not autoload:
            self.env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        self.cell = [os.path.abspath(fumehood), "exec", "--expose", self.place, "--timeout", "%ds" % SECONDS_MAX]
        self.pytest = [PYTHON, "-m", "pytest", "-p", "plain_order", *OPTIONS, *options]
        self.number = 0

    def run(self, tests=None):
        """One process; `tests` None: all, as collected."""
        env = dict(self.env)
        with self.lock:
            self.number += 1
            order = os.path.join(self.place, "order-%d" % self.number)
        if tests is not None:
            with open(order, "w", encoding="utf-8") as file:
                json.dump(tests, file)
            env["PLAIN_ORDER"] = order
        settings = [word for name, value in env.items() for word in ("--env", "%s=%s" % (name, value))]
        done = subprocess.run(
            [*self.cell, *settings, "--", *self.pytest],
            cwd=self.project, stdin=subprocess.DEVNULL, capture_output=True, check=False,
        )
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{")]
        ran = Ran(lines, done.returncode, done.stderr.decode(errors="replace"))
        if not ran.collected:
            raise RuntimeError("pytest in %s did not start: status %d\n%s" % (self.project, ran.status, ran.stderr))
        with self.lock:
            self.processes += 1
            self.executions += len(ran.outcomes)
        if tests is not None:
            os.unlink(order)
        return ran

    def run_all(self, orders):
        """Each of them, as many at once as there are lanes."""
        with concurrent.futures.ThreadPoolExecutor(self.lanes) as pool:
            return list(pool.map(self.run, orders))

    def always(self, tests, holds, at_once=False):
        """Does it hold for each of three processes that run these tests? Stops at the first that says no."""
        if at_once:
            return all(holds(ran) for ran in self.run_all([tests] * TIMES))
        return all(holds(self.run(tests)) for _ in range(TIMES))

    def fails(self, tests, at_once=False):
        """3 of 3: its last test fails after the others."""
        return self.always(tests, lambda ran: not ran.passed(tests[-1]), at_once)

    def passes(self, tests, at_once=False):
        return self.always(tests, lambda ran: ran.passed(tests[-1]), at_once)

    def done(self):
        shutil.rmtree(self.place, ignore_errors=True)


def shuffled(tests, seed):
    tests = list(tests)
    random.Random(seed).shuffle(tests)
    return tests
