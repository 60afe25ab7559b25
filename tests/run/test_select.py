"""check --select touched and --order FILE: which tests run, and what is refused. Prints TAP.

The binary is the first argument. Runs as whoever calls.
"""

import json
import os
import subprocess
import sys

from place import BINARY, NO_LONGER_THAN, Place, ok, plan

PYTEST = ["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
TEST = "def test_%s():\n    pass\n"
FEW = ["check", "--no-shrink", "--isolated=none"]
TOUCHED = {"test_committed.py::test_committed2", "test_staged.py::test_staged2",
           "test_changed.py::test_changed2", "test_new.py::test_new"}  # fmt: skip


def git(place, *words):
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(
        ["git", *who, *words], cwd=place.project, env=place.environment({}), check=True, capture_output=True
    )


def write(place, name, text):
    path = os.path.join(place.project, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def make_checkout():
    """A branch that committed a file of tests, staged one, changed one and has a new one."""
    names = ("same", "committed", "staged", "changed", "gone")
    place = Place({"sub/test_%s.py" % name: TEST % name for name in names})
    write(place, ".gitignore", "ignored/\n")
    git(place, "init", "-q", "-b", "main")
    git(place, "add", ".")
    git(place, "commit", "-q", "-m", "one")
    git(place, "checkout", "-q", "-b", "work")
    write(place, "sub/test_committed.py", TEST % "committed2")
    os.remove(os.path.join(place.project, "sub/test_gone.py"))
    git(place, "commit", "-q", "-a", "-m", "two")
    write(place, "sub/test_staged.py", TEST % "staged2")
    git(place, "add", ".")
    write(place, "sub/test_changed.py", TEST % "changed2")
    write(place, "sub/test_new.py", TEST % "new")
    write(place, "ignored/test_ignored.py", TEST % "ignored")
    return place


def check(place, *options, cwd="."):
    done = subprocess.run(
        [BINARY, *FEW, *options, "--", *PYTEST],
        cwd=os.path.join(place.project, cwd),
        env=place.environment({}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=NO_LONGER_THAN,
    )
    return done.returncode, done.stdout + done.stderr


def ran(place):
    """The tests of each order of the newest run, as they ran."""
    found = {}
    with open(os.path.join(place.folder(), "ledger.jsonl"), encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            if line["kind"] == "test":
                found.setdefault(line["order"], []).append(line["test"])
    return found


def test_touched():
    place = make_checkout()
    status, text = check(place, "--seeds=1", "--select=touched:main")
    expected = {"sub/" + test for test in TOUCHED}
    orders = ran(place)
    ok(status == 0 and set(orders) == {"canonical", "canonical-2", "reverse", "s1"}, "it runs", status, text, orders)
    ok(all(set(tests) == expected for tests in orders.values()), "only what was touched runs", orders)
    status, text = check(place, "--seeds=1", "--select=touched:main", cwd="sub")
    ok(all(set(tests) == expected for tests in ran(place).values()), "from a folder below, too", text, ran(place))
    git(place, "branch", "-u", "main")
    status, text = check(place, "--seeds=1", "--select=touched")
    ok(status == 0 and set(ran(place)["s1"]) == expected, "the upstream is the base", status, text)
    git(place, "stash", "-u")
    status, text = check(place, "--select=touched:work")
    ok(status == 4, "nothing was touched: no tests", status, text)
    place.done()


def test_below():
    """The project is a folder of the checkout."""
    place = make_checkout()
    write(place, "sub/fumehood.json", '{"version": 1}')
    write(place, "test_outside.py", TEST % "outside")
    status, text = check(place, "--seeds=1", "--select=touched:main", cwd="sub")
    ok(status == 0 and set(ran(place)["s1"]) == TOUCHED, "names are those below the project", status, text)
    place.done()


def test_hostile():
    """What git is told to run runs in the cell, if at all."""
    place = make_checkout()
    out = os.path.join(place.top, "out")
    script = "#!/bin/sh\ntouch %s %s/out\ncat\n" % (out, place.project)
    write(place, "run.sh", script)
    os.chmod(os.path.join(place.project, "run.sh"), 0o755)
    git(place, "config", "core.fsmonitor", "./run.sh")
    git(place, "config", "filter.x.clean", "./run.sh")
    git(place, "config", "filter.x.process", "./run.sh")
    git(place, "config", "diff.external", "./run.sh")
    git(place, "config", "core.pager", "./run.sh")
    write(place, ".gitattributes", "* filter=x diff=x\n")
    check(place, "--seeds=1", "--select=touched:main")
    ok(not os.path.exists(out) and not os.path.exists(place.project + "/out"), "nothing of it reaches the host")
    git(place, "diff", "--name-only", "main")
    ok(os.path.exists(out), "where git alone would have run it")
    place.done()


def test_refused():
    place = make_checkout()
    for options, piece in (
        (["--select=touched"], "the branch has no upstream"),
        (["--select=touched:mian"], 'git does not know "mian"'),
        (["--select=other"], "--select is one of touched, touched:BASE"),
    ):
        status, text = check(place, *options)
        ok(status == 64 and piece in text, "%s: %s" % (options[0], piece), status, text)
    git(place, "checkout", "-q", "-f", "--orphan", "alone")
    git(place, "commit", "-q", "-m", "three")
    status, text = check(place, "--seeds=1", "--select=touched:main")
    ok(status == 64 and "no commit in common" in text, "no commit in common", status, text)
    place.done()
    place = Place({"test_a.py": TEST % "a"})
    status, text = check(place, "--seeds=1", "--select=touched:main")
    ok(status == 64 and "the project is no git checkout" in text and "git says: fatal" in text, "no checkout", text)
    place.done()


def test_order():
    place = Place({"test_a.py": TEST % "one" + TEST % "two" + TEST % "three"})
    write(place, "sub/order.json", '\ufeff// mine\r\n["test_a.py::test_three",\r\n "test_a.py::test_one"]\r\n')
    write(place, "typo.json", '[\n "test_a.py::test_tow"\n]')
    status, text = check(place, "--order=sub/order.json")
    ok(status == 0 and "sub/order.json holds 2 of 3 tests" in text, "an order file", status, text)
    given = ran(place).get("given")
    ok(given == ["test_a.py::test_three", "test_a.py::test_one"], "the given order ran", given)
    status, text = check(place, "--order=none.json")
    ok(status == 65 and "none.json: No such file" in text, "one that is not there", status, text)
    status, text = check(place, "--order=typo.json")
    ok(status == 65 and 'typo.json:2:2: the suite has no test "test_a.py::test_tow"' in text, "a typo", status, text)
    ok('did you mean "test_a.py::test_two"?' in text, "the nearest is named", text)
    status, text = check(place, "--order=typo.json", "--seeds=2")
    ok(status == 64 and "--order excludes --seeds" in text, "with seeds", status, text)
    place.done()


test_touched()
test_below()
test_hostile()
test_refused()
test_order()
sys.exit(plan())
