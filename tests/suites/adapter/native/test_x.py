import pytest


@pytest.mark.parametrize("n", range(5))
def test_x(n):
    pass
