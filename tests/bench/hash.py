#!/usr/bin/python3
"""How fast a file of 1 GiB is digested, beside `xxhsum -H2`, turn about, as JSON.

    hash.py HASH [ROUNDS] [MIB]

HASH is the built hash, which digests as the files sensor does. As root the file lies in memory, like
a cell's scratch. Exits with 1 when it is less than 0.8 times as fast.
"""

import os
import statistics
import sys

import bench

MIB = 1024
RATIO_MIN = 0.8


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    mib = int(sys.argv[3]) if len(sys.argv) > 3 else MIB
    took = {"hash": [], "xxhsum": []}
    bench.realtime()
    with bench.place() as place:
        runs = bench.Bench(sys.argv[1], place)
        memory = os.path.join(place, "memory")
        os.mkdir(memory)
        with bench.memory(memory) as mounted:
            name = os.path.join(memory, "file")
            with open(name, "wb") as file:
                for _ in range(mib):
                    file.write(os.urandom(1 << 20))
            commands = {"hash": [os.path.abspath(sys.argv[1]), name], "xxhsum": ["xxhsum", "-H2", name]}
            for _ in range(rounds):
                for how, command in commands.items():
                    took[how].append(runs.run(command, place)[0])
    speed = {how: mib / 1024 / statistics.median(values) for how, values in took.items()}
    found = {"rounds": rounds, "mib": mib, "in_memory": mounted,
             "gib_a_second": {how: round(value, 2) for how, value in speed.items()}}
    # Both sides of the fraction turned over: bench.report() knows upper bounds.
    bench.report(found, [("time, hash / xxhsum", speed["xxhsum"] / speed["hash"], 1 / RATIO_MIN)])


if __name__ == "__main__":
    main()
