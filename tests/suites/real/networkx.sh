#!/bin/bash
# Every test that Debian's python3-networkx ships, in a cell as outside. Usage: networkx.sh FUMEHOOD
set -euo pipefail
here=$(dirname "$(realpath "$0")")
project=$(mktemp -d /var/tmp/networkx.XXXXXX)
trap 'rm -rf "$project"' EXIT
"$here/compare.py" "$1" "$project" -- /usr/bin/python3 -m pytest -q --pyargs networkx
