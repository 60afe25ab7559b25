import os

import pytest


@pytest.mark.forked
def test_dies():
    os._exit(3)


def test_lives():
    pass
