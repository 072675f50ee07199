#!/usr/bin/env python3
"""Runs: tests. check-damage.py LETHE FILL: whatever is flipped, cut or overwritten in data.mdb, each verb ends soon with 0, 1 or 125 and a
message, never by a signal; and audit never calls a store intact whose log prints something else than before."""
import os
import random
import shutil
import subprocess
import sys
import tempfile

lethe, fill = sys.argv[1:3]
rng = random.Random(int(os.environ.get("LETHE_SEED", "1")))
bad = []


def run(*args):
    try:
        return subprocess.run([lethe, *args], capture_output=True, timeout=20, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return None


def judge(name, args, p, ok):
    if p is None:
        bad.append(f"{name}: {args[0]} hangs")
    elif p.returncode not in ok:
        bad.append(f"{name}: {args[0]} ends {p.returncode}: {p.stderr[-300:]!r}")
    elif p.returncode != 0 and not (p.stderr or p.stdout):
        bad.append(f"{name}: {args[0]} ends {p.returncode} without a word")


def damages(size):
    for i in range(int(os.environ.get("LETHE_FLIPS", "250"))):
        at = rng.randrange(size)
        yield f"bit {i} of byte {at}", "flip", at, rng.randrange(8)
    for page in range(0, size // 4096):
        for at in (0, 8, 10, 12, 14, 16, 18, 24):  # page header, first pointers, meta fields
            yield f"page {page} +{at}", "flip", page * 4096 + at, rng.randrange(8)
    for i in range(40):
        page = rng.randrange(size // 4096)
        yield f"page {page} of zeros", "page", page, bytes(4096)
        yield f"page {page} of noise", "page", page, rng.randbytes(4096)
        other = rng.randrange(size // 4096)
        yield f"page {page} in place of {other}", "copy", page, other
    for cut in [0, 1, 4095, 4096, 8191, 8192] + [rng.randrange(size) for _ in range(20)] + [size - 4096, size - 1]:
        yield f"cut at {cut}", "cut", cut, None


def apply(data, kind, at, what):
    data = bytearray(data)
    if kind == "flip":
        data[at] ^= 1 << what
    elif kind == "page":
        data[at * 4096:(at + 1) * 4096] = what
    elif kind == "copy":
        data[what * 4096:(what + 1) * 4096] = data[at * 4096:(at + 1) * 4096]
    else:
        del data[at:]
    return bytes(data)


with tempfile.TemporaryDirectory() as top:
    os.environ["XDG_STATE_HOME"] = top + "/state"
    os.environ.pop("LETHE_ANCHOR", None)
    good, store = top + "/good", top + "/store"
    subprocess.run([fill, good, "120"], check=True)
    with open(good + "/data.mdb", "rb") as f:
        image = f.read()
    log = run("log", "--json", "--store", good).stdout
    n = caught = 0
    for name, kind, at, what in damages(len(image)):
        shutil.rmtree(store, ignore_errors=True)
        shutil.rmtree(top + "/state", ignore_errors=True)  # no anchor of an earlier round
        shutil.copytree(good, store)
        with open(store + "/data.mdb", "wb") as f:
            f.write(apply(image, kind, at, what))
        n += 1
        audit = run("audit", "--store", store)
        judge(name, ["audit"], audit, (0, 1))
        p = run("log", "--json", "--store", store)
        judge(name, ["log"], p, (0, 1))
        if audit is not None and audit.returncode == 0 and p is not None and p.stdout != log:
            bad.append(f"{name}: audit says intact, but the log is another")
        # I-99: verify and audit agree about damage, and nothing is written into pages that do not hold.
        verify = run("verify", "--store", store)
        judge(name, ["verify"], verify, (0, 1, 2))
        if audit is not None and verify is not None and (audit.returncode == 0) != (verify.returncode == 0):
            bad.append(f"{name}: audit ends {audit.returncode} and verify {verify.returncode}: {audit.stdout[-300:]!r} {verify.stdout[-300:]!r}")
        caught += audit is not None and audit.returncode != 0
        if n % 3 == 0:
            put = run("slot", "put", "--store", store, "fill/operator", '{"a":1}')
            judge(name, ["slot put"], put, (0, 1))
            if b"pages do not hold" in audit.stdout and put is not None and put.returncode == 0:
                bad.append(f"{name}: audit names a page, and slot put writes")
            judge(name, ["audit after put"], run("audit", "--store", store), (0, 1))
    print(f"{n} damages, {caught} caught by audit, the others in bytes that nothing uses")
    for line in bad[:20]:
        print(line, file=sys.stderr)
    sys.exit(1 if bad else 0)
