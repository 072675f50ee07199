"""A client of the Model Context Protocol for tests of `lethe mcp`. To be imported after account.py was asked."""
import json
import subprocess
import threading

from tap import ENV, LETHE, check, same

MODERN = "2026-07-28"
META = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}


class Client:
    """A client on pipes. Its requests are numbered from 1 on, unless they have an id."""

    def __init__(self, *argv, era="old", capabilities=None, **kw):
        self.p = subprocess.Popen([LETHE, "mcp", *argv], env=dict(ENV, **kw), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.n, self.era, self.err = 0, era, b""
        self.heard = []  # what is no answer to the request that was waited for
        self.reader = threading.Thread(target=self._drain, daemon=True)
        self.reader.start()
        if era == "old":
            self.first = self.ask("initialize", protocolVersion="2025-11-25", capabilities=capabilities or {}, clientInfo={"name": "test", "version": "1"})
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _drain(self):
        self.err = self.p.stderr.read()

    def raw(self, data):
        self.p.stdin.write(data)
        self.p.stdin.flush()

    def send(self, message):
        self.raw(json.dumps(message).encode() + b"\n")

    def begin(self, method, meta=None, **params):
        self.n += 1
        meta = dict(META if self.era == "new" else {}, **(meta or {}))
        if meta:
            params["_meta"] = meta
        self.send({"jsonrpc": "2.0", "id": self.n, "method": method, "params": params})
        return self.n

    def read(self):
        line = self.p.stdout.readline()
        check(line.endswith(b"\n"), "no message", line, self.err)
        message = json.loads(line)
        same(message["jsonrpc"], "2.0")
        return message

    def answer(self, number):
        while True:
            for m in self.heard:
                if m.get("id") == number and "method" not in m:
                    self.heard.remove(m)
                    return m
            self.heard.append(self.read())

    def ask(self, method, **params):
        return self.answer(self.begin(method, **params))

    def call(self, tool, /, meta=None, **arguments):
        return self.answer(self.begin("tools/call", meta=meta, name=tool, arguments=arguments))["result"]

    def end(self):
        self.p.stdin.close()
        rest = self.p.stdout.read()
        code = self.p.wait(120)
        self.reader.join(10)
        return code, [json.loads(line) for line in rest.splitlines()]


def text(result):
    return "".join(c["text"] for c in result["content"])
