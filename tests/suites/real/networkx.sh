#!/bin/bash
# What Debian's python3-networkx ships of tests, in a cell as outside.
# Usage: networkx.sh FUMEHOOD PACKAGE..., such as networkx for all of it
set -euo pipefail
here=$(dirname "$(realpath "$0")")
project=$(mktemp -d /var/tmp/networkx.XXXXXX)
trap 'rm -rf "$project"' EXIT
fumehood=$1
shift
"$here/compare.py" "$fumehood" "$project" -- /usr/bin/python3 -m pytest -q --pyargs "$@"
