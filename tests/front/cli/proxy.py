#!/usr/bin/python3
"""A-20..A-25: `lethe run` with hosts by name: real programs through the proxy, refusals, records, the policy, a proxy that dies.

usage: proxy.py LETHE root|user

The names are of an /etc/hosts that the test's own mount namespace has.
"""
import hashlib
import http.server
import io
import json
import os
import signal
import ssl
import subprocess
import sys
import tarfile
import threading

from own_hosts import own_hosts

own_hosts("127.0.0.1 localhost\n127.0.0.1 web.test\n127.0.0.1 git.test\n10.0.0.1 private.test\n")

from account import use  # noqa: E402

use(sys.argv[2])

from tap import DIR, ENV, LETHE, alone, ask_daemon, case, check, lethe, log, main, processes_below, python_skill, run, same, state_of, start_daemon, stop_daemon, wait_for  # noqa: E402

os.chmod(DIR, 0o755)
WWW = os.path.join(DIR, "www")
os.makedirs(WWW)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *args):
        super().__init__(*args, directory=WWW)

    def log_message(self, *args):
        pass


def serve(tls=None):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


CERT = os.path.join(DIR, "cert")
os.makedirs(CERT)
subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", DIR + "/key.pem", "-out", CERT + "/cert.pem", "-subj",
                "/CN=git.test", "-addext", "subjectAltName=DNS:git.test"], check=True, capture_output=True)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(CERT + "/cert.pem", DIR + "/key.pem")
WEB, TLS = serve(), serve(context)
with open(WWW + "/hello", "w") as f:
    f.write("hello from the server\n")
POLICY = os.path.join(DIR, "policy.json")
with open(POLICY, "w") as f:
    json.dump({"version": 1, "network": {"allow": ["web.test:%d" % WEB, "git.test:%d" % TLS, "private.test:80"], "private": ["127.0.0.0/8"]},
               "files": [{"path": CERT, "access": "read"}]}, f)
ENV["LETHE_POLICY"] = POLICY
HELLO = "http://web.test:%d/hello" % WEB


def denied(r):
    return {(d["object"], d["allow_with"]): d["count"] for d in r.receipt["denials"] if d["operation"] == "proxy"}


# A-20 A-23 A-24
@case
def curl_reaches_what_is_allowed_and_is_told_what_is_not():
    r = run("--allow", "web.test:%d" % WEB, "--allow", "private.test:80", "--exec", "/bin/sh", "-c",
            "curl -sS %s && curl -sS -x socks5h://127.0.0.1:3128 %s && curl -sS -i http://evil.test/ && curl -sS http://private.test/; "
            "curl -sS https://evil.test/ 2>&1; curl -sS -x socks5h://127.0.0.1:3128 http://evil.test:81/ 2>&1; true" % (HELLO, HELLO))
    same(r.code, 0, r)
    out = r.out.decode()
    same(out.count("hello from the server\n"), 2, r)
    check("HTTP/1.1 403 Forbidden" in out and "Lethe-Denied: not_allowed" in out and '"rule":"private_address"' in out and "response 403" in out and "(2)" in out, r)
    line = '"network": {"allow": ["%s"]}'
    same(denied(r), {("evil.test:80", line % "evil.test:80"): 1, ("evil.test:443", line % "evil.test:443"): 1, ("evil.test:81", line % "evil.test:81"): 1,
                     ("private.test:80 (10.0.0.1 is private, or this machine's own)", 'policy: "network": {"private": ["10.0.0.1"]}'): 1})
    network = r.receipt["network"]
    same((network["connections"], network["denied"], network["failed"]), (2, 4, 0))
    check(network["down_bytes"] > 40 and network["up_bytes"] > 40, network)
    region = r.receipt["region"]
    ended = [e for e in log("--region", region) if e["type"] == "region.connected"][0]["connections"]
    same([(c["name"], c["verdict"]) for c in ended], [("web.test", "closed"), ("web.test", "closed"), ("evil.test", "not_allowed"), ("private.test", "private_address"),
                                                      ("evil.test", "not_allowed"), ("evil.test", "not_allowed")])
    same(sum(c["up_bytes"] + c["down_bytes"] for c in ended), network["up_bytes"] + network["down_bytes"])
    check(line % "evil.test:443" in lethe("why", region).out.decode(), "why")


#
@case
def python_and_node_reach_it():
    r = run("--allow", "web.test:%d" % WEB, "--exec", "/usr/bin/python3", "-c",
            "import urllib.request as u\nprint(u.urlopen('%s').read().decode())\ntry: u.urlopen('http://evil.test/')\nexcept Exception as e: print(e.code, e.headers['Lethe-Denied'])" % HELLO)
    same((r.code, r.out.decode()), (0, "hello from the server\n\n403 not_allowed\n"), r)


#
@case
def git_clones_over_https_with_a_certificate_of_the_servers_own():
    work = os.path.join(DIR, "work")
    env = {"PATH": "/usr/bin:/bin", "HOME": DIR, "GIT_CONFIG_NOSYSTEM": "1"}
    for argv in (["git", "init", "-q", work], ["git", "-C", work, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "--allow-empty", "-m", "the commit"],
                 ["git", "clone", "-q", "--bare", work, WWW + "/repository.git"], ["git", "-C", WWW + "/repository.git", "update-server-info"]):
        subprocess.run(argv, check=True, env=env, capture_output=True)
    r = run("--allow", "git.test:%d" % TLS, "-v", CERT + ":/cert:ro", "-e", "GIT_SSL_CAINFO=/cert/cert.pem", "-e", "HOME=/work", "--exec", "/bin/sh", "-c",
            "git clone -q https://git.test:%d/repository.git there && git -C there log --format=%%s" % TLS)
    same((r.code, r.out.decode()), (0, "the commit\n"), r)
    check(r.receipt["network"]["connections"] >= 1 and not denied(r), r)


#
@case
def npm_installs_from_a_registry():
    registry = os.path.join(WWW, "registry")
    os.makedirs(registry)
    with io.BytesIO() as b:
        with tarfile.open(fileobj=b, mode="w:gz") as t:
            for name, text in (("package.json", '{"name":"small","version":"1.0.0"}'), ("index.js", "module.exports = 'the module'")):
                info = tarfile.TarInfo("package/" + name)
                info.size = len(text)
                t.addfile(info, io.BytesIO(text.encode()))
        data = b.getvalue()
    with open(registry + "/small.tgz", "wb") as f:
        f.write(data)
    base = "http://web.test:%d/registry" % WEB
    with open(registry + "/small", "w") as f:
        json.dump({"name": "small", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {
            "name": "small", "version": "1.0.0", "dist": {"tarball": base + "/small.tgz", "shasum": hashlib.sha1(data).hexdigest()}}}}, f)
    r = run("--allow", "web.test:%d" % WEB, "--memory", "1g", "--pids-limit", "64", "--timeout", "100s", "--proc", "-e", "HOME=/work", "--exec", "/bin/sh", "-c",
            "cd /work && npm install --no-audit --no-fund --no-update-notifier --registry %s small >&2 && node -p 'require(\"small\")'" % base)
    same((r.code, r.out.decode()), (0, "the module\n"), r)


#
@case
def a_manifest_has_what_the_policy_covers():
    python_skill("asks", "import os; print(os.environ.get('HTTP_PROXY'))",
                 network={"allow": ["web.test:%d" % WEB, "evil.test:443", {"name": "git.test:%d" % TLS, "plain": True}]})
    r = run("asks")
    same((r.code, r.out), (0, b"http://127.0.0.1:3128\n"), r)
    grant = json.loads(lethe("run", "--dry-run", "--json", "asks").out)
    same(grant["network"], {"mode": "loopback", "connect": [], "allow": ["web.test:%d" % WEB], "private": ["127.0.0.0/8"]})
    same(sorted(x["asked"] for x in grant["reductions"]), ["evil.test:443", "git.test:%d/plain" % TLS])
    shown = lethe("run", "--dry-run", "asks").out.decode()
    check("through the proxy web.test:%d" % WEB in shown and "with private addresses 127.0.0.0/8" in shown, shown)
    r = run("--allow", "evil.test:443", "asks")
    same(r.code, 125, r)
    check(b"--allow evil.test:443: " in r.err and b"does not list it" in r.err, r)
    for argv, word in ((["--network", "host", "--allow", "web.test:80"], b"--allow excludes"), (["--connect", "127.0.0.1:80", "--allow", "web.test:80"], b"--allow excludes"),
                       (["--allow", "http://web.test"], b"has a scheme"), (["--allow", "web.test:x"], b"the port must be")):
        r = run(*argv, "asks")
        check(r.code == 125 and word in r.err, argv, r)


#
@case
def variables_of_the_user_stay():
    r = run("--allow", "web.test:%d" % WEB, "-e", "NO_PROXY=mine", "--exec", "/bin/sh", "-c", "echo $NO_PROXY $HTTPS_PROXY")
    same(r.out, b"mine http://127.0.0.1:3128\n", r)


#
@alone
@case
def a_proxy_that_dies_ends_connections_and_is_told():
    path = os.path.join(DIR, "lost.json")
    p = subprocess.Popen([LETHE, "run", "--no-serve", "--receipt", path, "--allow", "web.test:%d" % WEB, "--exec", "/bin/sh", "-c",
                          "curl -sS %s; echo ready; read x; curl -sS %s 2>&1 || echo over" % (HELLO, HELLO)], env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    out = p.stdout.readline() + p.stdout.readline()
    same(out, b"hello from the server\nready\n")
    proxies = [pid for pid, name in processes_below(p.pid) if name == "lethe-proxy"]
    same(len(proxies), 1)
    os.kill(proxies[0], signal.SIGKILL)
    wait_for(lambda: state_of(proxies[0]) == "Z", "its end")
    out, err = p.communicate(b"x\n", timeout=120)
    check(out.endswith(b"over\n") and b"lethe-proxy ended before the region" in err, out, err)
    with open(path) as f:
        receipt = json.load(f)
    same((receipt["network"], receipt["outcome"]), ({"lost": True}, "exited"))


#
@alone
@case
def a_proxy_ends_with_its_supervisor():
    p = subprocess.Popen([LETHE, "run", "--no-serve", "--allow", "web.test:%d" % WEB, "--exec", "/bin/sh", "-c", "echo ready; read x"], env=ENV,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    same(p.stdout.readline(), b"ready\n")
    proxy = [pid for pid, name in processes_below(p.pid) if name == "lethe-proxy"][0]
    p.kill()
    p.communicate()
    wait_for(lambda: state_of(proxy) == "Z", "the end of lethe-proxy")


def launchers():
    """Processes of lethe-proxy that live: a launcher whose maker has ended is a child of the test's reaper."""
    return [pid for pid, name in processes_below(os.getppid()) if name == "lethe-proxy" and state_of(pid) != "Z"]


#
@case
def a_prepared_region_has_its_own():
    env = dict(ENV, LETHE_SOCKET=os.path.join(DIR, "pool-socket"), LETHE_POLICY=os.path.join(DIR, "pool-policy.json"))
    with open(POLICY) as f:
        policy = dict(json.load(f), pool={"skills": {"*": 2}})
    with open(env["LETHE_POLICY"], "w") as f:
        json.dump(policy, f)
    daemon = start_daemon(env)
    try:
        for start in ("cold", "pool", "pool"):
            r = run("--allow", "web.test:%d" % WEB, "--exec", "/usr/bin/curl", "-sS", HELLO, "http://evil.test/", env=env)
            check(r.code == 0 and r.out.startswith(b"hello from the server\n"), r)
            same((r.receipt["network"]["connections"], r.receipt["network"]["denied"]), (1, 1))
            same(r.receipt["start"], start, r)
            wait_for(lambda: ask_daemon("status", env["LETHE_SOCKET"])["ready_regions"] > 0, "a region that waits")
    finally:
        same(stop_daemon(daemon), 0)


# A-20 A-25
@case
def through_the_daemon_each_region_has_its_own():
    env = dict(ENV, LETHE_SOCKET=os.path.join(DIR, "own-socket"))
    daemon = start_daemon(env)
    try:
        for _ in range(3):
            r = run("--allow", "web.test:%d" % WEB, "--exec", "/bin/sh", "-c", "curl -sS %s; curl -sS http://evil.test/" % HELLO, env=env)
            check(r.code == 0 and r.out.startswith(b"hello from the server\n") and r.receipt["network"]["denied"] == 1, r)
        wait_for(lambda: len(launchers()) == 2, "the launcher and its spare alone")
        for turn in range(2):  # the launcher, then the spare that took its place
            for pid in launchers()[turn:]:
                os.kill(pid, signal.SIGKILL)
                r = run("--allow", "web.test:%d" % WEB, "--exec", "/bin/sh", "-c", "curl -sS %s" % HELLO, env=env)
                check(r.code == 0 and r.out == b"hello from the server\n", turn, pid, r)
                wait_for(lambda: len(launchers()) == 2, "a launcher and a spare again")
    finally:
        same(stop_daemon(daemon), 0)


main()
