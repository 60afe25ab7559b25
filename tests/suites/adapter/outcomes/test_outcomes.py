import unittest

import pytest


@pytest.fixture
def broken():
    raise ValueError("set-up")


@pytest.fixture
def breaks():
    yield
    raise ValueError("teardown")


@pytest.fixture
def skips_late():
    yield
    pytest.skip("too late")


@pytest.fixture
def skips():
    pytest.skip("not here")


def test_passed():
    pass


def test_failed():
    assert 1 == 2


def test_error_setup(broken):
    pass


def test_error_teardown(breaks):
    pass


def test_failed_and_error_teardown(breaks):
    assert False


def test_error_setup_and_teardown(breaks, broken):
    pass


def test_skipped():
    pytest.skip("inside")


@pytest.mark.skip(reason="by a mark")
def test_skipped_by_mark():
    pass


@pytest.mark.skipif("True", reason="by a condition")
def test_skipped_by_condition():
    pass


def test_skipped_in_setup(skips):
    pass


def test_skipped_in_teardown(skips_late):
    pass


@pytest.mark.xfail(reason="known")
def test_xfailed():
    assert False


@pytest.mark.xfail
def test_xfailed_without_reason():
    assert False


def test_xfailed_inside():
    pytest.xfail("from here on")


@pytest.mark.xfail(run=False, reason="would hang")
def test_xfailed_never_run():
    pass


@pytest.mark.xfail(reason="set-up fails")
def test_xfailed_in_setup(broken):
    pass


@pytest.mark.xfail(raises=KeyError, reason="another error")
def test_failed_with_another_error():
    raise ValueError


@pytest.mark.xfail(reason="passes after all")
def test_xpassed():
    pass


@pytest.mark.xfail(strict=True, reason="strict")
def test_xpassed_strictly_is_failed():
    pass


def test_system_exit():
    raise SystemExit(3)


class Unshowable(Exception):
    def __str__(self):
        raise RuntimeError

    __repr__ = __str__


def test_unshowable():
    raise Unshowable


class TestCase(unittest.TestCase):
    def test_failed(self):
        self.assertEqual(1, 2)

    def test_skipped(self):
        self.skipTest("unittest")

    @unittest.expectedFailure
    def test_expected_failure(self):
        self.fail("as expected")

    @unittest.expectedFailure
    def test_unexpected_success(self):
        pass

    def test_subtests(self):
        for n in range(2):
            with self.subTest(n=n):
                self.assertEqual(n, 0)
