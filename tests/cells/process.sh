#!/bin/bash
# What a command has and may do in a cell: what Bazel's test encyclopedia promises, and no more.
# shellcheck disable=SC2016 # scripts in single quotes are the cell's shell's to expand
# shellcheck source=tests/cells/lib.sh
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
py=/usr/bin/python3
secret=not-for-the-suite-$$
export SECRET=$secret

inside 'ls /proc/self/fd | wc -l; umask'
is "descriptors 0 1 2 (and the one that looks), umask 022" "$said" $'4\n0022'
cat >fds <<'PY'
import os
print(sorted(int(n) for n in os.listdir("/proc/self/fd"))[:-1], os.fstat(2).st_size)
PY
said=$( (umask 077; exec 7</etc/passwd 9>"$work/leak"; timeout 60 "$cell_run" -- $py fds) 2>/dev/null | head -1)
is "a descriptor of the caller does not come in" "$said" "[0, 1, 2] 0"
said=$( (umask 077; "$cell_run" -- /bin/sh -c umask) | head -1)
is "nor its umask" "$said" 0022
cat >signals <<'PY'
import signal
status = dict(l.split(":\t") for l in open("/proc/self/status").read().splitlines())
print(status["SigBlk"], signal.getsignal(signal.SIGCHLD), signal.getsignal(signal.SIGTERM))
PY
said=$(trap "" INT TERM CHLD HUP; timeout 60 "$cell_run" -- $py -S signals | head -1)
is "nor its signals" "$said" "0000000000000000 0 0"
said=$(trap "" CHLD; timeout 60 "$cell_run" -- /bin/sh -c 'exit 5' | sed -n 's/.*"exit":\([0-9]*\).*/\1/p')
is "a caller that ignores SIGCHLD" "$said" 5

inside 'id -u; id -g; cat /proc/self/uid_map | wc -l; getent passwd "$(id -u)" | cut -d: -f3; getent group "$(id -g)" | cut -d: -f3'
is "the ids are the caller's and have names" "$said" \
	"$(id -u; id -g; echo 1; id -u; id -g)"
inside 'echo $PPID $$; ps -e -o comm='
is "no process of the host is seen" "$said" $'1 2\nwarden\nsh\nps'
inside 'tr -d "\0" </proc/1/cmdline; cat /proc/1/environ; readlink /proc/1/fd/* /proc/1/cwd /proc/1/exe; cat /proc/1/maps'
is "the warden tells nothing: arguments, environment, descriptors, memory" "$said" ""
cell -- $py -c '
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def tried(r): print(os.strerror(ctypes.get_errno()) if r < 0 else "done")
tried(libc.ptrace(16, 1, 0, 0))
tried(libc.kill(1, 0))
child = os.fork()
if child == 0: os.execvp("sleep", ["sleep", "60"])
tried(libc.ptrace(16, child, 0, 0))
os.kill(child, 9)'
is "nor can it be traced; a child can" "$said" $'Operation not permitted\ndone\ndone'
inside 'env'
ok "the environment is the one given" test -z "$(grep "$secret" <<<"$said")"
inside 'env -0 | tr "\0" "\n" | cut -d= -f1 | sort | tr "\n" " "'
is "... and no more" "$said" "HOME LANG PATH PWD XDG_RUNTIME_DIR "

inside 'grep -E "Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs|^Seccomp:" /proc/self/status | tr -d "\t" | sort -u | cut -d: -f2 | sort | uniq -c | tr -s " "'
is "no capability at all, no_new_privs, a filter" "$said" $' 5 0000000000000000\n 1 1\n 1 2'
for p in user mount pid net ipc uts cgroup time root scratch overlay proc dev caps no_new_privs seccomp limits; do
	is "isolation: $p" "$(field $p)" '"verified"'
done
for kind in U m p n i u C T; do
	inside "unshare -$kind true"
	is "unshare -$kind is EPERM" "$(grep -c 'Operation not permitted' "$work/errors") $(field exit)" "1 1"
done
inside 'mount -t tmpfs none /tmp; umount /tmp; mount -o remount,rw /'
is "nothing can be mounted, unmounted, remounted" "$(field exit | grep -c '^0')" 0
ok "... and the tree is as it was" test ! -e /tmp/fumehood-canary
inside 'cp /bin/su /tmp/su 2>/dev/null; su root -c id </dev/null; exit $?'
ok "setuid gives nothing" test "$(field exit)" != 0

cell -- $py -c '
import multiprocessing as m
q = m.Queue(); l = m.Lock()
p = m.Process(target=lambda: (l.acquire(), q.put(7)))
p.start(); print(q.get(), m.Semaphore(3).acquire()); p.join()'
is "multiprocessing works" "$said" "7 True"
cell -- $py -c '
import subprocess, threading, tempfile, mmap, fcntl, os
print(subprocess.check_output(["sh", "-c", "echo hi"]).decode().strip())
t = threading.Thread(target=print, args=("thread",)); t.start(); t.join()
f = tempfile.TemporaryFile(); f.write(b"x" * 4096); f.flush()
m = mmap.mmap(f.fileno(), 4096); print(m[:1]); fcntl.flock(f, fcntl.LOCK_EX)
os.mkfifo("/tmp/fifo"); os.setxattr("/tmp/fumehood-canary", "user.a", b"b")
print(os.getxattr("/tmp/fumehood-canary", "user.a"))'
is "subprocess, thread, temporary file, mmap, flock, fifo, xattr" "$said" \
	$'hi\nthread\nb\'x\'\nb\'b\''

cell --pid-max 400 -- $py -c '
import os, time, sys
made = 0
try:
    while made < 2000:
        if os.fork() == 0:
            time.sleep(60)
        made += 1
except OSError as e:
    print(e.strerror, made < 400)'
is "a fork bomb ends at pid_max" "$said" "Resource temporarily unavailable True"
ok "... all of it counted" test "$(field survivors_len)" -gt 64
is "the host's pid_max is as it was" "$(cat /proc/sys/kernel/pid_max)" "$(cat /proc/sys/kernel/pid_max)"
inside 'cat /proc/sys/kernel/pid_max /proc/sys/user/max_user_namespaces /proc/sys/user/max_fanotify_groups /proc/sys/user/max_inotify_instances' --pid-max 500
is "quotas of the cell are lowered" "$said" $'500\n64\n8\n64'
inside 'ulimit -Sc; ulimit -Hc; kill -SEGV $$'
is "a crash leaves no core" "$(field wait_status | xargs -I{} expr {} % 256)" 11
inside 'cat /proc/1/comm; readlink /proc/self/ns/time /proc/self/ns/cgroup | wc -l; cat /proc/self/cgroup | cut -d: -f3 | sort -u'
is "the cgroup namespace has its own root" "$said" $'warden\n2\n/'
cell --allow-nested -- unshare -U true
is "--allow-nested lets a namespace be made" "$(field exit)" 0
finish
