#!/usr/bin/python3
"""escapes: attempts to get out of a cell, by the table in attempts.py. TAP.

Each attempt is made in a cell as it is: it has to fail as its row says. Then without the walls that
the row names: it has to get through, and the proof of that is looked for on the host. Where several
walls stop it, each of them must do so alone, the others left out.

What stands for the host are namespaces of our own, with canaries in them. A program without
barriers (-Dbarriers=false) is tried as well: there nothing can leave out a wall.
Usage: escapes.py CELL_RUN BARRIERS [--setid] [NAME...]; BARRIERS is true or false; with --setid the
cell's root may become other users
"""

import ctypes
import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

import attempts
import host

ALONE = "FUMEHOOD_ESCAPES_ALONE"
OPTIONS = ["--setid"] if host.SETID else []  # of cell_run
NO_LONGER_THAN = 60  # seconds, for one cell
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
libc = ctypes.CDLL(None, use_errno=True)


class Ran:
    """What came of one cell."""

    def __init__(self, said, errors, result):
        self.said = said
        self.errors = errors
        self.result = result
        lines = said.split()
        self.reached = lines[-1:] == ["reached"]
        self.refused = lines[-1] if lines[-2:-1] == ["refused"] else None

    def __str__(self):
        return (self.said + self.errors).strip() or "nothing was said"


def go_alone():
    """Become the root of namespaces that stand for the host, or an ordinary user in them."""
    if ALONE in os.environ:
        return
    user = [] if os.getuid() == 0 else ["--user", "--map-current-user", "--keep-caps"]
    kinds = ["--mount", "--pid", "--net", "--ipc", "--uts", "--fork", "--mount-proc"]
    os.environ[ALONE] = "yes"
    os.execvp("unshare", ["unshare", *user, *kinds, sys.executable, *sys.argv])


def as_caller(scene, walls):
    """In the child: an ordinary user has no capability, or his namespace is to be left out."""
    if os.getuid() != 0 and "user" not in walls:
        libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    if scene.terminal is not None:
        os.setsid()
        host.control_terminal(scene.terminal)
    else:
        os.setpgid(0, 0)


def try_in_cell(cell_run, row, scene, without):
    """Make the attempt in a cell without these walls."""
    walls = [wall for group in without for wall in group.split("+")]
    with tempfile.NamedTemporaryFile(dir=host.HOST, mode="r") as out:
        command = [cell_run, "--out", out.name, "--home", host.HOME]
        for name, value in scene.inside.items():
            command += ["--env", "%s=%s" % (name, value)]
        command += [*OPTIONS, *scene.options, "--", *attempts.command(row.attempt)]
        child = subprocess.Popen(
            command,
            cwd=host.PROJECT,
            env={"PATH": "/usr/bin:/bin", "FUMEHOOD_WITHOUT": ",".join(walls), **scene.outside},
            stdin=subprocess.PIPE if scene.terminal is None else scene.terminal,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            pass_fds=scene.fds,
            preexec_fn=lambda: as_caller(scene, walls),
        )
        begun = ""
        if scene.meanwhile:
            begun = child.stdout.readline()
            scene.meanwhile(child.pid)
        try:
            said, errors = child.communicate("go\n" if child.stdin else None, NO_LONGER_THAN)
        except subprocess.TimeoutExpired:
            child.kill()
            said, errors = child.communicate()
            errors += "it hangs"
        text = out.read()
    return Ran(begun + said, errors, json.loads(text) if text else {})


def one(cell_run, row, without):
    with row.scene() as scene:
        ran = try_in_cell(cell_run, row, scene, without)
        return ran, scene.proof(ran)


def complaints(cell_run, barriers, row):
    """What is not as the row says."""
    ran, out = one(cell_run, row, row.walls if not barriers else ())
    if out or (ran.refused, ran.reached) != (row.refused, row.refused is None):
        return "in a cell: %s%s" % (ran, ", and the host shows it" if out else "")
    if not barriers:
        return None
    ran, out = one(cell_run, row, row.walls)
    if not out or not ran.reached:
        seen = "the host shows it" if out else "the host does not show it"
        return "without %s: %s, %s" % (", ".join(row.walls), ran, seen)
    for wall in row.walls if len(row.walls) > 1 else ():
        ran, out = one(cell_run, row, [other for other in row.walls if other != wall])
        if out or not (ran.refused or ran.reached):
            return "with %s alone: %s" % (wall, ran)
    return None


def walls_without_a_row():
    """A wall that no attempt is known to be stopped by."""
    here = os.path.dirname(os.path.abspath(__file__))
    files = glob.glob(os.path.join(here, "..", "..", "..", "sandbox", "*.[ch]"))
    built = set()
    for name in files:
        with open(name, encoding="utf-8") as f:
            built.update(re.findall(r'barrier\("([^"]+)"\)', f.read()))
    named = {wall for row in attempts.ROWS for group in row.walls for wall in group.split("+")}
    return sorted(built - named)


def main(cell_run, barriers, names):
    host.make_host()
    lonely = walls_without_a_row()
    number = 1
    failed = bool(lonely)
    print("%sok 1 - walls without an attempt: %s" % ("not " if lonely else "", lonely or "none"))
    for row in attempts.ROWS:
        if (names and row.name not in names) or not row.concerns():
            continue
        number += 1
        why = row.moot()
        if why:
            print("ok %d - %s # SKIP %s" % (number, row.name, why), flush=True)
            continue
        wrong = complaints(cell_run, barriers, row)
        failed += bool(wrong)
        what = "%s [%s]" % (row.name, ", ".join(row.walls))
        print("%sok %d - %s" % ("not " if wrong else "", number, what), flush=True)
        for line in (wrong or "").splitlines():
            print("#", line[:300])
    print("1..%d" % number)
    return failed > 0


if __name__ == "__main__":
    go_alone()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main(os.path.abspath(sys.argv[1]), sys.argv[2] == "true", sys.argv[3 + len(OPTIONS) :]))
