"""Options and hooks as random-order 1.1, randomly 3.12 and reverse 1.5 have them."""


def pytest_addoption(parser):
    parser.addoption("--random-order", action="store_true", dest="random_order_enabled")
    parser.addoption("--random-order-bucket", dest="random_order_bucket", default="default:module")
    parser.addoption("--random-order-seed", dest="random_order_seed", default="default:42")
    parser.addoption("--randomly-dont-reorganize", action="store_false", dest="randomly_reorganize")
    parser.addoption("--randomly-seed", dest="randomly_seed", default="default")
    parser.addoption("--reverse", action="store_true")


def pytest_collection_modifyitems(config, items):
    option = config.option
    seed = option.random_order_seed, option.random_order_bucket
    if option.random_order_enabled or not all(text.startswith("default:") for text in seed):
        items.reverse()
    if option.randomly_reorganize or option.randomly_seed != 0:
        items.reverse()
    if option.reverse:
        items.reverse()
