"""Options and hooks as randomly 3.12 has them."""

import random


def pytest_addoption(parser):
    parser.addoption("--randomly-dont-reorganize", action="store_false", dest="randomly_reorganize")
    parser.addoption("--randomly-seed", dest="randomly_seed", default="default")


def pytest_collection_modifyitems(config, items):
    if config.option.randomly_reorganize:
        random.Random(config.option.randomly_seed).shuffle(items)
