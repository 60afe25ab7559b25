import os


def mode():
    return os.environ.get("APP_MODE", "production")


def test_production_by_default():
    assert mode() == "production"


def test_mode_from_the_environment():
    os.environ["APP_MODE"] = "test"
    assert mode() == "test"


def test_mode_is_lower_case():
    assert mode().islower()
