#!/usr/bin/python3
"""Hostile servers behind `lethe mcp wrap`, and hostile clients of `lethe mcp` and of `lethe mcp wrap` (A-40, A-46). Each server also runs bare, where the
client must get what it must not get: else the row proves nothing. TAP.

usage: mcp.py LETHE root|user
"""
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "front", "cli"))
from account import use  # noqa: E402

use(sys.argv[2])

import mcp_servers as servers  # noqa: E402
from tap import DIR, ENV, LETHE, add, case, check, log, main, processes_below, python_skill, same  # noqa: E402

os.chmod(DIR, 0o755)
SECRET, OUT = os.path.join(DIR, "secret"), os.path.join(DIR, "out")
with open(SECRET, "w", encoding="utf-8") as f:
    f.write("top secret")
SRV = os.path.join(DIR, "srv")
os.mkdir(SRV)
os.chmod(SRV, 0o755)
MEMORY_MOST = 160 << 20  # bytes of the process between client and server
_listener = socket.socket()
_listener.bind(("127.0.0.1", 0))
_listener.listen(64)


def _greet():
    while True:
        try:
            with _listener.accept()[0] as s:
                s.sendall(b"connected")
        except OSError:
            return


threading.Thread(target=_greet, daemon=True).start()


def write_server(number, text):
    path = os.path.join(SRV, "s%d.py" % number)
    with open(path, "w", encoding="utf-8") as to:
        to.write(servers.PRELUDE + "SECRET, OUT, PORT = %r, %r, %d\n" % (SECRET, OUT, _listener.getsockname()[1]) + text + servers.LOOP)
    return path


class Got:
    """What a client got in the end."""

    def __init__(self):
        self.lines, self.asked, self.written, self.left, self.memory = [], set(), False, False, 0

    def messages(self):
        found = []
        for line in self.lines:
            try:
                m = json.loads(line)
            except (ValueError, RecursionError):
                continue
            found += [m] if isinstance(m, dict) else []
        return found


class Talk:
    def __init__(self, path, name=None):
        self.name = name
        command = ["/usr/bin/python3", path]
        if name:
            command = [LETHE, "mcp", "wrap", "--name", name, "-v", SRV + ":" + SRV + ":ro", "--memory", "96m", "--", *command]
        self.p = subprocess.Popen(command, env=dict(ENV, API_KEY="key of the client"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.got, self.n, self.err = Got(), 0, b""
        self.reader = threading.Thread(target=lambda: setattr(self, "err", self.p.stderr.read()), daemon=True)
        self.reader.start()

    def ask(self, method, **params):
        """The answer, or None: the server is gone."""
        self.n += 1
        self.got.asked.add(self.n)
        try:
            self.p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.n, "method": method, "params": params}).encode() + b"\n")
            self.p.stdin.flush()
        except OSError:
            return None
        while True:
            line = self.p.stdout.readline()
            if not line:
                return None
            self.got.lines.append(line)
            try:
                m = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(m, dict) and m.get("id") == self.n and "method" not in m:
                return m

    def call(self, **arguments):
        return self.ask("tools/call", name="echo", arguments=arguments)

    def whole(self, attack=True):
        """A session: two lists, a call with the attack, and an honest one. Returns the last answer."""
        self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "t", "version": "1"})
        self.ask("tools/list")
        self.ask("tools/list")
        self.attacked = self.call(attack=1) if attack else None
        last = self.call()
        with open("/proc/%d/status" % self.p.pid, encoding="utf-8") as status:
            self.got.memory = max([int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM")] or [0])
        return last

    def end(self):
        before = processes_below(self.p.pid)
        try:
            self.p.stdin.close()
        except OSError:
            pass
        for line in self.p.stdout:
            self.got.lines.append(line)
        code = self.p.wait(120)
        self.reader.join(20)
        self.p.stdout.close()
        for pid, name in before:
            try:
                with open("/proc/%d/comm" % pid, encoding="utf-8") as f:
                    same(f.read().strip(), name)
                os.kill(pid, signal.SIGKILL)
                self.got.left = True
            except (FileNotFoundError, ProcessLookupError):
                pass
        self.got.written = os.path.exists(OUT)
        if self.got.written:
            os.unlink(OUT)
        return code


def events(name):
    return [e["outcome"] for e in log("--type", "tool.called") if e["server"] == name]


def row(number, text, bad):
    path = write_server(number, text)
    bare = Talk(path)
    bare.whole()
    bare.end()
    check(bad(bare.got), "without Lethe the attack fails, too", bare.got.lines[-3:], bare.err[-300:])
    ours = Talk(path, "r%d" % number)
    last = ours.whole()
    changed = "if n > 1:" in text  # the tool itself: no call of it passes
    want = "lethe mcp approve" if changed else '"text": "ok"'
    check(last and want in json.dumps(last.get("result")), "the honest call after the attack", last, ours.err[-600:])
    ours.end()
    check(not bad(ours.got), "the attack came through", [line[:300] for line in ours.got.lines], ours.err[-300:])
    check(ours.got.memory < MEMORY_MOST, "memory", ours.got.memory)
    same((len(events(ours.name)), events(ours.name)[-1]), (2, "refused" if changed else "ok"))


for _i, (_name, (_text, _bad)) in enumerate(servers.ROWS.items()):
    add("a server: " + _name, lambda i=_i, t=_text, b=_bad: row(i, t, b))


def storm(number, text):
    path = write_server(number, text)
    ours = Talk(path, "t%d" % number)
    last = ours.whole()
    check(last and last["result"]["content"] == [{"type": "text", "text": "ok"}] and ours.attacked["result"]["content"] == last["result"]["content"], last, ours.err[-600:])
    check(ours.got.memory < MEMORY_MOST and not servers.unasked(ours.got) and not servers.broken(ours.got), "memory, or answers", ours.got.memory)
    same((ours.end(), events(ours.name)), (0, ["ok", "ok"]))


for _i, (_name, _text) in enumerate(servers.STORMS.items()):
    add("a server: " + _name, lambda i=_i, t=_text: storm(100 + i, t))


def ends(number, text):
    path = write_server(number, text)
    ours = Talk(path, "e%d" % number)
    same(ours.whole(), None)
    same(ours.attacked["error"]["code"], -32603)
    ours.end()
    check(not ours.got.left and "lost" in events(ours.name), events(ours.name))


for _i, (_name, _text) in enumerate(servers.ENDS.items()):
    add("a server: " + _name, lambda i=_i, t=_text: ends(200 + i, t))


# Clients. A row: bytes, and the codes of the answers that come, in order; None: no answer. Behind each row comes an honest request.
def rpc(method, number=900, **params):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def line(o):
    return json.dumps(o).encode() + b"\n"


CLIENTS = {
    "half a message": (b'{"jsonrpc":"2.0","id":900,\n', [-32700]),
    "bytes that are not UTF-8": (b'{"jsonrpc":"2.0","id":900,"method":"\xff\xfe"}\n', [-32700]),
    "a number that is none": (b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}\n', [-32700]),
    "a key twice": (b'{"jsonrpc":"2.0","id":900,"id":901,"method":"ping"}\n', [-32700]),
    "brackets": (b"[" * 100000 + b"\n", [-32700]),
    "a deep object": (b'{"jsonrpc":"2.0","id":900,"method":"ping","params":' + b'{"a":' * 5000 + b"1" + b"}" * 5001 + b"\n", [-32700]),
    "a batch": (line([rpc("ping")]), [-32600]),
    "a lone surrogate": (b'{"jsonrpc":"2.0","id":900,"method":"\\ud800"}\n', [-32700]),
    "an id that is null": (b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n', [-32600]),
    "an id that is a fraction": (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}\n', [-32600]),
    "an id that is an object": (line(rpc("ping", number={"a": 1})), [-32600]),
    "an id that is true": (line(rpc("ping", number=True)), [-32600]),
    "an id of 2^70": (b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n' % 2 ** 70, [-32700]),
    "an answer that nobody wants": (line({"jsonrpc": "2.0", "id": "lethe-1", "result": {}}) * 100, []),
    "a thousand cancels": (line({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}) * 1000, []),
    "a cancel of a list": (line({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [1]}}), []),
    "unknown notifications": (b"".join(line({"jsonrpc": "2.0", "method": "notifications/%d" % n}) for n in range(1000)), []),
    "blank lines": (b"\n" * 10000 + b"\r\n" * 100, []),
}
NEWER = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
OURS_ONLY = {
    "an id of a megabyte": (line(rpc("ping", number="x" * 100000)), [-32600]),
    "a line of 100 MB": (b'{"jsonrpc":"2.0","method":"' + b"x" * (100 << 20) + b'"}\n', [-32600]),
    "a method that is a number": (line({"jsonrpc": "2.0", "id": 900, "method": 7}), [-32600]),
    "parameters that are a list": (line({"jsonrpc": "2.0", "id": 900, "method": "ping", "params": [1]}), [-32600]),
    "another version of JSON-RPC": (line({"jsonrpc": "1.0", "id": 900, "method": "ping"}), [-32600]),
    "a version from the future": (line(rpc("tools/list", _meta={"io.modelcontextprotocol/protocolVersion": "2099-01-01", "io.modelcontextprotocol/clientCapabilities": {}})), [-32022]),
    "a version that is an object": (line(rpc("tools/list", _meta={"io.modelcontextprotocol/protocolVersion": {}})), [-32602]),
    "a version without capabilities": (line(rpc("tools/list", _meta={"io.modelcontextprotocol/protocolVersion": "2026-07-28"})), [-32602]),
    "a method of the other era": (line(rpc("ping", _meta={"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}})), [-32601]),
    "two more initializes": (line(rpc("initialize", protocolVersion=7)) + line(rpc("initialize", protocolVersion=["2025-11-25"])), [-32602, -32602]),
    "a token that is an object": (line(rpc("tools/call", name="lab", arguments={}, _meta={"progressToken": {}})), [-32602]),
    "a tool by a path": (line(rpc("tools/call", name="../../lab", arguments={})), [-32602]),
    "a tool with an escape": (line(rpc("tools/call", name="lab\x1b[2J", arguments={})), [-32602]),
    "a tool that is an option": (line(rpc("tools/call", name="--help", arguments={})), [-32602]),
    "a tool with U+0000": (line(rpc("tools/call", name="lab\0", arguments={})), [-32602]),
    "a resource by a path": (b"".join(line(rpc("resources/read", uri="skill://lab/" + p)) for p in ("../../../etc/shadow", "%2e%2e/%2e%2e/etc/shadow", "..%2fx", "/etc/shadow", "main.py%00")), [-32002] * 5),
    "a resource that is a file": (line(rpc("resources/read", uri="file:///etc/shadow")), [-32002]),
    "a state that was made up": (b"".join(line(rpc("tools/call", name="asker", arguments={}, _meta=NEWER, **more)) for more in (
        {"requestState": "AAAA"}, {"requestState": {}}, {"inputResponses": 7}, {"requestState": "A" * 500000})), [-32602] * 4),
    "a loud level": (line(rpc("logging/setLevel", level={"a": 1})), [-32602]),
    "a completion of nothing": (line(rpc("completion/complete", ref=[], argument=7)), [-32602]),
}
python_skill("lab", "print('ok', end='')\n")
python_skill("asker", "print('{}')\n", mcp={"asks": ["elicitation"]})


def client(argv, data, codes):
    p = subprocess.Popen([LETHE, "mcp", *argv], env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    with tempfile.TemporaryFile(dir=DIR) as given:
        p.stdin.write(line(rpc("initialize", 1, protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "t", "version": "1"})) + line(rpc("tools/list", 2)))
        p.stdin.flush()
        for number in (1, 2):
            same(json.loads(p.stdout.readline())["id"], number)
        feeder = threading.Thread(target=lambda: (p.stdin.write(data + line(rpc("tools/call", 3, name="lab" if not argv[:1] == ["wrap"] else "echo", arguments={}))), p.stdin.flush()))
        feeder.start()
        answers = []
        while True:
            m = json.loads(p.stdout.readline())
            if m.get("id") == 3:
                break
            answers.append(m.get("error", {}).get("code"))
        feeder.join()
        del given
    same((answers, m["result"]["content"]), (codes, [{"type": "text", "text": "ok"}]))
    p.stdin.close()
    same((p.stdout.read(), p.wait(120)), (b"", 0))
    p.stdout.close()


for _name, (_data, _codes) in {**CLIENTS, **OURS_ONLY}.items():
    add("a client: " + _name, lambda d=_data, c=_codes: client(["--tools", "run"], d, c))


@case
def clients_of_a_wrapped_server():
    path = write_server(300, "")
    for name, (data, codes) in CLIENTS.items():
        try:
            client(["wrap", "--name", "plain", "-v", SRV + ":" + SRV + ":ro", "--", "/usr/bin/python3", path], data, codes)
        except AssertionError as e:
            raise AssertionError("%s: %s" % (name, e)) from e


@case
def a_client_writes_byte_by_byte_and_leaves_in_the_middle():
    p = subprocess.Popen([LETHE, "mcp"], env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    for b in line(rpc("initialize", 1, protocolVersion="2025-11-25")):
        p.stdin.write(bytes([b]))
        p.stdin.flush()
    same(json.loads(p.stdout.readline())["id"], 1)
    p.stdin.write(line(rpc("tools/call", 2, name="lab", arguments={}))[:20])
    p.stdin.close()
    rest = [json.loads(s) for s in p.stdout.read().splitlines()]
    same((p.wait(120), [m["error"]["code"] for m in rest]), (0, [-32700]))
    p.stdout.close()


@case
def a_client_asks_for_more_calls_than_there_are():
    p = subprocess.Popen([LETHE, "mcp"], env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    p.stdin.write(line(rpc("initialize", 1, protocolVersion="2025-11-25")) + b"".join(line(rpc("tools/call", n, name="lethe_run", arguments={"program": "sleep", "args": ["600"]})) for n in range(2, 72)))
    p.stdin.flush()
    same(json.loads(p.stdout.readline())["id"], 1)
    for _ in range(6):
        m = json.loads(p.stdout.readline())
        check(m["result"]["isError"] and "64 calls" in m["result"]["content"][0]["text"], m)
    p.stdin.write(line(rpc("ping", 2)) + b"".join(line({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": n}}) for n in range(2, 72)) + line(rpc("ping", 99)))
    p.stdin.close()
    answers = [json.loads(s) for s in p.stdout.read().splitlines()]
    same((p.wait(120), [m["id"] for m in answers]), (0, [2, 99]))
    p.stdout.close()
    same(processes_below(p.pid), [])


main()
