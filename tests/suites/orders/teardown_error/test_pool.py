import pytest

leased = []


@pytest.fixture
def pool():
    yield leased
    assert not leased, "a connection was not given back"


def test_pool_begins_empty(pool):
    assert isinstance(pool, list)


def test_lease_without_a_pool():
    leased.append("connection")
    assert leased


def test_nothing():
    assert True
