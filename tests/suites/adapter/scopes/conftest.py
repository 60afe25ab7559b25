import pytest


def pytest_addoption(parser):
    parser.addoption("--wide", default="module")


@pytest.fixture(scope="session")
def base():
    yield


@pytest.fixture(scope="session")
def upper(base):
    yield


@pytest.fixture(scope=lambda fixture_name, config: config.getoption("--wide"))
def dynamic():
    yield
