#!/usr/bin/python3
"""How many launches of /bin/true a second, two at a time, beside bwrap, turn about, as JSON.

    pairs.py BUILD [ROUNDS]

Each round starts 100 of each, two at a time, and ends when nothing of them is left: what is taken
down in the background counts. Exits with 1 when bwrap launches more.
"""

import ctypes
import os
import shutil
import statistics
import sys
import time

import bench

LAUNCHES = 100
AT_A_TIME = 2
PR_SET_CHILD_SUBREAPER = 36
BWRAP = "--unshare-all --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp".split()


def a_second(command, env):
    began = time.perf_counter()
    started, running = 0, set()
    while True:
        while started < LAUNCHES and len(running) < AT_A_TIME:
            running.add(os.posix_spawn(command[0], command, env))
            started += 1
        try:
            pid, status = os.waitpid(-1, 0)  # orphans, too, come to us, their subreaper
        except ChildProcessError:
            return LAUNCHES / (time.perf_counter() - began)
        if pid in running and status != 0:
            sys.exit("%s: wait status %d" % (command, status))
        running.discard(pid)


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 11
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    bwrap = shutil.which("bwrap")
    if not bwrap:
        sys.exit("pairs.py: no bwrap here; apt-get install bubblewrap")
    with bench.place() as place:
        env = {"PATH": "/usr/bin:/bin", "HOME": os.path.expanduser("~")}
        commands = {
            "launch": [os.path.abspath("%s/tests/bench/launch" % sys.argv[1]), "/bin/true"],
            "exec": [os.path.abspath("%s/runner/fumehood" % sys.argv[1]), "exec", "-q", "--", "/bin/true"],
            "bwrap": [bwrap, *BWRAP, "/bin/true"],
        }
        os.chdir(place)  # the project
        speed = {name: [] for name in commands}
        for _ in range(rounds):
            for name, command in commands.items():
                speed[name].append(a_second(command, env))
    median = {name: statistics.median(values) for name, values in speed.items()}
    found = {"rounds": rounds, "launches_a_second": {name: round(value, 1) for name, value in median.items()}}
    bench.report(found, [
        ("bwrap / launch, two at a time", median["bwrap"] / median["launch"], 1.0),
    ])


if __name__ == "__main__":
    main()
