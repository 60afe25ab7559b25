"""fumehood diff and rule: statuses, words and errors, over run folders that are kept. Prints TAP.

Usage: test_diff.py FUMEHOOD
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import schema

FUMEHOOD = os.path.realpath(sys.argv[1])
RUNS = os.path.join(schema.ROOT, "tests/unit/data/summary")

count = 0
failed = 0


def ok(holds, name, seen=""):
    global count, failed
    count += 1
    failed += not holds
    print("%sok %d - %s" % ("" if holds else "not ", count, name.replace("#", "")))
    if not holds:
        print("# " + str(seen).replace("\n", "\n# "))


def fumehood(*args, cwd=RUNS):
    done = subprocess.run([FUMEHOOD, *args], cwd=cwd, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout, done.stderr


def spoiled(folder, name, change):
    """A copy of the run `sweep` in which one file is another."""
    shutil.copytree(os.path.join(RUNS, "sweep"), folder)
    path = os.path.join(folder, name)
    with open(path, encoding="utf-8") as text:
        whole = text.read()
    with open(path, "w", encoding="utf-8") as text:
        text.write(change(whole))
    return folder


def check_same():
    status, out, err = fumehood("diff", "./sweep", "./lanes", cwd=RUNS)
    ok(status == 0 and "0 regressed, 0 fixed, 0 added, 0 removed, 0 changed" in out, "two alike", out + err)
    status, out, err = fumehood("diff", os.path.join(RUNS, "sweep"), os.path.join(RUNS, "lanes"), cwd="/")
    ok(status == 0, "from where no project is", out + err)


def check_words(top):
    worse = spoiled(os.path.join(top, "worse"), "ledger.jsonl", lambda text: text.replace(
        '"test":"t.py::c","outcome":"passed"', '"test":"t.py::c","outcome":"failed"'))
    status, out, err = fumehood("diff", "./sweep", worse)
    ok(status == 1 and re.search(r"Regressed \(1\)\n  t.py::c  leaky -> stable_fail\n", out), "a regression", out + err)
    status, out, err = fumehood("diff", worse, "./sweep")
    ok(status == 0 and re.search(r"Fixed \(1\)\n  t.py::c  stable_fail -> leaky\n", out), "and back: fixed", out + err)
    other = spoiled(os.path.join(top, "other"), "run.json", lambda text: text.replace('"kernel"', '"kernel_"'))
    status, out, err = fumehood("diff", "./sweep", other)
    ok(status == 0 and out.startswith("Not the same in both runs\n"), "other conditions are said first", out + err)
    status, out, err = fumehood("diff", "./sweep", "./accepted")
    ok(status == 0 and "2 newly" not in out and "3 no longer" in out, "what is accepted is not left behind", out + err)


def check_json(top):
    validator = schema.load("diff")
    for pair in (("./sweep", "./mixed"), ("./clean", "./sweep"), ("./sweep", "./accepted")):
        status, out, err = fumehood("diff", "--json", *pair)
        tree = json.loads(out)
        found = schema.errors(validator, tree)
        ok(not found and tree["exit"] == status, "the JSON of %s fits its schema" % (pair,), found[:3])


def check_errors(top):
    rows = [
        ("no run there", os.path.join(top, "nothing"), r"nothing: No such file"),
        ("no run in it", top, r"run.json: No such file"),
        ("run.json of another version",
         spoiled(os.path.join(top, "v2"), "run.json", lambda text: text.replace('"version": 1', '"version": 2')
                 .replace('"version":1', '"version":2').replace('"version":\t1', '"version":\t2')),
         r"v2/run.json is of a version that is not known"),
        ("run.json that is none", spoiled(os.path.join(top, "bad"), "run.json", lambda text: "{"), r"run.json:1:"),
        ("a line of another version",
         spoiled(os.path.join(top, "l2"), "ledger.jsonl", lambda text: text.replace('"v":1', '"v":7', 1)),
         r"l2/ledger.jsonl:1: this line is of a version that is not known"),
        ("a line that is none",
         spoiled(os.path.join(top, "torn"), "ledger.jsonl", lambda text: "{}\n" + text),
         r"ledger.jsonl:1: this line is no JSON object"),
    ]
    for name, folder, words in rows:
        status, out, err = fumehood("diff", "./sweep", folder)
        ok(status == 65 and re.search(words, err) and not out, name, (status, out, err))
    status, out, err = fumehood("diff", "./sweep")
    ok(status == 64 and "two runs" in err and "hint:" in err, "one run is too few", err)
    status, out, err = fumehood("diff", "./sweep", "./lanes", "--", "pytest")
    ok(status == 64 and "runs no command" in err, "no command", err)
    status, out, err = fumehood("diff", "./sweep", "./lanes", "--restore")
    ok(status == 64 and "no option of diff" in err, "an option of others", err)


def check_rule():
    status, out, err = fumehood("rule", "FH101")
    ok(status == 0 and out.startswith("FH101 file created\n") and "own state directory" in out, "a rule", out + err)
    status, out, err = fumehood("rule", "fh201-1a2b3c4d")
    ok(status == 0 and out.startswith("FH201 victim\n"), "of a finding", out + err)
    status, out, err = fumehood("rule")
    ok(status == 0 and out.count("\n") > 40, "all rules", out)
    status, out, err = fumehood("rule", "FH1011")
    ok(status == 64 and "did you mean FH101?" in err and not out, "no such rule", err)
    status, out, err = fumehood("rule", "FH101", "FH102")
    ok(status == 64 and "one code" in err, "two rules", err)


def main():
    with tempfile.TemporaryDirectory(prefix="fumehood-diff.", dir=os.environ.get("TMPDIR", "/var/tmp")) as top:
        check_same()
        check_words(top)
        check_json(top)
        check_errors(top)
        check_rule()
    print("1..%d" % count)
    return failed > 0


sys.exit(main())
