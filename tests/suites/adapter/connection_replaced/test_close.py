import os
import socket


def test_before():
    pass


def test_replace():
    """Something else gets the number: it must not hear what is the looker's."""
    one, two = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    os.closerange(900, 1100)
    os.dup2(two.fileno(), 1000)
    os.set_blocking(one.fileno(), False)
    globals()["one"] = one


def test_after():
    raise AssertionError("never run")


def teardown_module():
    try:
        print("heard", one.recv(100))
    except BlockingIOError:
        print("heard nothing")
