import os

import pytest


class Odd(pytest.Item):
    def runtest(self):
        pass

    def reportinfo(self):
        return self.path, None, self.name


class OddFile(pytest.File):
    def collect(self):
        names = ["two\nlines", "surrogate \udcff", "nul \0", "same", "same", "same#2", "same"]
        names.append(os.path.dirname(self.path) + "/data")
        names += ["quote \" and \\", "é" * 20000, "é" * 20000 + "!"]
        for name in names:
            yield Odd.from_parent(self, name=name)


def pytest_collect_file(file_path, parent):
    if file_path.suffix == ".odd":
        return OddFile.from_parent(parent, path=file_path)
