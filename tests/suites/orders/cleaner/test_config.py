class Config:
    debug = False
    level = "info"


def test_quiet_by_default():
    assert not Config.debug


def test_debug_prints_more():
    Config.debug = True
    Config.level = "debug"
    assert Config.level == "debug"


def test_reset():
    Config.debug = False
    Config.level = "info"
    assert Config.level == "info"


def test_level_is_a_word():
    assert Config.level.isalpha()
