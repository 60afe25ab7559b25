"""What tests of the whole program stand on: TAP, and a project with a home of its own.

The binary is the first argument of the script.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BINARY = os.path.realpath(sys.argv[1])
NO_LONGER_THAN = 120

# Whoever started us in the background, as a script does with &, has us ignore these, and what we start
# would inherit it.
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
    signal.signal(number, signal.SIG_DFL)

count = 0
failed = 0


def ok(holds, name, *shown):
    global count, failed
    count += 1
    failed += not holds
    print("%sok %d - %s" % ("" if holds else "not ", count, name.replace("#", "")), flush=True)  # some fork
    for text in shown if not holds else ():
        print("\n".join("# " + line for line in str(text).split("\n")))


def skip(name, why):
    global count
    count += 1
    print("ok %d - %s # SKIP %s" % (count, name, why), flush=True)


def plan():
    """The last line; the exit status."""
    print("1..%d" % count)
    return failed > 0


def wait_for(condition):
    """Waits for what another process does; ends only when it never does."""
    until = time.monotonic() + NO_LONGER_THAN
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.02)
    return False


def finish(process):
    """Status and both outputs, to the byte."""
    texts = process.communicate(timeout=NO_LONGER_THAN)
    return (process.returncode, *(text.decode(errors="surrogateescape") for text in texts))


class Place:
    """A project with its own home and state folder."""

    def __init__(self, files):
        self.top = tempfile.mkdtemp(prefix="fumehood-run.", dir=os.environ.get("TMPDIR", "/var/tmp"))
        self.home = os.path.join(self.top, "home")
        self.project = os.path.join(self.top, "project")
        os.makedirs(self.home)
        os.makedirs(os.path.join(self.project, ".git"))
        for name, text in files.items():
            path = os.path.join(self.top, name) if name.startswith("home/") else os.path.join(self.project, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as out:
                out.write(text if isinstance(text, bytes) else text.encode())

    def environment(self, more):
        found = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": self.home, "LANG": "C.UTF-8"}
        found.update(more)
        return found

    def start(self, args, env):
        return subprocess.Popen(
            [BINARY] + args,
            cwd=self.project,
            env=self.environment(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, args, env=None):
        return finish(self.start(args, env or {}))

    def folder(self):
        """The newest run."""
        found = []
        for top, _, files in os.walk(os.path.join(self.home, ".local/state/fumehood")):
            if "run.json" in files:
                found.append(top)
        return max(found) if found else None

    def done(self):
        shutil.rmtree(self.top, ignore_errors=True)
