"""The threshold as pytest-cov 4 looks at it."""

import pytest


class Cov:
    class options:
        cov_fail_under = 90

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtestloop(self, session):
        yield
        if self.options.cov_fail_under > 50:
            session.testsfailed += 1


def pytest_configure(config):
    config.pluginmanager.register(Cov(), "_cov")
