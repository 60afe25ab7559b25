import os

import pytest


@pytest.mark.parametrize("value", ["a[b]", "a\nb", "a\0b", "é", "\udcff", "a::b", "", "#2", "x" * 30000])
def test_value(value):
    pass


@pytest.mark.parametrize("value", [b"\xff", 1.5, None, os.path])
def test_object(value):
    pass


class TestIds:
    class TestInner:
        def test_x(self):
            pass
