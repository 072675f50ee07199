"""A DNS server of a test, on 127.0.0.1:53 of a network of the test's own."""
import socket
import struct
import threading


class Dns:
    """Answers each question by the next of a list of addresses."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 53))
        self.answers, self.asked = {}, []
        threading.Thread(target=self.loop, daemon=True).start()

    def loop(self):
        while True:
            q, peer = self.socket.recvfrom(4096)
            labels, at = [], 12
            while q[at]:
                labels.append(q[at + 1:at + 1 + q[at]].decode())
                at += 1 + q[at]
            kind = struct.unpack(">H", q[at + 1:at + 3])[0]
            name = ".".join(labels).lower()
            self.asked.append((name, kind))
            lists = self.answers.get(name)
            if lists == "silent":
                continue
            addresses = (lists.pop(0) if len(lists) > 1 else lists[0]) if lists and kind == 1 else []
            out = q[:2] + (b"\x81\x80" if lists else b"\x81\x83") + struct.pack(">HHHH", 1, len(addresses), 0, 0) + q[12:at + 5]
            for a in addresses:
                out += b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 0, 4) + socket.inet_aton(a)
            self.socket.sendto(out, peer)
