import pytest

cache = {}


def theme(name):
    cache.setdefault("first", name)
    return cache["first"]


@pytest.mark.parametrize("name", ["dark", "light", "solar", "mono", "paper", "ink", "sand", "sea"])
def test_a_theme_has_a_name(name):
    assert theme(name)


def test_what_was_asked_first_is_kept():
    assert cache


@pytest.mark.parametrize("name", ["dark", "light", "solar", "mono"])
def test_again(name):
    assert theme(name) == cache["first"]
