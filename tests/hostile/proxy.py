#!/usr/bin/python3
"""Attacks of a region on its lethe-proxy (attacks/proxy.py): each has to fail in a region and to be recorded, and, as root, to succeed beside a proxy without
the defences (careless.py). TAP.

usage: proxy.py LETHE root|user
"""
import os
import re
import socket
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "front", "cli"), os.path.join(HERE, "..", "isolation", "proxy")]
from own_hosts import own_hosts  # noqa: E402

HIDDEN = "10.9.9.9"
own_hosts("127.0.0.1 localhost web.test\n%s hidden.test private.test\n127.0.0.1 both.test\n%s both.test\n::ffff:%s mapped.test\n" % (HIDDEN, HIDDEN, HIDDEN),
          "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n", [HIDDEN])

from dns import Dns  # noqa: E402

DNS = Dns()
TLS = socket.create_server(("127.0.0.1", 443), backlog=128)

from account import use  # noqa: E402

use(sys.argv[2])

import json  # noqa: E402

from careless import Careless  # noqa: E402
from tap import DIR, ENV, LETHE, add, check, lethe, log, main, run, same  # noqa: E402

CANARY = b"lethe-hostile-canary"
PROXY = os.path.join(os.path.dirname(LETHE), "lethe-proxy")
ATTACKS = os.path.join(HERE, "attacks", "proxy.py")
os.chmod(DIR, 0o755)


def served(listener, serve):
    def one(s):
        try:
            with s:
                s.settimeout(60)
                serve(s)
        except (OSError, ValueError):
            pass

    def loop():
        while True:
            threading.Thread(target=one, args=(listener.accept()[0],), daemon=True).start()
    threading.Thread(target=loop, daemon=True).start()
    return listener.getsockname()[1]


def web(s):
    """Two sites of one address, by a server that reads requests as widely as some do. Only other.test has the canary."""
    data = b""
    while True:
        while not re.search(rb"\r?\n\r?\n", data):
            part = s.recv(65536)
            if not part:
                return
            data += part
        head, data = re.split(rb"\r?\n\r?\n", data, 1)
        hosts = re.findall(rb"(?im)^host: ?([^\r\n]*)", head)
        lengths = re.findall(rb"(?im)^content-length: ?(\d+)", head)
        if b"chunked" in head.lower():
            data = data.partition(b"0\r\n\r\n")[2]
        elif lengths:
            data = data[int(lengths[-1]):]
        body = CANARY if any(h.startswith(b"other.test") for h in hosts) else b"public"
        s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        if re.search(rb"(?im)^connection: ?close", head):
            return


def tls(s):
    """A server that serves whoever is named last in what looks like a hello, and plain requests too."""
    got = b""
    while part := s.recv(65536):
        got += part
    letters = b"".join(got[i + 5:i + 6] for i in range(0, len(got), 6)) if got[3:5] == b"\0\1" else got
    s.sendall(CANARY if b"other.test" in letters else b"public")


WEB = served(socket.create_server(("127.0.0.1", 0), backlog=1024), web)
served(TLS, tls)
served(socket.create_server((HIDDEN, WEB), backlog=128), lambda s: s.sendall(CANARY))
ENV["LETHE_POLICY"] = os.path.join(DIR, "policy.json")
GRANTED = ["web.test:%d" % WEB, "web.test:443", "both.test:%d" % WEB, "private.test:%d" % WEB, "mapped.test:%d" % WEB, "*.dns.test:%d" % WEB, "*.wild.test:%d" % WEB]
with open(ENV["LETHE_POLICY"], "w", encoding="utf-8") as f:
    json.dump({"version": 1, "network": {"allow": GRANTED, "private": ["127.0.0.1/32"]}, "files": [{"path": os.path.dirname(ATTACKS), "access": "read"}]}, f)
ALLOW = [word for name in GRANTED for word in ("--allow", name)] + ["-v", os.path.dirname(ATTACKS) + ":/attacks", "--timeout", "100s"]


def fresh():
    """What the DNS answers from now on: the second answer is another one."""
    DNS.asked.clear()
    DNS.answers = {"rebind.dns.test": [["127.0.0.1"], [HIDDEN]]}


def careless():
    return Careless({"web.test", "both.test", "private.test", "mapped.test", "rebind.dns.test"}, (".dns.test", ".wild.test"), {HIDDEN})


def outside(name, port, **kw):
    p = subprocess.run([sys.executable, ATTACKS, name, str(port), str(WEB)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=120, **kw)
    return p.returncode, p.stdout


def in_region(name, verdict=None):
    fresh()
    r = run(*ALLOW, "--exec", "/usr/bin/python3", "/attacks/proxy.py", name, "3128", str(WEB))
    same(r.code, 1, r)
    check(b"ESCAPED" not in r.out and b"contained" in r.out, r)
    ended = [c for e in log("--region", r.receipt["region"], "--type", "region.connected") for c in e["connections"]]
    check(verdict is None or verdict in [c["verdict"] for c in ended], verdict, ended, r)
    return r


def row(name, verdict=None):  # A-21 A-22 A-23
    if os.geteuid() == 0:
        def control():
            fresh()
            proxy = careless()
            code, out = outside(name, proxy.port)
            check(code == 0 and b"ESCAPED" in out, "the attack does not work even here", code, out)
        add(name.replace("_", " ") + " beside a careless proxy", control)
    add(name.replace("_", " "), lambda: in_region(name, verdict))


for attack in ("host_of_another", "two_hosts", "two_lengths", "length_and_chunks", "bare_line_feed", "line_feed_in_the_uri", "folded_line", "user_in_the_uri"):
    row(attack, "bad_request")
row("request_behind_a_request")
row("request_behind_an_upgrade")
row("plain_in_a_tunnel_for_tls", "not_tls")
for attack in ("hello_for_another", "hello_in_bytes", "hello_in_records_of_a_byte"):
    row(attack, "other_server_name")
row("hello_with_two_names", "not_tls")
row("hello_with_two_lists", "not_tls")
row("second_hello", "not_tls")
for attack in ("name_of_a_private_address", "name_with_two_addresses", "mapped_address", "rebinding"):
    row(attack, "private_address")
row("address_in_brackets", "not_allowed")
row("number_for_an_address", "bad_request")
row("socks_name_with_a_zero", "bad_request")
row("socks_name_of_an_odd_length", "not_allowed")
row("socks_binds", "bad_request")


def asked():
    return [name for name, _ in DNS.asked if "secret" in name]


def names_are_no_channel():
    """A refused name is not looked up: nobody outside learns it."""
    in_region("names_as_a_channel", "not_allowed")
    same(asked(), [])
    in_region("a_question_without_the_proxy")
    same(asked(), [])


def names_are_a_channel_beside_a_careless_proxy():
    fresh()
    outside("names_as_a_channel", careless().port)
    check(len(set(asked())) == 20, DNS.asked)
    fresh()
    outside("a_question_without_the_proxy", careless().port)
    check(asked(), DNS.asked)


DRAWS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]")


def names_do_not_draw():
    """What the record shows of such names has no letter that acts on a terminal."""
    r = in_region("letters_that_draw", "bad_request")
    for argv in (("why", r.receipt["region"]), ("log", "--region", r.receipt["region"]), ("log", "--json", "--region", r.receipt["region"])):
        shown = lethe(*argv).out.decode()
        check(shown and not DRAWS.search(shown), argv, shown)


def names_draw_beside_a_careless_proxy():
    fresh()
    proxy = careless()
    outside("letters_that_draw", proxy.port)
    check(any(DRAWS.search(name) for name in proxy.log), proxy.log)


def the_channel_of_the_supervisor():
    in_region("control_channel")


def the_channel_in_other_hands():
    """Who holds the supervisor's end of a real lethe-proxy can reach everything."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with subprocess.Popen([PROXY], preexec_fn=lambda: os.dup2(theirs.fileno(), 3), close_fds=False) as p:
        theirs.close()
        os.set_inheritable(ours.fileno(), True)
        code, out = outside("control_channel", 1, pass_fds=[ours.fileno()])
        ours.close()
        p.wait(60)
    check(code == 0 and b"ESCAPED" in out, code, out)


def nobody_kills_it():
    in_region("kill_everything")


def who_sees_it_kills_it():
    """A proxy in the same namespace of processes."""
    text = ("import os, subprocess, sys, time\nfrom careless import Careless\nr, w = os.pipe()\nif os.fork() == 0:\n    p = Careless({'web.test'}, (), ())\n"
            "    os.write(w, b'%d\\n' % p.port)\n    time.sleep(600)\nport = os.read(r, 20).decode().strip()\n"
            "sys.exit(subprocess.run([sys.executable, sys.argv[1], 'kill_everything', port, sys.argv[2]]).returncode)\n")
    p = subprocess.run(["unshare", "--pid", "--fork", "--kill-child", sys.executable, "-c", text, ATTACKS, str(WEB)], env=dict(os.environ, PYTHONPATH=HERE), stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, check=False, timeout=120)
    check(p.returncode == 0 and b"ESCAPED" in p.stdout, p)


HOLDS = """import socket, sys
held = []
for i in range(1000):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    if i % 4 == 1:
        s.sendall(b"CONNECT web.test:")
    elif i % 4 == 2:
        s.shutdown(socket.SHUT_WR)
    elif i % 4 == 3:
        s.sendall(b"CONNECT web.test:%s HTTP/1.1\\r\\nHost: web.test:%s\\r\\n\\r\\n" % (sys.argv[2].encode(), sys.argv[2].encode()))
        s.shutdown(socket.SHUT_WR)
    held.append(s)
print("held", flush=True)
sys.stdin.read()
"""


def a_region_that_holds_a_thousand_harms_no_other():
    """Idle, half a request, half closed: of one region. Another one is served meanwhile."""
    with subprocess.Popen([LETHE, "run", *ALLOW, "--nofile", "1100", "--exec", "/usr/bin/python3", "-c", HOLDS, "3128", str(WEB)], env=ENV, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        same(p.stdout.readline(), b"held\n")
        r = run(*ALLOW, "--exec", "/usr/bin/curl", "-sS", "--max-time", "60", "http://web.test:%d/" % WEB)
        same((r.code, r.out), (0, b"public"), r)
        _, err = p.communicate(b"", timeout=120)
        same(p.returncode, 0, err)


def a_shared_proxy_is_held():
    """One proxy with 64 places for all: who comes second gets none."""
    proxy = careless()
    places, one = threading.Semaphore(64), proxy.one
    proxy.one = lambda s: places.acquire(timeout=100) and (one(s), places.release())
    with subprocess.Popen([sys.executable, "-c", HOLDS.replace("i % 4 == 2", "i % 4 == 5").replace("i % 4 == 3", "i % 4 == 5"), str(proxy.port), str(WEB)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as p:
        same(p.stdout.readline(), b"held\n")
        with socket.create_connection(("127.0.0.1", proxy.port)) as s:
            s.sendall(b"GET http://web.test:%d/ HTTP/1.1\r\nHost: web.test\r\n\r\n" % WEB)
            s.settimeout(1)
            try:
                check(not s.recv(100), "it was served")
            except TimeoutError:
                pass
        p.communicate(b"", timeout=120)


for defended, control in ((names_are_no_channel, names_are_a_channel_beside_a_careless_proxy), (names_do_not_draw, names_draw_beside_a_careless_proxy),
                          (the_channel_of_the_supervisor, the_channel_in_other_hands), (nobody_kills_it, who_sees_it_kills_it),
                          (a_region_that_holds_a_thousand_harms_no_other, a_shared_proxy_is_held)):
    if os.geteuid() == 0:
        add(control.__name__.replace("_", " "), control)
    add(defended.__name__.replace("_", " "), defended)
main()
