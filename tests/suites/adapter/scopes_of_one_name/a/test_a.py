def test_a(db):
    pass
