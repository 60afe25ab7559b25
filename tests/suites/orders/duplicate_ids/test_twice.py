counter = []


def test_first_of_all():
    assert len(counter) < 2


def test_count():
    counter.append(1)
    assert counter
