"""A looker that looks at nothing: answers an adapter, and writes down what it said."""

import json
import os
import selectors
import signal
import socket
import struct


def peer(connection):
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return struct.unpack("3i", credentials)[0]


class FakeLooker:
    """Listens at `path`; its drop folder stands beside it.

    `plan` is what hello gets. `stop_at` names a packet ("start", "finish", ...) that is answered
    with stop instead of go; `hang_up_at` one at which the connection is closed; at the first
    `interrupt_at` the adapter's process is interrupted. With `hand_over` the answer to hello brings
    another connection, and the first is closed.
    """

    def __init__(
        self, folder, plan=None, stop_at=None, hang_up_at=None, interrupt_at=None, hand_over=False
    ):
        self.path = os.path.join(folder, "socket")
        self.drop = os.path.join(folder, "drop")
        self.plan = plan or {"v": 1, "mode": "run"}
        self.stop_at = stop_at
        self.hang_up_at = hang_up_at
        self.interrupt_at = interrupt_at
        self.hand_over = hand_over
        self.packets = []
        self.plans = 0
        os.mkdir(self.drop, 0o1777)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(self.path)
        self.listener.listen()
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)

    def serve(self, process):
        """Until the process has ended and all that it sent is read."""
        ended = os.pidfd_open(process.pid)
        self.selector.register(ended, selectors.EVENT_READ)
        running = True
        while running:
            ready = [key.fileobj for key, _ in self.selector.select()]
            others = [file for file in ready if file != ended]
            running = bool(others) or ended not in ready
            for file in others:
                if file is self.listener:
                    self.selector.register(file.accept()[0], selectors.EVENT_READ)
                else:
                    self.hear(file)
        os.close(ended)
        for key in list(self.selector.get_map().values()):
            if key.fileobj not in (self.listener, ended):
                key.fileobj.close()
        self.listener.close()

    def hear(self, connection):
        text = connection.recv(1 << 17)
        packet = json.loads(text) if text else {"t": "hangup"}
        if packet["t"] == "collecting":  # how files are read is pytest's affair; nobody waits for an answer
            return
        packet["connection"] = connection.fileno()
        packet["bytes"] = len(text)
        if "file" in packet:
            with open(os.path.join(self.drop, packet["file"]), encoding="utf-8") as file:
                packet["content"] = json.load(file)
        self.packets.append(packet)
        if packet["t"] == self.interrupt_at:
            self.interrupt_at = None
            os.kill(peer(connection), signal.SIGINT)
        if packet["t"] in ("hangup", self.hang_up_at):
            self.selector.unregister(connection)
            connection.close()
        elif packet["t"] != "done":
            self.say(connection, packet["t"] == "hello" and self.hand_over, self.answer(packet))

    def say(self, connection, hand_over, answer):
        text = json.dumps(answer, separators=(",", ":")).encode()
        if not hand_over:
            connection.send(text)
            return
        mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        socket.send_fds(connection, [text], [its.fileno()])
        its.close()
        self.selector.unregister(connection)
        connection.close()
        self.selector.register(mine, selectors.EVENT_READ)

    def answer(self, packet):
        if packet["t"] == self.stop_at:
            return {"t": "stop", "why": "the budget is spent"}
        if packet["t"] != "hello":
            return {"t": "go"}
        self.plans += 1
        name = "plan-%d.json" % self.plans
        with open(os.path.join(self.drop, name), "w", encoding="utf-8") as file:
            json.dump(self.plan, file)
        return {"t": "plan", "file": name}
