import unittest


def setUpModule():
    pass


class TestCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        pass

    @classmethod
    def tearDownClass(cls):
        raise ValueError

    def setUp(self):
        pass

    def test_x(self):
        pass
