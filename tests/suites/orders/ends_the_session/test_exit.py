import pytest

broken = []


def test_first():
    assert True


def test_checks_the_machine():
    if broken:
        pytest.exit("the machine is not fit for this")


def test_breaks():
    broken.append(1)
    assert broken


def test_last():
    assert True
