"""Commands of "prepare": run once, kept as a layer, laid on the project in every cell. Prints TAP.

A script stands in for npm: it writes a tree with links, modes and deletions, and a number that differs each time it runs. The binary is the first argument; the second says whether it was built with fault points. Runs as whoever calls.
"""

import json
import os
import re
import signal
import subprocess
import sys

import schema
from place import BINARY, NO_LONGER_THAN, Place, finish, ok, plan, skip, wait_for

FAULTS = sys.argv[2:] == ["true"]
PYTEST = ["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider"]

INSTALL = """#!/bin/sh
set -e
umask 022
mkdir -p node_modules/.bin node_modules/a open
cp lock.json node_modules/a/lock
printf '#!/bin/sh\\necho "tool %s"\\n' "$1" >node_modules/a/tool
chmod 755 node_modules/a/tool
ln -s ../a/tool node_modules/.bin/tool
ln node_modules/a/tool node_modules/twin
echo x >open/none && chmod 000 open/none && chmod 511 open
rm old.txt
rm -r gone && mkdir gone && echo new >gone/new
echo changed >version.txt
: >>README
echo x >.git/hook
echo secret >~/.npmrc
cat /proc/sys/kernel/random/uuid >node_modules/run
readlink /proc/self/ns/net >node_modules/net
"""
FILES = {
    "install.sh": INSTALL,
    "lock.json": "1\n",
    "old.txt": "old\n",
    "gone/old": "old\n",
    "version.txt": "1\n",
    "README": "read me\n",
    ".git/HEAD": "ref\n",
    "fumehood.json": '{"version": 1, "prepare": [{"run": ["sh", "./install.sh", "it\'s"], "inputs": ["lock.json", "*.sh"]}]}',
    "test_a.py": r"""
import os, subprocess
def test_tree():
    assert subprocess.check_output(["node_modules/.bin/tool"], text=True) == "tool it's\n"
    assert os.readlink("node_modules/.bin/tool") == "../a/tool"
    assert os.stat("node_modules/twin").st_nlink == 2
    assert oct(os.stat("open").st_mode) == "0o40511"
    assert oct(os.stat("open/none").st_mode) == "0o100000"
    assert not os.path.exists("old.txt")
    assert os.listdir("gone") == ["new"]
    assert open("version.txt").read() == "changed\n"
    assert open("README").read() == os.environ.get("README", "read me\n")
    assert os.listdir(".git") == ["HEAD"]
    assert not os.path.exists(os.path.expanduser("~/.npmrc"))
def test_network():
    assert open("node_modules/net").read() == os.environ["NET"] + "\n" != os.readlink("/proc/self/ns/net") + "\n"
def test_touch():
    os.rename("node_modules/a/lock", "node_modules/a/x")
    os.rename("node_modules/a/x", "node_modules/a/lock")
    open("node_modules/run", "a").close()
""",
}


def make_place(**more):
    return Place({**FILES, **more})


def write(place, name, text):
    with open(os.path.join(place.project, name), "w", encoding="utf-8") as out:
        out.write(text)


def run(place, *options, command=(), env=None):
    net = ["--env", "NET=" + os.readlink("/proc/self/ns/net")]
    return place.run(["run", "--color=never", *net, *options, "--", *(command or PYTEST)], env)


def stamp(place, *options, env=None):
    """The number that the stand-in wrote when it ran last; what it said on stderr."""
    status, out, err = place.run(["exec", *options, "--report", "/dev/null", "--", "cat", "node_modules/run"], env)
    return out if status == 0 else "status %d: %s" % (status, err)


def layers(place):
    top = os.path.join(place.home, ".cache/fumehood/layers")
    return sorted(os.listdir(top)) if os.path.exists(top) else []


def leftovers(place):
    """What is in the folders of layers beside what belongs there."""
    top = os.path.join(place.home, ".cache/fumehood/layers")
    return [n for name in layers(place) for n in os.listdir(os.path.join(top, name)) if n not in ("layer", "layer.json")]


def test_tree():
    place = make_place()
    before = sorted(os.listdir(place.project))
    status, out, err = run(place)
    ok(
        status == 0 and re.search(r"^3 passed in [0-9.]+ s; nothing left behind\.$", out, re.M),
        "the suite finds what was prepared, and nothing of it is its own",
        status,
        out,
        err,
    )
    ok(
        re.search(r"^preparing: sh \./install\.sh 'it'\\''s'\nprepared in [0-9.]+ s: [0-9]+ files, [0-9.]+ MB$", err, re.M),
        "what was run is told",
        err,
    )
    ok(sorted(os.listdir(place.project)) == before and os.path.exists(os.path.join(place.project, "old.txt")), "the project is as it was")
    ok(not os.path.exists(os.path.join(place.home, ".npmrc")), "... and so is the home")
    folder = os.path.join(place.top, "out")
    status, out, err = run(place, "--out", folder)
    ok(status == 0 and re.search("^prepared earlier: /.*/layer$", err, re.M), "the next run uses it again", status, out, err)
    wrong = schema.errors_of_run(folder)
    with open(os.path.join(folder, "run.json"), encoding="utf-8") as text:
        about = json.load(text)
    ok(not wrong and about["prepared"]["reused"] and about["prepared"]["digest"] == layers(place)[0], "... and its run.json says so", wrong)
    status, out, err = run(place, "-q")
    ok(status == 0 and err == "", "-q says nothing of it", err)
    for options in (["--project", "copy"], ["--scratch", ".."]):
        status, out, err = run(place, *options)
        ok(status == 0 and "3 passed" in out, "with " + " ".join(options), status, out, err)
    place.done()


def test_damage():
    suite = "import os, shutil\ndef test_a(): shutil.rmtree('node_modules/a'); open('version.txt', 'w').write('2')\n"
    place = make_place(**{"test_a.py": suite})
    _, out, err = run(place)
    ok(
        re.search(r"^FH105 test_a.py::test_a  deleted \S+/node_modules/a/tool ", out, re.M)
        and re.search(r"^FH105 test_a.py::test_a  changed \S+/version.txt \(", out, re.M),
        "what was prepared stood before the tests began",
        out,
        err,
    )
    _, out, err = run(place)
    ok("deleted" in out, "... and is whole for the next run", out, err)
    place.done()


def test_when():
    place = make_place()
    first = stamp(place)
    ok(len(first) == 37 and stamp(place) == first, "commands run once", first)
    write(place, "test_b.py", "")
    write(place, "README", "other\n")
    status, out, err = run(place, "--env", "README=other\n")
    ok(status == 0, "other files of the project may change, and that is seen", out, err)
    ok(stamp(place) == first, "... and nothing is prepared again")
    write(place, "lock.json", "2\n")
    second = stamp(place)
    ok(len(second) == 37 and second != first, "a changed input", second)
    write(place, "lock.json", "1\n")
    ok(stamp(place) == first, "... and changed back: both are kept")
    ok(stamp(place, "--env", "CC=clang") not in (first, second), "another environment")
    write(place, "version.txt", "2\n")
    third = stamp(place)
    ok(len(third) == 37 and third != first, "a changed file that the layer would hide", third)
    typed = os.path.join(place.top, "typed")
    place_env = place.environment({"TERM": "vt100"})
    subprocess.run(
        ["script", "-qec", BINARY + " exec --report /dev/null -- cat node_modules/run", typed],
        cwd=place.project,
        env=place_env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        timeout=NO_LONGER_THAN,
        check=False,
    )
    with open(typed, encoding="utf-8") as text:
        seen = text.read()
    ok(third.strip() in seen and "preparing" not in seen, "the same on a terminal", seen)
    fourth = stamp(place, "--prepare", "again")
    ok(len(fourth) == 37 and fourth != third and stamp(place) == fourth, "--prepare again", fourth)
    status, out, err = place.run(["exec", "-q", "--prepare", "never", "--", "ls", "old.txt", "node_modules"])
    ok(out == "old.txt\n" and status == 2, "--prepare never", status, out, err)
    place.done()


def test_failure():
    steps = [
        {"run": "echo one >made; echo first", "inputs": []},
        {"run": "echo \x1b[2J; echo to stderr >&2; (exit 7)", "inputs": []},
        {"run": "echo never", "inputs": []},
    ]
    place = Place({"fumehood.json": json.dumps({"version": 1, "prepare": steps}), "test_a.py": "def test_a(): pass\n"})
    status, out, err = run(place)
    ok(
        status == 69
        and "fumehood: prepare: echo \\x1b[2J; echo to stderr >&2; (exit 7) ended with status 7\nhint: " in err
        and "  | + echo one >made; echo first\n  | first\n" in err
        and "  | \\x1b[2J\n  | to stderr\n" in err
        and "| never" not in err,
        "a command that fails ends it, and is named",
        status,
        err,
    )
    ok(out == "" and not place.folder() and not leftovers(place), "... and leaves neither run nor layer")
    place.run(["exec", "--", "true"])
    ok(place.run(["exec", "--", "true"])[0] == 125, "of exec that is 125")
    steps = [
        {"run": "echo much", "inputs": []},
        {"run": "yes . | head -c 100000; head -c 9 /dev/zero; echo at last; exit 1", "inputs": []},
    ]
    write(place, "fumehood.json", json.dumps({"version": 1, "prepare": steps}))
    err = run(place)[2]
    ok("fumehood: prepare: yes . | head -c 100000;" in err and "at last\n" in err, "... also behind much output", err[-2000:])
    steps = [{"run": "true", "inputs": ["none.json"]}]
    write(place, "fumehood.json", json.dumps({"version": 1, "prepare": steps}))
    status, _, err = run(place)
    ok(status == 65 and "the input none.json of prepare is not there\nhint: it is looked for in /" in err, "an input that is not there", status, err)
    write(place, "fumehood.json", json.dumps({"version": 1, "prepare": [{"run": "true", "inputs": [".git"]}]}))
    status, _, err = run(place)
    ok(status == 65 and "the input .git of prepare is a folder" in err, "an input that is a folder", status, err)
    write(place, "fumehood.json", json.dumps({"version": 1, "prepare": [{"run": "true", "inputs": []}]}))
    status, _, err = run(place, env={"XDG_CACHE_HOME": os.path.join(place.project, "cache")})
    ok(status == 64 and "would be kept in the project itself" in err, "a cache in the project", status, err)
    place.done()


def test_left_process():
    steps = [{"run": "(setsid sh -c 'while :; do date >busy; done') & sleep 0.2", "inputs": []}]
    place = Place({"fumehood.json": json.dumps({"version": 1, "prepare": steps})})
    status, out, err = place.run(["exec", "-q", "--", "sh", "-c", "cat busy; ls"])
    ok(status == 0 and "busy" in out, "a process that is left is ended before its files are kept", status, out, err)
    place.done()


def in_mounts(place, script, *args):
    """A shell in a mount namespace of its own, with the rights to mount."""
    user = [] if os.getuid() == 0 else ["--user", "--map-current-user", "--keep-caps"]
    done = subprocess.run(
        ["unshare", *user, "--mount", "sh", "-ec", script + '; exec "$@"', "sh", BINARY, *args],
        cwd=place.project,
        env=place.environment({"TOP": place.top}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=NO_LONGER_THAN,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_on_overlay():
    """A container's files lie on an overlay, where no whiteout can be made: a file with a mark stands for it."""
    place = make_place()
    os.mkdir(os.path.join(place.top, "layers"))
    marks = "userxattr," if os.getuid() else ""
    script = (
        "cd $TOP; mount -t tmpfs none layers; mkdir layers/up layers/work; "
        "mount -t overlay -o %slowerdir=$TOP,upperdir=layers/up,workdir=layers/work none $TOP; cd $TOP/project" % marks
    )
    net = ["--env", "NET=" + os.readlink("/proc/self/ns/net")]
    status, out, err = in_mounts(place, script, "run", *net, "--", *PYTEST)
    ok(status == 0 and "3 passed" in out and "nothing left behind" in out, "project and cache on an overlay", status, out, err)
    place.done()


def test_mount_in_project():
    place = make_place()
    script = "mount -t tmpfs none gone"
    status, _, err = in_mounts(place, script, "exec", "--", "true")
    ok(
        status == 125 and "/project/gone is a mount of its own\nhint: unmount it, or --prepare never" in err,
        "a mount in the project",
        status,
        err,
    )
    place.done()


def test_two_at_once():
    place = make_place(**{"install.sh": INSTALL + "sleep 2\n"})
    args = ["exec", "--", "cat", "node_modules/run"]
    ended = [finish(process) for process in [place.start(args, {}) for _ in range(3)]]
    ok(
        [status for status, _, _ in ended] == [0, 0, 0] and len({out for _, out, _ in ended}) == 1,
        "three runs at once prepare once",
        ended,
    )
    said = "".join(err for _, _, err in ended)
    ok(said.count("preparing: ") == 1 and said.count("waiting for another run") == 2, "... and two wait for it", said)
    place.done()


def test_kill():
    place = make_place(**{"install.sh": INSTALL + "sleep 600\n"})
    process = place.start(["exec", "--", "true"], {})
    begun = wait_for(lambda: leftovers(place) == ["new"])
    process.send_signal(signal.SIGKILL)
    finish(process)
    write(place, "install.sh", INSTALL)
    ok(begun and len(stamp(place)) == 37, "killed with -9 in its midst: the next one prepares")
    place.done()
    if not FAULTS:
        skip("killed at its instants", "built without fault points")
        return
    place = make_place()
    seen = set()
    for point in "layer-begun:1", "copy-file:1", "copy-file:5", "layer-saved:1":
        status, _, err = place.run(["exec", "--", "true"], {"FUMEHOOD_FAULT": point})
        whole = [name for name in layers(place) if os.path.exists(os.path.join(place.home, ".cache/fumehood/layers", name, "layer"))]
        ok(status == -9 and not whole, "killed at %s: there is no layer" % point, status, err, whole)
        number = stamp(place)
        ok(len(number) == 37 and not leftovers(place), "... and the next run makes it whole", number, leftovers(place))
        seen.add(number)
        write(place, "lock.json", str(len(seen)))
        subprocess.run(["chmod", "-R", "u+rwx", place.home], check=True)
        subprocess.run(["rm", "-rf", os.path.join(place.home, ".cache/fumehood")], check=True)
    place.done()


def test_bound():
    place = Place({"n": "0", "fumehood.json": '{"version": 1, "prepare": [{"run": "cp n made; mkdir d; chmod 000 d", "inputs": ["n"]}]}'})
    for n in range(18):
        write(place, "n", str(n))
        status, out, err = place.run(["exec", "-q", "--", "cat", "made"])
        if (status, out) != (0, str(n)):
            ok(False, "layer %d" % n, status, out, err)
    ok(len(layers(place)) == 16, "no more than 16 are kept", len(layers(place)))
    write(place, "n", "0")
    _, _, err = place.run(["exec", "--report", "/dev/null", "--", "true"])
    ok("preparing" in err, "... the one that was not used for longest is gone", err)
    place.done()


def test_ctrl_c():
    place = make_place(**{"install.sh": "sleep 600\n"})
    process = place.start(["exec", "--", "true"], {})
    begun = wait_for(lambda: leftovers(place) == ["new"])
    process.send_signal(signal.SIGINT)
    ok(begun and process.wait(NO_LONGER_THAN) == -signal.SIGINT, "ctrl-C ends it")
    finish(process)
    place.done()


for test in test_on_overlay, test_mount_in_project, test_tree, test_damage, test_when, test_failure, test_left_process, test_two_at_once, test_kill, test_bound, test_ctrl_c:
    test()
sys.exit(plan())
