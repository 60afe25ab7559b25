import pytest


@pytest.fixture
def narrow():
    yield


@pytest.fixture(scope="module")
def on_demand(request):
    request.getfixturevalue("upper")
    request.addfinalizer(lambda: None)


@pytest.fixture(scope="module")
def broken():
    raise ValueError


@pytest.fixture(scope="module")
def breaks():
    yield
    raise ValueError


@pytest.fixture(scope="module", params=["a", "b"])
def number(request):
    yield


@pytest.fixture(scope="class")
def per_class():
    yield


def test_narrow(narrow):
    pass


def test_on_demand(on_demand, dynamic):
    pass


@pytest.mark.parametrize("again", [1, 2])
def test_broken(broken, again):
    pass


def test_number(number):
    pass


def test_number_too(number):
    pass


class TestClass:
    def test_x(self, per_class):
        pass

    def test_y(self, per_class):
        pass


def test_breaks(breaks):
    pass
