"""The adapters against a looker that looks at nothing: pytest's, and the example of PROTOCOL.md.
Prints TAP.

A case is a folder of tests/suites/adapter: a suite, `case.json` (all optional: the arguments of
pytest or a whole command, the plan, what the looker does, more environment) and `expect.txt`, the
packets one a line. `test_adapters.py --write NAME...` writes that file anew, to be read before it is
believed.
"""

import difflib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from fake_looker import FakeLooker

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CASES = os.environ.get("CASES", os.path.join(ROOT, "tests/suites/adapter"))
PLUGIN = os.path.join(ROOT, "probe/adapters/pytest")
PYTHON = "/usr/bin/python3"


def environment(folder, more):
    found = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": folder,
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "PYTHONPYCACHEPREFIX": os.path.join(folder, "pycache"),
        "TMPDIR": os.path.join(folder, "tmp"),
    }
    found.update({name: value.replace("SUITE", folder + "/suite") for name, value in more.items()})
    return found


def with_adapter(env, path):
    """What the adapter's row does: in front of what the user has."""
    env = dict(env, FUMEHOOD_SOCKET=path)
    for name, between, ours in (
        ("PYTHONPATH", ":", PLUGIN),
        ("PYTEST_PLUGINS", ",", "fumehood_pytest"),
    ):
        env[name] = ours + between + env[name] if name in env else ours
    return env


def last_line(text):
    lines = text.rstrip().split("\n")
    return lines[-1].strip()


def show(packet, folder):
    """One packet, one line: only what is the same in every run."""
    packet = json.loads(json.dumps(packet).replace(folder, ""))
    kind = packet["t"]
    if kind == "hello":
        parts = [packet["rootdir"]]
    elif kind == "collected":
        parts = ["%(id)s (%(file)s:%(line)s)" % test for test in packet["content"]["tests"]]
        parts += ["missing " + name for name in packet["content"]["missing"]]
        parts += ["said " + text for text in packet.get("said", [])]
        return "\n".join(["collected"] + ["    " + escape(part) for part in parts])
    elif kind == "uncollectable":
        parts = [packet["id"], packet["outcome"], last_line(packet["why"])]
    elif kind == "start":
        parts = [packet["test"]]
    elif kind.startswith("scope"):
        parts = [packet["at"], packet["fixture"], packet["scope"], "in", packet["test"]]
    elif kind == "finish":
        parts = [packet["test"], packet["outcome"]]
        parts += ["%s=%s" % phase for phase in packet["phases"].items()]
        if "content" in packet:
            parts.append("| (a file) " + last_line(packet["content"]["message"]))
        if "message" in packet:
            parts.append("| " + last_line(packet["message"]))
        parts.append("-> " + (packet["next"] or "none"))
    elif kind == "done":
        parts = [str(packet.get("exit", "")), packet.get("why", "")]
    else:
        parts = []
    return escape(" ".join([kind] + [part for part in parts if part]))


def escape(text):
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    return re.sub(r"(.{60})(.)\2{90,}", r"\1\2...", text)


def bad_shape(packet):
    """What every packet has to fulfil, whatever the case."""
    if packet["t"] == "hangup":
        return None
    if packet["v"] != 1 or packet["bytes"] > 65536:
        return "version or size"
    if packet["t"] == "hello" and "reorder" not in packet["can"]:
        return "hello"
    if packet["t"] == "collected" and not packet.get("basetemp", "/").startswith("/"):
        return "basetemp"
    if packet["t"] == "finish" and set(packet["us"]) != set(packet["phases"]):
        return "us"
    return None


def put_example(suite):
    """The example of PROTOCOL.md, as it stands there."""
    with open(os.path.join(ROOT, "probe/adapters/PROTOCOL.md"), encoding="utf-8") as file:
        code = re.search(r"```python\n(.*?)```", file.read(), re.DOTALL).group(1)
    with open(os.path.join(suite, "example.py"), "w", encoding="utf-8") as file:
        file.write(code)


def start(command, folder, env):
    with open(os.path.join(folder, "log"), "w", encoding="utf-8") as log:
        return subprocess.Popen(
            command,
            cwd=os.path.join(folder, "suite"),
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def log_of(folder):
    with open(os.path.join(folder, "log"), encoding="utf-8", errors="replace") as log:
        return log.read()


def run(name, folder):
    """The lines of what was said in a case, and what was said beside the packets."""
    suite = os.path.join(folder, "suite")
    shutil.copytree(os.path.join(CASES, name), suite)
    os.mkdir(os.path.join(folder, "tmp"))
    case = {}
    if os.path.exists(os.path.join(suite, "case.json")):
        with open(os.path.join(suite, "case.json"), encoding="utf-8") as file:
            case = json.load(file)
    if "example.py" in case.get("command", []):
        put_example(suite)
    does = ("plan", "stop_at", "hang_up_at", "interrupt_at", "hand_over")
    looker = FakeLooker(folder, **{key: case[key] for key in does if key in case})
    env = with_adapter(environment(folder, case.get("env", {})), looker.path)
    command = case.get("command", ["python3", "-m", "pytest"]) + case.get("args", [])
    command = [PYTHON if word == "python3" else word for word in command]
    process = start(command, folder, env)
    looker.serve(process)
    status = process.wait()
    text = log_of(folder)
    lines = [line for packet in looker.packets for line in show(packet, folder).split("\n")]
    lines += ["exit %d" % status]
    wrong = [bad_shape(packet) for packet in looker.packets if bad_shape(packet)]
    wrong += ["the log lacks: " + want for want in case.get("log", []) if want not in text]
    wrong += ["the log holds: " + bad for bad in case.get("log_lacks", []) if bad in text]
    return [line.rstrip() for line in lines], wrong, text


def check(name, number):
    with tempfile.TemporaryDirectory() as folder:
        said, wrong, log = run(name, os.path.realpath(folder))
    with open(os.path.join(CASES, name, "expect.txt"), encoding="utf-8") as file:
        expected = file.read().rstrip("\n").split("\n")
    ok = said == expected and not wrong
    print("%sok %d - %s" % ("" if ok else "not ", number, name.replace("_", " ")))
    if not ok:
        lines = wrong + list(difflib.unified_diff(expected, said, "expected", "said", lineterm=""))
        for line in lines + log.split("\n"):
            print("# " + line)
    return ok


def output(name, adapter):
    """What pytest itself prints in a case, less what is another each time."""
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.realpath(folder)
        shutil.copytree(os.path.join(CASES, name), os.path.join(folder, "suite"))
        os.mkdir(os.path.join(folder, "tmp"))
        env = environment(folder, {})
        looker = FakeLooker(folder)
        command = [PYTHON, "-m", "pytest", "-v", "-rA", "--durations=3", "--durations-min=9"]
        process = start(command, folder, with_adapter(env, looker.path) if adapter else env)
        looker.serve(process)
        process.wait()
        text = log_of(folder).replace(folder, "")
    return re.sub(r"0x[0-9a-f]+|=* [^=]* in [0-9.]+s =*", "...", text).split("\n")


def check_output(name, number):
    plain, ours = output(name, False), output(name, True)
    ok = plain == ours and len(plain) > 20
    title = "what pytest prints stays the same: " + name.replace("_", " ")
    print("%sok %d - %s" % ("" if ok else "not ", number, title))
    if not ok:
        for line in difflib.unified_diff(plain, ours, "without", "with", lineterm=""):
            print("# " + line)
    return ok


def write(names):
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            said, wrong, log = run(name, os.path.realpath(folder))
        with open(os.path.join(CASES, name, "expect.txt"), "w", encoding="utf-8") as file:
            file.write("\n".join(said) + "\n")
        print("==", name, wrong, log, "\n".join(said), sep="\n")


def main():
    if sys.argv[1:2] == ["--write"]:
        write(sys.argv[2:])
        return 0
    names = sys.argv[1:] or sorted(os.listdir(CASES))
    good = [check(name, number + 1) for number, name in enumerate(names)]
    if not sys.argv[1:]:
        for name in ("outcomes", "scopes"):
            good.append(check_output(name, len(good) + 1))
    print("1..%d" % len(good))
    return not (good and all(good))


if __name__ == "__main__":
    sys.exit(main())
