def test_before():
    pass


def test_stop(request):
    request.session.shouldstop = "a test wants it so"


def test_after():
    pass
