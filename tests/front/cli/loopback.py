#!/usr/bin/python3
"""Network loopback from the command line (A-7): what the processes of a region say to one another, and to nobody else.

usage: loopback.py LETHE root|user
"""
import json
import os
import shutil
import socket
import sys
import threading

from account import use

use(sys.argv[2])

from tap import DIR, case, case_when, lethe, main, run, wait_for  # noqa: E402

PYTHON = "/usr/bin/python3"
VOLUME = os.path.join(DIR, "volume")
os.mkdir(VOLUME)
os.chmod(VOLUME, 0o777)

LIB = """
import json, os, socket, struct, sys, threading
def serve(s, text):
    s.listen(8)
    def answer():
        while True:
            c, _ = s.accept()
            c.sendall(text)
            c.close()
    threading.Thread(target=answer, daemon=True).start()
    return s
def unix(path, text=b"own", kind=socket.SOCK_STREAM):
    s = socket.socket(socket.AF_UNIX, kind)
    s.bind(path)
    return serve(s, text)
def ask(path, kind=socket.SOCK_STREAM):
    c = socket.socket(socket.AF_UNIX, kind)
    try:
        c.connect(path)
    except OSError as e:
        return e.errno
    user = struct.unpack("iII", c.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return c.recv(10).decode() if user == (os.getpid(), 1000, 1000) else "peer %s" % (user,)
def tcp(family, host, port):
    s = socket.socket(family, socket.SOCK_STREAM)
    s.bind((host, port))
    serve(s, b"tcp")
def ask_tcp(host, port, seconds=None):
    try:
        c = socket.create_connection((host, port), seconds)
    except OSError as e:
        return e.errno
    return [c.recv(10).decode(), c.gettimeout() == seconds, c.getpeername()[1] == port]
out = {}
"""


def python(text, *options):
    """What a region with network loopback put into `out`."""
    r = run("--network", "loopback", *options, "--exec", PYTHON, "-c", LIB + text + "\nprint(json.dumps(out))")
    if r.code != 0:
        raise AssertionError(str(r))
    return json.loads(r.out), r.receipt


def host(name):
    """A service of the host in the volume. Returns its socket: a connection would wait there."""
    s = socket.socket(socket.AF_UNIX)
    s.bind(os.path.join(VOLUME, name))
    os.chmod(os.path.join(VOLUME, name), 0o777)
    s.listen(8)
    s.setblocking(False)
    return s


def untouched(s):
    try:
        s.accept()
        return False
    except BlockingIOError:
        return True


TCP = """
tcp(socket.AF_INET, "127.0.0.1", 80)
tcp(socket.AF_INET6, "::1", 8080)
out["name"] = ask_tcp("localhost", 80)
out["six"] = ask_tcp("::1", 8080)
out["time"] = ask_tcp("127.0.0.1", 80, 20)
out["nobody"] = ask_tcp("127.0.0.1", 81)
out["far"] = ask_tcp("192.0.2.1", 80)
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.bind(("127.0.0.1", 53))
v = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
v.sendto(b"one", ("127.0.0.1", 53))
out["sent"] = u.recv(10).decode()
v.connect(("127.0.0.1", 53))
v.send(b"two")
out["connected"] = u.recv(10).decode()
out["control"] = socket.socket().getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).split(b"\\0")[0].decode()
"""
TCP_SAYS = {"control": "reno", "name": ["tcp", True, True], "six": ["tcp", True, True], "time": ["tcp", True, True], "nobody": 111, "far": 101, "sent": "one", "connected": "two"}


@case
def tcp_and_udp_reach_the_region_and_nothing_else():
    assert python(TCP)[0] == TCP_SAYS


@case
def the_same_beside_files_of_the_host():  # each connect is made by the supervisor
    assert python(TCP, "-v", VOLUME + ":/data")[0] == TCP_SAYS


UNIX = """
unix("/tmp/own"); out["tmp"] = ask("/tmp/own")
unix("/data/own"); out["volume"] = ask("/data/own")
os.chdir("/data"); out["relative"] = ask("own"); out["dots"] = ask("../data/./own")
os.symlink("own", "/data/link"); out["link"] = ask("link")
os.symlink("/data/own", "/tmp/link"); out["link from outside the volume"] = ask("/tmp/link")
unix("\\0name"); out["abstract"] = ask("\\0name")
unix("/tmp/packets", kind=socket.SOCK_SEQPACKET); out["packets"] = ask("/tmp/packets", socket.SOCK_SEQPACKET)
out["missing"] = ask("/data/missing")
open("/tmp/file", "w"); out["file"] = ask("/tmp/file")
"""


@case
def unix_sockets_reach_the_regions_own_beside_a_volume():
    out, receipt = python(UNIX, "-v", VOLUME + ":/data:rw")
    own = dict.fromkeys(("tmp", "volume", "relative", "dots", "link", "link from outside the volume", "abstract", "packets"), "own")
    assert out == dict(own, missing=2, file=111), out
    assert not receipt["denials"], receipt["denials"]
    for name in ("own", "link"):
        os.unlink(os.path.join(VOLUME, name))


HOSTS = (("--network", "host"), ("--connect", "127.0.0.1:9"))


def in_hosts(text, options, *more):
    """As python(), in a region whose sockets are of the host's network namespace."""
    lib = LIB.replace("(os.getpid(), 1000, 1000)", "(0, 1000, 1000)")  # the supervisor made the listen
    r = run(*options, *more, "--exec", PYTHON, "-c", lib + text + "\nprint(json.dumps(out))")
    if r.code != 0:
        raise AssertionError(str(r))
    return json.loads(r.out), r.receipt


@case
def unix_sockets_reach_the_regions_own_in_the_hosts_network():
    for options in HOSTS:
        out, receipt = in_hosts(UNIX.replace('unix("\\0name"); out["abstract"] = ask("\\0name")\n', ""), options, "-v", VOLUME + ":/data:rw")
        own = dict.fromkeys(("tmp", "volume", "relative", "dots", "link", "link from outside the volume", "packets"), "own")
        assert out == dict(own, missing=2, file=111), out
        assert not receipt["denials"], receipt["denials"]
        for name in ("own", "link"):
            os.unlink(os.path.join(VOLUME, name))


@case
def in_the_hosts_network_a_socket_of_the_host_is_none_of_the_regions():  # a file, an abstract name, and a name of the region's that became the host's
    for options in HOSTS:
        s, abstract = host("service"), socket.socket(socket.AF_UNIX)
        abstract.bind("\0lethe-test-%d" % os.getpid())
        abstract.listen(8)
        abstract.setblocking(False)
        out, receipt = in_hosts("""
out["file"] = ask("/data/service")
out["abstract"] = ask("\\0lethe-test-%d")
unix("/data/own"); os.link("/data/service", "/data/other"); os.rename("/data/other", "/data/own"); out["over"] = ask("/data/own")
try: unix("\\0lethe-own-%d")
except OSError as e: out["listen"] = e.errno
""" % (os.getpid(), os.getpid()), options, "-v", VOLUME + ":/data:rw")
        assert out == {"file": 111, "abstract": 111, "over": 111, "listen": 13} and untouched(s) and untouched(abstract), out
        assert sorted({(d["operation"], d["object"]) for d in receipt["denials"]}) == [("connect", "/data/own"), ("connect", "/data/service"), (
            "connect", "an abstract name, which is the host's"), ("listen", "an abstract name, which is the host's")], receipt["denials"]
        s.close()
        abstract.close()
        for name in ("service", "own"):
            os.unlink(os.path.join(VOLUME, name))


@case
def in_the_hosts_network_a_region_listens_at_32_sockets_at_once():
    for options in HOSTS:
        out, _ = in_hosts("""
kept = []
def listen(i):
    s = socket.socket(socket.AF_UNIX)
    s.bind("/tmp/%d" % i)
    try:
        s.listen(1)
        kept.append(s)
    except OSError as e:
        out.setdefault("refused", []).append((i, e.errno))
for i in range(34): listen(i)
kept.pop(5).close()
listen(34)
out["kept"] = len(kept)
""", options)
        assert out == {"refused": [[32, 105], [33, 105]], "kept": 32}, out


@case
def network_host_reaches_what_it_did():  # each connect is made by the supervisor
    s = socket.create_server(("127.0.0.1", 0), backlog=64)
    port = s.getsockname()[1]
    threading.Thread(target=lambda: [s.accept()[0].sendall(b"tcp") for _ in range(5)], daemon=True).start()
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    u.bind(("127.0.0.1", 0))
    out, _ = in_hosts("""
import select
out["tcp"] = ask_tcp("127.0.0.1", %d)
out["time"] = ask_tcp("127.0.0.1", %d, 20)
c = socket.socket(); c.setblocking(False)
out["later"] = c.connect_ex(("127.0.0.1", %d)) in (0, 115)
select.select([], [c], [])
out["then"] = c.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
v = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); v.connect(("127.0.0.1", %d)); v.send(b"sent")
w = socket.create_server(("127.0.0.1", 0)); out["nobody"] = ask_tcp("127.0.0.1", 1)
threading.Thread(target=lambda: w.accept()[0].sendall(b"mine"), daemon=True).start()
out["own"] = ask_tcp("127.0.0.1", w.getsockname()[1])
""" % (port, port, port, u.getsockname()[1]), HOSTS[0])
    assert out == {"tcp": ["tcp", True, True], "time": ["tcp", True, True], "later": True, "then": 0, "nobody": 111, "own": ["mine", True, True]}, out
    assert u.recv(10) == b"sent"
    s.close()
    u.close()


@case
def a_socket_of_the_host_is_none_of_the_regions():
    s = host("service")
    out, receipt = python("""
out["name"] = ask("/data/service")
os.symlink("/data/service", "/tmp/link"); out["link"] = ask("/tmp/link")
""", "-v", VOLUME + ":/data:rw")
    assert out == {"name": 111, "link": 111} and untouched(s), out
    assert [d["object"] for d in receipt["denials"] if d["operation"] == "connect"] == ["/data/service"], receipt["denials"]
    s.close()
    os.unlink(os.path.join(VOLUME, "service"))


@case
def a_socket_of_another_region_is_none_of_the_regions():  # a shared volume is no way from region to region
    for options in (("--network", "loopback"),) + HOSTS:
        from_region_to_region(options)


def from_region_to_region(options):
    ready, go = os.path.join(VOLUME, "ready"), os.path.join(VOLUME, "go")
    for path in (ready, go):
        os.mkfifo(path)
        os.chmod(path, 0o666)
    first = []
    ask_in = python if options[1] == "loopback" else lambda text, *more: in_hosts(text, options, *more)
    t = threading.Thread(target=lambda: first.append(ask_in("""
unix("/data/first")
os.chmod("/data/first", 0o777)
out["own"] = ask("/data/first")
open("/data/ready", "w").write("r")
open("/data/go").read()
""", "-v", VOLUME + ":/data:rw")))
    t.start()
    with open(ready, encoding="utf-8") as f:
        f.read()
    second = lethe("run", *options, "-v", VOLUME + ":/data:rw", "--exec", PYTHON, "-c", LIB + "print(ask('/data/first'))")
    with open(go, "w", encoding="utf-8") as f:
        f.write("g")
    t.join()
    assert second.out == b"111\n" and first[0][0] == {"own": "own"}, (second.out, second.err, first)
    for name in ("first", "ready", "go"):
        os.unlink(os.path.join(VOLUME, name))


@case_when(os.environ.get("LETHE_TEST_SERVE") == "1")
def a_warm_interpreter_has_it():  # a child of a template makes its network itself
    d = os.path.join(DIR, "warm")
    os.mkdir(d)
    for name, text in (("SKILL.md", "---\nname: warm\ndescription: A test.\n---\n"), ("main.py", LIB + TCP + "print(json.dumps(out))\n"),
                       ("lethe.json", json.dumps({"version": 1, "entry": {"main": ["python3", "/skill/main.py"]}, "network": "loopback", "warm": {"preload": ["json"]}}))):
        with open(os.path.join(d, name), "w", encoding="utf-8") as f:
            f.write(text)
    seen = []

    def warm():
        seen.append(run("--quiet", d))
        assert seen[-1].code == 0 and json.loads(seen[-1].out) == TCP_SAYS, seen[-1]
        return seen[-1].receipt["start"] == "warm"

    wait_for(warm, "a warm start")


@case_when(shutil.which("node"))
def node_finds_the_interface():  # os.networkInterfaces() asks by netlink
    r = run("--network", "loopback", "--memory", "1g", "--pids-limit", "200", "--exec", "node", "-e", "console.log(JSON.stringify(require('os').networkInterfaces()))")
    assert r.code == 0, r
    assert {name: sorted((a["address"], a["internal"]) for a in v) for name, v in json.loads(r.out).items()} == {"lo": [("127.0.0.1", True), ("::1", True)]}, r


@case
def private_is_another_word_for_loopback():
    r = json.loads(lethe("run", "--dry-run", "--json", "--network", "private", "--exec", "/bin/true").out)
    assert r["network"]["mode"] == "loopback", r["network"]


@case
def tier_landlock_cannot_have_it_and_says_so():
    r = lethe("run", "--network", "loopback", "--tier", "landlock", "--exec", "/bin/true")
    assert r.code != 0 and b"tier landlock has no network namespace" in r.err, r


main()
