#!/usr/bin/env python3
"""verify-bundle.py FILE: verifies an exported object (schema/object.md) with nothing of Lethe: Python's library and openssl.

Ends 0 when chain, moves and signatures hold by the keys in the file, else 1 with the reason. Whether these keys are to be trusted is for
the reader to say: their names are printed.
"""
import base64
import hashlib
import json
import re
import subprocess
import sys
import tempfile

DER = bytes.fromhex("302a300506032b6570032100")  # RFC 8410: stands before the 32 bytes of an Ed25519 key
MOVES = {None: {"instantiated"}, "instantiated": {"evaluation"}, "evaluation": {"execution", "mutation", "delegation", "dormant", "reentry", "terminated"},
         "execution": {"evaluation", "dormant", "terminated"}, "mutation": {"evaluation"}, "delegation": {"evaluation", "dormant"},
         "dormant": {"reentry", "terminated"}, "reentry": {"evaluation"}, "terminated": set()}
STATE = {**{s: s for s in MOVES if s and s != "execution"}, "started": "execution", "outcome": "evaluation"}
NOTES = {"child", "input", "checkpoint", "adopted"}


def need(holds, reason):
    if not holds:
        sys.exit(f"{sys.argv[1]}: {reason}")


def once(pairs):
    need(len(pairs) == len({k for k, _ in pairs}), "a member stands twice")
    return dict(pairs)


def signature_holds(key, message, signature):
    with tempfile.NamedTemporaryFile() as k, tempfile.NamedTemporaryFile() as m, tempfile.NamedTemporaryFile() as s:
        for f, data in ((k, DER + key), (m, message), (s, signature)):
            f.write(data)
            f.flush()
        return subprocess.run(["openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", k.name, "-rawin", "-in", m.name, "-sigfile", s.name],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def main():
    with open(sys.argv[1], "rb") as f:
        lines = f.read(64 * 1024 * 1024 + 1).split(b"\n")
    need(lines[0] == b"lethe-object/1", "no object of version 1")
    need(len(lines) >= 9 and lines[-1] == b"" and lines[5] == b"", "lines are missing, or one too many is there")
    for line, name in zip(lines[1:5], (b"intent ", b"context ", b"keys ", b"schemas ")):
        need(line.startswith(name), f"a line does not begin with {name}")
    keys = {}
    carried = json.loads(lines[3][5:], object_pairs_hook=once)
    need(json.dumps(carried, sort_keys=True, separators=(",", ":")).encode() == lines[3][5:], "the keys are not in canonical form")
    for keyid, vkey in carried.items():
        name, digits, blob = vkey.split("+", 2)
        blob = base64.b64decode(blob, validate=True)
        need(len(blob) == 33 and keyid == digits == hashlib.sha256(name.encode() + b"\n" + blob).hexdigest()[:8] and vkey.endswith(base64.b64encode(blob).decode()),
             f"key {keyid} is not the key of {name}")
        keys[keyid] = name, blob[1:]
    signers, object_id, state, prev = set(), None, None, "0" * 64
    for n, line in enumerate(lines[6:-2]):
        m = re.fullmatch(rb"(\{.*\}) ([0-9a-f]{8}) ([A-Za-z0-9+/]{86}==)", line)
        need(m, f"entry {n} has another form")
        text, keyid, signature = m[1], m[2].decode(), base64.b64decode(m[3])
        need(keyid in keys and base64.b64encode(signature) == m[3] and signature_holds(keys[keyid][1], b"lethe object entry v1\n" + text, signature),
             f"entry {n}: the signature does not verify")
        e = json.loads(text, object_pairs_hook=once)
        need(e["version"] == 1 and e["n"] == n and e["prev"] == prev and e["object"] == (object_id or e["object"]), f"entry {n} is not the next of the chain")
        need(e["node"] == keys[keyid][0], f"entry {n}: key {keyid} is not of {e['node']}")
        moved = e["kind"] not in NOTES
        need(e["state"] == (STATE.get(e["kind"]) if moved else state), f"entry {n} of kind {e['kind']} does not lead to {e['state']}")
        need(e["state"] in MOVES[state] and (e["state"] != "evaluation" or (state == "execution") == (e["kind"] == "outcome")) if moved
             else n > 0 and (state != "terminated" or e["kind"] == "adopted" or (e["kind"] == "child" and e["data"]["late"] is True)),
             f"entry {n}: \"{e['kind']}\" does not follow {state}")
        if n == 0:
            need(b'"data":{"context":' + lines[2][8:] + b',"intent":' + lines[1][7:] + b"}," in text, "intent or context is not that of the first entry")
        signers.add(keyid)
        object_id, state, prev = e["object"], e["state"], hashlib.sha256(text).hexdigest()
    need(lines[-2].decode() == f"end {len(lines) - 8} {prev}", "the last line is of another history")
    need(signers == set(keys), "a key of the file signs nothing")
    print(f"object {object_id}: {len(lines) - 8} entries, state {state}; signed by " + ", ".join(sorted(keys[k][0] for k in signers)))


try:
    main()
except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as e:
    sys.exit(f"{sys.argv[1]}: not in the form of schema/object.md: {e!r}")
