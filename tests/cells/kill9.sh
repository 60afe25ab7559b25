#!/bin/bash
# kill -9 of `fumehood run`, or of a runner with two cells at once, at many instants leaves no process, namespace, mount, link, socket, file
# or shared memory; and the ledger is whole up to its last line. An instant is the nth passing of a
# fault point: a run that is let be tells which there are, and they are taken evenly from all of it.
# Usage: kill9.sh FUMEHOOD INSTANTS [LANES_RUN]; they were built with fault points (-Dfaults=true)
# shellcheck source=tests/cells/alone.sh
. "$(dirname "$0")/alone.sh"
# shellcheck source=tests/cells/lib.sh
. "$(dirname "$0")/lib.sh"
fumehood=$cell_run
wanted=$2

cat >test_leaves.py <<'EOF2'
import os
import subprocess
import time

import pytest


@pytest.fixture(scope="module")
def server():
    yield subprocess.Popen(["sleep", "1000"])


@pytest.mark.parametrize("n", range(40))
def test_leaves(server, n):
    if os.fork() == 0:
        os.setsid()
        time.sleep(1000)
    for place in "/tmp", "/dev/shm", ".":
        with open(place + "/left", "a") as f:
            f.write("x")
    if n < 3:
        subprocess.run(["ipcmk", "-M", "4096"], check=True, stdout=subprocess.DEVNULL)
EOF2

options=(--restore --custom "rows=wc -l <left" --out "$work/out" --
	/usr/bin/python3 -m pytest -q -p no:cacheprovider)
run=("$fumehood" run "${options[@]}")
if [ $# -gt 2 ]; then
	echo '[{ "name": "canonical" }, { "name": "canonical-2" }]' >"$work/orders"
	run=(env LANES=2 ORDERS="$work/orders" "$(cd "$OLDPWD" && realpath "$3")" "${options[@]}")
fi

# Whole lines are JSON; the runner may have died within the last.
ledger_is_whole() {
	[ ! -e "$1/ledger.jsonl" ] || /usr/bin/python3 -c '
import json, sys
for line in open(sys.argv[1]).read().split("\n")[:-1]:
	json.loads(line)' "$1/ledger.jsonl" 2>>"$work/errors"
}

# strike POINT:PASS: the runner dies there, and all is as before. 1: it was not there.
struck=0
wrong=0
strike() {
	local status
	FUMEHOOD_FAULT=$1 "${run[@]}" </dev/null >"$work/said" 2>&1 &
	wait $! 2>/dev/null
	status=$?
	if [ $status -eq 137 ]; then
		struck=$((struck + 1))
		if ! settled || ! ledger_is_whole "$work/out" || [ "$(state)" != "$before" ]; then
			wrong=$((wrong + 1))
			echo "$1: something is left" >>"$work/errors"
			diff <(echo "$before") <(state) >>"$work/errors"
		fi
	elif [ $status -gt 3 ]; then
		wrong=$((wrong + 1))
		echo "$1: status $status" >>"$work/errors"
		tail -5 "$work/said" >>"$work/errors"
	fi
	rm -rf "$work/out"
	[ $status -eq 137 ]
}

before=$(state)
FUMEHOOD_TRACE=$work/trace "${run[@]}" </dev/null >"$work/said" 2>&1
ok "a run that is let be ends" settled
rm -rf "$work/out"
awk '{ print $1 ":" ++passed[$1] }' "$work/trace" >"$work/instants"
total=$(wc -l <"$work/instants")
ok "it passes fault points $total times, enough for $wanted instants" test "$total" -ge "$wanted"

# Each point once, then evenly over the whole run; the others are there should one of those not be
# met again, since what processes do side by side is not the same each time.
points=$(sort -u "$work/trace" | wc -l)
awk -v w="$((wanted - points))" -v t="$total" '
	/:1$/ { print; next }
	int(NR * w / t) > int((NR - 1) * w / t) { spread[++n] = $0; next }
	{ others[++m] = $0 }
	END {
		for (i = 1; i <= n; i++) print spread[i]
		for (i = 1; i <= m; i++) print others[i]
	}' "$work/instants" >"$work/chosen"
: >"$work/errors"
while read -r instant && [ "$struck" -lt "$wanted" ]; do
	strike "$instant" && echo "${instant%:*}" >>"$work/struck"
done <"$work/chosen"
is "killed at so many instants, no two alike" "$struck" "$wanted"
is "... nobody and nothing is left, and the ledger is whole" "$wrong" 0
ok "... at each fault point: $(sort "$work/struck" | uniq -c | awk '{ printf "%s %d ", $2, $1 }')" \
	cmp <(sort -u "$work/trace") <(sort -u "$work/struck")
is "the host is as it was" "$(state)" "$before"
finish
