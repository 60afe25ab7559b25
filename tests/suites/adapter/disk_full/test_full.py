import resource


def test_full():
    """No file can grow beyond this: as good as a full disk to whoever writes a long message."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (20000, resource.RLIM_INFINITY))
    assert False, "x" * 100000


def test_after():
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
