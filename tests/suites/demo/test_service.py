import json
import os

import uploads

HOME_SETTINGS = os.path.expanduser("~/.uploads.json")


def test_log_is_followed(tmp_path):
    (tmp_path / "inbox.log").touch()
    follower = uploads.follow(tmp_path / "inbox.log")  # and runs on
    assert follower.poll() is None


def test_settings_are_created():
    assert uploads.settings(HOME_SETTINGS) == {"keep_days": 30}  # in the user's home


def test_settings_last():
    with open(HOME_SETTINGS, encoding="utf-8") as f:  # written by the test above
        assert json.load(f) == {"keep_days": 30}


def test_settings_of_a_project(tmp_path):
    (tmp_path / "settings.json").write_text('{"keep_days": 7}')
    assert uploads.settings(str(tmp_path / "settings.json")) == {"keep_days": 7}
