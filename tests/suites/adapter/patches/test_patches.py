import builtins
import gc
import json
import os
import resource
import signal
import socket
import sys
import time
import warnings


def broken(*args, **kwargs):
    raise RuntimeError("patched")


def test_clocks():
    time.time = time.perf_counter = time.monotonic = broken


def test_os():
    os.write = os.read = os.open = os.close = os.fstat = os.getpid = broken


def test_failed_with_a_long_message():
    assert False, "x" * 100000


def test_modules():
    json.dumps = json.loads = json.JSONEncoder.encode = broken
    socket.socket = socket.create_connection = broken
    builtins.repr = broken


def test_signals():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, lambda *args: None)
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)


def test_environment():
    os.environ.clear()
    sys.path.clear()
    for name in [name for name in sys.modules if name.startswith("fumehood")]:
        del sys.modules[name]
    gc.collect()
    warnings.simplefilter("error")
    os.chdir("/")


def test_limits():
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))


def test_default_timeout():
    socket.setdefaulttimeout(0.001)


def test_last():
    signal.setitimer(signal.ITIMER_REAL, 0)
