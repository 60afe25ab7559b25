#!/bin/bash
# kill -9 of `fumehood run` at fifty instants, by fault point, leaves no process, namespace, mount,
# link, file or shared memory; and the ledger is whole up to its last line.
# Usage: kill9.sh FUMEHOOD, built with fault points (-Dfaults=true)
# shellcheck source=tests/cells/alone.sh
. "$(dirname "$0")/alone.sh"
# shellcheck source=tests/cells/lib.sh
. "$(dirname "$0")/lib.sh"
fumehood=$cell_run

cat >test_leaves.py <<'EOF2'
import os
import subprocess
import time

import pytest


@pytest.fixture(scope="module")
def server():
    yield subprocess.Popen(["sleep", "1000"])


@pytest.mark.parametrize("n", range(4))
def test_leaves(server, n):
    if os.fork() == 0:
        os.setsid()
        time.sleep(1000)
    for place in "/tmp", "/dev/shm", ".":
        with open(place + "/left", "a") as f:
            f.write("x")
    subprocess.run(["ipcmk", "-M", "4096"], check=True, stdout=subprocess.DEVNULL)
EOF2
before=$(state)

# Whole lines are JSON; the runner may have died within the last.
ledger_is_whole() {
	[ ! -e "$1/ledger.jsonl" ] || /usr/bin/python3 -c '
import json, sys
for line in open(sys.argv[1]).read().split("\n")[:-1]:
	json.loads(line)' "$1/ledger.jsonl" 2>>"$work/errors"
}

instants=0
options=()
# strike WHERE ROUNDS POINT:PASS...: at each, so many times, the runner dies and nobody is left.
strike() {
	local where=$1 rounds=$2 instant round wrong=0 seen=0 status
	shift 2
	: >"$work/errors"
	for instant in "$@"; do
		for ((round = 0; round < rounds; round++)); do
			seen=$((seen + 1))
			FUMEHOOD_FAULT=$instant "$fumehood" run "${options[@]}" --out "$work/out-$instant-$round" -- \
				/usr/bin/python3 -m pytest -q -p no:cacheprovider \
				</dev/null >"$work/said" 2>&1 &
			wait $! 2>/dev/null
			status=$?
			if [ $status -ne 137 ] || ! settled || ! ledger_is_whole "$work/out-$instant-$round"; then
				wrong=$((wrong + 1))
				echo "$instant: status $status" >>"$work/errors"
				tail -5 "$work/said" >>"$work/errors"
			fi
		done
	done
	instants=$((instants + seen))
	is "$where: killed $seen times, nobody is left, the ledger is whole" "$wrong" 0
}

strike "before the pivot" 4 cell-clone:1 warden-mapped:1 warden-before-pivot:1
strike "after the pivot" 6 warden-after-pivot:1 warden-ready:1
strike "in a boundary" 1 boundary-{look,answer}:{1..7}
options=(--restore --custom "rows=wc -l <left; sleep 0.01")
strike "while files are put back" 1 boundary-restored:{1..3}
options=()
strike "in teardown" 6 warden-exited:1 cell-release:1
is "instants" "$instants" 53
is "the host is as it was" "$(state)" "$before"
finish
