def pytest_collection_modifyitems(items):
    items += list(items)
