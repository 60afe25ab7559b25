#!/usr/bin/python3
"""How much memory fumehood takes for 10 000 tests, as JSON.

    memory.py FUMEHOOD [TESTS]

The highest resident size of the runner and of each process it forks, warden and looker among them.
Exits with 1 when one is above 64 MiB.
"""

import os
import re
import subprocess
import sys
import time

import bench

TESTS = 10_000
MIB_MAX = 64
EVERY_S = 0.2


def highest_kib(pid):
    """None: it has ended."""
    try:
        with open("/proc/%d/status" % pid, encoding="utf-8") as file:
            found = re.search(r"^VmHWM:\s*(\d+)", file.read(), re.MULTILINE)
            return int(found[1]) if found else None
    except FileNotFoundError:
        return None


def children(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid), encoding="utf-8") as file:
            return [int(child) for child in file.read().split()]
    except FileNotFoundError:
        return []


def main():
    tests = int(sys.argv[2]) if len(sys.argv) > 2 else TESTS
    highest = {}
    with bench.place() as place:
        folder = bench.write_suite(os.path.join(place, "suite"), bench.trivial(tests))
        runs = bench.Bench(sys.argv[1], place)
        running = subprocess.Popen(runs.cell_command(), cwd=folder, env=runs.env)
        while running.poll() is None:
            for pid in [running.pid, *children(running.pid)]:
                highest[pid] = highest_kib(pid) or highest.get(pid, 0)
            time.sleep(EVERY_S)
        if running.returncode:
            sys.exit("fumehood: exit status %d" % running.returncode)
    runner = highest.pop(running.pid)
    found = {"tests": tests, "others_mib": sorted(round(kib / 1024, 1) for kib in highest.values())}
    bench.report(found, [
        ("runner, MiB", runner / 1024, MIB_MAX),
        ("the largest it forked, MiB", max(highest.values()) / 1024, MIB_MAX),
    ])


if __name__ == "__main__":
    main()
