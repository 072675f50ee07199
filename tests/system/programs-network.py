#!/usr/bin/python3
"""Programs that talk, unchanged, in regions: git, pip, npm, requests and fetch through the proxy, programs of a terminal, a server of another author. TAP.

LETHE_TEST_PROGRAMS=1 adds what takes minutes or the registry of npm: fetch with a package, an MCP server that rests for five minutes.

usage: programs-network.py LETHE root|user
"""
import hashlib
import http.server
import io
import json
import os
import ssl
import subprocess
import sys
import tarfile
import threading
import time
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "front", "cli"))
from own_hosts import own_hosts  # noqa: E402

own_hosts("127.0.0.1 localhost\n127.0.0.1 server.test\n")

from account import use  # noqa: E402

use(sys.argv[2])

from screen import Tmux  # noqa: E402
from tap import DIR, ENV, LETHE, case, case_when, check, main, run, same  # noqa: E402

LARGE = os.environ.get("LETHE_TEST_PROGRAMS") == "1"
REST = 300  # seconds: an MCP server at rest
os.chmod(DIR, 0o755)
WWW, CERT = os.path.join(DIR, "www"), os.path.join(DIR, "cert")
for folder in (WWW, CERT):
    os.makedirs(folder)
AT_HOME = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": DIR, "GIT_CONFIG_NOSYSTEM": "1", "npm_config_cache": DIR + "/npm-cache",
           **{name: value for name, value in os.environ.items() if name == "NODE_EXTRA_CA_CERTS"}}  # the way to npm's registry may need certificates of the machine's


def tool(*argv, cwd=DIR):
    return subprocess.run(argv, check=True, env=AT_HOME, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout


class Files(http.server.SimpleHTTPRequestHandler):
    """Files of WWW, and git's own program below /git/."""

    def __init__(self, *args):
        super().__init__(*args, directory=WWW)

    def log_message(self, *args):
        pass

    def git(self):
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        env = dict(AT_HOME, GIT_PROJECT_ROOT=WWW + "/git", GIT_HTTP_EXPORT_ALL="1", PATH_INFO=path[len("/git"):], QUERY_STRING=query, REQUEST_METHOD=self.command,
                   CONTENT_TYPE=self.headers.get("Content-Type") or "", HTTP_CONTENT_ENCODING=self.headers.get("Content-Encoding") or "")
        head, _, body = subprocess.run(["git", "http-backend"], input=body, env=env, stdout=subprocess.PIPE, check=True).stdout.partition(b"\r\n\r\n")
        self.send_response(200)
        for line in head.decode().splitlines():
            self.send_header(*line.split(": ", 1))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.git() if self.path.startswith("/git/") else super().do_GET()

    do_POST = git


tool("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", DIR + "/key.pem", "-out", CERT + "/cert.pem", "-subj", "/CN=server.test",
     "-addext", "subjectAltName=DNS:server.test")
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(CERT + "/cert.pem", DIR + "/key.pem")
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files)
server.socket = context.wrap_socket(server.socket, server_side=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
ADDRESS = "server.test:%d" % server.server_address[1]
URL = "https://" + ADDRESS
with open(WWW + "/hello", "w", encoding="utf-8") as f:
    f.write("hello from the server\n")
ENV["LETHE_POLICY"] = os.path.join(DIR, "policy.json")
with open(ENV["LETHE_POLICY"], "w", encoding="utf-8") as f:
    json.dump({"version": 1, "network": {"allow": [ADDRESS], "private": ["127.0.0.0/8"]}, "files": [{"path": DIR, "access": "write"}]}, f)
ALLOW = ["--allow", ADDRESS, "-v", CERT + ":/cert", "-e", "HOME=/work", "--timeout", "100s"]
NODE = ["--memory", "1g", "--pids-limit", "64", "--proc", "-e", "NODE_EXTRA_CA_CERTS=/cert/cert.pem"]


def said(want, script, *options):
    """The script's output; what it does not reach through the proxy is refused there, and nothing else is."""
    r = run(*ALLOW, *options, "--exec", "/bin/sh", "-c", script, timeout=300)
    same((r.code, r.out.decode()), (0, want), r.err[-3000:], r)
    check(r.receipt["network"]["connections"] > 0, r)
    return r


@case
def git_clones_and_pushes_over_https():
    """Through git's own server, with a certificate that the machine does not know."""
    work = os.path.join(DIR, "repository")
    tool("git", "init", "-q", "-b", "main", work)
    for n in range(3):
        tool("git", "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "--allow-empty", "-m", "commit %d" % n, cwd=work)
    tool("git", "clone", "-q", "--bare", work, WWW + "/git/r.git")
    tool("git", "-C", WWW + "/git/r.git", "config", "http.receivepack", "true")
    said("commit 2\ncommit 1\ncommit 0\n", "git clone -q %s/git/r.git r && cd r && git log --format=%%s && git -c user.name=s -c user.email=s@example.org commit -q --allow-empty -m more && "
         "git push -q origin HEAD:more" % URL, "-e", "GIT_SSL_CAINFO=/cert/cert.pem")
    same(tool("git", "-C", WWW + "/git/r.git", "log", "--format=%s", "-1", "more"), b"more\n")
    r = run(*ALLOW, "--exec", "/bin/sh", "-c", "git clone -q %s/git/r.git r 2>&1" % URL)
    check(r.code == 128 and b"certificate" in r.out, "without the certificate", r)


def wheel(name, needs, text):
    """A package of Python with one module, and its page in the index."""
    info, data = "%s-1.0.dist-info/" % name, io.BytesIO()
    files = {name + ".py": text, info + "METADATA": "Metadata-Version: 2.1\nName: %s\nVersion: 1.0\n%s" % (name, "Requires-Dist: %s\n" % needs if needs else ""),
             info + "WHEEL": "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    with zipfile.ZipFile(data, "w") as z:
        for path, content in files.items():
            z.writestr(path, content)
        z.writestr(info + "RECORD", "".join("%s,,\n" % path for path in [*files, info + "RECORD"]))
    page = os.path.join(WWW, "simple", name)
    os.makedirs(page)
    filename = "%s-1.0-py3-none-any.whl" % name
    with open(os.path.join(page, filename), "wb") as out:
        out.write(data.getvalue())
    with open(os.path.join(page, "index.html"), "w", encoding="utf-8") as out:
        out.write('<!doctype html><a href="%s#sha256=%s">%s</a>' % (filename, hashlib.sha256(data.getvalue()).hexdigest(), filename))


@case
def pip_installs_from_an_index():
    """Into an environment that is made in the region, with what the package needs."""
    wheel("upper_part", "lower-part", "import lower_part\nanswer = lower_part.half * 2\n")
    wheel("lower_part", "", "half = 21\n")
    os.rename(WWW + "/simple/upper_part", WWW + "/simple/upper-part")  # as PEP 503 spells names
    os.rename(WWW + "/simple/lower_part", WWW + "/simple/lower-part")
    said("42\n", "/usr/bin/python3 -m venv v && v/bin/pip --disable-pip-version-check --no-cache-dir install -q --index-url %s/simple/ --cert /cert/cert.pem upper-part >&2 && "
         "v/bin/python -c 'import upper_part; print(upper_part.answer)'" % URL, "--memory", "400m", "--pids-limit", "64", "--scratch", "200m")


def registered(tarball):
    """A package that `npm pack` made is in the registry."""
    with open(tarball, "rb") as t:
        data = t.read()
    with tarfile.open(tarball) as t:
        package = json.load(t.extractfile("package/package.json"))
    name, version, base = package["name"], package["version"], WWW + "/registry/"
    filename = os.path.basename(tarball)
    os.makedirs(base, exist_ok=True)
    os.rename(tarball, base + filename)
    dist = {"tarball": "%s/registry/%s" % (URL, filename), "shasum": hashlib.sha1(data).hexdigest()}
    with open(base + name, "w", encoding="utf-8") as f:
        json.dump({"name": name, "dist-tags": {"latest": version}, "versions": {version: dict(package, dist=dist)}}, f)


def packed(spec):
    """By npm: a folder, or a name that the registry of npm has."""
    registered(os.path.join(DIR, tool("npm", "pack", "--silent", spec).decode().strip()))


INSTALL = "npm install --silent --no-audit --no-fund --no-update-notifier --registry %s/registry --cafile /cert/cert.pem " % URL


@case
def npm_installs_from_a_registry():
    """A package and what it depends on, as npm packs them."""
    for name, needs, text in (("upper", {"lower": "^1.0.0"}, "module.exports = require('lower') * 2"), ("lower", {}, "module.exports = 21")):
        folder = os.path.join(DIR, "npm-" + name)
        os.makedirs(folder)
        with open(folder + "/package.json", "w", encoding="utf-8") as f:
            json.dump({"name": name, "version": "1.0.0", "dependencies": needs}, f)
        with open(folder + "/index.js", "w", encoding="utf-8") as f:
            f.write(text)
        packed(folder)
    said("42\n", INSTALL + "upper >&2 && node -p 'require(\"upper\")'", *NODE)


@case
def requests_of_python():
    """A session over TLS, and the words of a refusal."""
    with open(WWW + "/asks.py", "w", encoding="utf-8") as f:
        f.write("import requests\ns = requests.Session()\nfor _ in range(3):\n    a = s.get('%s/hello', verify='/cert/cert.pem')\n    print(a.status_code, a.text, end='')\n"
                "a = s.get('http://other.test/')\nprint(a.status_code, a.json()['rule'])\n"
                "try:\n    s.get('https://other.test/')\nexcept requests.exceptions.ProxyError as e:\n    print('403' in str(e))\n" % URL)
    r = said("200 hello from the server\n" * 3 + "403 not_allowed\nTrue\n", "/usr/bin/python3 /www/asks.py", "-v", WWW + ":/www", "--memory", "200m")
    same(sorted(d["object"] for d in r.receipt["denials"] if d["operation"] == "proxy"), ["other.test:443", "other.test:80"], r)


NODE_VERSION = tuple(map(int, tool("node", "-p", "process.versions.node").decode().strip().split(".")))
BY_ITSELF = NODE_VERSION >= (24, 0) or (22, 21) <= NODE_VERSION < (23, 0)  # heeds NODE_USE_ENV_PROXY
ASKS = "fetch('%s/hello').then(a => a.text()).then(t => process.stdout.write(t), e => { console.log(String(e.cause || e)); process.exit(3) })" % URL


@case_when(BY_ITSELF)
def fetch_of_node():
    said("hello from the server\n", "node -e \"%s\"" % ASKS, *NODE)


@case_when(not BY_ITSELF)
def fetch_of_an_older_node_says_why_not():
    """Such a node asks no proxy: nothing leaves the region. lethe-cookbook(7) has what helps, and the next case tries it."""
    r = run(*ALLOW, *NODE, "--exec", "node", "-e", ASKS)
    same(r.code, 3, r)
    same(r.receipt["network"]["connections"], 0, r)


@case_when(LARGE)
def fetch_with_undici():
    """Of any version of node: a package of npm's registry, installed in the region."""
    packed("undici@6")
    said("hello from the server\n", INSTALL + "undici >&2 && node -e \"const u = require('undici'); u.setGlobalDispatcher(new u.EnvHttpProxyAgent()); %s\"" % ASKS, *NODE)


@case
def programs_of_a_terminal():
    """Python's prompt, vim, top and less, as a person types."""
    screen, lethe = Tmux(), LETHE + " run --no-serve "
    try:
        screen.keys(lethe + "--exec python3 -q; echo code=$?", "Enter")
        screen.until(">>>")
        screen.keys("print(6 *", "Enter")
        screen.until("...")
        screen.keys("7)", "Enter")
        screen.until("42\n>>>")
        screen.keys("C-d")
        screen.until("code=0")
        screen.keys("clear; " + lethe + "-v %s:/out:rw --exec vim -u NONE /out/note; echo code=$?" % WWW, "Enter")
        screen.until("~\n~")
        screen.keys("ifirst", "Enter", "second", "Escape", "ggdd:wq", "Enter")
        screen.until("code=0")
        with open(WWW + "/note", encoding="utf-8") as f:
            same(f.read(), "second\n")
        screen.keys("clear; " + lethe + "--proc --exec top; echo code=$?", "Enter")
        screen.until("PID")
        screen.keys("q")
        screen.until("code=0")
        screen.keys("clear; " + lethe + "--exec sh -c 'seq 500 | less'; echo code=$?", "Enter")
        screen.until("\n5\n")
        screen.keys("/^499", "Enter")
        screen.until("499")
        screen.keys("q")
        screen.until("code=0")
    finally:
        screen("kill-server")


@case_when(LARGE)
def a_server_of_mcp_rests_and_works():
    """server-everything of npm's registry: five minutes without a word, then its tools, then the end of its standard input."""
    tool("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", DIR + "/mcp", "@modelcontextprotocol/server-everything")
    receipt = os.path.join(DIR, "mcp.json")
    p = subprocess.Popen([LETHE, "run", "--no-serve", "--receipt", receipt, "--timeout", "none", "--cpu-time", "none", "--memory", "1g", "--pids-limit", "64", "--proc",
                          "-v", DIR + "/mcp:/mcp", "--exec", "node", "/mcp/node_modules/@modelcontextprotocol/server-everything/dist/index.js", "stdio"],
                         env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def ask(n, method, **params):
        p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": n, "method": method, "params": params}).encode() + b"\n")
        p.stdin.flush()
        while True:
            line = p.stdout.readline()
            check(line, "the server's output ended at " + method)
            answer = json.loads(line)
            if answer.get("id") == n and "method" not in answer:
                return answer["result"]

    first = ask(1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "t", "version": "1"})
    check(first["serverInfo"]["name"], first)
    p.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    p.stdin.flush()
    time.sleep(REST)  # the rest is what is tested
    check(p.poll() is None, "the server ended at rest")
    tools = [t["name"] for t in ask(2, "tools/list")["tools"]]
    for n in range(200):
        same(ask(100 + n, "tools/call", name="echo", arguments={"message": "m%d" % n})["content"][0]["text"], "Echo: m%d" % n, tools)
    p.stdin.close()
    same(p.wait(60), 0)
    with open(receipt, encoding="utf-8") as f:
        same(json.load(f)["outcome"], "exited")


main()
