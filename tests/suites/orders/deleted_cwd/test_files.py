import os
import shutil
import tempfile


def test_relative_paths_resolve():
    assert os.path.isabs(os.path.abspath("notes.txt"))


def test_write_notes():
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    with open("notes.txt", "w", encoding="utf-8") as file:
        file.write("x")
    shutil.rmtree(folder)


def test_join():
    assert os.path.join("a", "b") == "a/b"
