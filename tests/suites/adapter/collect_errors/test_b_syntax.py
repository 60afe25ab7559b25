def test_x(:
