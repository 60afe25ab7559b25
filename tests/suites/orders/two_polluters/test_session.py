session = {}


def test_a_stranger_may_not_delete():
    assert not (session.get("user") and session.get("admin"))


def test_log_in():
    session["user"] = "ann"
    assert session["user"]


def test_become_admin():
    session["admin"] = True
    assert session["admin"]


def test_session_is_a_mapping():
    assert hasattr(session, "keys")


def test_nothing_is_shared():
    assert "secret" not in session
