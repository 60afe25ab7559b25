import pytest


@pytest.fixture(scope="module")
def wide():
    yield


def test_before(wide):
    pass


def test_exit():
    pytest.exit("enough", 9)


def test_after():
    pass
