"""`fumehood check` over small suites that each plant one kind of order: does it say what is so? Prints TAP.

    test_check.py FUMEHOOD [--oracle] [--odd|--even] [SUITE]

A suite of tests/suites/orders says in expect.json what is so: `plain`, what plain pytest gives to the last
test of an order (tried here, too: a suite that does not do as it says proves nothing); the class of
tests, by id, and how many tests their set has; `all`, the same for each test whose id begins so; for the
rest that they depend on no order, but those in `victims`, which may. A set is not held against a list: plain
pytest has to replay it, 3 of 3, and no smaller one.
"""

import json
import os
import sys

from place import BINARY, Place, ok, plan

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../lib"))
from plain import PYTHON, Plain  # noqa: E402

SUITES = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../suites/orders")
DEPENDS = ("victim", "order_sensitive", "brittle")
BARE = ["--env", "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1"]
PYTEST = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
WARNS = ("brittle", "repeat_sensitive", "stable_pass", "polluter", "leaky")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def load(path):
    return json.loads(read(path))


class Suite:
    def __init__(self, name):
        top = os.path.join(SUITES, name)
        files = {file: read(os.path.join(top, file)) for file in os.listdir(top) if file.endswith(".py")}
        self.name, self.expect = name, load(os.path.join(top, "expect.json"))
        self.place = Place(files)
        self.plain = Plain(BINARY, self.place.project, autoload=False, path=".")

    def done(self):
        self.plain.done()
        self.place.done()

    def ok(self, holds, name, *shown):
        ok(holds, "%s: %s" % (self.name, name), *shown)

    def oracle(self):
        """Plain pytest does what the suite says of itself."""
        for row in self.expect["plain"]:
            ran = self.plain.run(row["run"])
            self.ok(ran.outcomes.get(row["run"][-1]) == row["gives"], "plain pytest gives %(gives)s: %(run)s" % row,
                    ran.outcomes, ran.stderr)

    def check(self):
        args = ["check", "--json", *self.expect.get("options", []), *BARE, "--", *PYTEST]
        status, out, err = self.place.run(args)
        try:
            found = json.loads(out)
            matrix = load(os.path.join(found["run"], "matrix.json"))
        except (ValueError, OSError) as error:
            self.ok(False, "check tells in JSON what it found", error, status, out, err)
            return
        text = json.dumps(found)
        wanted = self.expect.get("exits") or [self.status()]
        self.ok(status in wanted, "exit status %d is among %s" % (status, wanted), found["verdict"], err)
        for word in self.expect.get("said", []):
            self.ok(word in text + err, "%r is said" % word, text)
        sets = {row["test"]: row for row in found["findings"] if "class" in row}
        classes = {row["id"]: row for row in matrix["tests"]}
        for test, row in self.wanted(classes):
            self.classified(test, row, classes)
            if row["class"] in DEPENDS:
                self.attributed(test, row, sets)
        self.rest(classes, sets)

    def status(self):
        classes = [row["class"] for row in (*self.expect["tests"].values(), *self.expect.get("all", {}).values())]
        return 0 if all(kind in WARNS for kind in classes) else 1

    def wanted(self, classes):
        rows = list(self.expect["tests"].items())
        for begin, row in self.expect.get("all", {}).items():
            tests = [test for test in classes if test.startswith(begin)]
            self.ok(tests, "there are tests %s..." % begin, list(classes))
            rows += [(test, row) for test in tests]
        return rows

    def classified(self, test, row, classes):
        seen = classes.get(test, {})
        self.ok(seen.get("class") == row["class"], "%s is %s" % (test, row["class"]), seen or list(classes))
        if "phase" in row:
            self.ok(seen.get("phase") == row["phase"], "... in its %s" % row["phase"], seen)

    def attributed(self, test, row, sets):
        found = sets.get(test, {})
        before = found.get("prefix")
        if not before:
            self.ok(False, "%s has a set" % test, found or list(sets))
            return
        self.ok(len(before) == row["set_len"], "%s has a set of %d" % (test, row["set_len"]), before)
        confirmed = found.get("confirmed", {})
        self.ok(confirmed.get("hits") == confirmed.get("of", 0) >= 3, "... each time, of three or more", found)
        if self.name == "hang":  # plain pytest would hang, too
            return
        fails = row["class"] != "brittle"
        gives = self.plain.fails if fails else self.plain.passes
        self.ok(gives(before + [test], at_once=True), "... which replays", before)
        for out in range(len(before)):
            less = before[:out] + before[out + 1:]
            self.ok(not gives(less + [test]), "... and does not without %s" % before[out], before)

    def rest(self, classes, sets):
        """Nobody else depends on order."""
        told = dict(self.wanted(classes))
        may = self.expect.get("victims", [])
        for test, row in classes.items():
            if test not in told and test not in may:
                self.ok(row["class"] not in DEPENDS, "%s depends on no order" % test, row, sets.get(test))
        kinds = {row["class"] for test, row in classes.items() if test not in told}
        if "any_class" in self.expect:
            self.ok(kinds <= set(self.expect["any_class"]), "no other class is told", kinds)
        self.ok(kinds >= set(self.expect.get("some", [])), "a class is told", kinds)


def main():
    options = [word for word in sys.argv[2:] if word.startswith("--")]
    names = [word for word in sys.argv[2:] if word not in options] or sorted(os.listdir(SUITES))
    if "--odd" in options or "--even" in options:
        names = names["--even" in options :: 2]
    for name in names:
        suite = Suite(name)
        try:
            suite.oracle()
            if "--oracle" not in options:
                suite.check()
        finally:
            suite.done()
    return plan()


if __name__ == "__main__":
    sys.exit(main())
