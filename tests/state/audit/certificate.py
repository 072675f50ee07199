#!/usr/bin/python3
"""lethe certificate, from outside: openssl by the commands of lethe-ledger(7), Go's tlog for the proof inside, @sigstore/verify from npm. TAP.

usage: certificate.py LETHE MANUAL-PAGE SIGSTORE-SCRIPT GO-SOURCE
"""
import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "front", "cli"))
from tap import DIR, ENV, LETHE, Skip, case, check, lethe, log, main, run, same  # noqa: E402

PAGE, SIGSTORE, GO = sys.argv[2:5]
# The newest that Debian 12's Node.js runs.
PACKAGES = ["@sigstore/verify@2.1.1", "@sigstore/bundle@3.1.0"]
CANARY = "9b1f-canary-77d3"
CERTIFICATE, KEY = os.path.join(DIR, "certificate.json"), os.path.join(DIR, "key.pem")


def sh(script, **kw):
    env = dict(ENV, PATH=os.path.dirname(LETHE) + ":" + ENV["PATH"], **kw)
    return subprocess.run(["sh", "-eu", "-c", script], cwd=DIR, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)


def commands():
    """The shell commands that the manual page gives for openssl."""
    with open(PAGE, encoding="utf-8") as f:
        section = re.search(r"^# CERTIFICATES$(.*?)^# ", re.sub(r"\\(.)", r"\1", f.read()), re.M | re.S)[1]  # as scdoc reads it
    block = [b for b in re.findall(r"^```$(.*?)^```$", section, re.M | re.S) if "openssl pkeyutl" in b]
    same(len(block), 1, "blocks of commands in CERTIFICATES")
    return block[0]


def statement():
    with open(CERTIFICATE, encoding="utf-8") as f:
        return json.loads(base64.b64decode(json.load(f)["payload"]))


@case
def a_region_that_was_released_gets_one():
    r = run("-e", "SECRET=" + CANARY, "--exec", "/bin/sh", "-c", 'cat; echo "$1 $SECRET" | tee /tmp/x; cat /etc/shadow', "sh", CANARY, input=CANARY.encode(), stdin=None)
    check(r.code == 1 and r.out.decode().count(CANARY) == 3 and r.receipt["denials"], r)
    global region
    region = r.receipt["region"]
    same(lethe("certificate", "-o", CERTIFICATE, region).code, 0)
    same(lethe("certificate", "--key", "-o", KEY).code, 0)
    out = lethe("certificate", region).out
    with open(CERTIFICATE, "rb") as f:
        same(out, f.read(), "standard output and -o")
    s = statement()
    same(s["_type"], "https://in-toto.io/Statement/v1")
    same([x["name"] for x in s["subject"]], [region])
    same(s["predicate"]["teardown"], r.receipt["teardown"], "evidence: receipt and certificate (I-16)")
    same(s["predicate"]["media"]["source"], {"skill": "sh", "digest": r.receipt["skill"]["digest"]})
    same(s["predicate"]["person"], {"uid": os.getuid()})
    same(s["predicate"]["sanitization"]["tool"]["version"], lethe("version").out.decode().split()[-1])
    check(b"certified" not in base64.b64decode(json.loads(out)["payload"]).lower())
    check(CANARY.encode() not in out + base64.b64decode(json.loads(out)["payload"]), "what the region held is in it (I-10)")


@case
def the_digest_is_that_of_the_ledgers_entry():
    s = statement()
    entry = s["predicate"]["ledger"]["released"]["entry"]
    same(s["subject"][0]["digest"]["sha256"], hashlib.sha256(entry.encode()).hexdigest())
    seq = s["predicate"]["ledger"]["released"]["seq"]
    same(json.loads(lethe("prove", "--json", seq).out)["entry"], entry)


@case
def openssl_alone_takes_it():
    r = sh(commands())
    same(r.returncode, 0, r.stdout)
    check("Signature Verified Successfully" in r.stdout, r.stdout)


@case
def openssl_refuses_a_changed_byte():
    with open(CERTIFICATE, "rb") as f:
        whole = f.read()
    start, end = whole.index(b'"payload":"') + 11, whole.index(b'","payloadType"')
    sig = whole.index(b'"sig":"') + 7
    # the key id, the type and the signature are sampled, as is the payload; what holds them together is not
    places = [i for i in range(len(whole)) if not start <= i < end and (i % 5 == 0 or not (whole[i:i + 1].isalnum() or sig <= i < sig + 88))] + list(range(start, end, (end - start) // 20))
    check(len(places) > 60)
    try:
        for i in places:
            changed = bytearray(whole)
            changed[i] ^= 1 << i % 7
            with open(CERTIFICATE, "wb") as f:
                f.write(changed)
            check(sh(commands()).returncode != 0, "byte %d of %d" % (i, len(whole)), bytes(changed[max(0, i - 20):i + 20]))
    finally:
        with open(CERTIFICATE, "wb") as f:
            f.write(whole)


@case
def the_key_is_the_ledgers():
    pem = sh("openssl pkey -pubin -in key.pem -outform DER | openssl dgst -sha256 -r").stdout.split()[0]
    with open(CERTIFICATE, encoding="utf-8") as f:
        same(json.load(f)["signatures"][0]["keyid"], pem)
    o = json.loads(lethe("certificate", "--key", "--json").out)
    same(o["keyid"], pem)
    same(o["vkey"], statement()["predicate"]["ledger"]["vkey"])
    with open(KEY, encoding="utf-8") as f:
        same(o["pem"], f.read())


@case
def go_takes_the_proof_inside():
    ledger = statement()["predicate"]["ledger"]
    for name, text in (("proof", ledger["released"]["proof"]), ("entry", ledger["released"]["entry"]), ("vkey", ledger["vkey"] + "\n")):
        with open(os.path.join(DIR, name), "w", encoding="utf-8") as f:
            f.write(text)
    r = sh('go build -o verify "%s" && ./verify proof proof entry vkey' % os.path.abspath(GO), GO111MODULE="off", GOPATH="/usr/share/gocode",
           GOCACHE=os.path.join(DIR, "go"), GOFLAGS="")
    same(r.returncode, 0, r.stdout)
    with open(os.path.join(DIR, "entry"), "a", encoding="utf-8") as f:
        f.write(" ")
    check(sh("./verify proof proof entry vkey").returncode != 0, "another entry is proved")


@case
def verify_says_whether_it_holds():
    r = lethe("certificate", "--verify", CERTIFICATE)
    check(r.code == 0 and region.encode() in r.out, r)
    r = lethe("certificate", "--verify", CERTIFICATE, "--json")
    same(json.loads(r.out)["statement"], statement())
    other = os.path.join(DIR, "changed.json")
    with open(CERTIFICATE, encoding="utf-8") as f, open(other, "w", encoding="utf-8") as g:
        g.write(f.read().replace('"payload"', '"Payload"'))
    r = lethe("certificate", "--verify", other)
    check(r.code == 1 and b"does not hold" in r.out, r)
    r = lethe("certificate", "--verify", other, "--json")
    check(r.code == 1 and json.loads(r.out)["holds"] is False, r)
    r = lethe("certificate", "--verify", os.path.join(DIR, "nowhere"))
    check(r.code == 2 and b"nowhere cannot be read" in r.err and not r.out, r)


@case
def the_key_is_enough_to_verify():
    nowhere = ("--store", os.path.join(DIR, "nowhere"))
    check(lethe("certificate", *nowhere, "--verify", CERTIFICATE).code == 2, "without a store or a key")
    r = lethe("certificate", *nowhere, "--verify", CERTIFICATE, "--public-key", KEY, "--json")
    same((r.code, json.loads(r.out)["holds"]), (0, True), r)
    other = os.path.join(DIR, "other.pem")
    same(sh("openssl genpkey -algorithm ed25519 | openssl pkey -pubout -out other.pem").returncode, 0)
    r = lethe("certificate", "--verify", CERTIFICATE, "--public-key", other)
    check(r.code == 1 and b"another key" in r.out, r)
    with open(KEY, "rb") as f:
        pem = f.read()
    for text in (pem + b"\n", pem[:-1], pem.replace(b"M", b"N", 1), b"", b"x" * 5000, pem.replace(b"PUBLIC", b"SECRET")):
        with open(other, "wb") as f:
            f.write(text)
        r = lethe("certificate", "--verify", CERTIFICATE, "--public-key", other)
        check(r.code == 2 and b"is not an Ed25519 public key" in r.err and not r.out, text[:40], r)


@case
def what_is_not_released_gets_none():
    path = os.path.join(DIR, "alive.json")
    p = subprocess.Popen([LETHE, "run", "--exec", "/bin/sleep", "600"], stdin=subprocess.DEVNULL, env=ENV)
    try:
        while not (alive := [e["region"] for e in log("--type", "region.allocated") if e["skill"]["name"] == "sleep"]):
            pass
        r = lethe("certificate", "-o", path, alive[0])
        check(r.code == 1 and b"not released" in r.err and not r.out and not os.path.exists(path), r)
    finally:
        p.terminate()
        p.wait()
    same(lethe("certificate", "-o", path, alive[0]).code, 0)
    r = lethe("certificate", "0" * 26)
    check(r.code == 1 and b"not in this store" in r.err, r)


@case
def wrong_command_lines_end_2():
    for argv in ([], ["--key", region], ["--verify"], ["--verify", CERTIFICATE, region], ["--key", "--verify", CERTIFICATE], [region, region], ["--fix", region],
                 ["--public-key", KEY, region], ["--key", "--public-key", KEY]):
        r = lethe("certificate", *argv)
        check(r.code == 2 and not r.out, argv, r)


@case
def sigstore_takes_it_and_refuses_each_changed_byte():
    if not shutil.which("npm"):
        raise Skip("npm cannot be reached: it is not installed")
    folder = os.path.join(DIR, "npm")
    os.makedirs(folder)
    # Not --prefix: with that npm looks for the machine's settings, among them its certificates, elsewhere.
    with open(os.path.join(folder, "package.json"), "w", encoding="utf-8") as f:
        f.write('{"private": true}')
    install = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--cache", os.path.join(DIR, "npm-cache"), *PACKAGES],
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, cwd=folder)
    if install.returncode != 0:
        raise Skip("npm cannot be reached: " + " ".join(install.stdout.split())[-300:].replace("#", ""))
    r = subprocess.run(["node", os.path.abspath(SIGSTORE), os.path.join(folder, "node_modules"), CERTIFICATE, KEY], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True, timeout=300)
    same(r.returncode, 0, r.stdout)
    print("# " + r.stdout.strip())


main()
