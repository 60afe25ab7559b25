#!/usr/bin/python3
"""What a boundary costs: trivial tests by `fumehood run` and by plain pytest, turn about, as JSON.

    boundary.py FUMEHOOD [ROUNDS]

The boundary is the round trip as the test process sees it: from the packet that says that a test
has finished to the answer, at the median. Its parts are found by leaving a sensor out; with none
left what remains is the way there and back. The ratio is whole process against whole process, for
1000 tests; `launch_ms` is what a run of one test takes longer than plain pytest.
Exits with 1 when a bound of the project is passed.
"""

import os
import random
import statistics
import sys

import bench

TESTS = 1000
TESTS_OF_PARTS = 250
RATIO_MAX = 1.3
BOUNDARY_US_MAX = 100
DOMAINS = ("files", "env", "process", "descriptors", "processes", "threads", "ipc", "network")


def gain(with_it, without):
    """The machine's own speed changes from minute to minute: each round is a pair."""
    return round(statistics.median(a - b for a, b in zip(with_it, without)), 1)


def measure(runs, folders, rounds):
    """Seconds by run, and round trips by what was left out."""
    ways = {"all": (), "none": DOMAINS, **{domain: (domain,) for domain in DOMAINS}}
    took = {name: [] for name in ("plain", "plain one", "fumehood", "fumehood one")}
    trips = {name: [] for name in ["boundary", *ways]}
    for _ in range(rounds):
        for name, tests in (("", TESTS), (" one", 1)):
            took["plain" + name].append(runs.run(bench.PYTEST, folders[tests])[0])
            whole, text = runs.in_cell(folders[tests])
            took["fumehood" + name].append(whole)
            if tests == TESTS:
                trips["boundary"].append(bench.said(text, "ROUND TRIP"))
        for name, without in random.sample(sorted(ways.items()), len(ways)):
            options = ["--without", ",".join(without)] if without else []
            text = runs.in_cell(folders[TESTS_OF_PARTS], options)[1]
            trips[name].append(bench.said(text, "ROUND TRIP"))
    return took, trips


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 11
    bench.realtime()
    with bench.place() as place:
        folders = {tests: bench.write_suite(os.path.join(place, str(tests)), bench.trivial(tests))
                   for tests in (1, TESTS_OF_PARTS, TESTS)}
        took, trips = measure(bench.Bench(sys.argv[1], place), folders, rounds)
    median = {name: statistics.median(values) for name, values in {**took, **trips}.items()}
    found = {
        "tests": TESTS,
        "rounds": rounds,
        "best_us": round(min(trips["boundary"]), 1),
        "parts_us": {
            "there and back": round(median["none"], 1),
            **{domain: gain(trips["all"], trips[domain]) for domain in DOMAINS},
        },
        "plain_s": round(median["plain"], 3),
        "launch_ms": round((median["fumehood one"] - median["plain one"]) * 1e3, 1),
    }
    bench.report(found, [
        ("boundary, us", median["boundary"], BOUNDARY_US_MAX),
        ("fumehood / plain", median["fumehood"] / median["plain"], RATIO_MAX),
    ])


if __name__ == "__main__":
    main()
