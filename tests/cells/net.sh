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
is "... with the own name" "$(sed -n 2,3p <<<"$said" | tr '\n' ' ')" "fumehood 127.0.0.1 "
finish
