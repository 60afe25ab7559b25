#!/bin/bash
# One port of the host's loopback inside a cell: it carries, nothing else does, and it ends with the cell.
# shellcheck disable=SC2016 # scripts in single quotes are the cell's shell's to expand
# shellcheck source=tests/cells/lib.sh
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
py=/usr/bin/python3

# The host's service: sends all it gets back, in capitals, until the other side has ended; says its
# port in a file. With a second argument it listens at that address.
cat >"$work/service.py" <<'PY'
import os, socket, sys, threading
host = sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1"
server = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
server.bind((host, 0))
server.listen(512)
with open(sys.argv[1] + ".new", "w") as f:
    f.write(str(server.getsockname()[1]))
os.rename(sys.argv[1] + ".new", sys.argv[1])


def serve(peer):
    with peer:
        while data := peer.recv(65536):
            peer.sendall(data.upper())
        peer.sendall(b"!")


while True:
    threading.Thread(target=serve, args=server.accept()[:1], daemon=True).start()
PY
services=()
trap 'kill "${services[@]}"; rm -rf "$work"' EXIT
# serve NAME [ADDRESS]: sets $port.
serve() {
	$py "$work/service.py" "$work/$1" "${@:2}" &
	services+=($!)
	until [ -e "$work/$1" ] || ! kill -0 $!; do sleep 0.02; done
	port=$(<"$work/$1")
}
serve six ::1
six=$port
serve other
other=$port
serve one
one=$port

cat >ask.py <<'PY'
import errno, socket, sys
for where in sys.argv[1:]:
    host, port = where.rsplit(":", 1)
    try:
        with socket.create_connection((host, port), timeout=20) as s:
            s.sendall(b"hi")
            s.shutdown(socket.SHUT_WR)
            print(s.makefile().read())
    except OSError as e:
        print(errno.errorcode[e.errno])
PY
cell --forward "$one" -- $py ask.py "127.0.0.1:$one" "::1:$one" "localhost:$one"
is "the port is there, by each name of the loopback" "$said" $'HI!\nHI!\nHI!'
is "... the network is the cell's own" "$(field net)" '"verified"'
cell --forward "$one" -- $py ask.py "127.0.0.1:$other" "::1:$other"
is "another port of the host is not" "$said" $'ECONNREFUSED\nECONNREFUSED'
cell -- $py ask.py "127.0.0.1:$one"
is "nor is any that was not asked for" "$said" ECONNREFUSED
cell --forward "$one" --forward "$six" --forward "$other" -- $py ask.py "127.0.0.1:$one" "127.0.0.1:$six" "::1:$six" "127.0.0.1:$other"
is "several ports, and a service at ::1 alone" "$said" $'HI!\nHI!\nHI!\nHI!'

cat >bulk.py <<'PY'
import hashlib, os, socket, sys, threading
data = b"".join(bytes([97 + i % 26]) * 4099 for i in range(8000))
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as s:
    sender = threading.Thread(target=lambda: (s.sendall(data), s.shutdown(socket.SHUT_WR)))
    sender.start()
    got = s.makefile("rb").read()
    sender.join()
print(got == data.upper() + b"!", len(got))
PY
cell --forward "$one" -- $py bulk.py "$one"
is "32 million bytes there and back, in order" "$said" "True 32792001"

cat >many.py <<'PY'
import socket, sys
port = int(sys.argv[1])
waiting = [socket.create_connection(("127.0.0.1", port)) for _ in range(300)]
answers = []
for s in waiting:
    with s:
        s.sendall(b"x")
        s.shutdown(socket.SHUT_WR)
        answers.append(s.makefile().read())
print(len(answers), set(answers))
PY
cell --forward "$one" -- $py many.py "$one"
is "more connections than the bound wait for their turn" "$said" "300 {'X!'}"

cell --forward 9 -- $py ask.py "127.0.0.1:9"
is "a port below 1024; and nobody there outside is a reset" "$said" ECONNRESET
cell --forward "$one" -- $py -c "
import errno, socket
try:
    socket.socket().bind(('127.0.0.1', $one))
except OSError as e:
    print(errno.errorcode[e.errno])"
is "inside the port is taken" "$said" EADDRINUSE
cell --forward "$one" -- $py -c "
import os
print(sorted(os.listdir('/proc/self/fd')), sum(os.path.exists(f'/proc/{n}') for n in range(2, os.getpid())))"
is "the command gets no socket, and meets no forwarder" "$said" "['0', '1', '2', '3'] 0"

# what the forwarder is, seen from the host
"$cell_run" --out /dev/null --forward "$one" -- /bin/sh -c 'echo; sleep 1000' >"$work/started" 2>/dev/null &
runner=$!
until [ -s "$work/started" ] || ! kill -0 $runner; do sleep 0.05; done
forwarder=$(pgrep -x forwarder -P $runner)
is "it has no capability and gets none" \
	"$(awk '/^(CapPrm|CapEff|CapInh|NoNewPrivs)/ { printf "%s ", $2 }' "/proc/$forwarder/status")" \
	"0000000000000000 0000000000000000 0000000000000000 1 "
if [ "$(id -u)" -eq 0 ]; then
	is "it holds sockets, a pidfd and /dev/null" \
		"$(readlink /proc/"$forwarder"/fd/* | sed -E 's/\[[0-9]*\]$//' | sort | uniq -c | awk '{ printf "%s %s ", $1, $2 }')" \
		"3 /dev/null 1 anon_inode:[pidfd] 2 socket: "
	ok "... which are of another network than it" test \
		"$(readlink "/proc/$forwarder/ns/net")" = "$(readlink /proc/self/ns/net)"
fi
kill -9 $runner
wait $runner 2>/dev/null
ok "killed with -9 is the runner: the forwarder is gone" \
	timeout 10 sh -c 'while [ -e "/proc/$1" ]; do sleep 0.05; done' sh "$forwarder"

refused() {
	local name=$1 text=$2
	shift 2
	cell "$@" -- /bin/true
	is "$name" "$status $(grep -c -- "$text" "$work/errors")" "64 1"
}
refused "a port into the host's own network" "with --network host the suite reaches it already" \
	--network-host --forward "$one"
refused "one port twice" "port $one is to be forwarded twice" --forward "$one" --forward "$one"
finish
