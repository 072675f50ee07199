#!/usr/bin/python3
"""A bridge for tests: HTTP as the Model Context Protocol has it on one side, servers on standard input and output on the other. A session of the older
revisions (`initialize`) has a server of its own; requests of the newer revision share one. Loopback alone.

usage: bridge.py COMMAND [ARGS...]      prints "http://127.0.0.1:PORT/mcp"
"""
import itertools
import json
import queue
import subprocess
import sys
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

VERSION = "io.modelcontextprotocol/protocolVersion"
LOCAL = ("127.0.0.1", "localhost", "[::1]")


class Server:
    """A server on pipes. The ids of requests are the bridge's own on this side."""

    def __init__(self, command, env):
        self.p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env)
        self.lock, self.ids, self.waiting, self.loose = threading.Lock(), itertools.count(1), {}, queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def send(self, message):
        with self.lock:
            try:
                self.p.stdin.write(json.dumps(message).encode() + b"\n")
                self.p.stdin.flush()
            except OSError:
                pass

    def ask(self, request):
        """Sends a request; what belongs to it comes from the queue, its answer last."""
        said, number = queue.Queue(), next(self.ids)
        token = request.get("params", {}).get("_meta", {}).get("progressToken")
        if token is not None:
            request["params"]["_meta"]["progressToken"] = number
        self.waiting[number] = (said, request["id"], token)
        self.send(dict(request, id=number))
        return said, number

    def read(self):
        for line in self.p.stdout:
            m = json.loads(line)
            if "method" not in m:
                said, m["id"], _ = self.waiting.pop(m.get("id"), (self.loose, m.get("id"), None))
            elif m["method"] == "notifications/progress":
                said, _, m["params"]["progressToken"] = self.waiting.get(m["params"]["progressToken"], (self.loose, None, None))
            else:
                said = max(self.waiting.items())[1][0] if self.waiting else self.loose
            said.put(m)
        for said, number, _ in list(self.waiting.values()):
            said.put({"jsonrpc": "2.0", "id": number, "error": {"code": -32603, "message": "the server ended"}})

    def end(self):
        with self.lock:
            self.p.stdin.close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, body=b"", kind="application/json", **headers):
        self.send_response(status)
        for name, value in {"content-type": kind, "content-length": len(body), **headers}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, said, first, **headers):
        self.send_response(200)
        for name, value in {"content-type": "text/event-stream", "cache-control": "no-cache", "connection": "close", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True
        while True:
            m = first or said.get()
            first = None
            self.wfile.write(b"event: message\ndata: " + json.dumps(m).encode() + b"\n\n")
            self.wfile.flush()
            if said is not None and "method" not in m:
                return

    def session(self):
        return self.server.sessions.get(self.headers.get("mcp-session-id"))

    def local(self):
        """A page of another origin, or a name that was pointed at this machine, gets nothing."""
        host, origin = self.headers.get("host", ""), self.headers.get("origin", "")
        if host.rsplit(":", 1)[0] in LOCAL and (not origin or origin.split("//")[-1].rsplit(":", 1)[0] in LOCAL):
            return True
        self.reply(403)
        return False

    def do_GET(self):
        s = self.session()
        if not self.local():
            return
        if not s:
            return self.reply(405)
        self.stream(s.loose, None)

    def do_DELETE(self):
        s = self.session()
        if not self.local():
            return
        if not s:
            return self.reply(404)
        del self.server.sessions[self.headers["mcp-session-id"]]
        s.end()
        self.reply(200)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if not self.local():
            return
        try:
            m = json.loads(body)
        except ValueError:
            return self.reply(400, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no JSON"}}')
        if not isinstance(m, dict):
            return self.reply(400, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no object"}}')
        params = m.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        modern = isinstance(meta, dict) and VERSION in meta or self.headers.get("mcp-protocol-version", "") >= "2026"
        headers = {}
        if self.headers.get("mcp-session-id") and not modern:
            s = self.session()
            if not s:
                return self.reply(404)
        elif m.get("method") == "initialize" and not modern:
            s, name = Server(self.server.command, self.server.env), str(uuid.uuid4())
            self.server.sessions[name] = s
            headers["mcp-session-id"] = name
        else:
            s = self.server.modern()
        if "id" not in m or "method" not in m:
            s.send(m)
            return self.reply(202)
        said, number = s.ask(m)
        first = said.get()
        if "method" not in first:
            code = first.get("error", {}).get("code", 0)
            status = {-32601: 404, -32602: 400, -32022: 400, -32021: 400, -32020: 400, -32600: 400}.get(code, 200) if modern or not headers and s is self.server.shared else 200
            return self.reply(status, json.dumps(first).encode(), **headers)
        try:
            self.stream(said, first, **headers)
        except OSError:  # the client left: over HTTP that cancels a request
            s.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})


class Bridge(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, command, env=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.command, self.env, self.sessions, self.shared, self.lock = command, env, {}, None, threading.Lock()
        self.url = "http://127.0.0.1:%d/mcp" % self.server_port

    def handle_error(self, request, client_address):
        """Clients leave when they have what they want."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)

    def modern(self):
        with self.lock:
            if not self.shared or self.shared.p.poll() is not None:
                self.shared = Server(self.command, self.env)
            return self.shared

    def end(self):
        """Ends all servers and waits for their ends."""
        self.shutdown()
        servers = list(self.sessions.values()) + [self.shared] * bool(self.shared)
        for s in servers:
            s.end()
        for s in servers:
            s.p.wait(60)
            s.p.stdout.close()


if __name__ == "__main__":
    b = Bridge(sys.argv[1:])
    print(b.url, flush=True)
    b.serve_forever()
