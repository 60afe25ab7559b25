"""A check that is cut short and goes on, orders that are run again, and two at once in one folder. Prints TAP.

The binary is the first argument; a second one chooses the parts whose name holds it.
"""

import json
import os
import re
import shlex
import shutil
import signal
import sys

import schema
from place import BINARY, Place, finish, ok, plan, wait_for

PYTEST = ["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
FEW = ["--seeds", "2", "--shuffle", "shuffle"]
BRITTLE_TEST = "test_b.py::test_reads"
VICTIM = "test_b.py::test_default"
FILES = {
    "state.py": "limit, settings = 5, {}\n",
    "test_a.py": "import state\ndef test_writes(): state.settings['a'] = 1\n",
    "test_b.py": "import state\ndef test_default(): assert state.limit == 5\n"
    "def test_reads(): assert state.settings['a'] == 1\ndef test_plain(): pass\n",
    "test_c.py": "import state\ndef test_sets(): state.limit = 10\n",
}


def load(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return json.load(file)


def result(folder):
    """What a check found, without what time it took and where it stands."""
    found = load(folder, "findings.json")
    for key in ("seconds", "run"):
        del found[key]
    for finding in found["findings"]:
        finding.pop("replay", None)
    return json.dumps([found, load(folder, "matrix.json")], indent=1, sort_keys=True)


def ends(out):
    try:
        with open(os.path.join(out, "ledger.jsonl"), encoding="utf-8") as lines:
            return sum('"kind":"end"' in line for line in lines)
    except FileNotFoundError:
        return 0


def check(place, *args):
    return ["check", *FEW, *args, "--", *PYTEST]


def differing(a, b):
    return "\n".join(x + "   |   " + y for x, y in zip(a.splitlines(), b.splitlines()) if x != y)[:2000]


def whole(place):
    """The unbroken run that the others are held against."""
    out = os.path.join(place.top, "whole")
    status, said, err = place.run(check(place, "--out", out))
    ok(status == 1 and "1 fails after other tests and 1 passes only after other tests" in said, "a check", said, err)
    wrong = schema.errors_of_run(out)
    ok(not wrong, "its files are as their schemas say", *wrong)
    return out


def cut(place, out, at, number):
    """Starts a check and sends it a signal once so many orders have ended."""
    process = place.start(check(place, "--out", out), {})
    wait_for(lambda: ends(out) >= at or process.poll() is not None)
    if number == signal.SIGKILL:
        process.kill()
    else:
        process.send_signal(number)
    return finish(process)


def kills(place, want):
    total = ends(os.path.join(place.top, "whole"))
    for at in (0, 2, total // 2, total - 3):
        out = os.path.join(place.top, "kill%d" % at)
        status, _, err = cut(place, out, at, signal.SIGKILL)
        if not os.path.exists(os.path.join(out, "run.json")):
            ok(status == -9, "killed before there was a run", err)
            continue
        before = ends(out)
        ok(status == -9 and before < total, "killed after %d of %d orders" % (before, total), status, err)
        status, said, err = place.run(["check", "--resume", out])
        ok(status == 1, "it goes on", said, err)
        ok(result(out) == want, "with the result of one that was not cut short", differing(result(out), want))
        wrong = schema.errors_of_run(out)
        ok(not wrong, "and files as they should be", *wrong)
        with open(os.path.join(out, "ledger.jsonl"), encoding="utf-8") as lines:
            begun = [line["order"] for line in map(json.loads, lines) if line["kind"] == "begin"]
        twice = len(begun) - len(set(begun))
        ok(twice <= 2, "at most the orders in flight were run again: %d" % twice)


def interruptions(place, want):
    out = os.path.join(place.top, "interrupted")
    status, said, err = cut(place, out, 4, signal.SIGINT)
    ok(status == 130 and "interrupted" in said, "ctrl-C: what is known is told", status, said, err)
    status, said, err = place.run(["check", "--resume", out])
    ok(status == 1 and result(out) == want, "and it goes on", differing(result(out), want), said, err)
    status, said, err = place.run(["check", "--resume", out, "--json"])
    ok(status == 1 and result(out) == want, "what has ended is not run again", err)
    ok(json.loads(said) == load(out, "findings.json"), "--json prints findings.json")


def spent_after_one(place, out, *args):
    """A check whose budget is spent in the first order, whatever the machine: that one sleeps longer."""
    path = os.path.join(place.project, "conftest.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write("import time\ntime.sleep(1.2)\n")
    done = place.run(check(place, "--lanes", "1", "--budget", "1s", "--out", out, *args))
    os.unlink(path)
    return done


def budget(place, want):
    out = os.path.join(place.top, "budget")
    status, said, err = spent_after_one(place, out)
    ok(status == 124 and "budget" in said, "a budget that is spent", status, said, err)
    ok(ends(out) == 1, "what was begun within it has ended", ends(out))
    status, said, err = place.run(["check", "--resume", out, "--budget", "1h"])
    ok(status == 1 and result(out) == want, "with more it goes on", differing(result(out), want), said, err)


def refusals(place):
    out = os.path.join(place.top, "busy")
    process = place.start(check(place, "--out", out), {})
    wait_for(lambda: ends(out) >= 1)
    for args in (["check", "--resume", out], ["replay", out, "canonical"], check(place, "--out", out)):
        status, said, err = place.run(args)
        ok(status == 64 and "another fumehood (process %d) writes to" % process.pid in err, "two at once: " + args[0],
           status, said, err)
    process.send_signal(signal.SIGINT)
    finish(process)
    rows = [
        (["replay"], "replay needs a run"),
        (["replay", out], "replay needs an order or a finding"),
        (["replay", "latest", "canonical"], "there is no run latest"),
        (["replay", out, "canonicall"], "hint: did you mean canonical?"),
        (["replay", out, "FH101-00000000"], "hint: "),
        (["check", "--resume", "nowhere"], "there is no run nowhere"),
        (["check", "--resume", place.project], "run.json"),
    ]
    for args, text in rows:
        status, said, err = place.run(args)
        ok(status in (64, 65, 70) and text in err, " ".join(args[:1] + args[2:]), status, said, err)


def replays(place, whole_run):
    found = {f["test"]: f for f in load(whole_run, "findings.json")["findings"] if "class" in f}
    for test in (VICTIM, BRITTLE_TEST):
        words = shlex.split(found[test]["replay"])
        ok(words[:2] == ["fumehood", "replay"], "the command that shows it again: " + found[test]["replay"])
        status, said, err = place.run(words[1:])
        ok(status == 0 and "It came out the same." in said, test + " does it again", said, err)
    status, said, err = place.run(["replay", whole_run, found[VICTIM]["id"], "--times", "3"])
    ok(status == 0 and "fails 3 of 3" in said, "as often as asked", said, err)
    status, said, err = place.run(["replay", whole_run, found[BRITTLE_TEST]["id"]])
    ok(re.search("alone: fails 1 of 1\n.*passes 1 of 1", said), "of a brittle test both sides are shown", said, err)
    for order in ("reverse", "canonical", "s1"):
        status, said, err = place.run(["replay", whole_run, order])
        ok(status == 0 and "came out as it did then: 1 of 1" in said, "the order %s" % order, said, err)
    status, said, err = place.run(["replay", whole_run, "reverse", "--json"])
    ok(status == 0 and json.loads(said)["same"] is True, "as JSON", said, err)

    with open(os.path.join(place.project, "state.py"), "w", encoding="utf-8") as file:
        file.write("limit, settings = 10, {}\n")
    status, said, err = place.run(["replay", whole_run, "canonical"])
    ok(status == 2 and "%s: passed then, failed now" % VICTIM in said, "what came out otherwise is named", said, err)
    place.files(FILES)
    status, said, err = place.run(["replay", whole_run, "canonical", "--env", "NEW=1"])
    ok(status == 0 and "another environment" in said, "another environment is told", said, err)


def cut_off(place, whole_run):
    """An order that did not come to its end is none to hold a replay against."""
    out = os.path.join(place.top, "cut_off")
    shutil.copytree(whole_run, out)
    with open(os.path.join(out, "ledger.jsonl"), "r+", encoding="utf-8") as lines:
        kept = [line for line in lines if not ('"kind":"end"' in line and '"order":"s1"' in line)]
        lines.seek(0)
        lines.truncate()
        lines.writelines(kept)
    status, said, err = place.run(["replay", out, "s1"])
    ok(status == 64 and "order s1 was cut short" in err and "check --resume" in err, "an order without an end", status, said, err)


def hidden(place):
    out = os.path.join(place.top, "hidden")
    status, _, err = spent_after_one(place, out, "--env", "TOKEN=s3cret")
    kept = [name for name in os.listdir(out) if os.path.isfile(os.path.join(out, name))]
    held = [name for name in kept if b"s3cret" in open(os.path.join(out, name), "rb").read()]
    ok(status == 124 and not held, "a value of --env stands in no file of the run", status, held, err)
    status, _, err = place.run(["check", "--resume", out])
    ok(status == 64 and "TOKEN was given by --env" in err and "--env TOKEN=VALUE" in err, "it has to be said again", err)
    status, said, err = place.run(["replay", out, "canonical", "--env", "TOKEN=s3cret"])
    ok(status == 0 and "another environment" not in said, "and then it runs", said, err)


def silence(place):
    status, _, err = place.run(["check", "--", "true"])
    ok(status == 69 and "no pytest session began" in err, "nobody spoke", status, err)


def main():
    chosen = sys.argv[2] if len(sys.argv) > 2 else ""
    place = Place(FILES)
    place.files = lambda files: [open(os.path.join(place.project, n), "w").write(t) for n, t in files.items()]
    out = whole(place)
    want = result(out)
    parts = [kills, interruptions, budget, refusals, replays, cut_off, hidden, silence]
    for part in parts:
        if chosen in part.__name__:
            part(*[place, {kills: want, interruptions: want, budget: want, replays: out, cut_off: out}.get(part)][: part.__code__.co_argcount])
    place.done()
    return plan()


if __name__ == "__main__":
    sys.exit(main())
