#!/usr/bin/python3
"""What a plain script finds, for comparison: order-dependent tests by seeds and isolation, and for each
a smallest set of tests that makes it fail (or pass). JSON.

    naive.py [--seeds N] [--reverse] [--no-isolation] [--victims FILE] [--lanes N] [--no-autoload] FUMEHOOD PROJECT [PYTEST-OPTION...]

A fresh process, in a fresh cell, a seed; one process a test for isolation. A set is searched from the
first order that shows the test: halves, while one of them still does it, then one test at a time, each
answer 3 of 3 and stopped at the first that says no. No answer is kept.
"""

import argparse
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../lib"))
from plain import Plain, shuffled  # noqa: E402


class Search:
    """The smallest set of tests before `test` that gives `wanted`: "fails" or "passes"."""

    def __init__(self, plain, test, wanted):
        self.ask = lambda before: getattr(plain, wanted)(before + [test])

    def halves(self, before):
        while len(before) > 1:
            middle = len(before) // 2
            for half in (before[middle:], before[:middle]):
                if self.ask(half):
                    before = half
                    break
            else:
                break
        return before

    def one_at_a_time(self, before):
        at = 0
        while at < len(before) and len(before) > 1:
            less = before[:at] + before[at + 1:]
            if self.ask(less):
                before = less
            else:
                at += 1
        return before

    def run(self, before):
        """None: it does not repeat."""
        if not self.ask(before):
            return None
        return self.one_at_a_time(self.halves(before))


def counted(plain, result, name, act):
    before, began = (plain.processes, plain.executions), time.monotonic()
    found = act()
    result[name] = {
        "processes": plain.processes - before[0],
        "executions": plain.executions - before[1],
        "seconds": round(time.monotonic() - began, 1),
    }
    return found


def orders(canonical, seeds, reverse):
    found = {"s%d" % seed: shuffled(canonical, seed) for seed in range(1, seeds + 1)}
    if reverse:
        found["reverse"] = canonical[::-1]
    return found


def attribute(plain, test, alone, canonical, ran):
    """From the first order that differs from what the test does alone."""
    passes = alone.get(test, canonical.passed(test))
    for order in ran.values():
        if test in order.outcomes and order.passed(test) != passes:
            tests = list(order.outcomes)
            search = Search(plain, test, "fails" if passes else "passes")
            return search.run(tests[: tests.index(test)])
    return None


def measure(plain, options):
    result = {"project": plain.project}
    canonical = counted(plain, result, "canonical", plain.run)
    tests = canonical.collected
    plan = orders(tests, options.seeds, options.reverse)
    ran = counted(plain, result, "sweep", lambda: dict(zip(plan, plain.run_all(plan.values()))))
    ran = {"canonical": canonical, **ran}
    alone = {}
    if options.isolation:
        each = counted(plain, result, "isolation", lambda: plain.run_all([[test] for test in tests]))
        alone = {test: one.passed(test) for test, one in zip(tests, each)}
    differs = [test for test in tests if len({order.passed(test) for order in ran.values()} | {alone.get(test, canonical.passed(test))}) > 1]
    result["found"] = {test: {"alone": alone.get(test), "orders": {name: order.outcomes.get(test, "A") for name, order in ran.items()}} for test in differs}
    victims = differs
    if options.victims:
        with open(options.victims, encoding="utf-8") as file:
            victims = json.load(file)
    for test in victims:
        row = result["found"].setdefault(test, {})
        row["set"] = counted(plain, row, "cost", lambda: attribute(plain, test, alone, canonical, ran))
    result["processes"], result["executions"] = plain.processes, plain.executions
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--reverse", action="store_true")
    parser.add_argument("--no-isolation", dest="isolation", action="store_false")
    parser.add_argument("--victims", help="a JSON list of ids; default: all that are found")
    parser.add_argument("--lanes", type=int, default=2)
    parser.add_argument("--no-autoload", dest="autoload", action="store_false", help="no plugins but those of pytest")
    parser.add_argument("fumehood")
    parser.add_argument("project")
    parser.add_argument("options", nargs="*")
    options = parser.parse_args()
    plain = Plain(options.fumehood, options.project, options.options, options.lanes, options.autoload)
    try:
        began = time.monotonic()
        result = measure(plain, options)
        print(json.dumps({**result, "seconds": round(time.monotonic() - began, 1)}, indent=1))
    finally:
        plain.done()


if __name__ == "__main__":
    main()
