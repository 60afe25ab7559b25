#!/bin/bash
# The file tree of a cell: what can be seen, what can be written, and where it stays.
# shellcheck disable=SC2016 # scripts in single quotes are the cell's shell's to expand
# shellcheck source=tests/cells/lib.sh
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
root=$([ "$(id -u)" -eq 0 ] && echo yes || echo no)
home=$HOME

echo old >kept
echo old >gone
mkdir sub
echo deep >sub/deep
ln -s kept link
inside 'cat kept sub/deep link'
is "the project is seen" "$said" $'old\ndeep\nold'
is "its overlay is verified" "$(field overlay)" '"verified"'
inside 'echo new >kept && rm gone && echo made >made && mkdir -p a/b && mv sub/deep moved && cat kept made moved; ls'
is "the project can be written" "$said" $'new\nmade\ndeep\na\nkept\nlink\nmade\nmoved\nsub'
is "... and nothing of it leaves the cell" "$(ls) $(cat kept)" $'gone\nkept\nlink\nsub old'

for place in /tmp /var/tmp /dev/shm; do
	inside "stat -c %a $place; touch $place/x && rm $place/x && ls -A $place | grep -v '^fumehood-cell'"
	hidden=$([ $place = /tmp ] && echo $'.X11-unix\n')
	is "$place: 1777, writable, empty but for a canary" "$said" "1777
${hidden:+$hidden
}fumehood-canary"
done
inside 'stat -c %a /tmp/.X11-unix; ls /tmp/fumehood-canary'
is "/tmp/.X11-unix is there, the canary holds a file" "$said" $'1777\nkeep'
inside 'ls -A ~; ls -A ~/.cache; echo x >~/.rc && echo x >~/.cache/x && stat -c "%a %U" ~'
is "home and its cache: empty but for canaries, writable" "$said" \
	$'.cache\nfumehood-canary\nfumehood-canary\n700 '"$(id -un)"
ok "... and the real ones never see it" test ! -e "$home/.rc"
inside 'ls /run; stat -c "%a %u" $XDG_RUNTIME_DIR; ls -A $XDG_RUNTIME_DIR; stat -c %a /run/lock'
is "/run and XDG_RUNTIME_DIR are private" "$said" \
	$'fumehood\nfumehood-canary\nlock\nuser\n700 '"$(id -u)"$'\nfumehood-canary\n1777'
inside 'ls -A /tmp /dev/shm ~ /run/user/*' --no-canary
ok "without canaries there are none" test -z "$(grep canary <<<"$said")"

cell -- awk '$5 == "/"' /proc/self/mountinfo
is "one root is mounted: the old one is gone" "$(wc -l <<<"$said")" 1
inside 'touch /x 2>/tmp/e; grep -o "Read-only file system" /tmp/e'
is "/ is read-only" "$said" "Read-only file system"
if [ "$root" = yes ]; then
	inside 'echo x >/etc/new && echo y >>/etc/passwd && rm /etc/shells && mkdir /usr/lib/new /var/lib/new && cat /etc/new'
	is "root can write to the system" "$said $(field exit)" "x 0"
	ok "... and it stays in the cell" test ! -e /etc/new -a -e /etc/shells -a ! -e /usr/lib/new
	inside 'touch /boot/x || echo "no boot"; for f in /proc/sys/kernel/core_pattern /proc/irq/default_smp_affinity /sys/power/state; do test ! -e $f || echo x >$f; done'
	is "... but not to what the host boots" "$said" "no boot"
	ok "... nor pull the host's levers" test -z "$(grep -v 'Read-only file system' "$work/errors")"
	cell -- find /proc -maxdepth 3 -type f -not -path '/proc/[0-9]*' -writable -exec test -f {} ';' -print
	is "... nothing in /proc can be written" "$(grep -v ^/proc/pressure/ <<<"$said")" ""
	inside 'cat /proc/timer_list /proc/keys | wc -c'
	is "... nor the kernel's timers and keys be read" "$said" 0
	ok "... places of root are told" grep -q '"/etc":"upper/' <<<"$result"
	chown -R 1001:1001 .
	inside 'echo x >kept && echo y >new && chown 1001:1001 new && stat -c %u new kept .'
	is "root writes in the project of another, and gives files away" "$said" $'1001\n1001\n1001'
	chown -R 0:0 .
else
	inside 'for f in /etc/x /usr/x /var/x /opt/x; do touch $f 2>/dev/null && echo $f; done; echo x >>/etc/passwd'
	is "a user cannot write to the system" "$said" ""
fi
is "the tree is verified read-only" "$(field root)" '"verified"'

inside 'echo x >/dev/null && head -c4 /dev/zero | wc -c && head -c4 /dev/urandom | wc -c; echo x >/dev/full'
is "null, zero, urandom" "$said" $'4\n4'
ok "full is full" grep -qE 'No space left|I/O error' "$work/errors"
inside 'ls /dev | tr "\n" " "; readlink /dev/fd /dev/ptmx; : >/dev/mine'
is "/dev is minimal" "$said" \
	$'fd full mqueue null ptmx pts random shm stderr stdin stdout tty urandom zero /proc/self/fd\npts/ptmx'
ok "... and read-only" grep -q 'Read-only' "$work/errors"
cell -- /usr/bin/python3 -c '
import os
a, b = os.openpty()
print(os.ttyname(b), len(os.listdir("/dev/pts")))'
is "pseudo terminals are the cell's own" "$said" "/dev/pts/0 2"

# the project at every odd place
mkdir "$home/fumehood-cell-test-$$" && touch "$home/fumehood-cell-test-$$/f"
trap 'rm -rf "$work" "$home/fumehood-cell-test-$$" "/tmp/fumehood-cell-test-$$"' EXIT
inside 'ls; touch g; ls ..' --project "$home/fumehood-cell-test-$$" --cwd "$home/fumehood-cell-test-$$"
is "a project below home" "$said" $'f\nfumehood-canary\n'"fumehood-cell-test-$$"
mkdir "/tmp/fumehood-cell-test-$$" && touch "/tmp/fumehood-cell-test-$$/f"
inside 'ls; touch g; ls ..' --project "/tmp/fumehood-cell-test-$$" --cwd "/tmp/fumehood-cell-test-$$"
is "a project in /tmp" "$said" $'f\nfumehood-canary\n'"fumehood-cell-test-$$"
is "... left as it was" "$(ls "/tmp/fumehood-cell-test-$$")" f
mkdir -p "/tmp/fumehood-cell-test-$$/home"
inside 'echo $HOME; ls -A ~ | tr "\n" " "; ls /tmp | tr "\n" " "' --home "/tmp/fumehood-cell-test-$$/home" \
	--env "HOME=/tmp/fumehood-cell-test-$$/home"
is "a home in /tmp" "$said" \
	"/tmp/fumehood-cell-test-$$/home
.cache fumehood-canary fumehood-canary fumehood-cell-test-$$ "
inside 'pwd' --home ""
is "no home at all" "$said" "$PWD"
odd=$work/$'a:b,c\\d e\nf'
mkdir "$odd" && touch "$odd/f"
inside 'ls; touch g && ls' --project "$odd" --cwd "$odd"
is "a project whose name has : , \\ space and newline" "$said" $'f\nf\ng'
long=$work/$(printf 'x%.0s' {1..250})/$(printf 'y%.0s' {1..250})
mkdir -p "$long" && touch "$long/f"
inside 'ls' --project "$long" --cwd "$long"
is "a project with a path of 500 bytes" "$said" f
cell --project "/$(printf 'x%.0s' {1..5000})" -- /bin/true
is "one of 5000 is an error that says so" "$status $(grep -c 'a path of 5001 bytes' "$work/errors")" "64 1"

cell -- /usr/bin/python3 -c '
import errno, os
try: os.rename("sub", "sub2")
except OSError as e: print(errno.errorcode[e.errno])'
is "the known limit: rename() of a folder that was there is EXDEV" "$said" EXDEV

# mounts in the project
mkdir -p "$work/mounts/in/here" "$work/mounts/beside"
echo host >"$work/mounts/in/file"
user=()
[ "$root" = yes ] || user=(--user --map-current-user --keep-caps)
# shellcheck disable=SC2016 # for the inner shell
said=$(unshare "${user[@]}" --mount sh -c 'mount -t tmpfs none "$1/in/here" && echo mounted >"$1/in/here/f" &&
	exec "$2" --out /dev/null --project "$1" --cwd "$1" -- sh -c "cat in/here/f && echo x >in/here/f && echo y >beside/f && cat in/here/f beside/f; echo z >in/file"' \
	sh "$work/mounts" "$cell_run" 2>"$work/errors")
is "a project with a mount in it: both can be written" "$said" $'mounted\nx\ny'
ok "... but what stands beside the mount" grep -q 'in/file: Read-only' "$work/errors"
is "... and nothing of it leaves the cell" "$(cat "$work/mounts/in/file"; ls "$work/mounts/beside")" host

# binds
mkdir -p "$work/tools/bin" "$work/tools/secret" && echo tool >"$work/tools/bin/tool"
echo key >"$work/tools/key"
ln -s bin/tool "$work/tools/link"
inside "cat ~/t/bin/tool; touch ~/t/x" --bind "$work/tools=$home/t"
is "a folder below home" "$said" tool
ok "... is read-only" grep -q 'Read-only' "$work/errors"
inside "cat ~/a/b/one; readlink ~/a/l" --bind "$work/tools/bin/tool=$home/a/b/one" \
	--bind "$work/tools/link=$home/a/l"
is "a file, and a link as it is" "$said" $'tool\nbin/tool'
inside "cat ~/t/key; ls ~/t/secret ~/t" --bind "$work/tools=$home/t" --hide "$home/t/key" \
	--hide "$home/t/secret" --hide "$home/t/none"
is "secrets below a bind are empty" "$said" "$(printf '%s:\nbin\nkey\nlink\nsecret\n\n%s:' "$home/t" "$home/t/secret")"
inside 'cat /run/fumehood/a/b /run/fumehood/c; touch /run/fumehood/x; rm /run/fumehood/c; echo x >/run/fumehood/drop/m && cat /run/fumehood/drop/m; stat -c %a /run/fumehood/drop' \
	--file a/b=one --file c=two
is "our files are there, and drop can be written" "$said" $'onetwox\n1777'
is "... the rest cannot" "$(grep -c 'Read-only' "$work/errors")" 2
mkdir "$work/git" && echo ref >"$work/git/HEAD"
inside "cat $work/git/HEAD; echo x >$work/git/HEAD" --git-dir "$work/git"
is "a git dir outside the project" "$said" ref
ok "... is read-only" grep -q 'Read-only' "$work/errors"

inside 'dd if=/dev/zero of=/tmp/big bs=1M count=64 2>&1 | grep -o "No space left on device"; rm /tmp/big; echo x >/tmp/y && echo again' \
	--scratch-bytes 8388608
is "a full scratch is ENOSPC, and only inside" "$said" $'No space left on device\nagain'

# refusals
refused() {
	local name=$1 text=$2
	shift 2
	cell "$@" -- /bin/true
	is "$name" "$status $(grep -c -- "$text" "$work/errors")" "64 1"
}
refused "/ as project" "is the whole machine" --project /
refused "home as project" "is the home folder" --project "$home"
refused "an ancestor of home as project" "is the home folder" --project /some --home /some/home
refused "/tmp as project" "each cell has for itself" --project /tmp
refused "a relative project" "is no absolute path" --project project
refused "a file that leaves its place" "leaves /run/fumehood" --file ../x=y
cell --cwd "$work/none" -- /bin/true
is "a working directory that is not there is an error" "$status $(grep -c "working directory $work/none: No such" "$work/errors")" "64 1"
finish
