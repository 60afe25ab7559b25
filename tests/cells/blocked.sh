#!/bin/bash
# Where a host refuses namespaces, the answer is exit 69, the true cause, and the remedy.
# shellcheck source=tests/cells/lib.sh
. "$(dirname "$0")/lib.sh"

# refused NAME ERROR HINT: what the last cell_run said.
refused() {
	is "$1: exit" "$status" 69
	is "$1: what failed" "$(grep -c -- "$2" "$work/errors")" 1
	is "$1: why" "$(grep -c -- "hint: .*$3" "$work/errors")" 1
}

# A filter like Docker's: our own cell has one, and clone3 is EPERM or ENOSYS there.
cp "$cell_run" ./inner
cell -- ./inner -- /bin/true
status=$(field exit)
refused "a seccomp filter" "make namespaces" "a seccomp filter is on this process"

# limited NAME: run one where the sysctl user.NAME is 0.
limited() {
	# shellcheck disable=SC2016 # for the inner shell
	said=$(unshare --user --map-current-user --keep-caps sh -c \
		'echo 0 >"/proc/sys/user/$1" && exec "$2" -- /bin/true' sh "$1" "$cell_run" 2>"$work/errors")
	status=$?
}
limited max_user_namespaces
refused "user.max_user_namespaces = 0" "make namespaces: No space left on device" \
	"user.max_user_namespaces is 0 here"
limited max_net_namespaces
refused "another limit" "make namespaces: No space left on device" "a limit on namespaces is reached"

# One level down it must work, and does when the suite may make namespaces.
cell --allow-nested -- ./inner -- /bin/sh -c 'id -u; exit 8'
if [ "$(id -u)" -eq 0 ]; then
	is "a cell in root's cell needs a /proc without masks" "$(field exit)" 69
else
	is "a cell in a cell" "$(field exit) $(head -1 <<<"$said")" "0 $(id -u)"
fi
finish
