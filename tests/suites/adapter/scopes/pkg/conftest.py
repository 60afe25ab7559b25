import pytest


@pytest.fixture(scope="package")
def package_wide():
    yield
