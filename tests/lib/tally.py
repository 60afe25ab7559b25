#!/usr/bin/python3
"""tally: count what meson ran, from its JSON logs.

A test that speaks TAP counts by its lines, any other as one. What failed and what was
skipped, with its reason, is printed; the last line is `N passed, N failed, N skipped`.
A skip without a reason is a failure. Exit status 1 when anything failed or nothing ran.

Usage: tally.py BUILD/meson-logs/TESTLOG_JSON...
"""

import json
import re
import sys

TAP_LINE = re.compile(r"(not )?ok\b *\d* *-? *(.*?) *(?:# *(\w+)\S* *(.*))?$")
TAP_PLAN = re.compile(r"1\.\.(\d+) *(?:# *skip\S* *(.*))?$", re.IGNORECASE)


def rows_of(entry):
    """(verdict, name, reason) for each thing that one entry of the log counts as."""
    rows = []
    planned = None
    for line in (entry.get("stdout") or "").splitlines():
        plan = TAP_PLAN.match(line)
        if plan:
            planned = int(plan[1])
            if planned == 0:
                rows.append(("skipped", entry["name"], plan[2] or ""))
            continue
        tap = TAP_LINE.match(line)
        if not tap:
            continue
        directive = (tap[3] or "").lower()
        if directive == "skip":
            rows.append(("skipped", tap[2], tap[4]))
        else:
            rows.append(("failed" if tap[1] else "passed", tap[2], ""))
    if planned is None:  # no TAP: what it printed is its own affair
        verdict = {"OK": "passed", "SKIP": "skipped"}.get(entry["result"], "failed")
        reason = (entry.get("stdout") or "").strip().splitlines()[-1:] if verdict == "skipped" else []
        return [(verdict, entry["name"], reason[0] if reason else "")]
    if entry["result"] not in ("OK", "SKIP") and all(row[0] != "failed" for row in rows):
        rows.append(("failed", "as a whole: %s" % entry["result"], ""))
    return rows


def main(logs):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for path in logs:
        build = path.split("/")[0]
        with open(path, encoding="utf-8") as lines:
            for entry in map(json.loads, lines):
                for verdict, name, reason in rows_of(entry):
                    if verdict == "skipped" and not reason:
                        verdict, name = "failed", name + " (skipped without a reason)"
                    counts[verdict] += 1
                    if verdict != "passed":
                        where = "%s: %s" % (build, entry["name"])
                        print("%-7s %s: %s%s" % (verdict, where, name, reason and ": " + reason))
    print("%(passed)d passed, %(failed)d failed, %(skipped)d skipped" % counts)
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
