def setup_module():
    pass


def teardown_module():
    pass
