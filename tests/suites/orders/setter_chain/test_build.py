import unittest

done = []


class Build(unittest.TestCase):
    def follow(self, step, before):
        if done == before:
            done.append(step)

    def test_1_configure(self):
        self.follow("configure", [])

    def test_2_compile(self):
        self.follow("compile", ["configure"])

    def test_3_link(self):
        self.follow("link", ["configure", "compile"])

    def test_4_sign(self):
        self.follow("sign", ["configure", "compile", "link"])

    def test_5_install(self):
        self.assertEqual(done, ["configure", "compile", "link", "sign"])

    def test_6_help(self):
        self.assertTrue(callable(self.follow))
