#!/bin/bash
# Every test that Debian's python3-psutil ships, in a cell as outside. Usage: psutil.sh FUMEHOOD
set -euo pipefail
here=$(dirname "$(realpath "$0")")
project=$(mktemp -d /var/tmp/psutil.XXXXXX)
trap 'rm -rf "$project"' EXIT
options=()
[ "$(id -u)" -ne 0 ] || options=(--caps setid) # there is a class of tests that become user 1000
# One test waits for ever now and then, outside as well (psutil's issue 2104: a pool of processes).
"$here/compare.py" "$1" "$project" "${options[@]}" -- /usr/bin/python3 -m pytest -q -p no:cacheprovider \
	--pyargs psutil.tests --deselect test_contracts.py::TestFetchAllProcesses::test_all
