"""Faulty suites and bad input, as one table: what is run, the exit status, and what is said. Prints TAP.

    test_faults.py FUMEHOOD [PART OF A NAME...]

What is said names what, where and what to do, word for word; {} is the project, {top} what
holds it. A report folds its lines, so
they are joined before they are looked at. Rows stand alone, and run side by side.
"""

import concurrent.futures
import fcntl
import os
import re
import shutil
import sys

from place import Place, ok, plan

COUPLED, FAILED, INCOMPLETE, NONE, USAGE, DATA, TIMEOUT = 1, 2, 3, 4, 64, 65, 124
BARE = ["--env", "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1"]
PYTEST = [*BARE, "--", "/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
RUN = ["run", *PYTEST]
LIMIT = ("--timeout", "8s")
HUNG = "the time limit of the run passed"


def check(*options):
    """The suite as it stands, twice, in reverse and in one random order."""
    return ["check", "--seeds", "1", "--shuffle", "shuffle", "--isolated", "none", *options, *PYTEST]


def run(*options):
    return ["run", *options, *PYTEST]


# ---- suites ----

HEAD = "import atexit, os, pytest, sys, time\n"
TWO = {"test_a.py": "def test_a(): pass\ndef test_b(): pass\n"}
# What is wrong with a suite, in the place of %s.
IN_TEST = {"test_a.py": HEAD + "def test_a(): pass\ndef test_b(): %s\ndef test_c(): pass\n"}
IN_FIXTURE = {"test_a.py": HEAD + "@pytest.fixture(scope='module')\ndef wide():\n    %s\n"
              "def test_a(): pass\ndef test_b(wide): pass\ndef test_c(): pass\n"}
IN_CLOSING = {"test_a.py": HEAD + "@pytest.fixture(scope='module')\ndef wide():\n    yield\n    %s\n"
              "def test_b(wide): pass\n", "test_c.py": "def test_c(): pass\n"}
IN_TEARDOWN = {"test_a.py": HEAD + "def teardown_function(f):\n    if f.__name__ == 'test_b': %s\n"
               "def test_a(): pass\ndef test_b(): pass\ndef test_c(): pass\n"}
IN_MODULE = {"test_a.py": "def test_a(): pass\n", "test_b.py": HEAD + "%s\n"}
IN_CONFTEST = {**TWO, "conftest.py": HEAD + "%s\n"}
IN_FINISH = {**TWO, "conftest.py": HEAD + "def pytest_sessionfinish(session): %s\n"}
AT_EXIT = {"test_a.py": HEAD + "def test_a(): pass\ndef test_b(): atexit.register(lambda: %s)\n"}

# Whether a run is as collected, or follows a plan, is all that a suite can know of its order.
CHOOSES = """def pytest_collection_modifyitems(config, items):
    planned = any("tests" in getattr(plugin, "plan", {}) for plugin in config.pluginmanager.get_plugins())
    items[:] = [item for item in items if item.name not in ("test_early", "test_late")
                or planned == (item.name == "test_late")]
"""
SHUFFLES = """import os
def pytest_collection_modifyitems(config, items):
    if any("tests" in getattr(plugin, "plan", {}) for plugin in config.pluginmanager.get_plugins()):
        return
    items.sort(key=lambda item: os.urandom(4))
"""


def suite(files, fault, **more):
    return {**{name: text.replace("%s", fault) for name, text in files.items()}, **more}


def having(*names):
    return {"test_a.py": "".join("def %s(): pass\n" % name for name in ("test_a", "test_b", *names))}


def windows(text):
    """As an editor of another system saves it."""
    return b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()


# ---- what is done to a place between commands ----

def rewrite_run(place):
    folder = place.folder()
    for name in ("run.json", "ledger.jsonl"):
        path = os.path.join(folder, name)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "wb") as file:
            file.write(windows(text))


def hold(place):
    """Another process that writes to the folder: we are one."""
    os.makedirs(os.path.join(place.top, "out"))
    held = os.open(os.path.join(place.top, "out/lock"), os.O_RDWR | os.O_CREAT)
    fcntl.lockf(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    place.held = held  # until the row is over


def link_git(place):
    shutil.rmtree(os.path.join(place.project, ".git"))
    os.makedirs(os.path.join(place.top, "git"))
    with open(os.path.join(place.project, ".git"), "wb") as file:
        file.write(b"gitdir: ../git\r\n")


def shorten(place):
    with open(os.path.join(place.project, "test_a.py"), "w", encoding="utf-8") as file:
        file.write("def test_a(): pass\n")


# Name, files, what is done (the last command's words are looked at), exit status, what is said.
TABLE = [
    # A test ends the session.
    ("os._exit in a test", suite(IN_TEST, "os._exit(0)"), [check()], FAILED,
     ["Fails in every order (1)", "test_a.py::test_b did not pass in 4 of 4 orders, first in canonical "
      "the test process ended during this test", "exit status 2: 1 test failed"]),
    ("os._exit in a test, run", suite(IN_TEST, "os._exit(0)"), [RUN], INCOMPLETE,
     ["crashed test_a.py::test_b the test process ended during this test", "Exit status 3: 1 test did not run"]),
    ("os._exit in a fixture of the module", suite(IN_FIXTURE, "os._exit(0)"), [RUN], INCOMPLETE,
     ["crashed test_a.py::test_b the test process ended during this test", "Exit status 3: 1 test did not run"]),
    ("os._exit as that fixture closes", suite(IN_CLOSING, "os._exit(0)"), [RUN], INCOMPLETE,
     ["crashed test_a.py::test_b the test process ended during this test", "Exit status 3: 1 test did not run"]),
    ("os._exit in teardown", suite(IN_TEARDOWN, "os._exit(0)"), [RUN], INCOMPLETE,
     ["crashed test_a.py::test_b the test process ended during this test", "Exit status 3: 1 test did not run"]),
    ("pytest.exit in a test", suite(IN_TEST, "pytest.exit('enough')"), [check()], FAILED,
     ["Fails in every order (1)", "test_a.py::test_b", "the test ended the session: Exit: enough",
      "exit status 2: 1 test failed"]),
    ("sys.exit in a test", suite(IN_TEST, "sys.exit(0)"), [RUN], FAILED,
     ["failed test_a.py::test_b SystemExit: 0", "Exit status 2: 1 test failed"]),
    ("KeyboardInterrupt in a test", suite(IN_TEST, "raise KeyboardInterrupt"), [RUN], INCOMPLETE,
     ["crashed test_a.py::test_b the test ended the session: KeyboardInterrupt",
      "Exit status 3: 1 test did not run"]),
    ("os._exit in a module", suite(IN_MODULE, "os._exit(0)"), [check()], INCOMPLETE,
     ["test_b.py did not pass in 1 of 1 orders, first in canonical (collect) "
      "the test process ended while this was collected",
      "exit status 3: the suite was not collected to the end: not all of its tests are known"]),
    ("os._exit in a module, run", suite(IN_MODULE, "os._exit(0)"), [RUN], INCOMPLETE,
     ["crashed test_b.py (collect) the test process ended while this was collected",
      "Exit status 3: the suite was not collected to the end"]),
    ("os._exit in a conftest", suite(IN_CONFTEST, "os._exit(3)"), [check()], INCOMPLETE,
     ["the test process ended in a conftest.py or a plugin", "exit status 3: the suite was not collected"]),
    ("sys.exit in a module", suite(IN_MODULE, "sys.exit(0)"), [RUN], FAILED,
     ["error_setup test_b.py (collect) SystemExit: 0", "1 error, 1 passed", "Exit status 2: 1 test failed"]),
    ("pytest.exit in a module", suite(IN_MODULE, "pytest.exit('no')"), [RUN], FAILED,
     ["error_setup test_b.py (collect) _pytest.outcomes.Exit: no", "1 error, 1 passed"]),
    ("os._exit when all tests have run", suite(IN_FINISH, "os._exit(0)"), [check()], INCOMPLETE,
     ["exit status 3: the test process ended before its session did"]),
    ("a status of its own at exit", suite(AT_EXIT, "os._exit(5)"), [check()], FAILED,
     ["the end of its output", "| 2 passed in", "exit status 2: the command ended with status 5 "
      "though no test failed"]),
    # One hangs.
    ("a test hangs", suite(IN_TEST, "time.sleep(600)"), [check(*LIMIT)], FAILED,
     ["Fails in every order (1)", "test_a.py::test_b did not pass in 4 of 4 orders, first in canonical "
      + HUNG + " during this test", "exit status 2: 1 test failed"]),
    ("a fixture of the module hangs", suite(IN_FIXTURE, "time.sleep(600)"), [run(*LIMIT)], TIMEOUT,
     ["timeout test_a.py::test_b " + HUNG + " during this test", "1 timed out, 1 did not run, 1 passed"]),
    ("that fixture hangs as it closes", suite(IN_CLOSING, "time.sleep(600)"), [run(*LIMIT)], TIMEOUT,
     ["timeout test_a.py::test_b " + HUNG + " during this test", "1 timed out, 1 did not run"]),
    ("teardown hangs", suite(IN_TEARDOWN, "time.sleep(600)"), [run(*LIMIT)], TIMEOUT,
     ["timeout test_a.py::test_b " + HUNG + " during this test", "1 timed out, 1 did not run, 1 passed"]),
    ("a module hangs", suite(IN_MODULE, "time.sleep(600)"), [check(*LIMIT)], INCOMPLETE,
     ["test_b.py did not pass in 1 of 1 orders, first in canonical (collect) "
      + HUNG + " while this was collected", "exit status 3: the suite was not collected to the end"]),
    ("a module hangs, run", suite(IN_MODULE, "time.sleep(600)"), [run(*LIMIT)], TIMEOUT,
     ["timeout test_b.py (collect) " + HUNG + " while this was collected", "Exit status 124: " + HUNG]),
    ("a conftest hangs", suite(IN_CONFTEST, "time.sleep(600)"), [check(*LIMIT)], INCOMPLETE,
     [HUNG + " in a conftest.py or a plugin", "exit status 3: the suite was not collected to the end"]),
    ("the interpreter hangs at exit", suite(AT_EXIT, "time.sleep(600)"), [check(*LIMIT)], INCOMPLETE,
     ["exit status 3: in 4 orders the command did not end, and no test was running"]),
    # Ids.
    ("two tests of one id", {**TWO, "conftest.py": "import pytest\ndef pytest_collect_file(file_path, parent):\n"
                             "    if file_path.name == 'test_a.py':\n"
                             "        return pytest.Module.from_parent(parent, path=file_path)\n"},
     [check()], 0, ["4 tests: no dependence on order was seen in 4 orders",
                    "tests of one id are numbered: #2, #3 ...; the first is test_a.py::test_a"]),
    ("one test that is listed twice", {**TWO, "conftest.py": "def pytest_collection_modifyitems(items): "
                                       "items += items[:1]\n"},
     [check("--repeated")], 0,
     ["3 tests: no dependence on order was seen", "the project lists a test twice: test_a.py::test_a",
      "tests of one id are numbered: #2, #3 ...; the first is test_a.py::test_a"]),
    ("an id that is new each time", {"test_a.py": "import pytest, uuid\n"
                                     "@pytest.mark.parametrize('name', [uuid.uuid4().hex])\n"
                                     "def test_name(name): pass\ndef test_b(): pass\n"},
     [check()], COUPLED,
     ["Did not always run (4)", "the collection differs from run to run: reverse has no test_a.py::test_name[",
      ", and in addition test_a.py::test_name[", "so does what 1 more order had: see order in ledger.jsonl",
      "exit status 1: 4 tests did not always run; 3 orders had other tests than the first"]),
    ("a test that only a plan has", {**having("test_late"), "conftest.py": CHOOSES}, [check()], COUPLED,
     ["test_a.py::test_late was absent in 2 orders",
      "the collection differs from run to run: reverse has in addition test_a.py::test_late",
      "the collection differs from run to run: s1 has in addition test_a.py::test_late",
      "exit status 1: 1 test did not always run; 2 orders had other tests than the first"]),
    ("a test that no plan has", {**having("test_early"), "conftest.py": CHOOSES}, [check()], COUPLED,
     ["test_a.py::test_early was absent in 2 orders",
      "the collection differs from run to run: reverse has no test_a.py::test_early",
      "1 of the tests asked for are not there: test_a.py::test_early",
      "exit status 1: 1 test did not always run; 2 orders had other tests than the first"]),
    ("a test that only a plan has, not asked for", {**having("test_late"), "conftest.py": CHOOSES,
                                                    "o.json": '["test_a.py::test_b"]'},
     [["check", "--isolated", "none", "--order", "o.json", *PYTEST]], COUPLED,
     ["the collection differs from run to run: given has in addition test_a.py::test_late"]),
    ("tests in another sequence each time", {**having(*["test_%d" % i for i in range(40)]), "conftest.py": SHUFFLES},
     [check()], 0, ["the suite is not always collected in one order: test ", " in canonical, and test_a.py::",
                    " in canonical-2"]),
    # What is not there.
    ("an unknown id in an order file", {**TWO, "o.json": '["test_a.py::test_a",\n "test_a.py::test_bb", "x"]'},
     [["check", "--order", "o.json", *PYTEST]], DATA,
     ['fumehood: {}/o.json:2:2: the suite has no test "test_a.py::test_bb", nor 1 more of its ids '
      'hint: did you mean "test_a.py::test_b"?']),
    ("an order file that names a test twice", {**TWO, "o.json": '["a",\n "a"]'},
     [["check", "--order", "o.json", *PYTEST]], DATA, ['fumehood: {}/o.json:2:2: "a" stands there twice']),
    ("an order file that is none", {**TWO, "o.json": "{}"}, [["check", "--order", "o.json", *PYTEST]], DATA,
     ["fumehood: {}/o.json:1:1: an order is a list of ids hint: such as [\"tests/test_a.py::test_x\""]),
    ("an order file that is not there", TWO, [["check", "--order", "none.json", *PYTEST]], DATA,
     ["none.json: No such file or directory"]),
    ("an unknown victim", TWO, [RUN, ["shrink", *BARE, "latest", "test_a.py::test_bb"]], USAGE,
     ["fumehood: the run has no test test_a.py::test_bb hint: did you mean test_a.py::test_b?"]),
    ("an unknown finding", TWO, [RUN, ["replay", *BARE, "latest", "canonica"]], USAGE,
     ["fumehood: the run has neither an order nor a finding canonica hint: did you mean canonical?"]),
    ("a test that is gone since", TWO, [RUN, shorten, ["replay", *BARE, "latest", "canonical"]], FAILED,
     ["test_a.py::test_b"]),
    ("no tests", {"readme.txt": ""}, [check()], NONE,
     ["0 tests: nothing ran.", "| no tests ran in", "no test was collected: name the folder or the files of the "
      "tests in the command", "exit status 4: no tests ran"]),
    ("no tests, run", {"readme.txt": ""}, [RUN], NONE,
     ["| no tests ran in", "Exit status 4: no tests ran.", "no test was collected: name the folder or the files"]),
    ("no tests and no command", {"readme.txt": ""}, [["check"]], USAGE,
     ["fumehood: no command was given, and no framework is known by the files of {} "
      "hint: say what to run: fumehood check -- CMD"]),
    # Two runs in one folder.
    ("a folder that holds a run", TWO, [run("--out", "../out"), check("--out", "../out")], USAGE,
     ["fumehood: the run folder: {top}/out holds a run already hint: name another folder with --out, or remove this one; to go on with a "
      "check that was cut short: check --resume {top}/out"]),
    ("a folder that is written to", TWO, [hold, check("--out", "../out")], USAGE,
     ["fumehood: the run folder: another fumehood (process %d) writes to " % os.getpid(),
      "hint: wait for it, or name another folder with --out DIR"]),
    # A BOM and CRLF, in every file that we read.
    ("BOM and CRLF in fumehood.json", {
        "test_a.py": "import os\ndef test_a(): os.environ['X'] = '1'\ndef test_b(): open('left', 'w').close()\n",
        "fumehood.json": windows('{\n  // of ours\n  "version": 1,\n  "ignore": [\n'
                                 '    {"code": "FH111", "key": "X", "reason": "ours"}],\n'
                                 '  "expected_state": [\n    {"key": "*/left", "reason": "a mark"}]\n}\n')},
     [run("--fail-on", "leak")], 0, ["FH111 X: ours. 1 taken out.", "state */left: a mark. 1 taken out.", "2 passed in"]),
    ("the place of an error there", {**TWO, "fumehood.json": windows('{\n "version": 1,\n  "ignor": []\n}\n')},
     [RUN], DATA, ['fumehood: {}/fumehood.json:3:3: unknown key "ignor" hint: did you mean "ignore"?']),
    ("BOM and CRLF in an order file", {**TWO, "o.json": windows('[\n"test_a.py::test_b",\n"test_a.py::test_a"\n]\n')},
     [["check", "--isolated", "none", "--order", "o.json", *PYTEST]], 0,
     ["2 tests: no dependence on order was seen in 3 orders"]),
    ("BOM and CRLF in a run that goes on", TWO, [check(), rewrite_run, ["check", *BARE, "--resume", "latest"]], 0,
     ["2 tests: no dependence on order was seen in 4 orders"]),
    ("BOM and CRLF in a run that is replayed", TWO, [RUN, rewrite_run, ["replay", *BARE, "latest", "canonical"]], 0,
     ["canonical"]),
    ("BOM and CRLF in a run that is compared", TWO, [check(), rewrite_run, ["diff", "latest", "latest"]], 0, []),
    ("CRLF in a .git file", TWO, [link_git, ["exec", "--", "test", "-d", "{top}/git"]], 0, []),
]


# ---- running the rows ----

def do(row):
    name, files, steps, *_ = row
    place = Place(files)
    seen = (None, "", "")
    try:
        for step in steps:
            if callable(step):
                step(place)
            else:
                seen = place.run([word.replace("{top}", place.top) for word in step])
    finally:
        if hasattr(place, "held"):
            os.close(place.held)
        place.done()
    return place, *seen


def joined(text):
    return re.sub(r"\s+", " ", text)


def judge(row, place, status, out, err):
    name, _, _, wanted, said = row
    text = joined(err) + "\n" + joined(out)
    said = [part.replace("{}", place.project).replace("{top}", place.top) for part in said]
    missing = [part for part in said if part not in text]
    ok(status == wanted and not missing, "%s: %d" % (name, wanted), "status %s" % status,
       *["not said: " + part for part in missing], out, err)


def main():
    parts = sys.argv[2:]
    rows = [row for row in TABLE if not parts or any(part in row[0] for part in parts)]
    # Those that hang keep no processor busy.
    with concurrent.futures.ThreadPoolExecutor(2) as few, concurrent.futures.ThreadPoolExecutor(8) as many:
        done = [(row, (many if "hang" in row[0] else few).submit(do, row)) for row in rows]
        for row, result in done:
            judge(row, *result.result())
    return plan()


if __name__ == "__main__":
    sys.exit(main())
