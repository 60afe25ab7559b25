import pytest


@pytest.fixture(scope="module")
def wide():
    yield


def test_x(wide):
    pass


def test_y(wide):
    pass
