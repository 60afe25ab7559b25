"""`fumehood check`: whose a change is that was seen while a process of an earlier test was alive, and what is
accepted. Prints TAP.

    test_whose.py FUMEHOOD
"""

import json
import os
import sys

from place import Place, ok, plan

PYTHON = "/usr/bin/python3"
PYTEST = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
# A scan sees no writer, so whoever had a process alive is suspected. The process of test_starts writes once it
# is told to, by the test behind it or at the end of the session.
SUITE = """
import os, subprocess, sys, time

# At one instant: a file without content, and no process of its own.
WRITER = '''
import os, time
while not os.path.exists("/tmp/go"):
    time.sleep(0.05)
open("/tmp/late", "w").close()
time.sleep(1000)
'''

started = []

def go():
    if not started:
        return
    open("/tmp/go", "w").close()
    for _ in range(400):
        if os.path.exists("/tmp/late"):
            return
        time.sleep(0.05)

def test_starts():
    started.append(subprocess.Popen([sys.executable, "-I", "-S", "-c", WRITER]))

def test_stands_by():
    go()

def test_writes():
    open("/tmp/mine", "w").close()

def test_accepted():
    open("/tmp/known", "w").close()
"""
CONFTEST = """
import test_whose

def pytest_sessionfinish():
    test_whose.go()
"""
# Behind them a test that fails where it comes last.
VARYING = """
shared = []

def test_varies():
    assert not shared

def test_shares():
    shared.append(1)
"""
SETTINGS = {"version": 1, "ignore": [{"code": "FH101", "key": "/tmp/known", "reason": "a mark of ours"}]}


def suspected(run):
    """Which tests were suspected of which change that another is charged with, as it was seen."""
    seen = set()
    with open(os.path.join(run, "ledger.jsonl"), encoding="utf-8") as file:
        for line in map(json.loads, file):
            for row in line.get("deltas", ()):
                seen.update((row["key"], line["test"], who) for who in row.get("suspects", ()))
    return {tuple(word.split("::")[-1] for word in row) for row in seen}


def check(place, *options):
    return place.run(["check", "--json", "--tracker", "scan", "--shuffle", "shuffle", "--seeds", "1", *options,
                      "--env", "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1", "--", *PYTEST])


def alone():
    """The tests that were run alone because of what the sweep showed, in their order."""
    place = Place({"test_whose.py": SUITE, "test_z.py": VARYING, "conftest.py": CONFTEST})
    try:
        _, out, err = check(place, "--isolated", "varied", "--no-shrink", "--lanes", "1")
        with open(os.path.join(json.loads(out)["run"], "ledger.jsonl"), encoding="utf-8") as file:
            begun = [line for line in map(json.loads, file) if line["kind"] == "begin" and line["view"] == "isolated"]
    finally:
        place.done()
    tests = [line["tests"][0].split("::")[-1] for line in begun if line["role"] == "sweep"]
    ok(tests[:1] == ["test_varies"] and "test_starts" in tests, "what varied is run alone before who is suspected", tests, err)


def main():
    place = Place({"test_whose.py": SUITE, "conftest.py": CONFTEST, "fumehood.json": json.dumps(SETTINGS)})
    try:
        status, out, err = check(place, "--fail-on", "leak")
        found = json.loads(out)
        with open(os.path.join(found["run"], "matrix.json"), encoding="utf-8") as file:
            matrix = {row["id"].split("::")[1]: row for row in json.load(file)["tests"]}
        suspects = suspected(found["run"])
    finally:
        place.done()
    ok(("/tmp/late", "test_stands_by", "test_starts") in suspects, "who had a process is suspected", suspects)
    ok(("/tmp/mine", "test_writes", "test_starts") in suspects, "of what it did not do, too", suspects)
    # what the end of a session saw is no test's, there
    whose = {row["key"]: row for row in found["findings"] if "key" in row and row.get("test")}
    late, mine = whose.get("/tmp/late", {}), whose.get("/tmp/mine", {})
    ok(late.get("test", "").endswith("::test_starts"), "who does it alone is who did it", late, whose)
    ok(mine.get("test", "").endswith("::test_writes"), "and a suspect who does not is cleared", mine, whose)
    ok(not late.get("suspects") and not mine.get("suspects"), "nobody is suspected any more", late, mine)
    ok("/tmp/known" not in whose, "what is accepted is no finding", whose)
    ok(matrix["test_accepted"]["class"] == "stable_pass", "and marks nobody", matrix)
    ok(matrix["test_accepted"]["evidence"] == "eligible", "... whose passes are evidence", matrix)
    ok(matrix["test_writes"]["class"] == "leaky", "who leaves something else behind is leaky", matrix)
    ok(status == 1, "with --fail-on leak it fails", status, found["verdict"], err)
    alone()
    return plan()


if __name__ == "__main__":
    sys.exit(main())
