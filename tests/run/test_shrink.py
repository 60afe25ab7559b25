"""`fumehood shrink` on an earlier run: sets, chains, what is no order's doing, going on, refusals. Prints TAP.

Usage: test_shrink.py FUMEHOOD
"""

import json
import os
import signal

import schema
from place import Place, finish, ok, plan, wait_for

PYTEST = ["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
BARE = ["--env", "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1"]

VALIDATOR = schema.load("shrink")

SUITE = """
state, other, ready = [], [], []
def test_needs_both(): assert len(ready) == 2
def test_first_setter(): ready.append(1)
def test_second_setter(): ready.append(2)
def test_one(): state.append(1)
def test_two():
    if state: state.append(2)
def test_pair(): assert state != [1, 2]
def test_pair_too(): assert state != [1, 2]
def test_three(): other.append(3)
def test_single(): assert not other
def test_teardown(request): request.addfinalizer(lambda: [][bool(other)] if other else None)
def test_fails(): assert 0
def test_passes(): pass
"""
SMALL = """
ready, other = [], []
def test_first_setter(): ready[:] = [1]
def test_second_setter(): ready.append(2)
def test_needs_both(): assert ready == [1, 2]
def test_single(): assert not other
def test_three(): other.append(3)
def test_fails(): assert 0
"""
SETS = {
    "test_pair": ["test_one", "test_two"],
    "test_pair_too": ["test_one", "test_two"],
    "test_single": ["test_three"],
    "test_teardown": ["test_three"],
}


def id_of(name):
    return "test_a.py::" + name


def ids(names):
    return [id_of(name) for name in names]


def begins(place):
    with open(os.path.join(place.folder(), "ledger.jsonl"), encoding="utf-8") as lines:
        return sum(json.loads(line)["kind"] == "begin" for line in lines.read().split("\n")[:-1])


def shrink(place, *words):
    """Status and, by name, what was told of each test."""
    status, out, err = place.run(["shrink", "--json", *BARE, *words])
    tree = json.loads(out) if out else {"searches": []}
    if out:
        ok(not schema.errors(VALIDATOR, tree), "as the schema has it", schema.errors(VALIDATOR, tree))
    return status, {row["test"].split("::")[-1]: row for row in tree["searches"]}, out + err


def red_run():
    """The canonical order itself fails, because of order: no other was seen."""
    place = Place({"test_a.py": SUITE})
    status, _, err = place.run(["run", "-q", *BARE, "--", *PYTEST])
    ok(status == 2, "a run that is red", err)

    status, found, said = shrink(place, "latest", *ids(SETS))
    ok(status == 0, "each search has an answer", status, said)
    for name, tests in SETS.items():
        row = found.get(name, {})
        ok(row.get("set") == ids(tests) and row["hits"] == row["of"] == 3, "what makes %s fail" % name, said)
        path = os.path.join(place.folder(), row.get("file", ""))
        with open(path, encoding="utf-8") as file:
            ok(json.load(file) == ids(tests + [name]), "its order is a file", path)
    status, out, err = place.run(["replay", *BARE, "latest", found["test_pair"]["order"]])
    ok(status == 0, "and is replayed", out, err)

    ran = begins(place)
    status, again, said = shrink(place, "latest", *ids(SETS))
    ok(status == 0 and again == found and begins(place) == ran, "asked again, nothing is run", said)

    status, out, err = place.run(["shrink", *BARE, "latest", id_of("test_pair")])
    ok(status == 0 and "test_pair\n  after %s\n   then %s\n  fails 3 of 3 so" % tuple(ids(SETS["test_pair"])) in out
       and "replay: fumehood replay latest x" in out and "found for 1 of 1 test\n" in out, "told to people", out, err)

    status, found, said = shrink(place, "latest", id_of("test_single"), "--confirm", "5")
    ok(status == 0 and found["test_single"]["hits"] == found["test_single"]["of"] == 5, "five of five", said)

    status, found, said = shrink(place, "latest", id_of("test_fails"), id_of("test_passes"))
    ok(found["test_fails"]["search"] == "never hermetic" and found["test_fails"]["hits"] == 3,
       "fails alone, too", said)
    ok(status == 3 and found["test_passes"]["search"] == "unseen" and not found["test_passes"]["set"],
       "was never seen to fail", said)

    for words, told in (
        (["latest", id_of("test_singel")], "did you mean %s?" % id_of("test_single")),
        (["latest", "test_pair"], "did you mean %s, %s?" % (id_of("test_pair"), id_of("test_pair_too"))),
        (["latest", "nothing like it"], "the run has no test"),
        (["latest"], "shrink needs a test"),
        (["latest", "--all", id_of("test_pair")], "not both"),
        ([], "shrink needs a run"),
    ):
        status, out, err = place.run(["shrink", *BARE, *words])
        ok(status == 64 and told in err and not out, "refused: %s" % " ".join(words), status, err)
    place.done()


def whole_check():
    """--all takes what the run has seen to depend on order."""
    place = Place({"test_a.py": SMALL})
    status, _, err = place.run(["check", "-q", "--no-shrink", "--shuffle", "shuffle", "--seeds", "3", *BARE, "--",
                                *PYTEST])
    ok(status == 1, "a check without searches", status, err)
    status, found, said = shrink(place, "latest", "--all")
    sets = {name: row["set"] for name, row in found.items() if row["search"] == "found"}
    ok(sets.get("test_single") == ids(["test_three"]), "--all: a victim", said)
    ok(found["test_needs_both"]["kind"] == "setters" and
       sets.get("test_needs_both") == ids(["test_first_setter", "test_second_setter"]), "--all: two setters", said)
    ok(status == 0 and len(found) == 2, "--all: no other", status, said)

    with open(os.path.join(place.folder(), "findings.json"), encoding="utf-8") as file:
        names = [f["id"] for f in json.load(file)["findings"] if f.get("test") == id_of("test_single") and "class" in f]
    status, found, said = shrink(place, "latest", *names)
    ok(len(names) == 1 and status == 0 and list(found) == ["test_single"], "a finding stands for its test", names, said)
    place.done()


def cut_short():
    """Ctrl-C tells the best so far; the same command goes on."""
    place = Place({"test_a.py": SUITE})
    place.run(["run", "-q", *BARE, "--", *PYTEST])
    process = place.start(["shrink", "--json", *BARE, "latest", id_of("test_pair")], {})
    ok(wait_for(lambda: begins(place) > 8), "it is at work")
    process.send_signal(signal.SIGINT)
    status, out, err = finish(process)
    tree = json.loads(out) if out else {}
    ok(status == 130 and tree.get("interrupted") and len(tree["searches"]) == 1, "ctrl-C", status, out, err)
    ok("to search for: about" in err and "at most" in err, "the cost was said before", err)
    ran = begins(place)
    status, found, said = shrink(place, "latest", id_of("test_pair"))
    ok(status == 0 and found["test_pair"]["set"] == ids(SETS["test_pair"]), "gone on with", said)
    ok(begins(place) - ran < found["test_pair"]["runs"], "what ran is not run again", said)
    place.done()


def changed():
    """The project has other tests by now: no answer is given."""
    place = Place({"test_a.py": SUITE})
    place.run(["run", "-q", *BARE, "--", *PYTEST])
    with open(os.path.join(place.project, "test_a.py"), "w", encoding="utf-8") as file:
        file.write("def test_single(): pass\n")
    status, _, said = shrink(place, "latest", id_of("test_single"))
    ok(status == 65 and "not in the project any more" in said, "tests that are gone", status, said)
    place.done()


red_run()
whole_check()
cut_short()
changed()
raise SystemExit(plan())
