def test_x(wide):
    pass


def test_y(wide):
    pass
