import uuid

import pytest


@pytest.mark.parametrize("name", [str(uuid.uuid4())])
def test_a_new_name_each_time(name):
    assert name


def test_one():
    assert True


def test_two():
    assert True
