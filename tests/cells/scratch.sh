#!/bin/bash
# A scratch on disk: the cell is as in memory, nothing stays, and what a killed run left goes with the next.
# Usage: scratch.sh CELL_RUN FAULTS (true: cell_run was built with fault points)
# shellcheck disable=SC2016 # scripts in single quotes are the cell's shell's to expand
# shellcheck source=tests/cells/lib.sh
. "$(dirname "$0")/lib.sh"
faults=$2
root=$([ "$(id -u)" -eq 0 ] && echo yes || echo no)
disk=$work/disk
mkdir "$disk"
own=$disk/fumehood-$(id -u)
ours=(--scratch-dir "$disk")

echo old >kept
mkdir sub && echo deep >sub/deep
inside 'echo new >kept && rm sub/deep && rmdir sub && mkdir -p sub/a && echo x >/tmp/x && echo y >~/y && cat kept /tmp/x ~/y; ls -A sub' "${ours[@]}"
is "project, tmp and home can be written" "$said" $'new\nx\ny\na'
is "... and stay as they were" "$(cat kept sub/deep; ls -A sub)" $'old\ndeep\ndeep'
is "... every part of the cell is verified" "$(grep -o '"isolation":{[^}]*}' <<<"$result" | grep -o ':"[^"]*"' | sort -u)" ':"verified"'
is "... and nothing is left on the disk" "$(ls -A "$disk")" ""
is "the tracker is scan, and said" "$(field fanotify)" '"the scratch is on a disk, which the kernel lets nobody watch whole"'
inside "ls -A '$own' '$disk'; : >'$disk/mine'" "${ours[@]}"
is "what lies on the disk is out of sight" "$(grep -c 'cell\.' <<<"$said")" 0
ok "... and nothing is written beside" test ! -e "$disk/mine"
inside 'dd if=/dev/zero of=/tmp/big bs=1M count=8 2>&1 | grep -c "8.4 MB"' "${ours[@]}" --scratch-bytes 65536
is "its room is the disk's, not the memory's" "$said" 1
inside 'mkdir -p a/b/c /tmp/d && echo x >a/b/c/x && chmod 000 a/b/c a/b a /tmp/d && ln -s / /tmp/root && mkfifo /tmp/p' "${ours[@]}"
is "closed folders go, too" "$status $(ls -A "$disk")" "0 "
if [ "$root" = yes ]; then
	inside 'echo x >/etc/new && touch /tmp/x && mkdir -p /usr/lib/new && ls -d /etc/new' "${ours[@]}"
	is "root's trees can be written" "$said $(ls -A "$disk")" "/etc/new "
	mkdir /var/lib/fumehood-scratch-test.$$
	inside 'echo x >/var/lib/new && echo y >/var/cache/new && echo written' --scratch-dir /var/lib/fumehood-scratch-test.$$
	is "... but for what stands beside the scratch" "$(cat "$work/errors")" \
		"/bin/sh: 1: cannot create /var/lib/new: Read-only file system"
	inside 'echo y >/var/cache/new && echo written' --scratch-dir /var/lib/fumehood-scratch-test.$$
	is "... or elsewhere in its tree" "$said" written
	rmdir /var/lib/fumehood-scratch-test.$$
fi

# two at once, one of them killed
"$cell_run" "${ours[@]}" --out /dev/null -- /bin/sh -c 'echo x >left; mkdir d; chmod 000 d; echo; sleep 1000' >"$work/started" 2>/dev/null &
killed=$!
"$cell_run" "${ours[@]}" --out /dev/null -- /bin/sh -c 'echo x >f; echo; sleep 1000' >"$work/also" 2>/dev/null &
alive=$!
until [ -s "$work/started" ] && [ -s "$work/also" ]; do sleep 0.05; done
kill -9 $killed
wait $killed 2>/dev/null
is "killed with -9: its folder is left" "$(find "$own" -mindepth 1 -maxdepth 1 -name 'cell.*' | wc -l)" 2
inside 'echo x' "${ours[@]}"
is "... until the next run, which leaves those alone that live" "$(find "$own" -mindepth 1 -maxdepth 1 | wc -l)" 1
kill $alive
wait $alive 2>/dev/null
cell "${ours[@]}" -- /bin/true
is "... all is gone in the end" "$(ls -A "$disk")" ""
if [ "$faults" = true ]; then
	for point in scratch-made warden-mapped warden-after-pivot cell-release scratch-remove; do
		FUMEHOOD_FAULT=$point:1 "$cell_run" "${ours[@]}" -- /bin/sh -c 'mkdir -p a/b; echo x >a/b/c' >/dev/null 2>&1 &
		wait $! 2>/dev/null
		killed=$?
		cell "${ours[@]}" -- /bin/true
		is "killed at $point, the next run clears away" "$killed $status $(ls -A "$disk")" "137 0 "
	done
fi

# refusals
refused() {
	local name=$1 text=$2
	shift 2
	cell "$@" -- /bin/true
	is "$name" "$status $(grep -c -- "$text" "$work/errors")" "64 1"
}
refused "a scratch in the project" "lies in the project" --scratch-dir "$PWD/sub"
refused "a folder that is not there" "No such file or directory" --scratch-dir "$work/none"
mkdir -m 777 "$own"
chmod 777 "$own"
refused "a folder that others could reach into" "is not yours alone" "${ours[@]}"
rmdir "$own"
ln -s / "$own"
refused "a link in its place" "Not a directory\|Too many levels" "${ours[@]}"
rm "$own"

# in_mount SCRIPT: a shell in a mount namespace with a tmpfs of 1 MiB at $work/small, and an overlay.
in_mounts() {
	local user=()
	[ "$root" = yes ] || user=(--user --map-current-user --keep-caps)
	mkdir -p "$work/small" "$work/layers"
	timeout 120 unshare "${user[@]}" --mount sh -c 'cd "$1" && mount -t tmpfs -o size=1m none small &&
		mount -t tmpfs none layers && mkdir layers/up layers/work layers/over && mount -t overlay -o userxattr,lowerdir=project,upperdir=layers/up,workdir=layers/work none layers/over &&
		cd project && '"$1" sh "$work" "$cell_run" 2>"$work/errors"
}
said=$(in_mounts '"$2" --scratch-dir "$1/small" --out "$1/result" -- sh -c "dd if=/dev/zero of=big bs=1M count=4; rm big; echo x >y && cat y"; ls -A "$1/small"')
is "a full disk is ENOSPC, and only inside" "$said $(grep -c 'No space left' "$work/errors")" "x 1"
in_mounts '"$2" --scratch-dir "$1/layers/over" -- true'
is "a folder on an overlay" "$? $(grep -c 'lies on an overlay, which can hold no layers of another' "$work/errors")" "64 1"
ok "... and what can be done" grep -q 'hint: name a folder on ext4' "$work/errors"
in_mounts 'mount -o remount,noexec "$1/small" && "$2" --scratch-dir "$1/small" -- true'
is "a folder where nothing can be executed" "$? $(grep -c 'is mounted noexec' "$work/errors")" "64 1"
finish
