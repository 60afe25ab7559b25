made = []


def test_make():
    assert not made
    made.append("table")


def test_names():
    assert all(made)
