#!/usr/bin/python3
"""tally.py must count what failed as failed, however it failed."""

import json
import os
import subprocess
import sys
import tempfile

TALLY = os.path.join(os.path.dirname(__file__), "..", "lib", "tally.py")

# entries of the log, what the last line says, the exit status
CASES = [
    ([], "0 passed, 0 failed, 0 skipped", 1),
    ([("OK", "ok 1 - a\nok 2 - b\n1..2\n")], "2 passed, 0 failed, 0 skipped", 0),
    ([("FAIL", "ok 1 - a\nnot ok 2 - b\n1..2\n")], "1 passed, 1 failed, 0 skipped", 1),
    ([("ERROR", "ok 1 - a\n1..2\n")], "1 passed, 1 failed, 0 skipped", 1),
    ([("TIMEOUT", "1..2\nok 1 - a\n")], "1 passed, 1 failed, 0 skipped", 1),
    ([("FAIL", "")], "0 passed, 1 failed, 0 skipped", 1),
    ([("OK", "")], "1 passed, 0 failed, 0 skipped", 0),
    ([("OK", "ok 1 - a # SKIP no root\nok 2 - b\n1..2\n")], "1 passed, 0 failed, 1 skipped", 0),
    ([("OK", "ok 1 - a # SKIP\nok 2 - b\n1..2\n")], "1 passed, 1 failed, 0 skipped", 1),
    ([("SKIP", "1..0 # SKIP not root\n"), ("OK", "")], "1 passed, 0 failed, 1 skipped", 0),
    ([("SKIP", "1..0 # SKIP not root\n")], "0 passed, 0 failed, 1 skipped", 1),
    ([("SKIP", ""), ("OK", "")], "1 passed, 1 failed, 0 skipped", 1),
    ([("SKIP", "no bwrap\n"), ("OK", "")], "1 passed, 0 failed, 1 skipped", 0),
]


def main():
    failed = 0
    for number, (entries, last_line, status) in enumerate(CASES, 1):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as log:
            for result, stdout in entries:
                print(json.dumps({"name": "t", "stdout": stdout, "result": result}), file=log)
            log.flush()
            ran = subprocess.run([TALLY, log.name], stdout=subprocess.PIPE, text=True)
        ok = ran.returncode == status and ran.stdout.splitlines()[-1] == last_line
        failed += not ok
        print("%sok %d - %r is %s" % ("" if ok else "not ", number, str(entries).replace("#", "-"), last_line))
        if not ok:
            print("# said:", ran.stdout.splitlines()[-1], ran.returncode)
    print("1..%d" % len(CASES))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
