import ctypes
import multiprocessing
import os

import pytest


@pytest.fixture(scope="module")
def wide():
    yield


def test_child_goes_on(wide):
    """A child that leaves the test as its parent does: it runs the rest too, and says nothing."""
    pid = os.fork()
    if pid:
        assert os.waitpid(pid, 0)[1] == 0


def test_child_exits():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def test_c_fork():
    """Without Python's own hooks."""
    pid = ctypes.CDLL(None).fork()
    if pid:
        os.waitpid(pid, 0)


def test_multiprocessing():
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        process = context.Process(target=print)
        process.start()
        process.join()
        assert process.exitcode == 0


def test_child_has_no_connection():
    pid = os.fork()
    if pid == 0:
        fds = [fd for fd in os.listdir("/proc/self/fd") if int(fd) >= 900]
        os._exit(len(fds))
    assert os.waitpid(pid, 0)[1] == 0
