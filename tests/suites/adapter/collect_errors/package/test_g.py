def test_inside():
    pass
