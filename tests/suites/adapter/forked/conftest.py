"""A test in a process of its own that dies, as pytest-forked 1.4 reports it."""

import os

import pytest
from _pytest.reports import TestReport


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    if not item.get_closest_marker("forked"):
        return None
    pid = os.fork()
    if pid == 0:
        item.runtest()
        os._exit(0)
    os.waitpid(pid, 0)
    report = TestReport(item.nodeid, item.location, {}, "failed", "it CRASHED", "???", duration=0)
    item.ihook.pytest_runtest_logreport(report=report)
    return True


def pytest_configure(config):
    config.addinivalue_line("markers", "forked")
