"""fumehood doctor, run and exec on hosts that refuse a cell, each emulated: all name the same true cause.
Prints TAP.

Usage: test_doctor.py FUMEHOOD EMULATE
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

import schema
from place import NO_LONGER_THAN, ok, plan, skip

FUMEHOOD, EMULATE = map(os.path.realpath, sys.argv[1:3])
ROOT = os.getuid() == 0

# A namespace of its own for what the emulation does; a user needs one with capabilities.
NEW_USER = "unshare --user --map-current-user --keep-caps "
MOUNTS = "unshare --mount --propagation private " if ROOT else NEW_USER + "--mount --propagation private "

# name, shell text that runs "$@", the step that fails, the cause, a part of what it says, for root only
REFUSED = [
    ("Docker's filter", EMULATE + ' docker "$@"', "namespaces", "seccomp", "Docker's default does", False),
    ("namespaces without power", EMULATE + ' inside "$@"', "capabilities", "seccomp", "little be done", False),
    ("a filter that kills", EMULATE + ' kill "$@"', "capabilities", "seccomp", "little be done", False),
    (
        "a masked /proc: tmpfs",
        MOUNTS + "sh -c 'mount -t tmpfs none /proc/bus && \"$@\"' sh \"$@\"",
        "proc",
        "masked-proc",
        "systempaths=unconfined",
        False,
    ),
    (
        "a masked /proc: a file",
        MOUNTS + "sh -c 'mount --bind /dev/null /proc/uptime && \"$@\"' sh \"$@\"",
        "proc",
        "masked-proc",
        "systempaths=unconfined",
        False,
    ),
    (
        "a read-only /proc/sys",
        MOUNTS + "sh -c 'mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && \"$@\"' sh \"$@\"",
        "proc",
        "masked-proc",
        "systempaths=unconfined",
        False,
    ),
    (
        "a chroot into a folder",
        MOUNTS + "sh -c 'mount --rbind / \"$0\" && chroot \"$0\" /usr/bin/env -C \"$PWD\" \"$@\"' \"$TOP/root\" \"$@\"",
        "namespaces",
        "chroot",
        "chroot",
        False,
    ),
    (
        "a chroot into an overlay",
        MOUNTS + "sh -c 'mount -t tmpfs none \"$0\" && cd \"$0\" && mkdir u w m && "
        "mount -t overlay -o lowerdir=/,upperdir=u,workdir=w none m && mount --rbind /proc m/proc && "
        "mount --rbind /dev m/dev && mkdir -p \"m$TOP\" && mount --rbind \"$TOP\" \"m$TOP\" && "
        "mount --bind \"$BIN\" \"m$BIN\" && "
        "exec chroot m /usr/bin/env -C \"$PROJECT\" \"$@\"' \"$TOP/root\" \"$@\"",
        "namespaces",
        "chroot",
        "chroot",
        True,
    ),
    (
        "a project on an overlay over an overlay",
        MOUNTS + "sh -c 'mount -t tmpfs none \"$0\" && cd \"$0\" && mkdir l u w m v x && cp -a \"$PROJECT/.\" l && "
        "mount -t overlay -o lowerdir=l,upperdir=u,workdir=w none m && "
        "mount -t overlay -o lowerdir=m,upperdir=v,workdir=x none \"$PROJECT\" && "
        "cd \"$PROJECT\" && \"$@\"' \"$TOP/root\" \"$@\"",
        "overlay",
        "overlay-on-overlay",
        "stacks no third",
        True,
    ),
    ("no /proc", MOUNTS + "sh -c 'umount -l /proc && \"$@\"' sh \"$@\"", None, "no-proc", "there is no /proc here", True),
] + [
    (
        "user.max_%s_namespaces = 0" % name,
        NEW_USER + 'sh -c \'echo 0 >/proc/sys/user/max_%s_namespaces && "$@"\' sh "$@"' % name,
        "namespaces",
        "limit",
        "user.max_%s_namespaces is 0 here: sysctl -w user.max_%s_namespaces=15000" % (name, name),
        False,
    )
    for name in ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup", "time")
]

def is_sanitized():
    with open(FUMEHOOD, "rb") as program:
        return b"__asan_init" in program.read()


class Place:
    def __init__(self):
        self.top = tempfile.mkdtemp(prefix="fumehood-doctor.", dir=os.environ.get("TMPDIR", "/var/tmp"))
        self.project = os.path.join(self.top, "project")
        for name in ("home/.ssh", "home/bin", "home/.config", "project/.git", "root"):
            os.makedirs(os.path.join(self.top, name))
        for name in ("home/bin/tool", "home/.ssh/id_rsa", "home/.netrc"):
            with open(os.path.join(self.top, name), "w", encoding="utf-8") as out:
                out.write("#!/bin/sh\n")
            os.chmod(os.path.join(self.top, name), 0o755)
        with open(os.path.join(self.project, "test_x.py"), "w", encoding="utf-8") as out:
            out.write("def test_x(): open('/tmp/left', 'w').write('x')\n")

    def run(self, args, around='"$@"', env=None, cwd=None):
        """args under a shell text that emulates a host."""
        home = os.path.join(self.top, "home")
        found = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": home, "TOP": self.top}
        found.update(PROJECT=self.project, BIN=os.path.dirname(FUMEHOOD))
        found.update(env or {})
        done = subprocess.run(
            ["/bin/sh", "-c", around, "sh", FUMEHOOD] + args,
            cwd=cwd or self.project,
            env=found,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=NO_LONGER_THAN,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def doctor(self, args=(), **how):
        status, out, err = self.run(["doctor", "--json", *args], **how)
        try:
            tree = json.loads(out)
        except ValueError:
            return status, {}, out + err
        wrong = schema.errors(schema.load("doctor"), tree)
        ok(not wrong and tree["exit"] == status, "fits the schema, and tells its status", "\n".join(wrong))
        return status, tree, out + err

    def done(self):
        shutil.rmtree(self.top, ignore_errors=True)


def step_of(tree, state):
    return next((step for step in tree.get("steps", []) if step["state"] == state), {})


def refused(place, name, around, step, cause, says):
    """doctor names the cause; run ends with 69, exec with 125, and both say the same."""
    status, tree, seen = place.doctor(around=around)
    found = step_of(tree, "failed")
    ok(status == 69, name + ": doctor's status", seen)
    if step:
        told = "%s: %s" % (found.get("why"), found.get("remedy"))
        ok(found.get("name") == step, name + ": the step is " + step, seen)
        ok(found.get("cause") == cause, "%s: the cause is %s" % (name, cause), seen)
        ok(says in told, name + ": why", told)
    else:
        told = seen.partition("hint: ")[2].strip()
        ok(says in told, name + ": why", seen)
    for command, wanted in ("run", 69), ("exec", 125):
        status, _, err = place.run([command, "--", "/bin/true"], around=around)
        ok(status == wanted and "hint: " + told in err, "%s: %s says the same" % (name, command), err)


def host_refuses(place):
    for name, around, step, cause, says, root_only in REFUSED:
        if root_only and not ROOT:
            skip(name, "only root can emulate it")
            continue
        if name == "no /proc" and is_sanitized():
            skip(name, "the sanitizers read it themselves")
            continue
        refused(place, name, around, step, cause, says)
    ok(not leftovers(place), "nothing is left behind", leftovers(place))


def hanging(place):
    """A step that never ends is given up after ten seconds."""
    status, tree, seen = place.doctor(["--project", place.project], around=EMULATE + ' hang "$@"')
    found = step_of(tree, "failed")
    ok(status == 69 and found.get("name") == "capabilities", "a step that hangs is named", seen)
    ok(found.get("text") == "no answer within 10 seconds", "and why it was given up", seen)
    left = subprocess.run(["pgrep", "-f", "doctor .*" + place.project], capture_output=True, check=False).stdout
    ok(not left, "nobody hangs on", left)


def leftovers(place):
    """Mounts and processes of ours."""
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        found = [line for line in mounts if place.top in line]
    return found + subprocess.run(["pgrep", "-f", place.top], capture_output=True, check=False).stdout.split()


def without_groups(place):
    """No fanotify group is left: a full cell, with a scan, and both say why."""
    around = NEW_USER + 'sh -c \'echo 0 >/proc/sys/user/max_fanotify_groups && "$@"\' sh "$@"'
    status, tree, seen = place.doctor(around=around)
    found = step_of(tree, "reduced")
    ok(
        status == 0 and tree.get("verdict") == "full" and found.get("name") == "fanotify",
        "no fanotify group: a full cell",
        seen,
    )
    ok(found.get("cause") == "fanotify-groups", "no fanotify group: the cause", seen)
    status, out, err = place.run(["run", "--", "/usr/bin/python3", "-m", "pytest"], around=around)
    ok(
        status == 0 and "changed files were found by a scan: fanotify_init: Too many open files" in out,
        "no fanotify group: the summary says so",
        out + err,
    )
    status, out, err = place.run(["run", "--tracker", "scan", "--", "/usr/bin/python3", "-m", "pytest"])
    ok(status == 0 and "found by a scan" not in out, "a scan that was asked for is no news", out + err)


def plain_host(place):
    status, tree, seen = place.doctor()
    ok(status == 0 and tree.get("verdict") == "full", "here a full cell can be made", seen)
    ok({step["state"] for step in tree.get("steps", [])} == {"ok"}, "every step passes", seen)
    ok(set(tree.get("isolation", {}).values()) == {"verified"}, "every property is verified", seen)
    ok(tree.get("project", {}).get("why") == "the top of the git checkout", "why this project", seen)
    status, tree, seen = place.doctor(cwd="/")
    ok(status == 0 and tree.get("project", {}).get("path") == "/usr", "from where no project can be", seen)
    status, out, _ = place.run(["doctor"])
    ok(status == 0 and "A full cell can be made here." in out and "\033" not in out, "as text, without colour", out)
    status, out, _ = place.run(["doctor", "--quiet", "--", "pytest"])
    ok(status == 0 and out == "A full cell can be made here.\n", "the verdict alone", out)
    status, out, _ = place.run(["doctor", "--color", "always"])
    ok("\033[" in out, "with colour when asked for", out)


def sight(place):
    home = os.path.join(place.top, "home")
    env = {"PATH": home + "/bin:/nowhere/bin:/usr/bin:/bin", "PYTHONPATH": "x", "SECRET": "s3cr3t", "KEPT": "k"}
    args = ["--pass-env", "KEPT", "--env", "MINE=m", "--expose", home + "/.config", "--", "pytest"]
    status, tree, seen = place.doctor(args, env=env)
    told = tree.get("sight", {})
    rows = {row["path"]: row["why"] for row in told.get("visible", [])}
    ok(status == 0 and rows == {home + "/bin": "PATH", home + "/.config": "expose"}, "what is visible, and why", seen)
    names = {row["name"]: row["from"] for row in told.get("env", [])}
    ok((names.get("KEPT"), names.get("MINE"), names.get("HOME")) == ("passed", "set", "built"), "its variables", seen)
    dropped = {row["name"]: row["why"] for row in told.get("env_dropped", [])}
    ok(
        dropped.get("PYTHONPATH") == "imports would depend on who runs the suite" and dropped.get("SECRET", "") is None,
        "variables that are not passed on",
        seen,
    )
    ok("s3cr3t" not in seen, "no value is told", seen)
    status, out, _ = place.run(["doctor", *args], env=env)
    ok(home + "/bin: PATH\n" in out and "passed: KEPT\n" in out and "s3cr3t" not in out, "as text", out)
    status, out, err = place.run(["doctor", "--expose", home + "/.ssh", "--", "pytest"])
    ok(status == 64 and "no cell shows secrets" in err, "a secret is refused", err)


def main():
    place = Place()
    try:
        for part in (plain_host, sight, host_refuses, without_groups, hanging):
            part(place)
    finally:
        place.done()
    return plan()


sys.exit(main())
