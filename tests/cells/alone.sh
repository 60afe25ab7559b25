# alone: what a death leaves behind. Sourced before lib.sh; goes on in pid, ipc, net and
# mount namespaces of its own, so that what others do on the host is not counted.
# shellcheck shell=bash
if [ "${FUMEHOOD_ALONE:-}" != yes ]; then
	export FUMEHOOD_ALONE=yes
	user=()
	[ "$(id -u)" -eq 0 ] || user=(--user --map-current-user)
	exec unshare "${user[@]}" --pid --ipc --net --fork --mount-proc "$0" "$@"
fi

processes() {
	local pid state
	for pid in /proc/[0-9]*; do
		pid=${pid#/proc/}
		[ "$pid" = 1 ] || [ "$pid" = $BASHPID ] || [ "$pid" = $$ ] && continue
		state=$(sed -n 's/^State:\t//p' "/proc/$pid/status" 2>/dev/null) || continue
		[ -z "$state" ] || echo "$pid $(<"/proc/$pid/comm") $state"
	done 2>/dev/null
}

state() {
	wc -l </proc/self/mountinfo
	cut -d: -f1 /proc/self/net/dev
	tail -qn +2 /proc/self/net/{unix,tcp,tcp6,udp,netlink,packet} | wc -l
	ls {/tmp,/dev/shm,.}/left 2>/dev/null
	wc -l /proc/sysvipc/*
	readlink /proc/[0-9]*/ns/* | sort -u
}

# Teardown goes on in the background: wait until nobody is left, but not for ever.
settled() {
	local i
	for ((i = 0; i < 400; i++)); do
		[ -n "$(processes)" ] || return 0
		sleep 0.05
	done
	processes >>"$work/errors"
	return 1
}
