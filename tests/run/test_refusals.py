"""What the command line and fumehood.json refuse: input, exit status, exact message. Prints TAP.

Nothing but the message is said, and nothing is left behind.
Usage: test_refusals.py FUMEHOOD
"""

import json
import os
import sys

from place import Place, ok, plan

EXEC = 125  # "fumehood failed", which no command of its own ends with
USAGE = 64
DATA = 65
PORT = "is no port: a number from 1 to 65535"
DURATION = "is no duration; write 500ms, 90s, 20m or 2h"
SIZE = "write 512K, 64M or 2G"
PARTS = (
    "user, mount, pid, net, ipc, uts, cgroup, time, root, scratch, overlay, proc, dev, caps, "
    "no_new_privs, seccomp, limits"
)
HERE = "{}/fumehood.json:1:16: "
TOLD = "status 0; nothing changed\nfumehood: "  # the command did its part, and that is said first
NO_COMMAND = "there is no command to run\nhint: say what to run: fumehood exec -- CMD"


def ran(*options):
    return ["exec", *options, "--", "true"]


def configured(text, *args):
    return list(args) or ran(), text


# Arguments (with them, what stands in fumehood.json), status, message; {} is the project.
ROWS = [
    # exec
    (["exec"], EXEC, NO_COMMAND),
    (["exec", "--"], EXEC, NO_COMMAND),
    (ran("--netwrok", "none"), EXEC, "there is no option --netwrok\nhint: did you mean --network?"),
    (ran("-x"), EXEC, "there is no option -x"),
    (ran("--fail-on", "leak"), EXEC, "--fail-on is no option of exec\nhint: it is one of: check, run"),
    (ran("--json=1"), EXEC, "--json takes no value"),
    (ran("--network"), EXEC, "--network needs a value: none|host"),
    (ran("--network", "lan"), EXEC, '--network: "lan" is not among none, host'),
    (ran("--forward", "x"), EXEC, '--forward: "x" ' + PORT),
    (ran("--forward", "0"), EXEC, '--forward: "0" ' + PORT),
    (ran("--forward", "65536"), EXEC, '--forward: "65536" ' + PORT),
    (ran("--forward"), EXEC, "--forward needs a value: PORT"),
    (
        ran("--forward", "8080", "--network", "host"),
        EXEC,
        "port 8080 cannot be forwarded into the host's own network\n"
        "hint: with --network host the suite reaches it already: leave --forward out",
    ),
    (ran("--env", "A"), EXEC, "--env: a variable is written NAME=VALUE"),
    (ran("--env", "=x"), EXEC, "--env: a variable is written NAME=VALUE"),
    (ran("--pass-env", "A=B"), EXEC, '--pass-env: "A=B" is no name of a variable'),
    (ran("--expose", "none"), EXEC, "expose {}/none: it is not there"),
    (ran("--expose", ""), EXEC, "--expose: an entry is empty"),
    (
        ran("--keep", "none"),
        EXEC,
        TOLD + "--keep: in the cell, look at {}/none: No such file or directory",
    ),
    (
        ran("--keep", "folder/none/x"),
        EXEC,
        TOLD + "--keep: in the cell, open the folder of {}/folder/none/x: No such file or directory",
    ),
    (ran("--keep", ""), EXEC, "--keep: an entry is empty"),
    (ran("--timeout", "x"), EXEC, '--timeout: "x" ' + DURATION),
    (ran("--timeout", "-1s"), EXEC, '--timeout: "-1s" ' + DURATION),
    (
        ran("--timeout", "99999h"),
        EXEC,
        '--timeout: "99999h" is over 720h; write 500ms, 90s, 20m or 2h',
    ),
    (ran("--grace", "x"), EXEC, '--grace: "x" ' + DURATION),
    (ran("--scratch", "none"), EXEC, "--scratch: {}/none: No such file or directory"),
    (
        ran("--scratch", "file"),
        EXEC,
        "the scratch folder {}/file lies in the project, which it shall hold the changes of",
    ),
    (
        ran("--scratch", "/proc"),
        EXEC,
        "cell: make /proc/fumehood-%d: No such file or directory\n"
        "hint: name a folder on a disk, which you can write, with --scratch DIR" % os.getuid(),
    ),
    (ran("--scratch-size", "x"), EXEC, '--scratch-size: "x" is no size; ' + SIZE),
    (ran("--scratch-size", "1"), EXEC, '--scratch-size: "1" has no unit; ' + SIZE),
    (
        ran("--scratch-size", "1T"),
        EXEC,
        '--scratch-size: "1T" ends in a unit that is not known; ' + SIZE,
    ),
    (ran("--caps", "all"), EXEC, '--caps: "all" is not among needed, none, setid'),
    (
        ran("--accept-reduced", "netx"),
        EXEC,
        '--accept-reduced: "netx" is not among %s\nhint: did you mean net?' % PARTS,
    ),
    (ran("--project", "none"), EXEC, "--project: none: No such file or directory"),
    (ran("--project", "file"), EXEC, "--project: file is no folder"),
    (
        ran("--project", "/"),
        EXEC,
        "/ cannot be the project: it is the root of the file system\n"
        "hint: name the folder of the suite with --project DIR",
    ),
    (ran("--project-mode", "move"), EXEC, '--project-mode: "move" is not among overlay, copy'),
    (ran("--isolation", "none"), EXEC, '--isolation: "none" is not among full, landlock'),
    (ran("--prepare", "maybe"), EXEC, '--prepare: "maybe" is not among auto, again, never'),
    (ran("--report", "folder"), EXEC, "--report: open folder: Is a directory"),
    (ran("--color", "blue"), EXEC, '--color: "blue" is not among auto, always, never'),
    (["exec", "--", "./file"], 126, "run ./file: Permission denied"),
    # doctor
    (["doctor", "--oops"], USAGE, "there is no option --oops\nhint: did you mean --caps?"),
    (["doctor", "--keep", "x"], USAGE, "--keep is no option of doctor\nhint: it is one of: run, exec"),
    (
        ["doctor", "pytest"],
        USAGE,
        '"pytest" stands where an option should\n'
        "hint: the command comes after --: fumehood doctor -- pytest",
    ),
    (["doctor", "--forward", "x"], USAGE, '--forward: "x" ' + PORT),
    # what is new in run
    (["run", "--tty", "--", "true"], USAGE, "--tty is no option of run\nhint: it is one of: exec"),
    (
        ["run", "--custom", "x", "--", "true"],
        USAGE,
        "--custom: a probe is written NAME=COMMAND",
    ),
    (
        ["run", "--custom", "=x", "--", "true"],
        USAGE,
        "--custom: the name of a probe has 1 to 64 bytes",
    ),
    (["run", "--restore=1", "--", "true"], USAGE, "--restore takes no value"),
    (["run", "--contain=1", "--", "true"], USAGE, "--contain takes no value"),
    (
        ["run", "--contain", "--without", "env,files", "--", "true"],
        USAGE,
        "--contain is about files, which --without leaves out\n"
        "hint: leave one of them out; --no-contain takes back what fumehood.json says",
    ),
    (
        (["run", "--without", "files", "--", "true"], {"restore": True}),
        USAGE,
        "--restore is about files, which --without leaves out\n"
        "hint: leave one of them out; --no-restore takes back what fumehood.json says",
    ),
    # fumehood.json
    (
        configured({"netwrok": "none"}),
        EXEC,
        HERE + 'unknown key "netwrok"\nhint: did you mean "network"?',
    ),
    (configured({"forward": [0]}), EXEC, HERE + '"forward": "0" ' + PORT),
    (configured({"forward": "x"}), EXEC, HERE + '"forward" must be a list of ports'),
    (configured({"scratch": {}}), EXEC, HERE + '"scratch" must be a text'),
    (
        configured({"prepare": 1}),
        EXEC,
        HERE + '"prepare" must be a list of objects with "run" and "inputs"',
    ),
    (
        configured({"custom": 1}, "run", "--", "true"),
        DATA,
        HERE + '"custom" must be a list of objects with "name" and "run"',
    ),
    (
        configured({"network": "lan"}, "doctor"),
        DATA,
        HERE + '"network": "lan" is not among none, host',
    ),
]


def lines(top):
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names)


def main():
    place = Place({"file": "x\n", "folder/inside": ""})
    path = os.path.join(place.project, "fumehood.json")
    for args, status, message in ROWS:
        args, config = args if isinstance(args, tuple) else (args, None)
        if config is not None:
            with open(path, "w", encoding="utf-8") as f:
                f.write(json.dumps({"version": 1, **config}))
        before = lines(place.top)
        seen, out, err = place.run(args)
        wanted = "fumehood: %s\n" % (message or "").replace("{}", place.project)
        name = " ".join(args) if config is None else "%s, %s" % (" ".join(args), json.dumps(config))
        ok((seen, out, err) == (status, "", wanted), "%s: %d" % (name, status), seen, out, err)
        ok(lines(place.top) == before, "... and nothing is left")
        if config is not None:
            os.unlink(path)
    place.done()
    return plan()


if __name__ == "__main__":
    sys.exit(main())
