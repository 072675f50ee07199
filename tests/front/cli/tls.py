#!/usr/bin/python3
"""A-22: port 443 through `lethe run --allow`: a TLS server with a certificate of its own, and hellos that ask for another name, for none, or are no TLS.

usage: tls.py LETHE root|user

The test has a network of its own, in which port 443 is free, and an /etc/hosts of its own.
"""
import ctypes
import fcntl
import json
import os
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading

if os.environ.get("LETHE_OWN_NAMESPACES") != "1":
    os.environ["LETHE_OWN_NAMESPACES"] = "1"
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    os.execvp("unshare", ["unshare", *user, "--mount", "--net", "--", sys.executable, *sys.argv])
with socket.socket() as s:
    fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", b"lo", 1 | 64))  # SIOCSIFFLAGS: up, running
with open("/proc/sys/net/ipv4/ip_unprivileged_port_start", "w") as f:
    f.write("0")
with tempfile.NamedTemporaryFile("w") as hosts:
    hosts.write("127.0.0.1 localhost\n127.0.0.1 web.test\n127.0.0.1 evil.test\n")
    hosts.flush()
    os.chmod(hosts.name, 0o644)
    if ctypes.CDLL(None).mount(hosts.name.encode(), b"/etc/hosts", None, 4096, None) != 0:
        raise OSError("no /etc/hosts of the test's own")

from account import use  # noqa: E402

use(sys.argv[2])

from tap import DIR, ENV, case, check, main, run, same  # noqa: E402

os.chmod(DIR, 0o755)
CERT = os.path.join(DIR, "cert")
os.makedirs(CERT)
subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", DIR + "/key.pem", "-out", CERT + "/cert.pem", "-subj",
                "/CN=web.test", "-addext", "subjectAltName=DNS:web.test,DNS:evil.test"], check=True, capture_output=True)
asked = []  # the names in hellos that reached the server; None: no name
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(CERT + "/cert.pem", DIR + "/key.pem")
context.sni_callback = lambda s, name, c: asked.append(name)
listener = socket.create_server(("127.0.0.1", 443), backlog=64)


def one(s):
    try:
        if s.recv(1, socket.MSG_PEEK) == b"G":
            with s:
                s.recv(4096)
                s.sendall(b"plain")
            return
        with context.wrap_socket(s, server_side=True) as t:
            t.recv(4096)
            t.sendall(b"HTTP/1.0 200 OK\r\n\r\nbehind TLS\n")
            t.unwrap()
    except OSError:
        pass


def serve():
    while True:
        threading.Thread(target=one, args=(listener.accept()[0],), daemon=True).start()


threading.Thread(target=serve, daemon=True).start()
ENV["LETHE_POLICY"] = os.path.join(DIR, "policy.json")
with open(ENV["LETHE_POLICY"], "w") as f:
    json.dump({"version": 1, "network": {"allow": [{"name": "web.test:443", "plain": True}], "private": ["127.0.0.1"]}, "files": [{"path": CERT, "access": "read"}]}, f)

LIB = """
import socket, ssl, sys
def tunnel(name="web.test"):
    s = socket.create_connection(("127.0.0.1", 3128))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    s.sendall(b"CONNECT %s:443 HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n" % (name.encode(), name.encode()))
    head = b""
    while not head.endswith(b"\\r\\n\\r\\n"):
        head += s.recv(1)
    assert head.startswith(b"HTTP/1.1 200 "), head
    return s
def rest(s):
    got = b""
    try:
        while more := s.recv(65536): got += more
    except ConnectionResetError: got += b"(reset)"
    return got
def tls(name, size):
    '''A hello that asks for `name`, sent in pieces of `size` bytes, and an exchange.'''
    s, i, o = tunnel(), ssl.MemoryBIO(), ssl.MemoryBIO()
    c = ssl.create_default_context(cafile="/cert/cert.pem")
    c.check_hostname = name is not None
    t = c.wrap_bio(i, o, server_hostname=name)
    def step(f):
        while True:
            try: r = f()
            except ssl.SSLWantReadError: r = None
            data = o.read()
            for k in range(0, len(data), size): s.sendall(data[k:k + size])
            if r is not None: return r
            more = s.recv(65536)
            if not more: return b"(end)"
            i.write(more)
    try:
        if (r := step(lambda: t.do_handshake() or b"")): return r
        step(lambda: t.write(b"GET /"))
        return step(lambda: t.read())
    except OSError as e: return b"(reset)"
"""


def python(text, *options):
    del asked[:]
    return run(*(options or ("--allow", "web.test:443")), "-v", CERT + ":/cert:ro", "--exec", "/usr/bin/python3", "-c", LIB + text)


def denied(r):
    return [d["object"] for d in r.receipt["denials"] if d["operation"] == "proxy"]


#
@case
def the_name_that_was_asked_for_passes_also_in_single_bytes():
    r = run("--allow", "web.test:443", "-v", CERT + ":/cert:ro", "--exec", "/usr/bin/curl", "-sS", "--cacert", "/cert/cert.pem", "https://web.test/")
    same((r.code, r.out, denied(r)), (0, b"behind TLS\n", []), r)
    for size in (1 << 20, 1):
        r = python("print(tls('web.test', %d))" % size)
        check(r.code == 0 and b"behind TLS" in r.out, r)
        same((asked, denied(r)), (["web.test"], []), size)


# A-22 A-23
@case
def another_name_is_refused_also_in_single_bytes():
    for size in (1 << 20, 1):
        r = python("print(tls('evil.test', %d))" % size)
        same((r.out, asked, denied(r)), (b"b'(reset)'\n", [], ["web.test:443 (the TLS hello asks for evil.test)"]), r)
    del asked[:]
    r = run("--allow", "web.test:443", "--exec", "/usr/bin/curl", "-sSk", "--connect-to", "evil.test:443:web.test:443", "https://evil.test/")
    check(r.code != 0 and not r.out, r)
    same((asked, denied(r)), ([], ["web.test:443 (the TLS hello asks for evil.test)"]))


#
@case
def no_name_is_another_name():
    r = python("print(tls(None, 1))")
    same((r.out, asked, denied(r)), (b"b'(reset)'\n", [], ["web.test:443 (the TLS hello asks for no name)"]), r)


#
@case
def what_is_no_tls_passes_only_where_granted_as_plain():
    text = "s = tunnel(); s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n'); print(rest(s))"
    r = python(text)
    same((r.out, denied(r)), (b"b'(reset)'\n", ["web.test:443 (no TLS)"]), r)
    r = python(text, "--allow", "web.test:443/plain")
    same((r.out, denied(r)), (b"b'plain'\n", []), r)
    r = python("print(tls('evil.test', 1)[:3])", "--allow", "web.test:443/plain")
    same((asked, denied(r)), (["evil.test"], []), r)


main()
