#!/usr/bin/python3
"""What a check of 10 000 tests over 64 orders takes of memory and time, as JSON.

    sweep.py FUMEHOOD [TESTS [ORDERS [REAL]]]

First a check of a suite of REAL tests (all of them) in four orders, in cells. Then its ledger is
written anew, as if it had been TESTS tests in ORDERS orders: what one test that passed and one that
failed told, under other names. That run is taken up again, which reads it, judges it and writes matrix
and reports; and compared with itself, which reads it twice. Exits with 1 when the runner takes more
than 128 MiB, or a bound of time is passed.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import time

import bench
from memory import highest_kib

TESTS = 10_000
ORDERS = 64
MIB_MAX = 128
RESUME_S_MAX = 30
FAILING = 100  # one test in so many fails, in every order
CHECK = ["--seeds", "1", "--isolated", "none", "--no-shrink", "-q"]


def passes(test):
    return int(test.rpartition("_")[2]) % FAILING != 0


def suite(tests):
    return "".join("def test_%d():\n    assert %s\n\n\n" % (n, n % FAILING != 0) for n in range(tests))


def watched(command, cwd, env, fine):
    """Seconds, those of processors, and the highest resident MiB, of the process itself."""
    began = time.perf_counter()
    pid = subprocess.Popen(command, cwd=cwd, env=env, stdout=subprocess.DEVNULL).pid
    highest = 0
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        highest = highest_kib(pid) or highest
        time.sleep(0.02)
    _, status, usage = os.wait4(pid, 0)
    if os.waitstatus_to_exitcode(status) not in fine:
        sys.exit("%s: wait status %d" % (command, status))
    took = time.perf_counter() - began
    return {"seconds": round(took, 2), "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 2),
            "mib": round(highest / 1024, 1)}


def orders_of(tests, orders):
    """Name, how it was asked for, and the tests in that order."""
    ids = ["test_bench.py::test_%d" % n for n in range(tests)]
    chance = random.Random(0)
    yield "canonical", {"view": "canonical"}, ids
    yield "reverse", {"view": "shuffled", "shuffle": "reverse"}, ids[::-1]
    for seed in range(1, orders - 2):
        how = {"view": "shuffled", "shuffle": "shuffle", "seed": seed}
        yield "s%d" % seed, how, chance.sample(ids, tests)
    yield "canonical-2", {"view": "canonical"}, ids


def read_ledger(path):
    """Of the canonical order: the lines around its tests, by kind, and of a test, by outcome."""
    with open(path, encoding="utf-8") as file:
        lines = [line for line in map(json.loads, file) if line.get("order") == "canonical"]
    around = {line["kind"]: line for line in lines if line["kind"] != "test"}
    return around, {line["outcome"]: line for line in lines if line["kind"] == "test"}


def write_anew(folder, tests, orders):
    ledger = os.path.join(folder, "ledger.jsonl")
    around, said = read_ledger(ledger)
    plan = []
    with open(ledger, "w", encoding="utf-8") as file:
        def put(line, name, **more):
            file.write(json.dumps({**line, "order": name, **more}, separators=(",", ":")) + "\n")
        for name, how, ids in orders_of(tests, orders):
            asked = None if how["view"] == "canonical" else ids
            put(around["begin"], name, tests=asked, **how)
            put(around["session"], name)
            put(around["order"], name, tests=ids, **how)
            for n, test in enumerate(ids):
                put(said["passed" if passes(test) else "failed"], name, n=n, test=test)
            put(around["end"], name)
            plan.append(name)
    about = os.path.join(folder, "run.json")
    with open(about, encoding="utf-8") as file:
        run = json.load(file)
    run["plan"] = plan
    with open(about, "w", encoding="utf-8") as file:
        json.dump(run, file)


def main():
    tests = int(sys.argv[2]) if len(sys.argv) > 2 else TESTS
    orders = int(sys.argv[3]) if len(sys.argv) > 3 else ORDERS
    real = int(sys.argv[4]) if len(sys.argv) > 4 else tests
    with bench.place() as place:
        folder = bench.write_suite(os.path.join(place, "suite"), suite(real))
        runs = bench.Bench(sys.argv[1], place)
        def check(more):
            return [runs.fumehood, "check", *CHECK, *more]
        found = {"tests": tests, "orders": orders, "tests_checked": real}
        found["check"] = watched(check(["--out", runs.out, "--", *bench.PYTEST]), folder, runs.env, [2])
        write_anew(runs.out, tests, orders)
        found["ledger_mib"] = os.path.getsize(runs.out + "/ledger.jsonl") >> 20
        found["resume"] = watched(check(["--seeds", str(orders - 3), "--resume", runs.out]), folder, runs.env, [2])
        with open(runs.out + "/matrix.json", encoding="utf-8") as file:
            matrix = json.load(file)
        found["diff"] = watched([runs.fumehood, "diff", runs.out, runs.out], folder, runs.env, [0])
    if len(matrix["orders"]) != orders:
        sys.exit("%d orders are in the matrix" % len(matrix["orders"]))
    bench.report(found, [
        ("runner while it checks, MiB", found["check"]["mib"], MIB_MAX),
        ("... while it judges all orders, MiB", found["resume"]["mib"], MIB_MAX),
        ("... while it compares two runs, MiB", found["diff"]["mib"], 2 * MIB_MAX),
        ("reading, judging, reports, seconds", found["resume"]["cpu_seconds"], RESUME_S_MAX),
    ])


if __name__ == "__main__":
    main()
