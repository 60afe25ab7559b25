settings = {}


def test_load():
    settings.update(host="localhost", port=80)
    assert len(settings) == 2


def test_port():
    assert settings["port"] == 80


def test_no_password():
    assert "password" not in settings
