"""A pytest plugin that runs tests in a given order, and says on the standard output what became of each.

PLAIN_ORDER names a file: a JSON list of ids; without it, all tests run as they were collected. What
pytest and the tests print to the standard output is thrown away: only our lines go there, JSON each,
as they come, so that a process that dies has told what it did before.

Loaded by -p, before pytest begins to capture.
"""

import json
import os

import pytest

FIRST = ("call", "failed", "F"), ("setup", "failed", "E"), ("teardown", "failed", "T")
reports = {}
out = os.dup(1)
null = os.open(os.devnull, os.O_WRONLY)
os.dup2(null, 1)
os.close(null)


def say(**line):
    os.write(out, json.dumps(line).encode() + b"\n")


def letter(phases):
    """Of a test's reports: P F E T S x X, in the words of the design."""
    for when, outcome, found in FIRST:
        if any(report.when == when and report.outcome == outcome for report in phases):
            return found
    expected = any(hasattr(report, "wasxfail") for report in phases)
    if any(report.outcome == "skipped" for report in phases):
        return "x" if expected else "S"
    return "X" if expected else "P"


def number(items):
    """Of one id, the second is told as id#2."""
    seen = {}
    for item in items:
        test = item.nodeid
        seen[test] = seen.get(test, 0) + 1
        if seen[test] > 1:
            item._nodeid = "%s#%d" % (test, seen[test])


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    number(items)
    say(collected=[item.nodeid for item in items])
    path = os.environ.get("PLAIN_ORDER")
    if not path:
        return
    with open(path, encoding="utf-8") as file:
        wanted = json.load(file)
    known = {item.nodeid: item for item in items}
    items[:] = [known[test] for test in wanted if test in known]


def pytest_runtest_logstart(nodeid):
    say(start=nodeid)


def pytest_runtest_logreport(report):
    reports.setdefault(report.nodeid, []).append(report)


def pytest_runtest_logfinish(nodeid):
    say(test=nodeid, outcome=letter(reports.pop(nodeid, ())))
