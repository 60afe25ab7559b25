"""asker: a pytest plugin that runs the shell command $ORACLE as a child of the test process, before
the first test and after the last, and writes the two exit statuses to $ORACLE_ANSWERS."""

import os


def pytest_collection_finish(session):
    session.config.pluginmanager.register(Asker([item.nodeid for item in session.items]))


class Asker:
    def __init__(self, tests):
        self.tests = tests
        self.answers = []

    def pytest_runtest_logstart(self, nodeid):
        if nodeid == self.tests[0]:
            self.ask()

    def pytest_runtest_logfinish(self, nodeid):
        if nodeid == self.tests[-1]:
            self.ask()
            with open(os.environ["ORACLE_ANSWERS"], "w", encoding="utf-8") as f:
                f.write(" ".join(self.answers))

    def ask(self):
        # os.system: the child inherits C's environ, and no signal is put back.
        self.answers.append(str(os.system(os.environ["ORACLE"])))
