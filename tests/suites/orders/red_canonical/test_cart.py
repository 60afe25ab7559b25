cart = []


def test_add():
    cart.append("apple")
    assert cart[-1] == "apple"


def test_a_new_cart_is_empty():
    assert cart == []


def test_total():
    assert sum([]) == 0
