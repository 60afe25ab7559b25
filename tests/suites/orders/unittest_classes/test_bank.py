import unittest


class Bank:
    accounts = {}


class Opens(unittest.TestCase):
    def test_no_accounts(self):
        self.assertEqual(Bank.accounts, {})

    def test_the_name(self):
        self.assertEqual(Bank.__name__, "Bank")


class Pays(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        Bank.accounts["ann"] = 10

    def test_pay(self):
        self.assertEqual(Bank.accounts["ann"], 10)

    def test_balance(self):
        self.assertGreater(Bank.accounts["ann"], 0)
