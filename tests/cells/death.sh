#!/bin/bash
# kill -9 of the runner at any instant leaves no process, namespace, mount, link or shared memory.
# Usage: death.sh CELL_RUN FAULTS (true: cell_run was built with fault points)
# shellcheck source=tests/cells/alone.sh
. "$(dirname "$0")/alone.sh"
# shellcheck source=tests/cells/lib.sh
. "$(dirname "$0")/lib.sh"
faults=$2

cat >suite <<'SH'
#!/bin/sh
# A suite that leaves all it can.
setsid sleep 1000 &
(trap "" TERM HUP INT; sleep 1000) &
echo x >/tmp/left; echo x >/dev/shm/left; echo x >left
ipcmk -M 4096 >/dev/null
exit 0
SH
chmod 755 suite
before=$(state)

if [ "$faults" = true ]; then
	for point in cell-clone warden-mapped warden-before-pivot warden-after-pivot warden-ready \
		forwarder copy-file warden-exited cell-release; do
		struck=0
		left=0
		for ((round = 0; round < 3; round++)); do
			FUMEHOOD_FAULT=$point:1 "$cell_run" --hold-ms 1000 --forward 9 --copy -- ./suite >/dev/null 2>&1 &
			wait $! 2>/dev/null
			[ $? -eq 137 ] && struck=$((struck + 1))
			settled || left=$((left + 1))
		done
		is "$point: the runner was killed there, and nobody is left" "$struck $left" "3 0"
	done
fi

left=0
for ((i = 0; i < 30; i++)); do
	"$cell_run" --hold-ms 1000 -- ./suite >/dev/null 2>&1 &
	sleep "0.0$(printf %02d $i)"
	kill -9 $!
	wait $! 2>/dev/null
	settled || left=$((left + 1))
done
is "killed at thirty instants: nobody is left" "$left" 0

"$cell_run" --out "$work/result" -- /bin/sh -c 'sleep 2; exit 4' >/dev/null 2>&1 &
until pgrep -x sleep >/dev/null; do sleep 0.05; done
kill -INT "$(pgrep -x warden)"
kill -TERM "$(pgrep -x warden)"
wait
result=$(<"$work/result")
is "ctrl-C, which reaches the warden too, is the runner's to deal with" "$(field exit)" 4

"$cell_run" -- /bin/sh -c 'sleep 1000' >/dev/null 2>&1 &
runner=$!
until pgrep -x sleep >/dev/null; do sleep 0.05; done
kill -9 "$(pgrep -x warden)"
wait $runner
ok "killed is the warden instead: the runner notices, and nobody is left" settled
is "the host is as it was" "$(state)" "$before"
finish
