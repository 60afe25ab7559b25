import time

held = []


def acquire():
    while held:
        time.sleep(0.1)


def test_acquire():
    acquire()


def test_release():
    held.clear()
    assert not held


def test_hold():
    held.append("test_hold")
    assert held
