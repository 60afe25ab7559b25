#!/usr/bin/python3
"""What the pytest adapter costs: 1000 trivial tests with it and without, turn about, as JSON.

    adapter.py LOOKER [ROUNDS]

LOOKER is the built adapter_looker, which looks at nothing: what is measured is the adapter and the
round trip. `boundary_us` is what both add to a test, `adapter_cpu_us` what of that the test process
itself computes.
"""

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

TESTS = 1000
PYTHON = "/usr/bin/python3"
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
PLUGIN = os.path.join(ROOT, "probe/adapters/pytest")
# name: microseconds that the looker polls before it sleeps, and that it looks
WAYS = {"sleeping": (0, 0), "spinning": (1000, 0), "spinning, a look of 40 us": (1000, 40)}


def command():
    return [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider"]


def plain(folder, env):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    subprocess.run(command(), cwd=folder, env=env, stdout=subprocess.DEVNULL, check=True)
    us = (time.perf_counter() - began) * 1e6
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return us, cpu * 1e6


def with_adapter(folder, env, looker, spin_us, look_us):
    env = dict(env, PYTHONPATH=PLUGIN, PYTEST_PLUGINS="fumehood_pytest")
    with tempfile.TemporaryDirectory() as place:
        os.mkdir(os.path.join(place, "drop"))
        with open(os.path.join(place, "drop/plan.json"), "w", encoding="utf-8") as file:
            json.dump({"v": 1, "mode": "run"}, file)
        line = [looker, place, str(spin_us), str(look_us)] + command()
        done = subprocess.run(line, cwd=folder, env=env, stdout=subprocess.PIPE, check=True)
    result = json.loads(done.stdout.decode().strip().split("\n")[-1])
    assert result["status"] == 0
    return result["us"], result["cpu_us"]


def main():
    looker = os.path.abspath(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    folder = tempfile.mkdtemp()
    with open(os.path.join(folder, "test_trivial.py"), "w", encoding="utf-8") as file:
        file.writelines("def test_%d():\n    pass\n\n\n" % n for n in range(TESTS))
    env = {"PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0", "HOME": folder, "LANG": "C.UTF-8"}
    times = {name: [] for name in ["plain", *WAYS]}
    for _ in range(rounds):
        times["plain"].append(plain(folder, env))
        for name, (spin_us, look_us) in WAYS.items():
            times[name].append(with_adapter(folder, env, looker, spin_us, look_us))
    shutil.rmtree(folder)
    base, base_cpu = medians(times["plain"])
    found = {"tests": TESTS, "rounds": rounds, "plain_s": round(base / 1e6, 3)}
    for name in WAYS:
        us, cpu_us = medians(times[name])
        found[name] = {
            "ratio": round(us / base, 3),
            "boundary_us": round((us - base) / TESTS, 1),
            "adapter_cpu_us": round((cpu_us - base_cpu) / TESTS, 1),
        }
    print(json.dumps(found, indent=1))


def medians(pairs):
    return [statistics.median(values) for values in zip(*pairs)]


if __name__ == "__main__":
    main()
