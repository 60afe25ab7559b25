import os


def test_before():
    pass


def test_crash():
    os._exit(7)


def test_after():
    pass
