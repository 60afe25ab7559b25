"""Who is known, by name."""

known = {}


def register(name, handler):
    known[name] = handler


def names():
    return sorted(known)
