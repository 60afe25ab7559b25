#!/bin/bash
# How a command ends in a cell is how it ends without one, and who is left behind is named.
# shellcheck source=tests/cells/lib.sh
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
py=/usr/bin/python3

# ends NAME WAIT_STATUS COMMAND...
ends() {
	local name=$1 wanted=$2
	shift 2
	cell -- "$@"
	is "$name" "$(field wait_status)" "$wanted"
}
ends "exit 0" 0 /bin/true
ends "exit 7" $((7 << 8)) /bin/sh -c 'exit 7'
ends "exit 255" $((255 << 8)) /bin/sh -c 'exit 255'
ends "abort() is SIGABRT, since the command is not process 1" 6 $py -c 'import os; os.abort()'
ends "a wild write is SIGSEGV" 11 $py -c 'import ctypes; ctypes.memset(8, 1, 1)'
ends "raise(SIGTERM)" 15 $py -c 'import os; os.kill(os.getpid(), 15)'
ends "raise(SIGKILL)" 9 $py -c 'import os; os.kill(os.getpid(), 9)'
ends "raise(SIGINT)" 2 /bin/sh -c 'kill -INT $$'

# never_ran NAME EXIT ERRNO COMMAND...
never_ran() {
	local name=$1 exit=$2 errno=$3
	shift 3
	cell -- "$@"
	is "$name" "$(field exit) $(field exec_error)" "$exit $errno"
}
printf 'echo script ran\n' >script
chmod 755 script
printf '#!/nowhere/sh\n' >lost
chmod 755 lost
never_ran "a command that is nowhere: 127, ENOENT" 127 2 no-such-command
never_ran "a path that is nowhere: 127, ENOENT" 127 2 ./no-such-command
never_ran "one that is no program: 126, EACCES" 126 13 /etc/passwd
never_ran "a folder: 126, EACCES" 126 13 /etc
never_ran "a script whose interpreter is missing: 127" 127 2 ./lost
ends "exit 127 of a command that ran" $((127 << 8)) /bin/sh -c 'exit 127'
is "... is told apart" "$(field exec_error)" 0
cell -- ./script
is "a script without #! is run by the shell" "$said" "script ran"

inside 'sleep 60 & sleep 61 & exit 3'
is "what is left behind is counted" "$(field survivors_len) $(field exit)" "2 3"
ok "... and named" grep -q '"survivors":\["sleep","sleep"\]' <<<"$result"
ok "... and killed" test -z "$(pgrep -x -f 'sleep 6[01]' -u "$(id -u)")"
inside 'setsid sh -c "sleep 62 &" </dev/null >/dev/null 2>&1; exit 0'
is "also a daemon of its own session" "$(field survivors_len)" 1
inside '(trap "" TERM HUP; sleep 63) & exit 0'
ok "... and one that ignores signals" grep -q '"survivors_len":1' <<<"$result"
inside 'true & true & true & wait; exit 0'
is "zombies are not" "$(field survivors_len)" 0
cell -- $py -c '
import os, time
for i in range(200):
    if os.fork() == 0:
        os.fork()
        os._exit(0)
while os.waitpid(-1, 0) and False: pass'
is "orphans are reaped" "$(field survivors_len) $(field exit)" "0 0"

inside 'sleep 60' --timeout-ms 200
is "the timeout asks with SIGTERM" "$(field wait_status) $(field timed_out)" "15 true"
inside 'trap "exit 9" TERM; while :; do sleep 0.01; done' --timeout-ms 2000
is "... which may be caught" "$(field exit) $(field timed_out)" "9 true"
inside 'trap "" TERM; while :; do sleep 0.01; done' --timeout-ms 2000 --grace-ms 200
is "... and after the grace kills" "$(field wait_status) $(field timed_out)" "9 true"
inside 'exit 4' --timeout-ms 60000
is "a command that is in time" "$(field exit) $(field timed_out)" "4 false"
inside 'trap "exit 5" INT; while :; do sleep 0.01; done' --stop 2=2000
is "cell_stop passes its signal" "$(field exit) $(field asked) $(field timed_out)" "5 true false"
inside 'trap "" INT; while :; do sleep 0.01; done' --stop 2=2000 --grace-ms 200
is "... and kills after the grace" "$(field wait_status) $(field asked)" "9 true"

# shellcheck disable=SC2016 # the cell's shell expands it
inside 'kill -9 1; kill -TERM 1; kill -INT 1; kill -STOP 1; sleep 0.1; exit 6'
is "the warden takes no signal from inside" "$(field exit) $(field gone)" "6 false"
inside 'test -e /dev/tty && : </dev/tty'
ok "there is no terminal to push input into" grep -q "No such device or address" "$work/errors"
inside 'kill -9 -1; exit 6'
is "kill -1 ends the command alone" "$(field gone)" false
inside 'kill -9 0'
is "kill 0 stays in the command's group" "$(field wait_status) $(field gone)" "9 false"
finish
