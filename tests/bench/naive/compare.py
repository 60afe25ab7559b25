#!/usr/bin/python3
"""How many processes a search takes, beside those of the plain script: as JSON.

    CHECKOUTS=FOLDER compare.py FUMEHOOD [SUITE...]

CHECKOUTS holds a folder a suite, at the commit that tests/suites/corpus/SUITE.json names; default: O1 O2 O3 O5.
Both see a suite in the same five orders of Python's shuffle, no test alone, and search for the tests that are
listed there. Exits with 1 when, in some suite, we take more than 0.6 times as many processes, or find no set
for a test for which the script finds one. Runs everything in cells, a few minutes a suite.
"""

import collections
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(HERE, "../../lib")]
import bench  # noqa: E402
from plain import OPTIONS, PYTHON  # noqa: E402

RATIO_MAX = 0.6
SEEDS = "5"
SUITES = ("O1", "O2", "O3", "O5")
PATH = ["--env", "PYTHONPATH=.:src"]


def script(fumehood, project, victims):
    naive = os.path.join(HERE, "naive.py")
    done = subprocess.run([PYTHON, naive, "--seeds", SEEDS, "--no-isolation", "--victims", victims, fumehood, project],
                          stdout=subprocess.PIPE, check=True)
    ran = json.loads(done.stdout)
    found = [test for test, row in ran["found"].items() if row.get("set")]
    return {"processes": ran["processes"], "executions": ran["executions"], "found": found}


def fumehood_run(arguments, project):
    """Its standard output. Up to 3 is said of the suite."""
    done = subprocess.run(arguments, cwd=project, stdout=subprocess.PIPE, check=False)
    if done.returncode > 3:
        sys.exit("%s in %s: exit status %d" % (arguments, project, done.returncode))
    return done.stdout


def ours(fumehood, project, tests, out):
    fumehood_run([fumehood, "check", "--out", out, "-q", "-j", "1", "--seeds", SEEDS, "--shuffle", "python",
                  "--no-shrink", "--isolated", "none",
                  *PATH, "--", PYTHON, "-m", "pytest", *OPTIONS], project)
    told = fumehood_run([fumehood, "shrink", "-q", "-j", "1", "--json", *PATH, out, *tests], project)
    roles, executions = collections.Counter(), 0
    with open(os.path.join(out, "ledger.jsonl"), encoding="utf-8") as ledger:
        for line in map(json.loads, ledger):
            if line["kind"] == "begin":
                roles[line["role"]] += 1
            executions += line["kind"] == "test" and line["outcome"] != "absent"
    found = [row["test"] for row in json.loads(told)["searches"] if row["search"] == "found"]
    return {"processes": sum(roles.values()), "roles": roles, "executions": executions, "found": found}


def compare(fumehood, project, name, place):
    with open(os.path.join(HERE, "../../suites/corpus", name + ".json"), encoding="utf-8") as file:
        tests = [row["test"] for row in json.load(file)["tests"]]
    victims = os.path.join(place, name + ".victims.json")
    with open(victims, "w", encoding="utf-8") as file:
        json.dump(tests, file)
    both = {"script": script(fumehood, project, victims),
            "ours": ours(fumehood, project, tests, os.path.join(place, name))}
    both["missed"] = sorted(set(both["script"]["found"]) - set(both["ours"]["found"]))
    return both


def main():
    fumehood, checkouts = os.path.abspath(sys.argv[1]), os.environ.get("CHECKOUTS")
    if not checkouts:
        sys.exit("CHECKOUTS is not set: the folder with a checkout of each suite")
    with tempfile.TemporaryDirectory(prefix="fumehood-compare-", dir="/var/tmp") as place:
        found = {name: compare(fumehood, os.path.abspath(os.path.join(checkouts, name)), name, place)
                 for name in sys.argv[2:] or SUITES}
    bounds = []
    for name, both in found.items():
        bounds.append((name + ": processes, ours / script", both["ours"]["processes"] / both["script"]["processes"], RATIO_MAX))
        bounds.append((name + ": missed", len(both["missed"]), 0))
    bench.report({"seeds": SEEDS, "suites": found}, bounds)


if __name__ == "__main__":
    main()
