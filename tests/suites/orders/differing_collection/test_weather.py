import os


def test_always():
    assert True


def test_also_always():
    assert True


if os.urandom(1)[0] < 128:

    def test_now_and_then():
        assert True
