#!/usr/bin/python3
"""A-7, A-24: `lethe run -p`: a port of the host leads to a port of the region, through lethe-proxy.

usage: publish.py LETHE root|user
"""
import json
import os
import signal
import socket
import subprocess
import sys
import threading

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "isolation", "proxy"))
from account import use  # noqa: E402

use(sys.argv[2])

from sockets import rest  # noqa: E402
from tap import DIR, ENV, LETHE, alone, case, check, lethe, log, main, run, same, wait_for  # noqa: E402

PYTHON = "/usr/bin/python3"
BOUND = 60  # seconds: against hanging only
numbers = iter(range(1000))
# A single thread: a region of an ordinary user has no control group, and each thread would ask for an arena.
SERVER = """
import selectors, socket, sys
def serve(end):
    s, at = socket.create_server(("127.0.0.1", 8000), backlog=128), selectors.DefaultSelector()
    at.register(s, selectors.EVENT_READ)
    print("ready", flush=True)
    while True:
        for key, _ in at.select():
            if key.fileobj is s:
                c = s.accept()[0]
                at.register(c, selectors.EVENT_READ, [])
                continue
            c = key.fileobj
            try:
                data = c.recv(65536)
                key.data.append(data)
                if not data: end(c, b"".join(key.data))
            except OSError: data = b""
            if not data:
                at.unregister(c)
                c.close()
"""
ECHO = SERVER + "serve(lambda c, got: c.sendall(b'region: ' + got))"


def policy(**network):
    path = os.path.join(DIR, "policy-%d.json" % next(numbers))
    with open(path, "w") as f:
        json.dump({"version": 1, "network": network}, f)
    return path


class Region:
    """A region with a server that has said that it is ready, and a port of the host that leads to its port 8000."""

    def __init__(self, text, *options, publish="0:8000"):
        n = next(numbers)
        self.name = "server-%d-%d" % (os.getpid(), n)
        self.path = os.path.join(DIR, self.name + ".json")
        self.p = subprocess.Popen([LETHE, "run", "--receipt", self.path, "--name", self.name, "-p", publish, *options, "--exec", PYTHON, "-u", "-c", text],
                                  env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        line = self.p.stdout.readline()
        same(line, b"ready\n", line or self.p.stderr.read())
        self.published = [e for e in log("--region", self.name) if e["type"] == "region.allocated"][0]["grant"]["network"]["published"]
        self.port = self.published[0]["port"]

    def dial(self, host="127.0.0.1"):
        return socket.create_connection((host, self.port), timeout=BOUND)

    def dial_and_end(self):
        s = self.dial()
        try:
            s.shutdown(socket.SHUT_WR)
        except OSError:  # reset already
            pass
        return s

    def ask(self, data):
        with self.dial() as s:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
            return rest(s)

    def end(self):
        """Ends the region; returns its receipt."""
        self.p.send_signal(signal.SIGTERM)
        self.out, self.err = self.p.communicate(timeout=120)
        with open(self.path) as f:
            self.receipt = json.load(f)
        return self.receipt


def taken_from(dial):
    """All bytes of a connection; a reset may come as early as in connect(2)."""
    try:
        with dial() as s:
            return rest(s)
    except ConnectionResetError:
        return b"(reset)"


def is_closed(port, host="127.0.0.1"):
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as s:
        return s.connect_ex((host, port)) != 0


# A-7 A-24
@case
def a_server_of_a_region_answers_outside_until_the_region_ends():
    r = Region("import http.server, os\nos.chdir('/work'); open('hello', 'w').write('hello from the region')\n"
               "s = http.server.ThreadingHTTPServer(('127.0.0.1', 8000), http.server.SimpleHTTPRequestHandler)\nprint('ready', flush=True); s.serve_forever()")
    same([(p["address"], p["to"]) for p in r.published], [("127.0.0.1", 8000)])
    out = subprocess.run(["curl", "-sS", "http://127.0.0.1:%d/hello" % r.port, "http://127.0.0.1:%d/none" % r.port], capture_output=True, timeout=BOUND)
    check(out.stdout.startswith(b"hello from the region") and b"404" in out.stdout, out)
    receipt = r.end()
    check(is_closed(r.port), "the port is open after the end")
    network = receipt["network"]
    same((network["denied"], network["failed"], network["published"]), (0, 0, r.published))
    ends = [e for e in log("--region", receipt["region"]) if e["type"] == "region.connected"][0]["connections"]
    same({(c["name"], c["port"], c["published"]) for c in ends}, {("127.0.0.1", 8000, r.port)})
    check({c["verdict"] for c in ends} <= {"closed", "region_ended"}, ends)
    same((len(ends), sum(c["up_bytes"] for c in ends), sum(c["down_bytes"] for c in ends)), (network["connections"], network["up_bytes"], network["down_bytes"]))
    check(network["up_bytes"] > len(out.stdout), network)


# A-7 A-53
@case
def the_port_that_the_kernel_chose_is_said():
    """By the client, also when a daemon has the region; before the region's own end."""
    r = run("-p", "0:8000", "-p", "[::1]:0:8001", "--exec", "/bin/true")
    published = [e for e in log("--region", r.receipt["region"]) if e["type"] == "region.allocated"][0]["grant"]["network"]["published"]
    want = ["lethe: region %s is published at %s:%d:%d" % (r.receipt["region"], "[%s]" % p["address"] if ":" in p["address"] else p["address"], p["port"], p["to"]) for p in published]
    same((r.code, len(want), r.err.decode().splitlines()[:2]), (0, 2, want), r)
    same(run("--quiet", "-p", "0:8000", "--exec", "/bin/true").err, b"")
    r = lethe("run", "--detach", "-p", "0:8000", "--exec", "/bin/sleep", "100")
    region = r.out.decode().strip()
    try:
        published = [e for e in log("--region", region) if e["type"] == "region.allocated"][0]["grant"]["network"]["published"]
        same((r.code, r.err.decode().splitlines()), (0, ["lethe: region %s is published at 127.0.0.1:%d:8000" % (region, published[0]["port"])]), r)
    finally:
        same(lethe("rm", "-f", region).code, 0)


#
@case
def ipv6_of_the_host_and_several_ports():
    r = Region(ECHO, "-p", "127.0.0.2:0:8000/tcp", publish="[::1]:0:8000")
    same([p["address"] for p in r.published], ["::1", "127.0.0.2"])
    with r.dial("::1") as s:
        s.sendall(b"six")
        s.shutdown(socket.SHUT_WR)
        same(rest(s), b"region: six")
    with socket.create_connection(("127.0.0.2", r.published[1]["port"]), timeout=BOUND) as s:
        s.shutdown(socket.SHUT_WR)
        same(rest(s), b"region: ")
    check(is_closed(r.published[1]["port"]), "127.0.0.1 leads in, too")
    r.end()
    check(is_closed(r.port, "::1"), "open after the end")


# A-7 A-25
@case
def a_hundred_connections_at_once_and_again():
    r = Region(ECHO)
    for turn in range(3):
        held = []
        for i in range(100):
            s = r.dial()
            s.sendall(b"%d" % (1000 * turn + i))
            held.append(s)
        for s in held:
            s.shutdown(socket.SHUT_WR)
        wrong = [(i, got) for i, s in enumerate(held) if (got := rest(s)) != b"region: %d" % (1000 * turn + i)]
        same(wrong, [], turn)
        for s in held:
            s.close()
    same(r.end()["network"]["connections"], 300)


# A-7 A-25
@case
def bytes_pass_both_ways_at_once_and_a_half_closed_end_is_one():
    r = Region(SERVER + "serve(lambda c, got: c.sendall(got))", "--memory", "256m", "--timeout", "100s")
    data = os.urandom(5 << 20)
    with r.dial() as s:
        got = []
        t = threading.Thread(target=lambda: got.append(rest(s)))
        t.start()
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        t.join(BOUND)
        check(got and got[0] == data, "%d bytes came back" % len(got[0] if got else b""))
    network = r.end()["network"]
    same((network["up_bytes"], network["down_bytes"]), (len(data), len(data)))


# A-7 A-25
@case
def a_region_that_does_not_accept_or_does_not_listen():
    r = Region("import socket, sys\ns = socket.create_server(('127.0.0.1', 8000), backlog=4)\nprint('ready', flush=True)\nsys.stdin.read()", "-p", "0:8001")
    held = [r.dial() for _ in range(20)]
    for s in held:
        s.sendall(b"anybody?")
    same(taken_from(lambda: socket.create_connection(("127.0.0.1", r.published[1]["port"]), timeout=BOUND)), b"(reset)")
    r.end()
    same({rest(s) for s in held} - {b"", b"(reset)"}, set())
    network = r.receipt["network"]
    check(network["failed"] >= 1 and network["denied"] == 0, network)


#
@case
def bytes_and_connections_are_of_the_same_budgets():
    r = Region(SERVER + "serve(lambda c, got: c.sendall(bytes(1 << 20)))", "--policy", policy(publish=["127.0.0.1:0-65535"], bytes=100000))
    got = taken_from(r.dial_and_end)
    check(got.endswith(b"(reset)") and len(got) <= 100000 + 7, len(got))
    same(taken_from(r.dial_and_end), b"(reset)")
    receipt = r.end()
    same((receipt["network"]["up_bytes"], receipt["network"]["denied"]), (100000, 2))
    same([d["object"] for d in receipt["denials"]], ["published port %d (the budget of the network is used up)" % r.port])


#
@case
def words_for_what_is_refused():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        limited = ("--policy", policy(allow=["web.test:80"]))
        listed = ("--policy", policy(publish=["127.0.0.1:8000-8999"]))
        rows = [
            (("-p", "%d:80" % port), "--publish 127.0.0.1:%d:80: the host's port cannot be listened at: Address already in use; fix: another port" % port),
            (("-p", "8080:99999"), "\"8080:99999\": the region's port \"99999\" must be from 1 to 65535"),
            (("-p", "99999:80"), "\"99999:80\": the host's port \"99999\" must be from 0 to 65535"),
            (("-p", "8080:3128"), "port 3128 of the region belongs to its proxy"),  # nobody outside has its hosts and secrets
            (("-p", "8080:3129"), "port 3129 of the region belongs to its proxy"),
            (("-p", "8080:0"), "the region's port \"0\" must be from 1"),
            (("-p", "8000-8010:80"), "the host's port \"8000-8010\" must be from 0 to 65535, a single one"),
            (("-p", "localhost:8080:80"), "the address \"localhost\" must be numeric"),
            (("-p", "8080:53/udp"), "TCP alone is published"),
            (("-p", "80:80"), "--publish 127.0.0.1:80:80: without \"network\": {\"publish\": [...]} of a policy file, only addresses of loopback"),
            (("-p", "0.0.0.0:8080:80"), "--publish 0.0.0.0:8080:80: without"),
            (("-p", "[::]:8080:80"), "--publish [::]:8080:80: without"),
            (("--network", "none", "-p", "8080:80"), "--publish \"8080:80\": excludes"),
            (("--network", "host", "-p", "8080:80"), "--publish \"8080:80\": excludes"),
            (("-p", "8080:80", "--network", "host"), "--network host and --publish exclude each other"),
            (("--connect", "127.0.0.1:80", "-p", "8080:80"), "excludes --connect"),
            ((*limited, "-p", "8080:80"), "/network/publish does not list the host's address and port"),
            ((*listed, "-p", "9000:80"), "/network/publish does not list"),
            ((*listed, "-p", "0:80"), "/network/publish does not list"),
            (("--tier", "landlock", "-p", "0:80"), "tier landlock has no network namespace"),
        ]
        for options, words in rows:
            r = run(*options, "--exec", "/bin/true")
            check(r.code == 125 and words.replace('"', "") in r.err.decode().replace('"', ""), options, r)
        for options, shown in ((("-p", "8080:80"), "127.0.0.1:8080:80"), (("-p", "80"), "127.0.0.1:0:80"), (("--publish", "127.0.0.1::80"), "127.0.0.1:0:80"),
                               ((*listed, "-p", "8999:80"), "127.0.0.1:8999:80")):
            r = run("--dry-run", "--json", *options, "--exec", "/bin/true")
            network = json.loads(r.out)["network"]
            same((network["mode"], network["publish"]), ("loopback", [shown]))
    for row, words in (("127.0.0.1", "must be ADDRESS:PORT"), ("127.0.0.1:9-8", "ends before it begins"), ("web:80", "must be ADDRESS:PORT")):
        r = run("--policy", policy(publish=[row]), "--exec", "/bin/true")
        check(r.code == 125 and words in r.err.decode(), row, r)


#
@case
def a_profile_may_publish_and_allow_within_the_policy():
    folder = os.path.join(DIR, "config", "lethe", "profiles")
    os.makedirs(folder)
    with open(os.path.join(folder, "web.json"), "w") as f:
        json.dump({"version": 1, "options": {"publish": ["0:8000", "0:8001"], "allow": ["web.test:80"]}}, f)
    env = {"XDG_CONFIG_HOME": os.path.join(DIR, "config")}
    r = run("--profile", "web", "--dry-run", "--json", "--exec", "/bin/true", env=env)
    network = json.loads(r.out)["network"]
    same((network["publish"], network["allow"]), (["127.0.0.1:0:8000", "127.0.0.1:0:8001"], ["web.test:80"]))
    r = run("--profile", "web", "--policy", policy(allow=["web.test:80"]), "--exec", "/bin/true", env=env)
    check(r.code == 125 and b"/network/publish does not list" in r.err, r)
    r = run("--profile", "web", "--policy", policy(publish=["127.0.0.1:0"]), "--exec", "/bin/true", env=env)
    check(r.code == 125 and b"--allow web.test:80" in r.err, r)


#
@case
def a_region_reaches_nothing_of_the_host_by_it():
    with socket.create_server(("127.0.0.1", 0)) as s:
        text = "import socket\ntry: socket.create_connection(('127.0.0.1', %d), 5); print('reached')\nexcept OSError as e: print(e.errno)" % s.getsockname()[1]
        r = run("-p", "0:8000", "--exec", PYTHON, "-c", text + "\ntry: socket.create_connection(('127.0.0.1', 3128), 5); print('a proxy')\nexcept OSError as e: print(e.errno)")
    same((r.code, r.out), (0, b"111\n111\n"), r)


#
@alone
@case
def a_port_closes_with_its_supervisor():
    r = Region(ECHO)
    same(r.ask(b"lives"), b"region: lives")
    r.p.kill()
    r.p.communicate()
    wait_for(lambda: is_closed(r.port), "the end of the port")


main()
