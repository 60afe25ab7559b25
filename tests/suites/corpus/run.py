#!/usr/bin/python3
"""Real suites with order-dependent tests: what plain pytest shows, what `check` finds, and the table of both.

    run.py [--only O1,O5] [--lanes N] plain|check|table FUMEHOOD CHECKOUTS OUT [CHECK-OPTION...]

CHECKOUTS holds a folder a suite, by the name of its file here, at the commit that stands there; none of it
is ours, and it runs in cells only. `plain` runs each order three times and tells who fails in one and passes
in another, each 3 of 3; `check` runs fumehood; `table` replays by plain pytest, 3 of 3, every set that check
gave, and every order of a test that it alone calls order-dependent. Each writes OUT/SUITE.WHAT.json.

A suite without a file here is a control: CHECKOUTS/SUITE/test_all.args may name what pytest runs.
"""

import argparse
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../lib"))
from plain import OPTIONS, PYTHON, TIMES, Plain, shuffled  # noqa: E402

SEEDS = 3
ALONE_MAX = 120  # tests; above that, only those that vary or are listed run alone
DEPENDS = ("victim", "order_sensitive", "brittle")
ENV = {"PYTHONPATH": ".:src", "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def load(path, otherwise=None):
    if otherwise is not None and not os.path.exists(path):
        return otherwise
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class Suite:
    def __init__(self, name, options):
        self.name, self.options = name, options
        self.folder = os.path.join(options.checkouts, name)
        self.facts = load(os.path.join(HERE, name + ".json"), {"listed": {}, "tests": []})
        args = os.path.join(self.folder, "test_all.args")
        self.args = [*self.facts.get("options", []), *(load(args) if os.path.exists(args) else [])]

    def path(self, what):
        return os.path.join(self.options.out, "%s.%s.json" % (self.name, what))

    def write(self, what, found):
        with open(self.path(what), "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)

    def plain(self):
        return Plain(self.options.fumehood, self.folder, self.args, self.options.lanes, autoload=False)


# ---- what plain pytest shows ----


def letters(runs, test):
    return "".join(ran.outcomes.get(test, "A") for ran in runs)


def side(seen):
    """Passed or not, 3 of 3; None: now so, now so."""
    sides = {letter in "Px" for letter in seen}
    return sides.pop() if len(sides) == 1 else None


def run_plain(suite):
    plain, began = suite.plain(), time.monotonic()
    try:
        tests = plain.run().collected
        orders = {"canonical": tests, "reverse": tests[::-1]}
        orders.update(("s%d" % seed, shuffled(tests, seed)) for seed in range(1, SEEDS + 1))
        ran = plain.run_all([order for order in orders.values() for _ in range(TIMES)])
        seen = {
            test: {name: letters(ran[at * TIMES:(at + 1) * TIMES], test) for at, name in enumerate(orders)}
            for test in tests
        }
        listed = [row["test"] for row in suite.facts["tests"] if row["test"] in seen]
        alone = [test for test in tests
                 if len(tests) <= ALONE_MAX or test in listed or len({side(s) for s in seen[test].values()}) > 1]
        once = dict(zip(alone, plain.run_all([[test] for test in alone])))
        again = [test for test in alone if once[test].passed(test) != side(seen[test]["canonical"])]
        more = plain.run_all([[test] for test in again for _ in range(TIMES - 1)])
        for test in alone:
            runs = [once[test]] + [ran for ran in more if test in ran.outcomes]
            seen[test]["alone"] = letters(runs, test)
        shown = {test: views for test, views in seen.items() if {True, False} <= {side(s) for s in views.values()}}
        suite.write("plain", {
            "tests": len(tests),
            "shown": shown,
            "wavers": {test: views for test, views in seen.items() if None in {side(s) for s in views.values()}},
            "listed": {row["test"]: seen.get(row["test"]) for row in suite.facts["tests"]},
            "sets": {
                row["test"]: (plain.fails if row["kind"] == "victim" else plain.passes)([*row["set"], row["test"]], True)
                for row in suite.facts["tests"] if "set" in row and row["test"] in seen
            },
            "processes": plain.processes, "executions": plain.executions,
            "seconds": round(time.monotonic() - began, 1),
        })
    finally:
        plain.done()


# ---- what check finds ----


def run_check(suite):
    out = suite.path("check")[:-len(".json")]
    subprocess.run(["rm", "-rf", out], check=True)
    env = [word for name, value in ENV.items() for word in ("--env", "%s=%s" % (name, value))]
    lanes = ["--lanes", str(suite.options.lanes)]
    command = [os.path.abspath(suite.options.fumehood), "check", "--json", "--out", out, *lanes, *env,
               *suite.options.more, "--", PYTHON, "-m", "pytest", *OPTIONS, *suite.args]
    began = time.monotonic()
    with open(suite.path("check.err")[:-len(".json")], "wb") as err:
        done = subprocess.run(command, cwd=suite.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=err,
                              check=False)
    took = round(time.monotonic() - began, 1)
    try:
        found = json.loads(done.stdout)
        matrix = load(os.path.join(out, "matrix.json"))
    except (ValueError, OSError) as error:
        suite.write("check", {"status": done.returncode, "broken": str(error), "took": took})
        return
    suite.write("check", {"status": done.returncode, "took": took, "found": found, "matrix": matrix})


# ---- both ----


def order_of(suite, name):
    """The ids that an order ran, from the ledger."""
    with open(os.path.join(suite.path("check")[:-len(".json")], "ledger.jsonl"), encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            if row["kind"] == "order" and row["order"] == name:
                return row["tests"]
    return []


def replay_set(plain, test, before, alone):
    """Does the set do it, 3 of 3, and the test the other thing alone?"""
    fails, passes = plain.fails, plain.passes
    if alone:
        return fails([*before, test], True) and passes([test], True)
    return passes([*before, test], True) and fails([test], True)


def replay_order(suite, plain, row):
    """Plain pytest: not passed in that order and passed in another, 3 of 3 each."""
    bad = [name for name in (row["first_bad"], row["first_red"]) if name]
    good = [name for name, letter in zip(row["columns"], row["vector"]) if letter in "Px"]
    seen = {}
    for name in [*bad[:1], *good[:1]]:
        tests = order_of(suite, name)
        if row["id"] in tests:
            seen[name] = side(letters(plain.run_all([tests] * TIMES), row["id"]))
    alone = side(letters(plain.run_all([[row["id"]]] * TIMES), row["id"]))
    return {True, False} <= {*seen.values(), alone}


def run_table(suite):
    shown = load(suite.path("plain"), {"shown": {}, "listed": {}, "tests": 0})
    check = load(suite.path("check"), {"broken": "it did not run"})
    if "found" not in check:
        return {"suite": suite.name, "broken": check["broken"]}
    rows = {row["id"]: {**row, "columns": check["matrix"]["orders"]} for row in check["matrix"]["tests"]}
    findings = {row["test"]: row for row in check["found"]["findings"] if "class" in row}
    called = {test for test, row in rows.items() if row["class"] in DEPENDS}
    missed = {test: rows.get(test) for test in shown["shown"] if test not in called}
    plain = suite.plain()
    try:
        sets, false = {}, []
        for test in sorted(called):
            before = findings.get(test, {}).get("prefix")
            if before:
                alone = findings[test].get("kind") != "setters" and rows[test]["class"] != "brittle"
                sets[test] = {"set": before, "replays": replay_set(plain, test, before, alone)}
            if test not in shown["shown"] and not sets.get(test, {}).get("replays"):
                if not replay_order(suite, plain, rows[test]):
                    false.append(test)
    finally:
        plain.done()
    result = {
        "suite": suite.name, "tests": len(rows), "listed": suite.facts["listed"], "shown": len(shown["shown"]),
        "found": len(called & set(shown["shown"])), "more": len(called - set(shown["shown"])),
        "missed": missed, "false": false, "sets": sets,
        "no_set": {test: findings.get(test, {}).get("search") for test in sorted(called - set(sets))},
        "bad_sets": [test for test, row in sets.items() if not row["replays"]],
        "not_shown": {test: views for test, views in shown["listed"].items() if test not in shown["shown"]},
        "seconds": check["took"], "orders": check["found"]["orders"], "status": check["status"],
    }
    suite.write("table", result)
    return result


def print_table(results):
    print("| suite | tests | listed | shown by plain | found | more | missed | false | sets | replay 3/3 | seconds | processes | executions |")
    print("|" + " --- |" * 13)
    for row in results:
        if "broken" in row:
            print("| %(suite)s | %(broken)s |" % row)
            continue
        listed = "/".join(str(row["listed"].get(kind, "-")) for kind in ("victims", "brittle"))
        good = sum(one["replays"] for one in row["sets"].values())
        print("| %s | %d | %s | %d | %d | %d | %d | %d | %d | %d | %.0f | %d | %d |" % (
            row["suite"], row["tests"], listed, row["shown"], row["found"], row["more"], len(row["missed"]),
            len(row["false"]), len(row["sets"]), good, row["seconds"], row["orders"]["all"], row["orders"]["executions"]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", help="suites, with commas between them")
    parser.add_argument("--lanes", type=int, default=2)
    parser.add_argument("what", choices=("plain", "check", "table"))
    parser.add_argument("fumehood")
    parser.add_argument("checkouts")
    parser.add_argument("out")
    parser.add_argument("more", nargs=argparse.REMAINDER, help="options of check")
    options = parser.parse_args()
    options.out = os.path.abspath(options.out)
    os.makedirs(options.out, exist_ok=True)
    everything = sorted(os.listdir(options.checkouts), key=lambda name: (len(name), name))
    suites = [Suite(name, options) for name in (options.only.split(",") if options.only else everything)]
    if options.what == "table":
        print_table([run_table(suite) for suite in suites])
        return
    for suite in suites:
        {"plain": run_plain, "check": run_check}[options.what](suite)
        print(suite.name, options.what, "done", flush=True)


if __name__ == "__main__":
    main()
