import pytest

flags = set()


def test_no_flag():
    assert not flags


@pytest.mark.parametrize("flag", ["a", "b", "c", "d"])
def test_raise_a_flag(flag):
    flags.add(flag)
    assert flag in flags


def test_another():
    assert "z" not in flags
