import fcntl
import os


def sockets():
    links = {int(n): "/proc/self/fd/" + n for n in os.listdir("/proc/self/fd")}
    return [n for n, link in links.items() if os.path.exists(link) and "socket:" in os.readlink(link)]


def test_there_is_one_connection():
    (connection,) = sockets()
    assert fcntl.fcntl(connection, fcntl.F_GETFD) & fcntl.FD_CLOEXEC


def test_children_have_none():
    pid = os.fork()
    if pid == 0:
        os._exit(len(sockets()))
    assert os.waitpid(pid, 0)[1] == 0
