#!/usr/bin/python3
"""What a real suite takes longer in a cell: that of Debian's python3-networkx, turn about with plain
pytest, as JSON.

    networkx.py FUMEHOOD [ROUNDS] [PACKAGE]

PACKAGE is the part of it that runs: networkx, all of it. Exits with 1 when the cell takes more than
1.05 times as long.
"""

import os
import statistics
import sys

import bench

RATIO_MAX = 1.05


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    package = sys.argv[3] if len(sys.argv) > 3 else "networkx"
    bench.realtime()
    with bench.place() as place:
        runs = bench.Bench(sys.argv[1], place)
        folder = os.path.join(place, "project")
        os.mkdir(folder)
        command = [*bench.PYTEST, "--pyargs", package]
        took = {"plain": [], "cell": []}
        for _ in range(rounds):  # some tests fail, here and there
            took["plain"].append(runs.run(command, folder, fine=(0, 1))[0])
            took["cell"].append(runs.run(runs.cell_command(command=command), folder, fine=(0, 2))[0])
        tests = runs.log().strip().split("\n")[-1]
    found = {"package": package, "rounds": rounds, "tests": tests,
             "seconds": {how: [round(value, 2) for value in values] for how, values in took.items()}}
    ratio = statistics.median(a / b for a, b in zip(took["cell"], took["plain"]))
    bench.report(found, [("cell / plain", ratio, RATIO_MAX)])


if __name__ == "__main__":
    main()
