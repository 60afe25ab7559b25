import os

import pytest


def test_a():
    assert os.environ["PYTEST_XDIST_WORKER"].startswith("gw")


def test_b():
    assert "FUMEHOOD_SOCKET" not in os.environ


@pytest.fixture(scope="module")
def wide():
    return 1


def test_c(wide):
    assert wide == 2


@pytest.fixture
def broken():
    assert False


def test_e(broken):
    pass


def test_f():
    pytest.skip("not now")
