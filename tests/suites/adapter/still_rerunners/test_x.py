ran = []


def test_flaky():
    ran.append(1)
    assert len(ran) > 1


def test_once():
    assert len(ran) == 1
