import os

loaded = []


def test_first():
    assert not os.path.exists("/nowhere")


def test_call():
    if loaded:
        os._exit(7)


def test_middle():
    assert os.sep == "/"


def test_load():
    loaded.append("library")
    assert loaded


def test_last():
    assert True
