#!/usr/bin/python3
"""hundred: more cells at once than a user may have fanotify groups. TAP.

Each command waits until all run, so that they do; a suite that runs meanwhile finds no group left.
Usage: hundred.py CELL_RUN FUMEHOOD
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

NO_LONGER_THAN = 300  # seconds
BEYOND = 2  # cells more than groups
GROUPS_MAX = 200  # a machine that allows more needs more cells than a test should start
GROUPS = "/proc/sys/fs/fanotify/max_user_groups"
COMMAND = """
echo "$1" >/tmp/mine
echo "$1" >left-in-the-project
echo here
cat
echo "$(cat /tmp/mine) $(cat left-in-the-project) $(ls /tmp | wc -l)"
"""
SUITE = """
def test_leaves():
    open("/tmp/left", "w").close()
"""


class Tap:
    def __init__(self):
        self.count, self.failed = 0, False

    def ok(self, passed, name, *why):
        self.count += 1
        self.failed |= not passed
        print("%sok %d - %s" % ("" if passed else "not ", self.count, name))
        for line in [] if passed else why:
            print("# " + str(line).replace("\n", "\n# "))


def crowd(cell_run, place, cells, stdin):
    """Started, and running all at once: a line came from each."""
    started = []
    for n in range(cells):
        out = os.path.join(place, "result-%d" % n)
        command = [cell_run, "--out", out, "--", "/bin/sh", "-c", COMMAND, "sh", str(n)]
        started.append(subprocess.Popen(command, cwd=os.path.join(place, "project"), stdin=stdin,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    for process in started:
        process.first = process.stdout.readline()
    return started


def one_more(fumehood, place):
    """A suite in a cell while the others have all groups: its leaks, and the end of its ledger."""
    suite, out = os.path.join(place, "suite"), os.path.join(place, "out")
    os.mkdir(suite)
    with open(os.path.join(suite, "test_one.py"), "w", encoding="utf-8") as file:
        file.write(SUITE)
    command = [fumehood, "run", "--out", out, "--", "/usr/bin/python3", "-m", "pytest", "-q",
               "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=suite, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=NO_LONGER_THAN)
    with open(os.path.join(out, "ledger.jsonl"), encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    leaks = [delta["key"] for line in lines if line["kind"] == "test" for delta in line["deltas"]
             if delta["kind"] == "leak"]
    return done, leaks, lines[-1]


def main():
    cell_run, fumehood = map(os.path.abspath, sys.argv[1:3])
    try:
        with open(GROUPS, encoding="utf-8") as file:
            groups = int(file.read())
    except FileNotFoundError:
        groups = GROUPS_MAX + 1
    if groups > GROUPS_MAX:
        print("1..0 # SKIP this kernel has no bound of fanotify groups that a test could reach")
        return 0
    tap = Tap()
    place = tempfile.mkdtemp(prefix="fumehood-hundred-", dir="/var/tmp")
    os.mkdir(os.path.join(place, "project"))
    hold, let_go = os.pipe()
    cells = groups + BEYOND
    try:
        running = crowd(cell_run, place, cells, hold)
        here = [process.first for process in running]
        tap.ok(here == ["here\n"] * cells, "%d cells run at once" % cells, *set(here))
        done, leaks, end = one_more(fumehood, place)
        tap.ok(done.returncode == 0 and leaks == ["/tmp/left"], "a suite beside them is seen as ever",
               leaks, done.stdout)
        tap.ok(end["tracker"] == "scan" and "max_user_groups" in (end["tracker_why"] or ""),
               "by scanning, and the ledger says why", end)
        tap.ok(end["tracker_why"] in done.stdout, "so does the summary", done.stdout)
        os.close(let_go)
        told = [process.communicate(timeout=NO_LONGER_THAN)[0] for process in running]
        tap.ok(told == ["%d %d 2\n" % (n, n) for n in range(cells)], "none saw what another wrote",
               *told[:3])
        tap.ok(all(process.returncode == 0 for process in running), "all ended well",
               [process.returncode for process in running])
        without = 0
        for n in range(cells):
            with open(os.path.join(place, "result-%d" % n), encoding="utf-8") as file:
                without += json.load(file)["fanotify"] != ""
        tap.ok(without >= BEYOND, "those that got no group know it", without)
        left = os.listdir(os.path.join(place, "project"))
        tap.ok(left == [], "nothing is left in the project", left)
    finally:
        os.close(hold)
        shutil.rmtree(place)
    print("1..%d" % tap.count)
    return tap.failed


if __name__ == "__main__":
    sys.exit(main())
