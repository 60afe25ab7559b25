"""outcome_log: a pytest plugin that writes each test's outcome to $OUTCOME_LOG, one JSON array a
line, in the words of fumehood's ledger. Of all tests only those in $OUTCOME_ONLY, a JSON array, are
run, if that is set. It holds a connection to $OUTCOME_LOG_SOCKET, if that is set,
as fumehood's adapter holds one to its looker."""

import json
import os
import socket

BAD = {"call": "failed", "setup": "error_setup", "teardown": "error_teardown"}
phases = {}
connection = None
if "OUTCOME_LOG_SOCKET" in os.environ:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(os.environ.pop("OUTCOME_LOG_SOCKET"))


def log(test, outcome):
    with open(os.environ["OUTCOME_LOG"], "a", encoding="utf-8") as f:
        print(json.dumps([test, outcome]), file=f)


def word_of(report):
    if report.failed:
        return BAD[report.when]
    if hasattr(report, "wasxfail"):
        return "xfailed" if report.skipped else "xpassed"
    return report.outcome


def pytest_collection_modifyitems(items):
    if "OUTCOME_ONLY" in os.environ:
        only = json.loads(os.environ["OUTCOME_ONLY"])
        items[:] = [item for item in items if item.nodeid in only]


def pytest_collectreport(report):
    if not report.passed:
        log(report.nodeid, "skipped" if report.skipped else "error_setup")


def pytest_runtest_logreport(report):
    phases[report.when] = word_of(report)


def pytest_runtest_logfinish(nodeid):
    words = list(phases.values())
    worst = [word for word in BAD.values() if word in words]
    log(nodeid, worst[0] if worst else phases.get("call", phases["setup"]))
    phases.clear()
