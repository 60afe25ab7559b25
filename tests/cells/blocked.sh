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
refused "another limit" "make namespaces: No space left on device" "user.max_net_namespaces is 0 here"

# A container that covers parts of /proc.
user=()
[ "$(id -u)" -eq 0 ] || user=(--user --map-current-user --keep-caps)
# shellcheck disable=SC2016 # for the inner shell
said=$(unshare "${user[@]}" --mount sh -c 'mount -t tmpfs none /proc/bus && exec "$1" -- /bin/true' sh "$cell_run" \
	2>"$work/errors")
status=$?
refused "a masked /proc" "mount a proc" "who sees only parts"

# One level down it works when the suite may make namespaces. Not for root: in a cell it has no
# capability, and the kernel lets id 0 be mapped only by who has CAP_SETFCAP.
if [ "$(id -u)" -ne 0 ]; then
	cell --allow-nested -- ./inner -- /bin/sh -c 'id -u; exit 8'
	is "a cell in a cell" "$(field exit) $(head -1 <<<"$said")" "0 $(id -u)"
fi

# Root of a container that has not all ids.
said=$(unshare --user --map-root-user "$cell_run" --out "$work/result" -- /bin/sh -c 'id -u; cat /proc/self/uid_map' 2>"$work/errors")
is "root with one id" "$(tr -s ' ' <<<"$said")" $'0\n 0 0 1'
finish
