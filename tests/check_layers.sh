#!/bin/bash
# check_layers: refuse an include that points upward. A folder is a layer:
# all may use sandbox/base; runner may use probe and sandbox, which do not know each other;
# tests may use all. Includes start at the root, so that the arrow can be read.
# Usage: check_layers.sh [ROOT]
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

declare -A may_use=(
	[sandbox/base]="sandbox/base"
	[sandbox]="sandbox/base sandbox"
	[probe]="sandbox/base probe"
	[runner]="sandbox/base sandbox probe runner"
	[tests]="sandbox/base sandbox probe runner tests"
)

layer_of() {
	case $1 in
	sandbox/base/*) echo sandbox/base ;;
	*/*) echo "${1%%/*}" ;;
	*) echo "?" ;;
	esac
}

wrong=0
seen=0
while IFS=: read -r file line text; do
	included=${text#*\"}
	included=${included%%\"*}
	from=$(layer_of "$file")
	to=$(layer_of "$included")
	seen=$((seen + 1))
	if [[ " ${may_use[$from]} " != *" $to "* ]]; then
		echo "$file:$line: $from may not include \"$included\""
		wrong=1
	fi
done < <(grep -rnE --include='*.[ch]' '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' \
	sandbox probe runner tests || true)

if [ $seen -eq 0 ]; then
	echo "no include was found: is $PWD the project?"
	exit 1
fi
exit $wrong
