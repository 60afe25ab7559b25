def test_inline():
    assert False, "x" * 2000


def test_file():
    assert False, "é" * 50000


def test_cut():
    assert False, "y" * 3000000
