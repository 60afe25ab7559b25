import os

import pytest

seen = set()
HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = ["a[b]", "two\nlines", "a b::c", HERE, "\u00e9t\u00e9", "tab\t", "[", "#1", "-x", "per%cent"]


@pytest.mark.parametrize("name", NAMES, ids=NAMES)
def test_unseen(name):
    assert "poison" not in seen


@pytest.mark.parametrize("name", ["poison"], ids=["]poison[\n"])
def test_poison(name):
    seen.add(name)
    assert seen


@pytest.mark.parametrize("name", NAMES, ids=NAMES)
def test_named(name):
    assert name
