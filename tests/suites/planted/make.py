#!/usr/bin/python3
"""make: lay the planted suite into a folder, and say what its ledger must hold.

Usage: make.py FOLDER HOME
FOLDER becomes the project; FOLDER/expected.json is what expected() gives.
"""

import json
import os
import subprocess
import sys

import plants


def digest_of(content):
    """XXH3-128 by Debian's xxhsum, which is not ours."""
    ran = subprocess.run(["xxhsum", "-H2"], input=content, stdout=subprocess.PIPE, check=True)
    return ran.stdout.split()[0].decode()


def value_of(value, places):
    """A `before` or `after` of the table as it stands in the ledger."""
    if isinstance(value, dict):
        return {name: value_of(member, places) for name, member in value.items()}
    if isinstance(value, plants.Digest):
        return digest_of(value.of)
    return places(value) if isinstance(value, str) else value


def path_of(row):
    return "test_%s.py" % row.name


def test_names(row):
    """Names of the row's tests, as pytest writes them behind the path."""
    names = []
    inside = ""
    for line in row.module.splitlines():
        if line.startswith("class "):
            inside = line[6:].rstrip(":") + "::"
        elif line.lstrip().startswith("def test_"):
            name = line.strip()[4:].split("(")[0]
            names.append((inside if line[0] == " " else "") + name)
    return names


def expected(row, places):
    """The leaks of a row as the ledger has them; `who` is a test's id or a fixture's name."""
    names = test_names(row)
    for leak in row.leaks:
        by = leak.by or names[0]
        yield {
            "who": "%s::%s" % (path_of(row), by) if by in names else by,
            "domain": leak.domain,
            "what": leak.what,
            "key": places(leak.key),
            "key_b64": leak.key_b64,
            "zone": leak.zone,
            "before": value_of(leak.before, places),
            "after": value_of(leak.after, places),
            "damage": leak.damage,
        }


def places_of(project, home):
    def places(text):
        return text.replace("${PROJECT}", project).replace("${HOME}", home)

    return places


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def make(folder, places):
    """The suite in `folder`, with a fumehood.json that sets what its plants need."""
    os.umask(0o022)
    for row in plants.ROWS:
        write(os.path.join(folder, path_of(row)), places(row.module))
    for name, content in plants.FILES.items():
        write(os.path.join(folder, "data", name), content)
    for name, review in plants.XATTRS.items():
        os.setxattr(os.path.join(folder, "data", name), "user.reviewed", review)
    for name, target in plants.LINKS.items():
        os.symlink(target, os.path.join(folder, "data", name))
    for name, content in plants.SOURCES.items():
        write(os.path.join(folder, name), content)
    write(os.path.join(folder, "pytest.ini"), "[pytest]\n")
    for name, content in plants.TABLES.items():
        write(os.path.join(folder, "var", name), content)
    settings = {"version": 1, "env": {"set": plants.ENV}, "state_dirs": ["var"]}
    settings["custom"] = [{"name": name, "run": ["cat", "var/" + name]} for name in plants.TABLES]
    write(os.path.join(folder, "fumehood.json"), json.dumps(settings, indent=2) + "\n")


LEFTOVERS = '''
import os


def what_stands(top):
    for folder, _, names in os.walk(top):
        for path in [folder, *(os.path.join(folder, name) for name in names)]:
            state = os.lstat(path)
            if os.path.islink(path):
                content = os.readlink(path)
            elif os.path.isfile(path):
                with open(path, "rb") as f:
                    content = f.read()
            else:
                content = None
            tags = sorted((name, os.getxattr(path, name, follow_symlinks=False))
                          for name in os.listxattr(path, follow_symlinks=False))
            yield os.path.relpath(path, top), (state.st_mode, state.st_uid, content, tags)


def test_base():
    seen = dict(what_stands("data"))
    for path in seen.keys() | DATA.keys():
        assert seen.get(path) == DATA.get(path), path
    tmp = {name for name in os.listdir("/tmp") if not name.startswith(("pytest-of-", "planted."))}
    assert tmp == {".X11-unix", "fumehood-canary"}
    assert os.listdir("/dev/shm") == ["fumehood-canary"]
    home = os.path.expanduser("~")
    assert not [name for name in os.listdir(home) if os.path.isfile(os.path.join(home, name))]
    assert "upload" not in os.listdir(os.path.join(home, ".cache"))
    for place in "/tmp", home:
        with open(os.path.join(place, "fumehood-canary/keep")) as f:
            assert f.read() == ""


'''


def look_for_leftovers(folder, places):
    """A test that passes when all is as it stood; its file's name."""
    scope = {}
    exec(LEFTOVERS, scope)  # pylint: disable=exec-used
    data = dict(scope["what_stands"](os.path.join(folder, "data")))
    name = "test_leftovers.py"
    write(os.path.join(folder, name), LEFTOVERS + "DATA = %r\n" % data)
    return name


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    project = os.path.realpath(sys.argv[1])
    places = places_of(project, sys.argv[2])
    make(project, places)
    rows = [leak for row in plants.ROWS for leak in expected(row, places)]
    write(os.path.join(project, "expected.json"), json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
