import pytest


@pytest.fixture(scope="module", params=[1, 2])
def number(request):
    yield request.param


def test_a(number):
    pass


def test_b():
    pass


def test_c(number):
    pass
