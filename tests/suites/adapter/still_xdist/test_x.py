def test_x():
    assert False


def test_y():
    pass
