import os

import pytest

import uploads


@pytest.fixture
def inbox(tmp_path):
    inbox = uploads.Inbox(tmp_path)
    yield inbox
    inbox.close()


def test_takes_a_file(inbox, tmp_path):
    inbox.take("a.txt", b"hello")
    assert (tmp_path / "a.txt").read_bytes() == b"hello"


def test_takes_a_report(inbox):
    inbox.take("report.txt", b"all went well; " * 20)  # below the usual limit


def test_refuses_what_is_too_large(inbox, monkeypatch):
    monkeypatch.setenv("UPLOADS_LIMIT", "3")
    with pytest.raises(ValueError):
        inbox.take("b.txt", b"hello")


def test_limit_comes_from_the_environment():
    os.environ["UPLOADS_LIMIT"] = "50"  # and stays there
    assert uploads.limit() == 50


def test_a_failed_write_keeps_the_lock(inbox):
    with pytest.raises(FileNotFoundError):
        inbox.take("no/such/folder", b"hello")  # the lock in /tmp stays
    assert os.path.exists(uploads.LOCK)


def test_log_is_appended(tmp_path):
    uploads.Inbox(tmp_path).take("c.txt", b"hello")
    kept.append(uploads.Inbox(tmp_path))  # never closed
    assert (tmp_path / "inbox.log").read_text() == "took c.txt\n"


kept = []
