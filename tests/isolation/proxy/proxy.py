#!/usr/bin/python3
"""A-20..A-25: lethe-proxy alone, spoken to as the supervisor and as a region do. TAP.

usage: proxy.py LETHE-PROXY

The test has a network and a mount namespace of its own: hosts are named by an /etc/hosts that nobody else sees, and by a DNS server of the test.
"""
import ctypes
import os
import re
import select
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

from dns import Dns
from sockets import rest

PROXY = sys.argv[1]
RULE, NET, END, SUMS = "254sBBHH16s", "BB16s", "IIIHBB16sQQQ254s254sI", "IIQQQQQQQ"
OPEN, CLOSE, END_KIND, SUMS_KIND, SOCKETS, PUBLISH = 1, 2, 3, 4, 16, 17
WHY = ["closed", "time", "unreachable", "unknown_name", "bad_request", "region_ended", "not_allowed", "private_address", "not_tls",
       "other_server_name", "budget"]
BOUND = 20  # seconds: against hanging only
cases = []


def case(name, good, why=""):
    cases.append((name, bool(good), str(why)))


def own_namespaces():
    if os.environ.get("LETHE_OWN_NAMESPACES") == "1":
        return
    os.environ["LETHE_OWN_NAMESPACES"] = "1"
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    os.execvp("unshare", ["unshare", *user, "--mount", "--net", "--", sys.executable, *sys.argv])


def loopback_up():
    import fcntl
    with socket.socket() as s:
        fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", b"lo", 1 | 64))  # SIOCSIFFLAGS: up, running


def mount_over(path, text):
    f = tempfile.NamedTemporaryFile("w", delete=False)
    f.write(text)
    f.close()
    os.chmod(f.name, 0o644)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(f.name.encode(), os.path.realpath(path).encode(), None, 4096, None) != 0:
        raise OSError(ctypes.get_errno(), "mount over " + path)
    os.unlink(f.name)


class Region:
    """A lethe-proxy with a decision table, seen from both of its sides."""

    def __init__(self, allow, private=("127.0.0.0/8",), connections=0, size=0, usec=0, every=1, launcher=None):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.listener.setblocking(False)
        self.port = self.listener.getsockname()[1]
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.process = None
        if launcher:
            socket.send_fds(launcher, [b"x"], [theirs.fileno()])
        else:
            self.process = subprocess.Popen([PROXY], preexec_fn=lambda: os.dup2(theirs.fileno(), 3), close_fds=False,
                                            env={"SECRET": "of the supervisor"})
        theirs.close()
        rules = b"".join(map(self.rule, allow))
        nets = b"".join(map(self.net, private))
        body = struct.pack("QQQIIII", connections, size, usec, len(allow), len(private), every, 0) + rules + nets
        socket.send_fds(self.control, [struct.pack("II", OPEN, 8 + len(body)) + body], [self.listener.fileno()])
        self.listener.close()
        self.ends = []

    @staticmethod
    def rule(text):
        plain = text.endswith("/plain")
        host, port = text.removesuffix("/plain").rsplit(":", 1)
        first, _, last = port.partition("-")
        address = bytes(16)
        kind = 1
        if host.startswith("*."):
            host, kind = host[2:], 2
        elif re.fullmatch(r"[0-9.]+", host):
            address, kind = socket.inet_aton(host) + bytes(12), 3
        elif ":" in host:
            address, kind = socket.inet_pton(socket.AF_INET6, host), 4
        return struct.pack(RULE, host.encode(), kind, plain, int(first), int(last or first), address)

    @staticmethod
    def net(text):
        address, _, prefix = text.partition("/")
        v6 = ":" in address
        return struct.pack(NET, v6, int(prefix), socket.inet_pton(socket.AF_INET6 if v6 else socket.AF_INET, address).ljust(16, b"\0"))

    def dial(self):
        s = socket.create_connection(("127.0.0.1", self.port), timeout=BOUND)
        return s

    def connect(self, target, host=None):
        """CONNECT; returns the socket and the head of the answer."""
        s = self.dial()
        s.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {host or target}\r\n\r\n".encode())
        return s, head(s)

    def end(self):
        """The next END."""
        self.control.settimeout(BOUND)
        packet = self.control.recv(4096)
        f = struct.unpack(END, packet) if len(packet) == struct.calcsize(END) else (0, 0, 0)
        if f[0] != END_KIND:
            raise ValueError(f"no END: {len(packet)} bytes")
        address = socket.inet_ntop(socket.AF_INET6, f[6]) if f[4] else socket.inet_ntop(socket.AF_INET, f[6][:4])
        return {"why": WHY[f[2]], "port": f[3], "address": address if f[5] else None, "up": f[7], "down": f[8], "usec": f[9],
                "name": f[10].split(b"\0")[0].decode(), "seen": f[11].split(b"\0")[0].decode(), "published": f[12]}

    def close(self):
        """CLOSE; returns the sums, after every END."""
        self.control.sendall(struct.pack("II", CLOSE, 8))
        while True:
            self.control.settimeout(BOUND)
            packet = self.control.recv(4096)
            if not packet:
                raise ValueError("no sums")
            if struct.unpack_from("I", packet)[0] == SUMS_KIND:
                break
            self.ends.append(packet)
        status = self.process.wait(BOUND) if self.process else 0
        names = ["connections", "denied", "failed", "up", "down", "usec", "denied_unsaid"]
        return dict(zip(names, struct.unpack(SUMS, packet)[2:]), status=status)

    def kill(self):
        self.control.close()
        if self.process:
            self.process.wait(BOUND)


def head(s):
    got = b""
    while b"\r\n\r\n" not in got:
        more = s.recv(1)
        if not more:
            break
        got += more
    return got.decode("latin-1")


class Server:
    """What each connection gets: a function of the accepted socket."""

    def __init__(self, serve, port=0):
        self.listener = socket.create_server(("127.0.0.1", port), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.accepted = 0
        self.serve = serve
        threading.Thread(target=self.loop, daemon=True).start()

    def loop(self):
        while True:
            s, _ = self.listener.accept()
            self.accepted += 1
            threading.Thread(target=self.one, args=(s,), daemon=True).start()

    def one(self, s):
        try:
            with s:
                self.serve(s)
        except OSError:
            pass


def echo(s):
    while data := s.recv(65536):
        s.sendall(data)
    s.shutdown(socket.SHUT_WR)


seen_requests = []


def http(s):
    text = head(s)
    size = re.search(r"(?i)content-length: (\d+)", text)
    body = b""
    while size and len(body) < int(size.group(1)):
        body += s.recv(65536)
    while "hunked" in text and not body.endswith(b"0\r\n\r\n"):
        body += s.recv(65536)
    s.settimeout(0.2)
    try:
        body += s.recv(65536)
    except TimeoutError:
        pass
    seen_requests.append((text, body))
    s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")


def flood(s):
    while True:
        s.sendall(bytes(65536))


def silent(s):
    s.recv(1)


def hello(name):
    context = ssl.create_default_context()
    context.check_hostname = False
    out = ssl.MemoryBIO()
    tls = context.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name)
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()


def test_tunnels(e):
    """A-20: HTTP CONNECT, plain HTTP, SOCKS5."""
    r = Region([f"echo.test:{e.port}", f"*.wild.test:{e.port}", f"127.0.0.1:{e.port}"])
    data = os.urandom(3 << 20)
    s, answer = r.connect(f"echo.test:{e.port}")
    got = []
    reader = threading.Thread(target=lambda: got.append(rest(s)))
    reader.start()
    s.sendall(data)
    s.shutdown(socket.SHUT_WR)
    reader.join(BOUND)
    case("A-20: CONNECT to a granted name is a tunnel, with a half-closed end", answer.startswith("HTTP/1.1 200 ") and got[0] == data, answer)
    end = r.end()
    case("A-24: a connection's END has name, port, address, bytes up and down",
         end["why"] == "closed" and end["name"] == "echo.test" and end["port"] == e.port and end["address"] == "127.0.0.1" and
         end["up"] == end["down"] == len(data) and end["usec"] > 0, end)
    for name, kind in [("a.wild.test", 3), ("127.0.0.1", 1)]:
        s = r.dial()
        s.sendall(b"\5\2\2\0")
        greeting = s.recv(2)
        field = bytes([len(name)]) + name.encode() if kind == 3 else socket.inet_aton(name)
        for byte in b"\5\1\0" + bytes([kind]) + field + struct.pack(">H", e.port):
            s.sendall(bytes([byte]))
        reply = s.recv(10)
        s.sendall(b"over SOCKS")
        case(f"A-20: SOCKS5 CONNECT to {name}, byte by byte", greeting == b"\5\0" and reply[:2] == b"\5\0" and s.recv(10) == b"over SOCKS",
             (greeting, reply))
        s.close()
        r.end()
    sums = r.close()
    case("A-24: the sums are the sums", sums["connections"] == 3 and sums["denied"] == 0 and sums["up"] == sums["down"] == len(data) + 20 and
         sums["status"] == 0, sums)


def test_plain(h):
    r = Region([f"web.test:{h.port}"])
    for method, extra, body, want in [
            ("GET", "", b"", b""), ("POST", "Content-Length: 5\r\n", b"12345GET /second HTTP/1.1\r\n\r\n", b"12345"),
            ("PUT", "Transfer-Encoding: chunked\r\n", b"5\r\n12345\r\n0\r\n\r\nGET /second HTTP/1.1\r\n\r\n", b"5\r\n12345\r\n0\r\n\r\n")]:
        s = r.dial()
        seen_requests.clear()
        s.sendall(f"{method} http://WEB.test:{h.port}/x?y HTTP/1.1\r\nHost: web.test:{h.port}\r\n{extra}Proxy-Authorization: Basic eDp5\r\n\r\n".encode() + body)
        got = rest(s)
        text, sent = seen_requests[0] if seen_requests else ("", b"")
        case(f"A-20: a plain {method} goes to the server with its path, its own Host and one body",
             got.endswith(b"hello") and text.startswith(f"{method} /x?y HTTP/1.1\r\nHost: web.test:{h.port}\r\n") and "roxy" not in text and sent == want,
             (got, text, sent))
    r.close()


def test_refused(e, plain):
    r = Region([f"echo.test:{e.port}", "missing.test:80", f"closed.test:{plain}", f"both.test:{e.port}", f"private.test:{e.port}", f"own.test:{e.port}",
                f"mapped.test:{e.port}", f"8.8.4.4:{e.port}", f"zero.test:{e.port}"], private=("127.0.0.1/32",))
    before = e.accepted
    rows = [(f"other.test:{e.port}", 403, "not_allowed"), (f"echo.test:{e.port + 1}", 403, "not_allowed"), (f"127.0.0.1:{e.port}", 403, "not_allowed"),
            (f"x.echo.test:{e.port}", 403, "not_allowed"), (f"both.test:{e.port}", 403, "private_address"),
            (f"private.test:{e.port}", 403, "private_address"), (f"own.test:{e.port}", 403, "private_address"),
            (f"mapped.test:{e.port}", 403, "private_address"), (f"zero.test:{e.port}", 403, "private_address"),
            ("missing.test:80", 502, "unknown_name"), (f"closed.test:{plain}", 502, "unreachable")]
    for target, status, rule in rows:
        s, answer = r.connect(target)
        body = rest(s).decode()
        end = r.end()
        name, port = target.rsplit(":", 1)
        good = answer.startswith(f"HTTP/1.1 {status} ") and f'"rule":"{rule}"' in body and f'"name":"{name}","port":{port},' in body and \
            end["why"] == rule and end["name"] == name and end["port"] == int(port)
        good &= ('"allow":"\\"network\\": {\\"allow\\": [\\"' + target + '\\"]}"' in body) == (rule == "not_allowed")
        case(f"A-21, A-23: CONNECT {target}: {rule}", good and body.startswith('{"error":"lethe_denied"' if status == 403 else '{"error":"lethe_failed"'),
             (answer, body, end))
    case("A-21: no refused request reached the server", e.accepted == before, e.accepted)
    s = r.dial()
    s.sendall(b"\5\1\0\5\1\0\3\12other.test\0\x50")
    case("A-23: SOCKS5 says 2, not allowed", rest(s)[:4] == b"\5\0\5\2")
    r.end()
    for text in [f"GET http://echo.test:{e.port}/ HTTP/1.1\r\nHost: other.test\r\n\r\n", "GET / HTTP/1.1\nHost: x\n\n",
                 f"POST http://echo.test:{e.port}/ HTTP/1.1\r\nHost: echo.test:{e.port}\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
                 f"POST http://echo.test:{e.port}/ HTTP/1.1\r\nHost: echo.test:{e.port}\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
                 "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n"]:
        s = r.dial()
        s.sendall(text.encode("latin-1"))
        got = rest(s)
        case(f"A-23: smuggling is a bad request: {text[:40]!r}", got.startswith(b"HTTP/1.1 400 ") and b'"rule":"bad_request"' in got, got)
        r.end()
    s, answer = r.connect(f"echo.test:{e.port}")
    s.sendall(b"x")
    case("A-23: beside them a granted request is made", s.recv(1) == b"x" and e.accepted == before + 1, answer)
    s.close()
    sums = r.close()
    case("A-24: refusals and failures are counted apart", sums["denied"] == 10 and sums["failed"] == 7 and sums["connections"] == 1, sums)


def test_tls():
    """A-22. The network is the test's own: it has port 443."""
    Server(echo, port=443)
    r = Region(["tls.test:443", "*.wild.test:443", "bare.test:443/plain", "127.0.0.1:443"])
    rows = [("the asked name", "tls.test", "tls.test", True), ("another name", "tls.test", "other.test", False), ("no name", "tls.test", None, False),
            ("a name below a star", "a.wild.test", "a.wild.test", True), ("another name below the star", "a.wild.test", "b.wild.test", False),
            ("no name for an address", "127.0.0.1", None, True), ("a name for an address", "127.0.0.1", "other.test", False)]
    for what, host, name, good in rows:
        bytes_sent = hello(name)
        s, answer = r.connect(f"{host}:443")
        for byte in bytes_sent:
            try:
                s.sendall(bytes([byte]))
            except OSError:
                break
        if good:
            got = b""
            while len(got) < len(bytes_sent):
                more = s.recv(65536)
                if not more:
                    break
                got += more
            s.close()
            end = r.end()
            case(f"A-22: a hello with {what} goes through, split in bytes", got == bytes_sent and end["why"] == "closed", (answer, len(got), end))
        else:
            got = rest(s)
            end = r.end()
            case(f"A-22: a hello with {what} is refused", got in (b"(reset)", b"") and end["why"] == "other_server_name" and end["seen"] == (name or ""),
                 (answer, got, end))
    for text in [b"GET / HTTP/1.1\r\nHost: tls.test\r\n\r\n", b"SSH-2.0-x\r\n", b"\x16\x03\x01\xff\xff" + bytes(100)]:
        s, _ = r.connect("tls.test:443")
        s.sendall(text)
        got = rest(s)
        end = r.end()
        case(f"A-22: on port 443 {text[:10]!r} is refused", got == b"(reset)" and end["why"] == "not_tls", (got, end))
    s, _ = r.connect("bare.test:443")
    s.sendall(b"SSH-2.0-x\r\n")
    case("A-22: and goes through where the grant says plain", s.recv(100) == b"SSH-2.0-x\r\n")
    s.close()
    r.end()
    s = r.dial()
    s.sendall(b"GET http://tls.test:443/ HTTP/1.1\r\nHost: tls.test:443\r\n\r\n")
    case("A-22: plain HTTP to port 443 is refused", b'"rule":"not_tls"' in rest(s))
    r.end()
    r.close()


def test_confined():
    r = Region(["a.test:1"])
    s, _ = r.connect("b.test:1")
    rest(s)
    r.end()
    pid = r.process.pid
    status = dict(line.split(":\t", 1) for line in open(f"/proc/{pid}/status").read().splitlines() if ":\t" in line)
    case("A-21: no capability, no_new_privs, a filter", int(status["CapPrm"], 16) == 0 and int(status["CapEff"], 16) == 0 and int(status["CapBnd"], 16) == 0 and
         status["NoNewPrivs"] == "1" and status["Seccomp"] == "2", status)
    case("A-21: the user is nobody's", os.environ.get("LETHE_TEST_ROOT") != "1" or status["Uid"].split() == ["1879048191"] * 4, status["Uid"])
    try:
        environ = open(f"/proc/{pid}/environ", "rb").read()
    except PermissionError:
        environ = b""  # not dumpable: nobody of its user may look
    case("A-21: nothing of the supervisor's environment stays", b"SECRET" not in environ, environ)
    r.kill()
    case("A-25: the end of the channel ends lethe-proxy", r.process.returncode == 0)


def test_attacks(e, endless):
    """A-25: what one connection does, no other feels."""
    r = Region([f"echo.test:{e.port}", f"endless.test:{endless.port}"], every=0)
    for i in range(10000):
        s = r.dial()
        s.sendall(f"CONNECT n{i}.evil.test:443 HTTP/1.1\r\nHost: n{i}.evil.test:443\r\n\r\n".encode())
        if i % 100 == 0:
            case("A-21: 10,000 names: refused", head(s).startswith("HTTP/1.1 403 ")) if i == 0 else head(s)
        s.close()
        while select.select([r.control], [], [], 0)[0] and i % 3:
            r.end()
    held = [r.connect(f"endless.test:{endless.port}")[0] for _ in range(20)]
    idle = [r.dial() for _ in range(40)]
    for s in idle[:20]:
        s.sendall(b"CONNECT echo.test:")
    s, answer = r.connect(f"echo.test:{e.port}")
    s.sendall(b"still here")
    case("A-25: beside 20 endless servers that nobody reads, and 40 requests that never end, a connection works", s.recv(100) == b"still here", answer)
    for victim in held[:10]:
        victim.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        victim.close()
    for victim in held[10:]:
        victim.shutdown(socket.SHUT_WR)
    s.sendall(b"and now")
    case("A-25: after resets and half-closed ends, too", s.recv(100) == b"and now")
    memory = int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{r.process.pid}/status").read()).group(1))
    case("A-25: lethe-proxy holds less than 16 MB", memory < 16384, memory)
    for v in idle + held:
        v.close()
    many = []
    for _ in range(200):  # beyond PROXY_CONNECTIONS_MAX: the others wait
        t = r.dial()
        t.sendall(f"CONNECT echo.test:{e.port} HTTP/1.1\r\nHost: echo.test\r\n\r\n".encode())
        many.append(t)
    answered = 0
    while many:
        t = many.pop(0)
        answered += head(t).startswith("HTTP/1.1 200 ")
        t.close()
    case("A-25: 200 connections at once: each has its turn", answered == 200, answered)
    s.close()
    sums = r.close()
    case("A-24: each of the 10,000 is counted", sums["denied"] == 10000, sums)


def test_budgets(e):
    r = Region([f"echo.test:{e.port}"], size=100000)
    s, _ = r.connect(f"echo.test:{e.port}")
    try:
        for _ in range(64):
            s.sendall(bytes(4096))
    except OSError:
        pass
    got = rest(s)
    end = r.end()
    s, answer = r.connect(f"echo.test:{e.port}")
    case("A-24: beyond its bytes the connection ends, and later ones are refused", len(got) < 100000 and end["why"] == "budget" and
         end["up"] + end["down"] <= 100000 and answer.startswith("HTTP/1.1 403 ") and b'"rule":"budget"' in rest(s), (len(got), end, answer))
    r.kill()
    r = Region([f"echo.test:{e.port}"], connections=2)
    answers = [r.connect(f"echo.test:{e.port}")[1][:12] for _ in range(3)]
    case("A-24: beyond its connections a region is refused", answers == ["HTTP/1.1 200", "HTTP/1.1 200", "HTTP/1.1 403"], answers)
    r.kill()
    r = Region([f"echo.test:{e.port}"], usec=300000)
    s, _ = r.connect(f"echo.test:{e.port}")
    s.sendall(b"x")
    case("A-24: a connection ends at its time", s.recv(1) == b"x" and rest(s) in (b"", b"(reset)") and r.end()["why"] == "budget")
    r.kill()


def test_rebinding(e):
    """A-21: the checked address is the connected one."""
    dns = Dns()
    dns.answers = {"good.dns.test": [["127.0.0.1"]], "rebind.dns.test": [["127.0.0.1"], ["10.1.1.1"]], "mixed.dns.test": [["127.0.0.1", "10.1.1.1"]],
                   "host.dns.test": [["10.1.1.1"]], "slow.dns.test": "silent"}
    r = Region([f"*.dns.test:{e.port}"], private=("127.0.0.1/32",))
    s, answer = r.connect(f"good.dns.test:{e.port}")
    case("A-21: a name of the DNS is connected to", answer.startswith("HTTP/1.1 200 "), answer)
    s, answer = r.connect(f"rebind.dns.test:{e.port}")
    asked = [kind for name, kind in dns.asked if name == "rebind.dns.test"].count(1)
    case("A-21: one look-up, one connection", answer.startswith("HTTP/1.1 200 ") and asked == 1, (answer, asked))
    s.close()
    r.end()
    for name in ["rebind", "mixed", "host"]:
        s, answer = r.connect(f"{name}.dns.test:{e.port}")
        case(f"A-21: {name}: an answer with a private address refuses the name", b'"rule":"private_address"' in rest(s), answer)
        r.end()
    lost = [r.dial() for _ in range(30)]
    for s in lost:
        s.sendall(f"CONNECT slow.dns.test:{e.port} HTTP/1.1\r\nHost: slow.dns.test\r\n\r\n".encode())
    s, answer = r.connect(f"good.dns.test:{e.port}")
    case("A-25: look-ups without an answer hold nobody up", answer.startswith("HTTP/1.1 200 "), answer)
    for s in lost:
        s.close()
    r.kill()


def socket_pair_with(sockets):
    """What the worker makes for SOCKETS: the end of a pair whose message has the sockets."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    socket.send_fds(ours, [b"s"], [s.fileno() for s in sockets])
    ours.close()
    return theirs


def another_network(pipe):
    """A process in a network namespace of its own, with an echo server at 8000: sends 4 TCP sockets."""
    if ctypes.CDLL(None, use_errno=True).unshare(0x40000000) != 0:  # CLONE_NEWNET
        os._exit(1)
    loopback_up()
    listener = socket.create_server(("127.0.0.1", 8000), backlog=64)
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) for _ in range(4)]
    socket.send_fds(pipe, [b"s"], [s.fileno() for s in sockets])
    while True:
        with listener.accept()[0] as s:
            echo(s)


def test_published(e):
    """A-7: SOCKETS and PUBLISH. The sockets are of another network than lethe-proxy's own, or lethe-proxy ends."""
    def publish(r, port=8000):
        with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
            listener.setblocking(False)
            socket.send_fds(r.control, [struct.pack("IIHHI", PUBLISH, 16, listener.getsockname()[1], port, 0)], [listener.fileno()])
            return listener.getsockname()[1]

    def ended(r):
        r.control.settimeout(BOUND)
        try:
            return r.control.recv(4096) == b"" and r.process.wait(BOUND) == 0
        except ConnectionResetError:
            return r.process.wait(BOUND) == 0

    tcp, udp, unix = socket.socket(), socket.socket(type=socket.SOCK_DGRAM), socket.socket(socket.AF_UNIX)
    for name, sockets in (("of the host's network", [tcp]), ("without a message", []), ("of another kind", [udp]), ("of another family", [unix])):
        r = Region([])
        with socket_pair_with(sockets) if sockets else socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)[0] as channel:
            socket.send_fds(r.control, [struct.pack("II", SOCKETS, 8)], [channel.fileno()])
        case(f"A-7: sockets {name}: lethe-proxy ends", ended(r))
    r = Region([])
    try:
        publish(r)
        case("A-7: a port without sockets: lethe-proxy ends", ended(r))
    except BrokenPipeError:
        case("A-7: a port without sockets: lethe-proxy ends", ended(r))
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        another_network(theirs)
    theirs.close()
    _, fds, _, _ = socket.recv_fds(ours, 1, 4)
    sockets = [socket.socket(fileno=fd) for fd in fds]
    r = Region([], every=1)
    with socket_pair_with(sockets) as channel:
        socket.send_fds(r.control, [struct.pack("II", SOCKETS, 8)], [channel.fileno()])
    for s in sockets:
        s.close()
    port = publish(r)
    answers = []
    for i in range(20):  # each socket serves again
        with socket.create_connection(("127.0.0.1", port), timeout=BOUND) as s:
            s.sendall(b"%d" % i)
            s.shutdown(socket.SHUT_WR)
            answers.append(rest(s))
    case("A-7: 4 sockets serve 20 connections", answers == [b"%d" % i for i in range(20)], answers)
    end = r.end()
    case("A-24: END has the published port and the peer", (end["published"], end["port"], end["name"], end["up"], end["down"]) == (port, 8000, "127.0.0.1", 1, 1), end)
    sums = r.close()
    with socket.socket() as s:
        closed = s.connect_ex(("127.0.0.1", port)) != 0
    case("A-7: the port is closed when the sums are there", closed and sums["connections"] == 20, sums)
    os.kill(pid, 9)
    os.waitpid(pid, 0)


def test_launcher(e):
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    launcher = subprocess.Popen([PROXY, "launcher"], preexec_fn=lambda: os.dup2(theirs.fileno(), 3), close_fds=False)
    theirs.close()
    regions = [Region([f"echo.test:{e.port}"], launcher=ours) for _ in range(3)]
    good = [r.connect(f"echo.test:{e.port}") for r in regions]
    case("A-21: a launcher makes a lethe-proxy for each region", all(a.startswith("HTTP/1.1 200 ") for _, a in good), good)
    first = regions[0].close()
    s = good[1][0]
    s.sendall(b"lives")
    case("A-25: the end of one leaves the others", first["connections"] == 1 and s.recv(10) == b"lives")
    ours.close()
    case("A-25: the launcher ends with its supervisor", launcher.wait(BOUND) == 0)
    case("A-25: and with it all", rest(s) in (b"", b"(reset)"))


def main():
    if os.environ.get("LETHE_OWN_NAMESPACES") != "1" and os.geteuid() == 0:
        os.environ["LETHE_TEST_ROOT"] = "1"
    own_namespaces()
    loopback_up()
    names = ["echo", "web", "tls", "a.wild", "b.wild", "bare", "endless", "both", "closed"]
    mount_over("/etc/hosts", "127.0.0.1 localhost\n" + "".join(f"127.0.0.1 {n}.test\n" for n in names) +
               "10.9.9.9 both.test\n10.9.9.9 private.test\n127.0.0.2 own.test\n::ffff:127.0.0.1 mapped.test\n0.0.0.0 zero.test\n")
    mount_over("/etc/resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
    e = Server(echo)
    with socket.socket() as s:  # a port on which nobody listens
        s.bind(("127.0.0.1", 0))
        closed = s.getsockname()[1]
    tests = [lambda: test_tunnels(e), lambda: test_plain(Server(http)), lambda: test_refused(e, closed), test_tls, test_confined,
             lambda: test_attacks(e, Server(flood)), lambda: test_budgets(e), lambda: test_launcher(e), lambda: test_published(e), lambda: test_rebinding(e)]
    for t in tests:
        try:
            t()
        except (OSError, ValueError) as error:
            case("no error", False, f"{error!r} in line {error.__traceback__.tb_next.tb_next.tb_lineno}")
    print(f"1..{len(cases)}")
    for i, (name, good, why) in enumerate(cases, 1):
        print(f"{'ok' if good else 'not ok'} {i} - {name}" + ("" if good else f" # {why}"))
    sys.stdout.flush()
    os._exit(0 if all(good for _, good, _ in cases) else 1)  # threads still serve: the interpreter's own end is not theirs


main()
