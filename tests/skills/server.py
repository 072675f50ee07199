"""A server of chat completions on the loopback, as good or bad as its path says."""
import http.server
import json
import socket
import ssl
import threading

REQUEST = {"decision": "accept", "bucket": "issues", "operation": "resolve", "payload": {}, "reference_text": "from the model", "confidence": 0.9}


def completion(content, **choice):
    return json.dumps({"id": "x", "object": "chat.completion",
                       "choices": [dict({"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}, **choice)]}).encode()


GOOD = completion(json.dumps(REQUEST))


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def answer(self, body, status=200, kind="application/json", headers=(), length=None):
        self.send_response(status)
        if kind:
            self.send_header("Content-Type", kind)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.server.asked.append(("GET", self.path, dict(self.headers), b""))
        self.answer(GOOD)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.server.asked.append(("POST", self.path, dict(self.headers), body))
        self.close_connection = True
        try:
            getattr(self, self.path[1:].replace("-", "_"))(body)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def good(self, body):
        self.answer(GOOD)

    def charset(self, body):
        self.answer(GOOD, kind="application/json; charset=utf-8")

    def on_lines(self, body):
        self.answer(completion("\n" + json.dumps(REQUEST, indent=4) + "\n"))

    def fence(self, body):
        self.answer(completion("```json\n" + json.dumps(REQUEST, indent=2) + "\n```"))

    def nulls(self, body):
        self.answer(completion(json.dumps(dict(REQUEST, target_id=None, payload={"resolution": None}))))

    def repairs(self, body):
        again = len(json.loads(body)["messages"]) > 2
        self.answer(GOOD if again else completion("I would\nresolve it"))

    def words(self, body):
        self.answer(completion("I would resolve it"))

    def status_500(self, body):
        self.answer(b'{"error":{"message":"\x1b[31moverloaded"}}', 500)

    def status_401(self, body):
        self.answer(b"{}", 401)

    def status_204(self, body):
        self.send_response(204)
        self.end_headers()

    def redirect(self, body):
        self.answer(b"", 302, headers=[("Location", "http://127.0.0.1:%d/good" % self.server.server_port)])

    def redirect_away(self, body):
        self.answer(b"", 307, headers=[("Location", "http://127.0.0.1:%d/good" % self.server.other)])

    def redirect_file(self, body):
        self.answer(b"", 301, headers=[("Location", "file:///skill/advisor.json")])

    def html(self, body):
        self.answer(b"<html>Welcome to the hotel</html>", kind="text/html")

    def not_quite_json(self, body):
        self.answer(GOOD, kind="application/jsonp")

    def no_type(self, body):
        self.answer(GOOD, kind=None)

    def empty(self, body):
        self.answer(b"")

    def garbage(self, body):
        self.answer(b"\xff\xfe\x00garbage")

    def truncated(self, body):
        self.answer(GOOD[:40], length=len(GOOD))

    def cut_json(self, body):
        self.answer(GOOD[:-10])

    def chunks_cut(self, body):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"%x\r\n%s\r\n" % (40, GOOD[:40]))

    def slow(self, body):
        self.server.stop.wait(600)

    def drip(self, body):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(GOOD)))
        self.end_headers()
        for i in range(len(GOOD)):
            self.wfile.write(GOOD[i:i + 1])
            self.wfile.flush()
            if self.server.stop.wait(0.2):
                return

    def huge(self, body):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        while not self.server.stop.is_set():
            self.wfile.write(b" " * 65536)

    def huge_headers(self, body):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.flush_headers()
        while not self.server.stop.is_set():
            self.wfile.write(b"X-Filler: " + b"x" * 8000 + b"\r\n")

    def bomb(self, body):
        self.answer(b"\x1f\x8b\x08\x00" + b"\x00" * 1000, headers=[("Content-Encoding", "gzip")])

    def deep(self, body):
        self.answer(b"[" * 500000)

    def deep_content(self, body):
        self.answer(completion("[" * 100000))

    def twice(self, body):
        self.answer(GOOD[:-1] + b',"choices":[]}')

    def no_choices(self, body):
        self.answer(b'{"choices":[]}')

    def other_choices(self, body):
        self.answer(b'{"choices":{"0":{"message":"x"}}}')

    def no_content(self, body):
        self.answer(completion(None))

    def blank(self, body):
        self.answer(completion(" \n "))

    def cut_off(self, body):
        self.answer(completion(json.dumps(REQUEST), finish_reason="length"))

    def too_much(self, body):
        self.answer(completion("x" * 250000))

    def array(self, body):
        self.answer(completion("[1]"))

    def several(self, body):
        self.answer(completion(json.dumps(REQUEST) + "\n" + json.dumps(REQUEST)))

    def escape(self, body):
        self.answer(completion(json.dumps(dict(REQUEST, rationale="\x1b[2J"))))

    def turned(self, body):
        self.answer(completion(json.dumps(dict(REQUEST, rationale="\u202egnp"), ensure_ascii=False)))

    def nul(self, body):
        self.answer(completion(json.dumps(REQUEST) + "\x00"))

    def nul_inside(self, body):
        self.answer(completion(json.dumps(dict(REQUEST, target_id="parser\x00x"))))

    def service(self, body):
        self.answer(completion(json.dumps(dict(REQUEST, applied_successfully=True))))

    def scope(self, body):
        self.answer(completion(json.dumps(dict(REQUEST, scope="payments"))))

    def other_scope(self, body):
        self.answer(completion(json.dumps(dict(REQUEST, target_id="payments/parser"))))

    def kernel(self, body):
        self.answer(completion(json.dumps(dict(REQUEST, bucket="agent_model_kernel", operation="patch"))))

    def more_than_sure(self, body):
        self.answer(completion(json.dumps(dict(REQUEST, confidence=2))))

    def tells_key(self, body):
        self.answer(completion(json.dumps(dict(REQUEST, rationale=self.headers["Authorization"].split()[1]))))

    def garbage_line(self, body):
        self.wfile.write(b"220 smtp.example.com ready\r\n")


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, certificate=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked, self.stop, self.other = [], threading.Event(), 9
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        pass

    def url(self, path, name="127.0.0.1", scheme="http"):
        return "%s://%s:%d/%s" % (scheme, name, self.server_port, path)

    def address(self):
        return "127.0.0.1:%d" % self.server_port

    def end(self):
        self.stop.set()
        self.shutdown()
        self.server_close()


def deaf_port():
    """A socket with a port on which nobody listens, and as long as it is open nobody else can."""
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    return s, s.getsockname()[1]
