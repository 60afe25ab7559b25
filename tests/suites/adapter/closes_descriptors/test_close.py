import os


def test_close():
    os.closerange(3, 256)


def test_after():
    pass
