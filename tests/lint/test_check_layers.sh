#!/bin/bash
# check_layers.sh must refuse each wrong arrow, and name it, and let each right one pass.
set -uo pipefail
check=$(realpath "$(dirname "$0")/../check_layers.sh")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

count=0
failed=0
# includes FILE INCLUDED EXPECTED: the whole output; empty when it may.
includes() {
	rm -rf "${work:?}"/*
	mkdir -p "$work"/{sandbox/base,probe/sensors,runner/drive,tests/unit}
	echo "#include \"$2\"" >"$work/$1"
	local seen status
	seen=$("$check" "$work")
	status=$?
	count=$((count + 1))
	local ok="ok"
	if [ "$seen" != "$3" ] || [ "$status" -ne "$([ -z "$3" ]; echo $?)" ]; then
		ok="not ok"
		failed=1
	fi
	echo "$ok $count - $1 includes $2 (said: $seen)"
}

includes sandbox/base/err.c sandbox/base/err.h ""
includes sandbox/base/err.c sandbox/cell.h \
	'sandbox/base/err.c:1: sandbox/base may not include "sandbox/cell.h"'
includes sandbox/cell.c sandbox/base/err.h ""
includes sandbox/cell.c probe/event.h 'sandbox/cell.c:1: sandbox may not include "probe/event.h"'
includes sandbox/cell.c runner/ledger.h 'sandbox/cell.c:1: sandbox may not include "runner/ledger.h"'
includes probe/sensors/env.c probe/sensor.h ""
includes probe/sensors/env.c sandbox/base/fd.h ""
includes probe/sensors/env.c sandbox/cell.h \
	'probe/sensors/env.c:1: probe may not include "sandbox/cell.h"'
includes probe/delta.c runner/ledger.h 'probe/delta.c:1: probe may not include "runner/ledger.h"'
includes runner/drive/session.c probe/event.h ""
includes runner/drive/session.c sandbox/cell.h ""
includes runner/main.c tests/lib/tap.h 'runner/main.c:1: runner may not include "tests/lib/tap.h"'
includes tests/unit/test_cell.c runner/ledger.h ""
includes probe/delta.c delta.h 'probe/delta.c:1: probe may not include "delta.h"'
echo "1..$count"
exit $failed
