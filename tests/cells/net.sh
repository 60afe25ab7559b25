#!/bin/bash
# The network of a cell is its loopback, and names say no at once.
# shellcheck disable=SC2016 # scripts in single quotes are the cell's shell's to expand
# shellcheck source=tests/cells/lib.sh
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
py=/usr/bin/python3

cat >echo.py <<'PY'
import socket, sys
for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    server = socket.socket(family)
    server.bind((host, 0))
    server.listen()
    client = socket.create_connection((host, server.getsockname()[1]))
    peer, _ = server.accept()
    client.sendall(b"hi")
    print(host, peer.recv(2).decode())
PY
cell -- $py echo.py
is "127.0.0.1 and ::1 carry" "$said" $'127.0.0.1 hi\n::1 hi'
inside 'hostname; cat /etc/hostname; getent hosts "$(hostname)" | cut -d" " -f1; getent hosts ::1 | cut -d" " -f1'
is "the host name is ours and resolves" "$said" $'fumehood\nfumehood\n127.0.0.1\n::1'
cat >lookup.py <<'PY'
import socket, time
before = time.monotonic()
try:
    socket.getaddrinfo("no-such-host.example.com", 80)
except OSError as e:
    print(type(e).__name__, time.monotonic() - before < 2)
PY
cell -- $py lookup.py
is "a look-up fails, and is not waited for" "$said" "gaierror True"
cell -- $py -c '
import errno, socket
try:
    socket.create_connection(("192.0.2.1", 80), timeout=5)
except OSError as e:
    print(errno.errorcode[e.errno])'
is "there is no way out" "$said" ENETUNREACH
inside 'ls /sys/class/net >/dev/null; grep -c : /proc/net/dev'
is "one device" "$said" 1
cell -- $py -c '
import socket
s = socket.socket(socket.AF_UNIX); s.bind("\0fumehood-test"); print("bound")'
is "abstract sockets are the cell's" "$said" bound
cell -- $py -c '
import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect("/run/fumehood/socket"); print("there")'
is "adapters can connect" "$said" there

cell --network-host -- /bin/sh -c 'readlink /proc/self/ns/net; hostname; getent hosts fumehood | cut -d" " -f1'
is "the host's network when asked" "$(head -1 <<<"$said")" "$(readlink /proc/self/ns/net)"
is "... and said" "$(field net)" '"off"'
# What the host's network has: services at its loopback and at abstract names.
cat >"$work/serve.py" <<'PY'
import os, socket, sys, threading


def serve(server):
    while True:
        with server.accept()[0] as peer:
            peer.sendall(b"of the host")


inet = socket.create_server(("127.0.0.1", 0))
abstract = socket.socket(socket.AF_UNIX)
abstract.bind("\0fumehood-net-test-%d" % os.getpid())
abstract.listen()
for server in inet, abstract:
    threading.Thread(target=serve, args=[server]).start()
with open(sys.argv[1] + ".new", "w") as f:
    print(inet.getsockname()[1], os.getpid(), file=f)
os.rename(sys.argv[1] + ".new", sys.argv[1])
PY
cat >reach.py <<'PY'
import errno, socket, sys
port, pid = sys.argv[1:]
for family, where in (socket.AF_INET, ("127.0.0.1", int(port))), (socket.AF_UNIX, "\0fumehood-net-test-" + pid):
    with socket.socket(family) as s:
        try:
            s.connect(where)
            print(s.makefile().read())
        except OSError as e:
            print(errno.errorcode[e.errno])
PY
$py "$work/serve.py" "$work/served" &
server=$!
trap 'kill $server; rm -rf "$work"' EXIT
until [ -e "$work/served" ]; do sleep 0.02; done
# shellcheck disable=SC2046 # two words
cell --network-host -- $py reach.py $(<"$work/served")
is "the host's services when asked: its loopback, its abstract sockets" "$said" $'of the host\nof the host'
# shellcheck disable=SC2046
cell -- $py reach.py $(<"$work/served")
is "... and not otherwise" "$said" $'ECONNREFUSED\nECONNREFUSED'

# Names are looked up where the host looks them up: at a server of the test's own, in a network of its own.
cat >"$work/names.py" <<'PY'
import fcntl, socket, struct, subprocess, sys, threading
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", 0x41))  # SIOCSIFFLAGS: up, running
names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
names.bind(("127.0.0.53", 53))


def answer():
    while True:
        ask, peer = names.recvfrom(512)
        end = ask.index(b"\0", 12) + 5
        known = ask[end - 4 : end - 2] == b"\0\1" and b"\4host\4test\0" in ask
        record = b"\xc0\x0c" + ask[end - 4 : end] + struct.pack("!IH4B", 60, 4, 192, 0, 2, 7)
        head = ask[:2] + b"\x81\x80\0\1" + (b"\0\1" if known else b"\0\0") + b"\0\0\0\0"
        names.sendto(head + ask[12:end] + (record if known else b""), peer)


threading.Thread(target=answer, daemon=True).start()
sys.exit(subprocess.run(sys.argv[1:]).returncode)
PY
echo 'nameserver 127.0.0.53' >"$work/resolv.conf"
looked_up() {
	local user=()
	[ "$(id -u)" -eq 0 ] || user=(--user --map-current-user --keep-caps)
	unshare "${user[@]}" --mount --net sh -c 'mount --bind "$1" "$(realpath /etc/resolv.conf)" && shift && exec "$@"' sh \
		"$work/resolv.conf" $py "$work/names.py" "$cell_run" --out /dev/null "$@" 2>"$work/errors"
}
is "names are looked up as outside" "$(looked_up --network-host -- getent hosts host.test | cut -d' ' -f1)" 192.0.2.7
is "... but not without the host's network" "$(looked_up -- getent hosts host.test)" ""

cell --network-host -- /bin/sh -c 'readlink /proc/self/ns/net; hostname; getent hosts fumehood | cut -d" " -f1'
is "... with the own name" "$(sed -n 2,3p <<<"$said" | tr '\n' ' ')" "fumehood 127.0.0.1 "
finish
