"""The schemas fit the fixture runs, and refuse what is wrong. Prints TAP."""

import copy
import json
import os
import sys

import schema

FIXTURES = os.path.join(schema.ROOT, "tests/unit/data/summary")
MIXED = os.path.join(FIXTURES, "mixed")

count = 0
failed = 0


def ok(holds, name):
    global count, failed
    count += 1
    failed += not holds
    print("%sok %d - %s" % ("" if holds else "not ", count, name.replace("#", "")))


def first(kind):
    with open(os.path.join(MIXED, "ledger.jsonl"), encoding="utf-8") as lines:
        return next(line for line in map(json.loads, lines) if line["kind"] == kind)


# kind of the line, path to the member, what it becomes (DROP: nothing).
DROP = object()
WRONG = [
    ("session", ["adapter"], DROP),
    ("session", ["surprise"], 1),
    ("order", ["view"], "sideways"),
    ("order", ["tests", 0], 7),
    ("order", ["v"], 2),
    ("test", ["outcome"], "maybe"),
    ("test", ["test"], DROP),
    ("test", ["n"], -1),
    ("test", ["state", "all"], "0"),
    ("test", ["state", "moon"], "0" * 32),
    ("test", ["deltas", 0, "kind"], "lost"),
    ("test", ["deltas", 0, "zone"], "elsewhere"),
    ("test", ["deltas", 0, "damage"], None),
    ("test", ["deltas", 0, "after"], "text"),
    ("test", ["deltas", 0, "suspects"], DROP),
    ("scope", ["scope"], "function"),
    ("scope", ["deltas"], []),
    ("refused", ["why"], DROP),
    ("end", ["outcome"], "fine"),
    ("end", ["exit"], -1),
    ("end", ["survivors", 0, "key"], DROP),
    ("end", ["unattributed", 0, "domain"], "soul"),
    ("end", ["blind", "soul"], "dark"),
    ("end", ["kind"], "finish"),
]


def spoil(line, path, value):
    line = copy.deepcopy(line)
    at = line
    for step in path[:-1]:
        at = at[step]
    if value is DROP:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return line


def main():
    for name in sorted(os.listdir(FIXTURES)):
        found = schema.errors_of_run(os.path.join(FIXTURES, name))
        ok(not found, "run %s fits: %s" % (name, "; ".join(found[:3])))
    validator = schema.load("ledger")
    for kind, path, value in WRONG:
        line = spoil(first(kind), path, value)
        what = "no value" if value is DROP else repr(value)
        ok(schema.errors(validator, line), "%s %s: %s is refused" % (kind, path, what))
    print("1..%d" % count)
    return failed > 0


sys.exit(main())
