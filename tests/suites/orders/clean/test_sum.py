import pytest


@pytest.mark.parametrize("n", range(6))
def test_sum(n):
    assert sum(range(n)) == n * (n - 1) // 2
