import json
import pathlib

STORE = pathlib.Path(__file__).parent / "store.json"


def load():
    return json.loads(STORE.read_text()) if STORE.exists() else {}


def test_empty_at_first():
    assert load() == {}


def test_save():
    STORE.write_text(json.dumps({"a": 1}))
    assert load() == {"a": 1}


def test_json():
    assert json.loads("1") == 1
