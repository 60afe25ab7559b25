#!/bin/bash
# A suite that asks the kernel for what it must not get is refused, call by call, and what it is given
# is harmless: tests/cells/calls.c has the table.
# Usage: calls.sh CELL_RUN CALLS
calls=$(realpath "$2") # before lib.sh leaves this folder
# shellcheck source=tests/cells/alone.sh
. "$(dirname "$0")/alone.sh"
# shellcheck source=tests/cells/lib.sh
. "$(dirname "$0")/lib.sh"

before=$(state; hostname; cat /proc/sys/kernel/{pid_max,core_pattern})
cell --bind "$calls=$HOME/calls" -- "$HOME/calls"
sed '/^1\.\./d' <<<"$said"
tap_count=$(grep -cE '^(not )?ok' <<<"$said")
[ "$(field exit)" = 0 ] || tap_failed=1
ok "the whole table was gone through" test "$tap_count" -gt 100
ok "nobody is left" settled
is "the host is as it was" "$(state; hostname; cat /proc/sys/kernel/{pid_max,core_pattern})" "$before"
finish
