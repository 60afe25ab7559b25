def test_x(package_wide):
    pass
