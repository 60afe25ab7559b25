#!/usr/bin/python3
"""What a file costs: tests that write 500 files each and remove them, in a cell and bare, turn
about, as JSON.

    files.py FUMEHOOD [ROUNDS]

Microseconds a file, boundaries included; once in /tmp, once in the project. The bounds compare with
bare as it is for whoever runs the suite: on this machine's disk. As root there are figures with bare
in memory, too: a cell always writes to memory. Exits with 1 when a bound of the project is passed.
"""

import os
import statistics
import sys

import bench

TESTS = 20
FILES = 500
TMP_MAX = 1.0
PROJECT_MAX = 1.4
SUITE = """
import os, shutil, sys, tempfile
import pytest

@pytest.mark.parametrize("n", range(%d))
def test_files(n):
    folder = tempfile.mkdtemp(dir=%s)
    for i in range(%d):
        with open(os.path.join(folder, str(i)), "w") as file:
            file.write("some bytes")
    shutil.rmtree(folder)
"""


def measure(runs, place, rounds):
    """Microseconds a file at the median, by place and way."""
    folders = {"tmp": '"/tmp" if "fumehood_pytest" in sys.modules else os.getcwd()',
               "project": "os.getcwd()"}
    for where, folder in folders.items():
        folders[where] = bench.write_suite(os.path.join(place, where), SUITE % (TESTS, folder, FILES))
    us = {(where, how): [] for where in folders for how in ("bare", "cell")}
    for _ in range(rounds):
        for where, folder in folders.items():
            for how, run in (("bare", lambda at: runs.run(bench.PYTEST, at)), ("cell", runs.in_cell)):
                us[where, how].append(bench.said(run(folder)[1], "TESTS TOOK") / TESTS / FILES)
    return {key: statistics.median(values) for key, values in us.items()}


def tell(us):
    return {"%s, %s" % key: round(value, 2) for key, value in us.items()}


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    bench.realtime()
    found = {"rounds": rounds}
    with bench.place() as place:
        runs = bench.Bench(sys.argv[1], place)
        disk = measure(runs, os.path.join(place, "disk"), rounds)
        found["us_a_file"] = tell(disk)
        memory = os.path.join(place, "memory")
        os.mkdir(memory)
        with bench.memory(memory) as mounted:
            if mounted:
                found["us_a_file_all_in_memory"] = tell(measure(runs, memory, rounds))
    bench.report(found, [
        ("in /tmp, cell / bare", disk["tmp", "cell"] / disk["tmp", "bare"], TMP_MAX),
        ("in the project, cell / bare", disk["project", "cell"] / disk["project", "bare"], PROJECT_MAX),
    ])


if __name__ == "__main__":
    main()
