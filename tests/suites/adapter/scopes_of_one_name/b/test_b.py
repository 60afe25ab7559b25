def test_b(db):
    pass
