#!/usr/bin/python3
"""What a boundary costs: 1000 trivial tests by `fumehood run` and by plain pytest, turn about, as JSON.

    boundary.py FUMEHOOD [ROUNDS]

`ratio` is whole process against whole process. `boundary_us` is what is added to a test: each side's
1000 tests less its run of one, so that neither launch nor collection is in it. The parts are found
by leaving something out: with all sensors off what remains is the adapter and the round trip.
Exits with 1 when a bound of the project is passed.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

TESTS = 1000
RATIO_MAX = 1.3
BOUNDARY_US_MAX = 100
PYTHON = "/usr/bin/python3"
COMMAND = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
DOMAINS = ("files", "env", "process", "descriptors", "processes", "threads")


def suite(place, name, tests):
    folder = os.path.join(place, name)
    os.mkdir(folder)
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


def main():
    fumehood = os.path.abspath(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 11
    place = tempfile.mkdtemp(dir="/var/tmp")
    folders = {1: suite(place, "one", 1), TESTS: suite(place, "many", TESTS)}
    env = {"PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0", "HOME": os.path.join(place, "home"), "LANG": "C.UTF-8"}
    os.mkdir(env["HOME"])

    def inside(*options):
        out = os.path.join(place, "out")
        shutil.rmtree(out, ignore_errors=True)
        return [fumehood, "run", "-q", "--out", out, *options, "--", *COMMAND]

    ways = {"plain": lambda: COMMAND, "fumehood": inside, "no sensor": lambda: inside("--without", ",".join(DOMAINS))}
    for domain in DOMAINS:
        ways["without " + domain] = lambda domain=domain: inside("--without", domain)
    times = {name: {1: [], TESTS: []} for name in ways}
    for _ in range(rounds):
        for name, command in ways.items():
            for tests, folder in folders.items():
                times[name][tests].append(seconds(command(), folder, env))
    shutil.rmtree(place)

    median = {name: {n: statistics.median(all_) for n, all_ in by.items()} for name, by in times.items()}
    per_test = {name: (by[TESTS] - by[1]) / (TESTS - 1) * 1e6 for name, by in median.items()}
    boundary = per_test["fumehood"] - per_test["plain"]
    ratio = median["fumehood"][TESTS] / median["plain"][TESTS]
    found = {
        "tests": TESTS,
        "rounds": rounds,
        "load": os.getloadavg()[0],
        "plain_s": round(median["plain"][TESTS], 3),
        "ratio": round(ratio, 3),
        "launch_ms": round((median["fumehood"][1] - median["plain"][1]) * 1e3, 1),
        "boundary_us": round(boundary, 1),
        "parts_us": {
            "adapter and round trip": round(per_test["no sensor"] - per_test["plain"], 1),
            **{d: round(per_test["fumehood"] - per_test["without " + d], 1) for d in DOMAINS},
        },
    }
    print(json.dumps(found, indent=1))
    sys.exit(ratio > RATIO_MAX or boundary > BOUNDARY_US_MAX)


if __name__ == "__main__":
    main()
