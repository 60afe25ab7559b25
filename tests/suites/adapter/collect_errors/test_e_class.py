import pytest


class TestBroken:
    @pytest.mark.parametrize("a, b", [(1,)])
    def test_x(self, a, b):
        pass


def test_same_module():
    pass
