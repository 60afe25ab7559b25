#!/usr/bin/python3
"""check: the leaks in the ledger of the planted suite are the table's, no row more or less.

All plants and controls run in one session, in three orders under both trackers; then once more
for each sensor, switched off: its plants must be missed, and nothing else changes; then with
--restore, where a last test looks for what any plant left. TAP.

Usage: check.py FUMEHOOD
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time

import make
import plants

FACTS = ("who", "domain", "what", "key", "key_b64", "zone", "before", "after", "damage")
SEED = 17


def orders():
    seeded = list(plants.ROWS)
    random.Random(SEED).shuffle(seeded)
    return {"canonical": plants.ROWS, "reversed": plants.ROWS[::-1], "seed %d" % SEED: seeded}


class Ledger:
    """What one order left in ledger.jsonl."""

    def __init__(self, folder):
        self.leaks = []
        self.outcomes = {}
        self.files = {}  # digest of the domain after each test
        self.restored = []
        self.cleans = {}
        self.end = {}
        with open(os.path.join(folder, "ledger.jsonl"), encoding="utf-8") as lines:
            for line in map(json.loads, lines):
                getattr(self, "read_" + line["kind"], lambda line: None)(line)

    def read_test(self, line):
        self.outcomes[line["test"]] = line["outcome"]
        self.files[line["test"]] = line["state"].get("files")
        self.read_deltas(line["test"], line["deltas"])

    def read_scope(self, line):
        self.read_deltas(line["fixture"], line["deltas"])

    def read_end(self, line):
        self.end = line

    def read_deltas(self, who, deltas):
        for delta in deltas:
            if delta["kind"] == "leak" and delta["zone"] != "state":
                facts = {"who": who, "key_b64": None, **delta}
                self.leaks.append({fact: facts[fact] for fact in FACTS})
                self.restored.append(delta.get("restored", delta.get("restored_why")))
            if delta["cleans"]:
                self.cleans.setdefault(who, set()).add(delta["cleans"])


def same(expected, seen):
    if expected == plants.ANY:
        return True
    if isinstance(expected, dict) and isinstance(seen, dict):
        return expected.keys() == seen.keys() and all(same(expected[k], seen[k]) for k in seen)
    return expected == seen


def difference(expected, seen):
    """(missing, more): rows of one list without a partner in the other."""
    more = list(seen)
    missing = []
    for row in expected:
        partner = next((s for s in more if same(row, s)), None)
        if partner is None:
            missing.append(row)
        else:
            more.remove(partner)
    return missing, more


class Check:
    def __init__(self, fumehood, work):
        self.fumehood = fumehood
        self.work = work
        self.count = 0
        self.failed = 0
        self.project = os.path.join(work, "project")
        self.places = make.places_of(self.project, os.path.expanduser("~"))
        make.make(self.project, self.places)
        self.table = [leak for row in plants.ROWS for leak in make.expected(row, self.places)]

    def ok(self, ok, name, *why):
        self.count += 1
        self.failed += not ok
        print("%sok %d - %s" % ("" if ok else "not ", self.count, name))
        if not ok:
            for line in why:
                print("#", str(line).replace("\n", "\n# "))
        sys.stdout.flush()

    def run(self, rows, *options, last=()):
        """Run the suite with its files in the order of rows; (exit status, text, Ledger)."""
        out = os.path.join(self.work, "out-%d" % time.monotonic_ns())
        command = [self.fumehood, "run", "--color=never", "--out", out, *options, "--"]
        command += ["/usr/bin/python3", "-m", "pytest", "-q", *map(make.path_of, rows), *last]
        ran = subprocess.run(
            command,
            cwd=self.project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        return ran.returncode, ran.stdout.decode(errors="replace"), Ledger(out)

    def whole(self, name, rows, tracker):
        status, text, ledger = self.run(rows, "--tracker=" + tracker)
        missing, more = difference(self.table, ledger.leaks)
        why = ["missing: %s" % row for row in missing] + ["more: %s" % row for row in more]
        title = "%s, %s: " % (name, tracker)
        self.ok(not why, title + "the leaks are the table's %d" % len(self.table), *why)

        outcomes, cleans = {}, {}
        for row in plants.ROWS:
            ids = {test: make.path_of(row) + "::" + test for test in make.test_names(row)}
            for test, full in ids.items():
                outcomes[full] = row.outcomes.get(test, "passed")
                if test in row.cleans:
                    cleans[full] = {ids[row.cleans[test]]}
        self.ok(ledger.outcomes == outcomes, title + "each test ends as it should",
                *(set(ledger.outcomes.items()) ^ set(outcomes.items())))
        self.ok(ledger.cleans == cleans, title + "who cleans up after whom", ledger.cleans)
        lost = [delta for delta in ledger.end["unattributed"] if delta["zone"] != "state"]
        self.ok(not lost, title + "nothing is unattributed", *lost)
        self.ok(ledger.end["tracker"] == tracker, title + "the tracker was used", ledger.end)
        self.ok(status == 1, title + "damage is exit status 1", status, text)
        return ledger.leaks

    def restored(self, tracker):
        """Plants first: a control's session fixture holds what it made to the end."""
        name = make.look_for_leftovers(self.project, self.places)
        _, text, ledger = self.run(plants.PLANTS, "--restore", "--tracker=" + tracker, last=[name])
        title = "restored, %s: " % tracker
        table = [leak for row in plants.PLANTS for leak in make.expected(row, self.places)]
        files = [leak for leak in table if leak["domain"] == "files"]
        for leak in files:  # the first store, that this one came on top of, was put back
            if leak["who"].endswith("::test_store_through_held_mapping"):
                leak["before"] = make.value_of(plants.file("0123456789abcdef\n"), self.places)
                leak["after"] = make.value_of(plants.file("0Y23456789abcdef\n"), self.places)
        seen = [leak for leak in ledger.leaks if leak["domain"] == "files"]
        missing, more = difference(files, seen)
        why = ["missing: %s" % row for row in missing] + ["more: %s" % row for row in more]
        self.ok(not why, title + "the leaks are told all the same", *why)
        failed = [(l, r) for l, r in zip(ledger.leaks, ledger.restored)
                  if (l["domain"] == "files") != (r is True)]
        self.ok(not failed, title + "each of files is put back, and no other", *failed)
        digests = set(ledger.files.values())
        self.ok(len(digests) == 1, title + "all tests start from one base", ledger.files)
        self.ok(ledger.outcomes.get(name + "::test_base") == "passed",
                title + "the suite finds nothing left", text)

    def without(self, sensor):
        _, text, ledger = self.run(plants.ROWS, "--without=" + sensor)
        rest = [leak for leak in self.table if leak["domain"] != sensor]
        missing, more = difference(rest, ledger.leaks)
        why = ["missing: %s" % row for row in missing] + ["more: %s" % row for row in more]
        self.ok(not why, "without %s: the other leaks are as before" % sensor, *why, text)
        for row in plants.PLANTS:
            ids = {leak["who"] for leak in make.expected(row, self.places)}
            if any(leak.domain == sensor for leak in row.leaks):
                seen = [leak for leak in ledger.leaks if leak["who"] in ids]
                self.ok(not seen, "without %s: %s is missed" % (sensor, row.name), *seen)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory(prefix="planted.") as work:
        check = Check(os.path.abspath(sys.argv[1]), os.path.realpath(work))
        for name, rows in orders().items():
            leaks = [check.whole(name, rows, tracker) for tracker in ("fanotify", "scan")]
            missing, more = difference(*([l for l in ls if l["domain"] == "files"] for ls in leaks))
            check.ok(not missing + more, name + ": both trackers tell the same of files",
                     *missing, *more)
        for tracker in "fanotify", "scan":
            check.restored(tracker)
        for sensor in sorted({leak["domain"] for leak in check.table}):
            check.without(sensor)
    print("1..%d" % check.count)
    return check.failed > 0


if __name__ == "__main__":
    sys.exit(main())
