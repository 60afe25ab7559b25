#!/usr/bin/python3
"""What a launch of /bin/true costs, beside the floor and bwrap.

    launch.py BUILD [--rounds N] [--user NAME]

`launch` is the cell alone, `exec` the whole program: fumehood exec -q, beside
`version`, which is what executing that binary costs and nothing else.
Runs all in turns (interleave), as the caller and, when that is root, as
an ordinary user too; root also takes a realtime priority, since what else a
machine does would be measured with it. Prints JSON; exit status 1 when a bound
is not kept.
"""
import argparse
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile

BWRAP = "--unshare-all --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp".split()
COMMAND = "/bin/true"

FLOOR_TO_BWRAP = 0.7  # a floor that is no better than this is not minimal
LAUNCH_TO_FLOOR = 1.5
OVERLAY_TO_FLOOR = 0.15  # root's trees besides the project
LAUNCH_TO_BWRAP = 0.9  # exec, too; with root's overlays without what executing it costs


def measure(build, rounds, account, project):
    bench = f"{build}/tests/bench"
    fumehood = f"{build}/runner/fumehood"
    bwrap = shutil.which("bwrap")
    if not bwrap:
        sys.exit("launch.py: no bwrap here; apt-get install bubblewrap")
    environ = {"HOME": account.pw_dir, "PATH": "/usr/bin:/bin"}
    as_user = ["-u", str(account.pw_uid)] if account.pw_uid != os.geteuid() else []
    realtime = ["-r"] if os.geteuid() == 0 else []
    interleave = [f"{bench}/interleave", *realtime, *as_user]
    commands = [
        ["floor", f"{bench}/floor", COMMAND],
        ["launch", f"{bench}/launch", COMMAND],
        ["exec", fumehood, "exec", "-q", "--", COMMAND],
        ["version", fumehood, "--version"],
        ["bwrap", bwrap, *BWRAP, COMMAND],
    ]
    argv = [*interleave, str(rounds)]
    for i, command in enumerate(commands):
        argv += (["---"] if i else []) + command
    us = json.loads(subprocess.check_output(argv, env=environ, cwd=project))
    overlays = 0
    if account.pw_uid == 0:
        overlays = int(subprocess.check_output(
            [f"{bench}/launch", "--overlays", COMMAND], env=environ, cwd=project))
    return us, overlays


def judge(us, overlays):
    floor, launch, whole, version, bwrap = (
        us[name]["median"] for name in ("floor", "launch", "exec", "version", "bwrap"))
    to_floor = LAUNCH_TO_FLOOR + OVERLAY_TO_FLOOR * overlays
    rows = [
        ("floor / bwrap", floor / bwrap, FLOOR_TO_BWRAP),
        ("launch / floor", launch / floor, to_floor),
        ("launch / bwrap", launch / bwrap, LAUNCH_TO_BWRAP),
        ("(exec - version) / floor", (whole - version) / floor, to_floor),
        ("exec / bwrap", whole / bwrap, LAUNCH_TO_BWRAP) if not overlays else
        ("(exec - version) / bwrap", (whole - version) / bwrap, LAUNCH_TO_BWRAP),
    ]
    return [{"ratio": name, "is": round(value, 3), "at_most": round(bound, 3),
             "kept": value <= bound} for name, value, bound in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--user", default="fhuser", help="the ordinary user, when root calls")
    args = parser.parse_args()
    build = os.path.abspath(args.build)

    accounts = [pwd.getpwuid(os.geteuid())]
    if os.geteuid() == 0:
        accounts.append(pwd.getpwnam(args.user))
    result = {"command": COMMAND, "rounds": args.rounds, "kernel": os.uname().release,
              "cpus": os.cpu_count(), "load": os.getloadavg()[0], "realtime": os.geteuid() == 0,
              "runs": []}
    with tempfile.TemporaryDirectory(prefix="fumehood-bench-", dir="/var/tmp") as project:
        os.chmod(project, 0o755)
        for account in accounts:
            us, overlays = measure(build, args.rounds, account, project)
            result["runs"].append({"as": account.pw_name, "us": us, "overlays": overlays,
                                   "ratios": judge(us, overlays)})
    result["kept"] = all(row["kept"] for run in result["runs"] for row in run["ratios"])
    print(json.dumps(result, indent=2))
    return 0 if result["kept"] else 1


if __name__ == "__main__":
    sys.exit(main())
