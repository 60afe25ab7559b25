import pytest


@pytest.fixture
def interrupted():
    yield
    raise KeyboardInterrupt


def test_before():
    pass


def test_interrupt(interrupted):
    pass


def test_after():
    pass
