import pytest


class Numbers:
    open = True
    last = 0


def test_begins_at_zero():
    assert Numbers.last == 0


def test_takes_a_number():
    assert Numbers.open
    Numbers.last += 1


@pytest.mark.parametrize("name", ["a", "b", "c", "d", "e", "f", "g", "h"])
def test_closes(name):
    Numbers.open = False
    assert name
