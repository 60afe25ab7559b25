#!/usr/bin/python3
"""Whether a boundary costs the same whatever lies around, as JSON.

    scale.py FUMEHOOD [ROUNDS] [FILES]

The round trip of trivial tests, at the median: in a small project, in one of FILES files (a
million), and in the small one after a first test left 100 000 files; turn about. As root the projects
lie in memory, since some disks take half an hour for a million files. Exits with 1 when a boundary
costs more than 1.1 times as much.
"""

import os
import statistics
import sys

import bench

TESTS = 500
FILES = 1_000_000
FILES_OF_FOLDER = 1000
LEFT = 100_000
RATIO_MAX = 1.1
LEAVING = """
import os

def test_that_leaves_files():
    for n in range(%d):
        folder = "/tmp/left/%%d" %% (n // 1000)
        if n %% 1000 == 0:
            os.makedirs(folder)
        os.close(os.open("%%s/%%d" %% (folder, n), os.O_CREAT | os.O_WRONLY))
""" % LEFT


def fill(folder, files):
    for n in range(files):
        if n % FILES_OF_FOLDER == 0:
            below = os.path.join(folder, "filling", str(n // FILES_OF_FOLDER))
            os.makedirs(below)
        os.close(os.open(os.path.join(below, str(n)), os.O_CREAT | os.O_WRONLY))


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    files = int(sys.argv[3]) if len(sys.argv) > 3 else FILES
    suites = {"small": "", "large": "", "left": LEAVING}
    trips = {name: [] for name in suites}
    took = {name: [] for name in suites}
    with bench.place() as place, bench.memory(place) as memory:
        folders = {name: bench.write_suite(os.path.join(place, name), first + bench.trivial(TESTS))
                   for name, first in suites.items()}
        fill(folders["large"], files)
        bench.realtime()
        runs = bench.Bench(sys.argv[1], place)
        command = [*bench.PYTEST, "test_bench.py"]
        for _ in range(rounds):
            for name, folder in folders.items():
                whole, text = runs.in_cell(folder, command=command)
                took[name].append(whole)
                trips[name].append(bench.said(text, "ROUND TRIP"))
    found = {
        "rounds": rounds,
        "in_memory": memory,
        "files": {"large": files, "left": LEFT},
        "boundary_us": {name: round(statistics.median(values), 1) for name, values in trips.items()},
        "seconds": {name: round(statistics.median(values), 2) for name, values in took.items()},
    }
    pairs = {name: statistics.median(a / b for a, b in zip(trips[name], trips["small"])) for name in trips}
    bench.report(found, [
        ("a project of many files / small", pairs["large"], RATIO_MAX),
        ("after many files were left / small", pairs["left"], RATIO_MAX),
    ])


if __name__ == "__main__":
    main()
