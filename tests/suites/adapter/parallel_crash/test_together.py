import os


def test_a():
    pass


def test_dies():
    os._exit(3)


def test_b():
    assert False
