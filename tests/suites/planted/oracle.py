#!/usr/bin/python3
"""oracle: show by a shell, without fumehood, that each plant leaks and no control does.

Each row runs alone under plain pytest in a throwaway cell of bubblewrap; its shell command runs
before the row's first test and after its last (asker.py). A plant's must fail before and succeed
after, a control's must fail twice. TAP.

Usage: oracle.py [NAME...]
"""

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import make
import plants

HERE = os.path.dirname(os.path.abspath(__file__))
HOME = os.path.expanduser("~")
PROJECT = "/tmp/planted"
PLACES = make.places_of(PROJECT, HOME)

# What the plants find in the cell, then the row, whose path is $1.
SCRIPT = """
for place in /tmp ~; do
	mkdir $place/fumehood-canary && touch $place/fumehood-canary/keep || exit 1
done
mkdir ~/.cache && cp -a /mnt/suite %s && cd %s && exec /usr/bin/python3 -m pytest -q -p asker "$1"
""" % (PROJECT, PROJECT)


def cell_of(row, suite, answers):
    """The command that runs a row in a cell of its own."""
    env = {
        **plants.ENV,
        "PATH": "/usr/bin:/bin",
        "HOME": HOME,
        "PROJECT": PROJECT,
        "ORACLE": PLACES(row.oracle),
        "ORACLE_ANSWERS": "/mnt/answers/answers",
        "PYTHONPATH": "/mnt/plugin",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = ["bwrap", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-net"]
    command += ["--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev"]
    command += ["--mqueue", "/dev/mqueue", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", HOME]
    command += ["--tmpfs", "/mnt", "--ro-bind", suite, "/mnt/suite", "--ro-bind", HERE, "/mnt/plugin"]
    command += ["--bind", answers, "/mnt/answers", "--clearenv"]
    for name, value in env.items():
        command += ["--setenv", name, value]
    which = make.path_of(row) + ("::" + row.select if row.select else "")
    return command + ["sh", "-c", SCRIPT, "sh", which]


def ask(row, suite):
    """(before, after, log): did the command find the leak? None: the row did not run to its end."""
    with tempfile.TemporaryDirectory() as answers:
        # A file, no pipe: pipes are what a row looks for.
        with open(answers + "/log", "w", encoding="utf-8") as log:
            cell = cell_of(row, suite, answers)
            subprocess.run(cell, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False)
        with open(answers + "/log", encoding="utf-8", errors="replace") as f:
            log = f.read()
        try:
            with open(answers + "/answers", encoding="utf-8") as f:
                before, after = (int(status) == 0 for status in f.read().split())
        except (OSError, ValueError):
            before, after = None, None
        return before, after, log


def main(names):
    rows = [row for row in plants.ROWS if not names or row.name in names]
    failed = 0
    with tempfile.TemporaryDirectory() as work, ThreadPoolExecutor(os.cpu_count()) as pool:
        suite = work + "/suite"
        make.make(suite, PLACES)
        for number, (row, (before, after, log)) in enumerate(
            zip(rows, pool.map(lambda row: ask(row, suite), rows)), 1
        ):
            ok = before is False and after is bool(row.leaks)
            failed += not ok
            seen = "leaks" if row.leaks else "leaves nothing"
            print("%sok %d - %s %s" % ("" if ok else "not ", number, row.name, seen), flush=True)
            if not ok:
                print("# before: %s, after: %s" % (before, after))
                for line in log.splitlines():
                    print("#", line)
    print("1..%d" % len(rows))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
