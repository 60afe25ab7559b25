import pytest


@pytest.fixture(scope="session")
def db(db):
    yield
