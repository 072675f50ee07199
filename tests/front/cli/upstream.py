"""Servers for tests/front/cli/routes.py: TLS on the loopback, each path answers in a way of its own: well, or as a slow, wrong or hostile server does."""
import gzip
import json
import socket
import ssl
import subprocess
import threading

SECRET = "sk-test-0123456789-abcdefghij-KLMNOPQRST"
EVENTS = ['{"id":"1","choices":[{"delta":{"content":"one"}}]}', '{"id":"1","choices":[{"delta":{"content":"two"}}]}',
          '{"id":"1","choices":[],"usage":{"prompt_tokens":11,"completion_tokens":22}}', "[DONE]"]
USAGE = json.dumps({"choices": [{"message": {"content": "hello"}}], "usage": {"prompt_tokens": 3, "completion_tokens": 4}})


def certificate(folder, name, host, expired=False):
    """A self-signed certificate: its paths (certificate, key)."""
    cert, key, request = ("%s/%s.%s" % (folder, name, end) for end in ("pem", "key", "csr"))
    with open(folder + "/" + name + ".ext", "w") as f:
        f.write("subjectAltName=DNS:%s\nbasicConstraints=CA:TRUE\n" % host)
    for argv in (["openssl", "req", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", request, "-subj", "/CN=" + host],
                 ["openssl", "x509", "-req", "-in", request, "-signkey", key, "-days", "-1" if expired else "2", "-out", cert, "-extfile", folder + "/" + name + ".ext"]):
        subprocess.run(argv, check=True, capture_output=True)
    return cert, key


def head(status, length=None, kind="application/json", more=""):
    size = "" if length is None else "Content-Length: %d\r\n" % length
    return ("HTTP/1.1 %s\r\nContent-Type: %s\r\n%s%s\r\n" % (status, kind, size, more)).encode()


def whole(text, status="200 OK", kind="application/json", more=""):
    return head(status, len(text.encode()), kind, more) + text.encode()


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


class Upstream:
    """Each request is kept as (method, target, headers, body). go: what holds a streaming answer until a test lets it go on."""

    def __init__(self, tls=None):
        self.requests, self.go, self.tls = [], threading.Event(), tls
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        try:
            if self.tls:
                client = self.tls.wrap_socket(client, server_side=True)
            elif client.recv(1, socket.MSG_PEEK) == b"\x16":  # a TLS hello
                client.sendall(whole("speak HTTP", "400 Bad Request"))
                client.close()
                return
            with client, client.makefile("rb") as f:
                while self.one(client, f):
                    pass
        except (OSError, ssl.SSLError):
            pass

    def one(self, client, f):
        line = f.readline().decode("latin-1").split()
        if len(line) != 3:
            return False
        headers = {}
        while (h := f.readline().decode("latin-1").rstrip("\r\n")):
            name, _, value = h.partition(":")
            headers.setdefault(name.lower(), []).append(value.strip())
        body = f.read(int(headers.get("content-length", ["0"])[0]))
        self.requests.append((line[0], line[1], headers, body))
        return getattr(self, "say_" + line[1].split("?")[0].rsplit("/", 1)[-1].replace("-", "_"), self.say_usage)(client, line, headers, body)

    def say_usage(self, client, line, headers, body):
        client.sendall(whole(USAGE))
        return True

    def say_plain(self, client, line, headers, body):
        client.sendall(whole("", "204 No Content"))
        return True

    def say_echo(self, client, line, headers, body):
        text = json.dumps({"headers": headers, "target": line[1], "body": body.decode()})
        client.sendall(whole(text, more="X-Echo: %s\r\nSet-Cookie: session=of-the-account\r\nLethe-Denied: forged\r\n" % headers.get("authorization", [""])[0]))
        return True

    def say_split(self, client, line, headers, body):
        """The secret, byte by byte, behind each of its own beginnings."""
        client.sendall(head("200 OK", None, "text/plain", "Transfer-Encoding: chunked\r\n"))
        for n in range(1, len(SECRET)):
            client.sendall(chunk(SECRET[:n].encode()))
        for c in SECRET:
            client.sendall(chunk(c.encode()))
        client.sendall(chunk(b"end") + b"0\r\n\r\n")
        return True

    def say_stream(self, client, line, headers, body):
        """Two events; the others when the test says so."""
        client.sendall(head("200 OK", None, "text/event-stream", "Transfer-Encoding: chunked\r\n"))
        for i, event in enumerate(EVENTS):
            if i == 2:
                self.go.wait(60)
            client.sendall(chunk(("data: %s\n\n" % event).encode()))
        client.sendall(b"0\r\n\r\n")
        return True

    def say_slow(self, client, line, headers, body):
        self.go.wait(60)
        return False

    def say_not_json(self, client, line, headers, body):
        client.sendall(whole("Sure! Here is your JSON: {\"usage\": {\"prompt_tokens\": 1"))
        return True

    def say_short(self, client, line, headers, body):
        client.sendall(head("200 OK", 1000) + b'{"a": 1}')
        return False

    def say_middle(self, client, line, headers, body):
        client.sendall(head("200 OK", None, "text/event-stream", "Transfer-Encoding: chunked\r\n") + chunk(b"data: 1\n\n"))
        return False

    def say_huge_head(self, client, line, headers, body):
        client.sendall(head("200 OK", 2, more="".join("X-%d: %s\r\n" % (i, "y" * 1000) for i in range(60))) + b"{}")
        return False

    def say_long_line(self, client, line, headers, body):
        client.sendall(head("200 OK", 2, more="X: %s\r\n" % ("y" * 200000)) + b"{}")
        return False

    def say_endless(self, client, line, headers, body):
        client.sendall(head("200 OK", None, "text/plain", "Transfer-Encoding: chunked\r\n"))
        while True:
            client.sendall(chunk(b"x" * 16384))

    def say_redirect(self, client, line, headers, body):
        client.sendall(whole("", "302 Found", more="Location: https://%s.evil.test/\r\n" % SECRET))
        return True

    def compressed(self, client, headers, more):
        """The credentials of the request, as gzip."""
        body = gzip.compress(json.dumps(headers).encode())
        client.sendall(head("200 OK", len(body) if "Content" in more else None, more=more) + body)
        return False

    def say_gzip(self, client, line, headers, body):
        return self.compressed(client, headers, "Content-Encoding: gzip\r\n")

    def say_gzip_twice_told(self, client, line, headers, body):
        return self.compressed(client, headers, "Content-Encoding: identity\r\nContent-Encoding: gzip\r\n")

    def say_gzip_blank(self, client, line, headers, body):
        return self.compressed(client, headers, "Content-Encoding\t: gzip\r\n")

    def say_gzip_transfer(self, client, line, headers, body):
        return self.compressed(client, headers, "Transfer-Encoding: gzip\r\nConnection: close\r\n")

    def say_garbage(self, client, line, headers, body):
        client.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
        return False

    def say_nothing(self, client, line, headers, body):
        return False

    def say_500(self, client, line, headers, body):
        client.sendall(whole('{"error": {"message": "out of order"}}', "500 Internal Server Error"))
        return True

    def say_folded(self, client, line, headers, body):
        client.sendall(head("200 OK", 2, more="X-A: 1\r\n  folded\r\n") + b"{}")
        return False
