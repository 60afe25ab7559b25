"""Sums.

>>> sum([1, 2])
3
>>> kept = 1
>>> kept
1
"""

import unittest

import pytest

kept = []


@pytest.fixture(scope="module")
def wide():
    return []


@pytest.fixture
def own():
    return []


def test_own_fixture_is_fresh(own):
    own.append(1)
    assert own == [1]


def test_wide_fixture_is_kept(wide):
    wide.append(1)
    assert wide == [1]


def test_module_is_kept():
    kept.append(1)
    assert kept == [1]


@pytest.mark.parametrize("n", [1, 2])
def test_param(n, own, request):
    assert request.node.funcargs["n"] == n and not own


def test_marks_itself(request):
    marked = [mark.name for mark in request.node.iter_markers()]
    request.node.add_marker(pytest.mark.seen)
    assert "seen" not in marked


class TestClass:
    __len__ = int  # an instance may be false

    def setup_method(self):
        self.made = []

    def test_instance_is_fresh(self):
        assert not hasattr(self, "used")
        self.used = True
        self.made.append(1)
        assert self.made == [1]


class TestOfUnittest(unittest.TestCase):
    def setUp(self):
        self.made = []

    def test_case_is_fresh(self):
        assert not hasattr(self, "used")
        self.used = True
        self.made.append(1)
        assert self.made == [1]

    @unittest.skip("never")
    def test_skipped(self):
        pass


@pytest.mark.xfail(reason="known")
def test_xfails():
    assert False
