def setup_module():
    pass


def teardown_module():
    pass


def setup_function():
    pass


class TestXunit:
    @classmethod
    def setup_class(cls):
        pass

    def setup_method(self):
        pass

    def test_x(self):
        pass


def test_y():
    pass
