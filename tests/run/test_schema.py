"""The schemas fit the fixture runs, and refuse what is wrong. Prints TAP."""

import copy
import json
import os
import re
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


# Settings that fumehood.json cannot have.
WRONG_CONFIG = [
    {},
    {"version": 2},
    {"version": 1, "netwrok": "none"},
    {"version": 1, "network": "hots"},
    {"version": 1, "timeout": 90},
    {"version": 1, "timeout": "90"},
    {"version": 1, "scratch_size": "1T"},
    {"version": 1, "forward": [0]},
    {"version": 1, "without": ["moon"]},
    {"version": 1, "env": {"sett": {}}},
    {"version": 1, "prepare": "npm ci"},
    {"version": 1, "custom": [{"name": "rows"}]},
    {"version": 1, "custom": [{"name": "rows", "run": "x", "time": "1s"}]},
    {"version": 1, "prepare": [{"run": "npm ci"}]},
    {"version": 1, "prepare": [{"run": [], "inputs": []}]},
    {"version": 1, "ignore": [{"code": "FH101"}]},
    {"version": 1, "ignore": [{"code": "FH9", "reason": "x"}]},
    {"version": 1, "ignore": [{"code": "FH101", "reason": "x", "expires": "soon"}]},
    {"version": 1, "expected_state": [{"reason": "x"}]},
    {"version": 1, "expected_state": [{"code": "FH101", "key": "x", "reason": "x"}]},
]


def keys_of(schema_of_config):
    """With dots, as the settings table has them."""
    for name, value in schema_of_config["properties"].items():
        if "properties" in value:
            yield from (name + "." + inner for inner in value["properties"])
        elif name != "version":
            yield name


def check_config():
    """The manual, which the unit tests hold true to the settings, has each key, and an example."""
    with open(os.path.join(schema.ROOT, "runner/fumehood.1"), encoding="utf-8") as text:
        page = text.read()
    validator = schema.load("config")
    in_page = sorted(re.findall(r"^\.It Fl .* Bq ([a-z_.]+)", page, re.M))
    ok(in_page == sorted(keys_of(validator.schema)), "config has the keys of the manual")
    example = re.search(r"^\.Bd -literal[^\n]*\n(.*?)\n\.Ed", page, re.M | re.S)
    ok(not schema.errors(validator, json.loads(example[1])), "the manual's example fits")
    for wrong in WRONG_CONFIG:
        ok(schema.errors(validator, wrong), "config %s is refused" % wrong)


# Path into the matrix, what it becomes.
WRONG_MATRIX = [
    (["version"], 2),
    (["orders"], DROP),
    (["tests", 0, "class"], "flaky"),
    (["tests", 0, "vector"], "PQ"),
    (["tests", 0, "score"], 1.5),
    (["tests", 0, "alone"], "absent"),
    (["tests", 0, "surprise"], 1),
]


def check_matrix():
    validator = schema.load("matrix")
    path = os.path.join(schema.ROOT, "tests/unit/data/matrix/matrix.json")
    with open(path, encoding="utf-8") as text:
        matrix = json.load(text)
    found = schema.errors(validator, matrix)
    ok(not found, "the matrix of the unit test fits: %s" % "; ".join(found[:3]))
    for at, value in WRONG_MATRIX:
        ok(schema.errors(validator, spoil(matrix, at, value)), "matrix %s is refused" % at)


def main():
    check_config()
    check_matrix()
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
