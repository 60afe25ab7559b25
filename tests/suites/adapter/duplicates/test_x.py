def test_x():
    pass


def test_y():
    pass
