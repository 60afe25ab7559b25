import pytest


class Mode:
    strict = True


def test_is_strict():
    assert Mode.strict


@pytest.mark.parametrize("name", ["a", "b", "c", "d", "e", "f", "g", "h"])
def test_switches_it_on(name):
    Mode.strict = True
    assert name


def test_is_strict_too():
    assert Mode.strict


def test_switches_it_off():
    Mode.strict = False
    assert not Mode.strict
