# lib: what the cell tests share. Sourced by each with the path of cell_run as its first argument.
# shellcheck shell=bash
set -uo pipefail

cell_run=$(realpath "$1") # meson names it from the build folder
if [ ! -x "$cell_run" ]; then
	echo "Bail out! $cell_run is not there to run"
	exit 1
fi
work=$(mktemp -d "${TMPDIR:-/var/tmp}/fumehood-cell.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/project"
cd "$work/project" || exit 1
: >"$work/errors"

tap_count=0
tap_failed=0

# ok NAME COMMAND...: passes when the command does.
ok() {
	local name=$1
	shift
	tap_count=$((tap_count + 1))
	if "$@"; then
		echo "ok $tap_count - $name"
	else
		tap_failed=1
		echo "not ok $tap_count - $name"
		echo "# failed: $*" | tr '\n' ' ' && echo
		sed 's/^/# /' "$work/errors"
	fi
}

# is NAME SEEN WANTED
is() {
	tap_count=$((tap_count + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $tap_count - $1"
	else
		tap_failed=1
		echo "not ok $tap_count - $1"
		printf 'wanted: %s\nseen:   %s\n' "$3" "$2" | sed 's/^/# /'
		sed 's/^/# /' "$work/errors"
	fi
}

# cell [OPTION...] -- COMMAND...: sets $said (the command's output), $result (one line of JSON) and
# $status (of cell_run itself).
cell() {
	: >"$work/result"
	# shellcheck disable=SC2034 # these three are for who sources us
	said=$(timeout 120 "$cell_run" --out "$work/result" "$@" 2>"$work/errors" </dev/null)
	# shellcheck disable=SC2034
	status=$?
	result=$(<"$work/result")
}

# inside SCRIPT [OPTION...]: a shell script in a cell.
inside() {
	local script=$1
	shift
	cell "$@" -- /bin/sh -c "$script"
}

# field NAME: a plain member of $result; its quotes stay.
field() {
	sed -nE "s/.*\"$1\":(\"[^\"]*\"|[^,}]*).*/\1/p" <<<"$result"
}

finish() {
	echo "1..$tap_count"
	exit "$tap_failed"
}

# What a cell could leave on the host: processes of ours, mounts, namespaces, links, shared memory.
host_state() {
	pgrep -x warden
	wc -l </proc/self/mountinfo
	ip -o link 2>/dev/null | wc -l
	ls /dev/shm /dev/mqueue 2>/dev/null
	ipcs -mqs | wc -l
	readlink /proc/[0-9]*/ns/* 2>/dev/null | sort -u | wc -l
}
