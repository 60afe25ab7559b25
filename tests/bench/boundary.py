#!/usr/bin/python3
"""What a boundary costs: trivial tests by `fumehood run` and by plain pytest, turn about, as JSON.

    boundary.py FUMEHOOD [ROUNDS]

`boundary_us` is the round trip as the test process sees it: from the packet that says that a test
has finished to the answer, at the median. Its parts are found by leaving a sensor out; with none
left what remains is the way there and back. `ratio` is whole process against whole process, for 1000
tests; `launch_ms` is what a run of one test takes longer than plain pytest. As root everything runs
at a realtime priority, since what else a machine does would be measured with it.
Exits with 1 when a bound of the project is passed.
"""

import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

TESTS = 1000
TESTS_OF_PARTS = 250
RATIO_MAX = 1.3
BOUNDARY_US_MAX = 100
PYTHON = "/usr/bin/python3"
COMMAND = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
DOMAINS = ("files", "env", "process", "descriptors", "processes", "threads", "ipc", "network")
PRIORITY = 50
# The suite times its own round trips, and says so in its output, which is the log of the order.
CONFTEST = """
import statistics, sys, time

clock, times = time.perf_counter_ns, []

def pytest_collection_finish(session):
    adapter = sys.modules.get("fumehood_pytest")
    if adapter:
        ask = adapter.Looker.ask
        def timed(self, packet):
            began = clock()
            answer = ask(self, packet)
            times.append(clock() - began)
            return answer
        adapter.Looker.ask = timed

def pytest_unconfigure():
    if times:
        print("\\nROUND TRIP", statistics.median(times) / 1000)
"""


def suite(place, tests):
    folder = os.path.join(place, str(tests))
    os.mkdir(folder)
    with open(os.path.join(folder, "conftest.py"), "w", encoding="utf-8") as file:
        file.write(CONFTEST)
    with open(os.path.join(folder, "test_trivial.py"), "w", encoding="utf-8") as file:
        file.writelines("def test_%d():\n    pass\n\n\n" % n for n in range(tests))
    return folder


def seconds(command, folder, env):
    began = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    took = time.perf_counter() - began
    if done.returncode:
        sys.exit("%s in %s: exit status %d\n%s" % (command, folder, done.returncode, done.stdout.decode()))
    return took


class Fumehood:
    def __init__(self, program, place, env):
        self.program, self.env = program, env
        self.out = os.path.join(place, "out")

    def run(self, folder, without=()):
        """Seconds for all of it, and microseconds of a round trip at the median."""
        shutil.rmtree(self.out, ignore_errors=True)
        options = ["--without", ",".join(without)] if without else []
        command = [self.program, "run", "-q", "--out", self.out, *options, "--", *COMMAND]
        took = seconds(command, folder, self.env)
        logs = os.path.join(self.out, "logs")
        for name in os.listdir(logs):
            with open(os.path.join(logs, name), encoding="utf-8") as file:
                found = re.search(r"^ROUND TRIP ([\d.]+)$", file.read(), re.MULTILINE)
        return took, float(found[1])


def gain(with_it, without):
    """The machine's own speed changes from minute to minute: each round is a pair."""
    return statistics.median(a - b for a, b in zip(with_it, without))


def measure(fumehood, folders, env, rounds):
    """Seconds by run, and round trips by what was left out."""
    ways = {"all": (), "none": DOMAINS, **{domain: (domain,) for domain in DOMAINS}}
    took = {name: [] for name in ("plain", "plain one", "fumehood", "fumehood one")}
    trips = {name: [] for name in ["boundary", *ways]}
    for _ in range(rounds):
        for name, tests in (("", TESTS), (" one", 1)):
            took["plain" + name].append(seconds(COMMAND, folders[tests], env))
            whole, trip = fumehood.run(folders[tests])
            took["fumehood" + name].append(whole)
            if tests == TESTS:
                trips["boundary"].append(trip)
        for name, without in random.sample(sorted(ways.items()), len(ways)):
            trips[name].append(fumehood.run(folders[TESTS_OF_PARTS], without)[1])
    return took, trips


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 11
    if os.geteuid() == 0:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    place = tempfile.mkdtemp(dir="/var/tmp")
    folders = {tests: suite(place, tests) for tests in (1, TESTS_OF_PARTS, TESTS)}
    env = {"PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0", "HOME": os.path.join(place, "home"), "LANG": "C.UTF-8"}
    os.mkdir(env["HOME"])
    took, trips = measure(Fumehood(os.path.abspath(sys.argv[1]), place, env), folders, env, rounds)
    shutil.rmtree(place)

    median = {name: statistics.median(values) for name, values in {**took, **trips}.items()}
    ratio = median["fumehood"] / median["plain"]
    found = {
        "tests": TESTS,
        "rounds": rounds,
        "load": os.getloadavg()[0],
        "realtime": os.geteuid() == 0,
        "boundary_us": round(median["boundary"], 1),
        "boundary_us_best": round(min(trips["boundary"]), 1),
        "parts_us": {
            "there and back": round(median["none"], 1),
            **{domain: round(gain(trips["all"], trips[domain]), 1) for domain in DOMAINS},
        },
        "plain_s": round(median["plain"], 3),
        "ratio": round(ratio, 3),
        "launch_ms": round((median["fumehood one"] - median["plain one"]) * 1e3, 1),
        "kept": ratio <= RATIO_MAX and median["boundary"] <= BOUNDARY_US_MAX,
    }
    print(json.dumps(found, indent=1))
    sys.exit(not found["kept"])


if __name__ == "__main__":
    main()
