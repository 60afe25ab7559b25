import registry


def test_nobody_is_known_at_first():
    assert registry.names() == []


def test_register():
    registry.register("mail", print)
    assert "mail" in registry.names()


def test_an_unknown_name():
    assert "fax" not in registry.names()
