import os
import stat
import subprocess
import sys

import pytest

INNER = "def test_inner(): assert False\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "test_inner.py").write_text(INNER)
    return tmp_path


def test_subprocess(folder):
    assert subprocess.call([sys.executable, "-m", "pytest", folder]) == 1


def test_main(folder):
    assert pytest.main([str(folder), "-p", "no:cacheprovider"]) == 1


def test_pytester_in_process(pytester):
    pytester.makepyfile(INNER)
    pytester.runpytest_inprocess().assert_outcomes(failed=1)


def test_pytester_subprocess(pytester):
    pytester.makepyfile(INNER)
    pytester.runpytest_subprocess().assert_outcomes(failed=1)


def test_environment():
    assert "FUMEHOOD_SOCKET" not in os.environ
    assert os.environ["PYTHONPATH"] == os.path.dirname(__file__) + "/lib"
    assert os.environ["PYTEST_PLUGINS"] == "mine"
    assert not [path for path in sys.path if "adapters" in path]
    assert not [path for path in sys.path_importer_cache if path.endswith("adapters/pytest")]
    with open("/proc/self/environ", "rb") as file:
        assert b"FUMEHOOD_SOCKET" in file.read()  # what exec was given cannot be changed


def test_descriptors():
    links = ["/proc/self/fd/%s" % fd for fd in os.listdir("/proc/self/fd") if int(fd) < 900]
    assert not [link for link in links if stat.S_ISSOCK(mode_of(link))]


def mode_of(link):
    return os.stat(link).st_mode if os.path.exists(link) else 0
