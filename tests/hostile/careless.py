"""A proxy without lethe-proxy's defences, for positive controls: each attack of attacks/proxy.py has to succeed with it. It has a list of hosts, as lethe-proxy has."""
import re
import socket
import threading


class Careless:
    """Looks a name up to check it and once more to connect, believes the first of two lengths, hands on what follows, looks at no TLS."""

    def __init__(self, allowed, below, private):
        self.allowed, self.below, self.private, self.log = allowed, below, private, []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.loop, daemon=True).start()

    def loop(self):
        while True:
            try:
                s, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.one, args=(s,), daemon=True).start()

    def one(self, s):
        try:
            with s:
                first = s.recv(1)
                if first == b"\5":
                    self.socks(s)
                elif first:
                    self.http(s, first)
        except (OSError, ValueError, IndexError):
            pass

    def reach(self, name, port):
        """A connection, or None. The list has names; a number is none, and so is not looked for in it."""
        self.log.append(name)
        found = socket.getaddrinfo(name.split("\0")[0], port, socket.AF_INET if ":" not in name else 0, socket.SOCK_STREAM)
        number = re.fullmatch(r"[0-9a-fx.:]+", name)
        if not number and name not in self.allowed and not name.endswith(self.below):
            return None
        if found[0][4][0] in self.private and name in self.private:
            return None
        family, kind, _, _, address = socket.getaddrinfo(name.split("\0")[0], port, 0, socket.SOCK_STREAM)[-1]
        to = socket.socket(family, kind)
        to.settimeout(60)
        to.connect(address)
        return to

    def both_ways(self, a, b):
        def move(x, y):
            try:
                while part := x.recv(65536):
                    y.sendall(part)
                y.shutdown(socket.SHUT_WR)
            except OSError:
                pass
        t = threading.Thread(target=move, args=(a, b), daemon=True)
        t.start()
        move(b, a)
        t.join()

    def socks(self, s):
        s.recv(s.recv(1)[0])
        s.sendall(b"\5\0")
        command = s.recv(4)
        if command[1] != 1:
            s.sendall(b"\5\0\0\1\0\0\0\0\0\0")
            return
        field = s.recv(256)
        name, port = field[1:-2].decode("latin-1").rstrip("."), int.from_bytes(field[-2:], "big")
        if field[0] != len(field) - 3:
            name = "web.test" if name == "" else name
            self.allowed.add(name)  # as a parser that has lost its place takes a name for another field
        with self.reach(name, port) as to:
            s.sendall(b"\5\0\0\1\0\0\0\0\0\0")
            self.both_ways(s, to)

    def http(self, s, head):
        while b"\r\n\r\n" not in head:
            part = s.recv(65536)
            if not part:
                return
            head += part
        head, _, body = head.partition(b"\r\n\r\n")
        line, *fields = head.split(b"\r\n")
        method, rest = line.split(b" ", 1)
        target = rest.rsplit(b" ", 1)[0].decode("latin-1")
        if method == b"CONNECT":
            name, port = target.rsplit(":", 1)
            with self.reach(name.strip("[]"), int(port)) as to:
                s.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                to.sendall(body)
                self.both_ways(s, to)
            return
        name, port, path = re.match(r"(?s)http://([^:/@]+):(\d+)(?:@[^/]*)?(.*)", target).groups()
        with self.reach(name, int(port)) as to:
            to.sendall(b"%s %s HTTP/1.1\r\n" % (method, path.encode("latin-1")) + b"\r\n".join(fields) + b"\r\n\r\n" + body)
            self.both_ways(s, to)
