"""The proxy part of scripts/bench: a tunnel of lethe-proxy beside a direct connection to the same server."""
import os
import signal
import socket
import statistics
import struct
import subprocess
import threading
import time

PIECE = 1 << 20
TOTAL = 256 << 20
CONNECTIONS = 300
EXCHANGES = 3000
SMALL = 100


def _server():
    """A process that sends TOTAL bytes to whoever sends a byte, answers each SMALL bytes with as many, and closes what is closed; its pid and port."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    data = os.memfd_create("bench")
    os.truncate(data, PIECE)

    def one(s):
        with s:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            first = s.recv(SMALL)
            if len(first) != 1:
                while first:
                    s.sendall(first)
                    first = s.recv(SMALL)
                return
            for _ in range(TOTAL // PIECE):
                sent = 0
                while sent < PIECE:
                    sent += os.sendfile(s.fileno(), data, sent, PIECE - sent)

    def loop():
        while True:
            threading.Thread(target=one, args=(listener.accept()[0],), daemon=True).start()

    port = listener.getsockname()[1]
    pid = os.fork()
    if pid == 0:
        loop()
    listener.close()
    return pid, port


def _proxy(build, port):
    """lethe-proxy, allowed this one port (schema/proxy.h); its process, channel and port."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    listener.setblocking(False)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen([build + "/lethe-proxy"], preexec_fn=lambda: os.dup2(theirs.fileno(), 3), close_fds=False)
    theirs.close()
    address = socket.inet_aton("127.0.0.1")
    body = struct.pack("QQQIIII", 0, 0, 0, 1, 1, 0, 0) + struct.pack("254sBBHH16s", b"127.0.0.1", 3, 0, port, port, address) + struct.pack("BB16s", 0, 32, address)
    socket.send_fds(ours, [struct.pack("II", 1, 8 + len(body)) + body], [listener.fileno()])
    at = listener.getsockname()[1]
    listener.close()
    return process, ours, at


def _dial(port, through):
    s = socket.create_connection(("127.0.0.1", through or port))
    if through:
        s.sendall(b"CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % (port, port))
        if not s.recv(4096).startswith(b"HTTP/1.1 200"):
            raise SystemExit("lethe-proxy refused the bench's own server")
    return s


def _bytes(port, through):
    buffer = bytearray(PIECE)
    with _dial(port, through) as s:
        began = time.perf_counter()
        s.sendall(b"x")
        left = TOTAL
        while left:
            n = s.recv_into(buffer)
            if not n:
                raise SystemExit("the tunnel ended early")
            left -= n
        return TOTAL / (time.perf_counter() - began)


def _exchanges(port, through):
    with _dial(port, through) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        began = time.perf_counter()
        for _ in range(EXCHANGES):
            s.sendall(bytes(SMALL))
            if len(s.recv(SMALL, socket.MSG_WAITALL)) != SMALL:
                raise SystemExit("the tunnel ended early")
        return EXCHANGES / (time.perf_counter() - began)


def _connections(port, through):
    began = time.perf_counter()
    for _ in range(CONNECTIONS):
        with _dial(port, through) as s:
            s.shutdown(socket.SHUT_WR)
            s.recv(1)
    return CONNECTIONS / (time.perf_counter() - began)


def proxy(args, work):
    """Bytes, small exchanges and connections a second, direct and through lethe-proxy, in turns; the median of the ratios."""
    server, port = _server()
    process, channel, through = _proxy(args.build, port)
    rows = []
    try:
        for name, title, measure, unit in (("bytes", "MB a second", _bytes, 1e6), ("exchanges", "exchanges a second", _exchanges, 1),
                                           ("connections", "connections a second", _connections, 1)):
            turns = [(measure(port, None), measure(port, through)) for _ in range(max(3, args.n // 20))]
            direct, tunnel = (statistics.median(t[i] for t in turns) / unit for i in (0, 1))
            ratio = statistics.median(t[1] / t[0] for t in turns)
            print("%-24s %10.0f direct  %10.0f through lethe-proxy  ratio %.2f" % (title, direct, tunnel, ratio))
            rows.append({"name": name, "direct": direct, "proxy": tunnel, "ratio": round(ratio, 3)})
    finally:
        channel.close()
        process.wait()
        os.kill(server, signal.SIGKILL)
        os.waitpid(server, 0)
    return rows
