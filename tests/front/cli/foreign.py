"""Another node, as its owner may program it: a key of its own, entries of any content, and files of them (schema/object.md). openssl signs."""
import base64
import hashlib
import json
import os
import subprocess
import tempfile
import time

STATE = {"started": "execution", "outcome": "evaluation"}
NOTES = ("child", "input", "checkpoint", "adopted")


def canonical(v):
    return json.dumps(v, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


class Node:
    def __init__(self, name="lethe/00000000000000ff"):
        self.name, self.dir = name, tempfile.TemporaryDirectory(prefix="node-")
        self.pem = os.path.join(self.dir.name, "key")
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", self.pem], check=True, stderr=subprocess.DEVNULL)
        der = subprocess.run(["openssl", "pkey", "-in", self.pem, "-pubout", "-outform", "DER"], check=True, stdout=subprocess.PIPE).stdout
        blob = b"\x01" + der[-32:]
        self.keyid = hashlib.sha256(name.encode() + b"\n" + blob).hexdigest()[:8]
        self.vkey = "%s+%s+%s" % (name, self.keyid, base64.b64encode(blob).decode())

    def sign(self, text):
        path = os.path.join(self.dir.name, "message")
        with open(path, "wb") as f:
            f.write(b"lethe object entry v1\n" + text)
        return subprocess.run(["openssl", "pkeyutl", "-sign", "-inkey", self.pem, "-rawin", "-in", path], check=True, stdout=subprocess.PIPE).stdout


def new_id():
    """An id that no other call gives."""
    n, digits = int.from_bytes(os.urandom(16), "big") >> 3, "0123456789abcdefghjkmnpqrstvwxyz"
    return "0" + "".join(digits[n >> 5 * i & 31] for i in range(25))


class Chain:
    """An object's entries: of a file, or new ones."""

    def __init__(self, data=None, object_id=None):
        self.lines, self.keys, self.object, self.state, self.schemas = [], {}, object_id or new_id(), None, {}
        if data:
            lines = data.split(b"\n")
            self.keys = json.loads(lines[3][5:])
            self.schemas = json.loads(lines[4][8:])
            self.lines = lines[6:-2]
            last = json.loads(self.text(-1))
            self.object, self.state = last["object"], last["state"]

    def text(self, i):
        return self.lines[i].rsplit(b" ", 2)[0]

    def add(self, node, kind, data=None, outcome=None, **more):
        """An entry as it must be, but for `more`."""
        state = self.state if kind in NOTES else STATE.get(kind, kind)
        entry = dict({"data": data or {}, "kind": kind, "n": len(self.lines), "node": node.name, "object": self.object, "outcome": outcome, "policy": None,
                      "prev": hashlib.sha256(self.text(-1)).hexdigest() if self.lines else "0" * 64, "state": state, "time": int(time.time() * 1000000),
                      "trace": new_id(), "version": 1}, **more)
        text = canonical(entry)
        self.lines.append(text + b" " + node.keyid.encode() + b" " + base64.b64encode(node.sign(text)))
        self.state = state
        self.keys[node.keyid] = node.vkey
        return self

    def begin(self, signer, intent, trust_scope, **context):
        context = dict({"by": "uid:1000", "created": int(time.time() * 1000000), "node": signer.name, "parent": None, "policy": "sha256:" + "0" * 64, "scope": trust_scope}, **context)
        return self.add(signer, "instantiated", {"context": context, "intent": intent})

    def file(self, **head):
        first = json.loads(self.text(0))["data"]
        used = {line.rsplit(b" ", 2)[1].decode() for line in self.lines}
        parts = {"intent": first.get("intent"), "context": first.get("context"), "keys": {k: v for k, v in self.keys.items() if k in used}, "schemas": self.schemas}
        parts.update(head)
        return b"lethe-object/1\n" + b"".join(k.encode() + b" " + canonical(v) + b"\n" for k, v in parts.items()) + b"\n" + b"\n".join(self.lines) + \
            b"\nend %d %s\n" % (len(self.lines), hashlib.sha256(self.text(-1)).hexdigest().encode())
