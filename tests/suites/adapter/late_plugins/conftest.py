"""Wrappers of a conftest stay inside ours: what they put back is back when the looker looks."""

import os

import pytest


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    os.environ["INNER"] = "1"
    yield
    del os.environ["INNER"]


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_fixture_setup(fixturedef):
    os.environ["FIXTURE"] = "1"
    yield
    del os.environ["FIXTURE"]


class Watch:
    """Stands in for the looker: at every packet the variables are gone."""

    def ask(self, packet):
        assert "INNER" not in os.environ or '"t":"scope' in packet
        assert "FIXTURE" not in os.environ
        return ask(packet)


def pytest_collection_finish(session):
    global ask
    adapter = [p for p in session.config.pluginmanager.get_plugins() if hasattr(p, "looker")][0]
    ask = adapter.looker.ask
    adapter.looker.ask = Watch().ask


@pytest.fixture(scope="module")
def wide():
    yield
