"""A protocol as rerunfailures and flaky have it."""

import pytest
from _pytest.runner import runtestprotocol


class Reruns:
    def pytest_runtest_protocol(self, item, nextitem):
        for log in (False, True):
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        return True


class Counts:
    """Wrappers and reports of other plugins go on."""

    seen = []

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item):
        self.seen.append("protocol")
        yield

    def pytest_runtest_logstart(self):
        self.seen.append("start")

    def pytest_runtest_logreport(self, report):
        self.seen.append(report.when)

    def pytest_runtest_logfinish(self):
        self.seen.append("finish")

    def pytest_terminal_summary(self, terminalreporter):
        terminalreporter.write_line("seen " + " ".join(self.seen))


def pytest_configure(config):
    config.pluginmanager.register(Reruns(), "rerunfailures")
    config.pluginmanager.register(Counts())
