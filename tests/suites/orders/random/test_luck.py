import os

import pytest


@pytest.mark.parametrize("coin", range(6))
def test_coin(coin):
    assert os.urandom(1)[0] < 128


def test_bytes():
    assert len(os.urandom(4)) == 4
