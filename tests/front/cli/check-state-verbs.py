#!/usr/bin/env python3
"""Runs: tests. check-state-verbs.py LETHE: what log, audit, export, prove, checkpoint and slot print and how they end."""
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time

lethe = os.path.abspath(sys.argv[1])
problems = []


def run(*args, stdin=""):
    return subprocess.run([lethe, *args], capture_output=True, text=True, input=stdin, timeout=60)


def expect(code, *args, out=None, err=None, stdin=""):
    p = run(*args, stdin=stdin)
    where = "lethe " + " ".join(args)
    if p.returncode != code:
        problems.append(f"{where}: ends {p.returncode}, not {code}: {p.stdout} {p.stderr}")
    if out is not None and out not in p.stdout:
        problems.append(f"{where}: prints {p.stdout!r}, without {out!r}")
    if err is not None and err not in p.stderr:
        problems.append(f"{where}: says {p.stderr!r}, without {err!r}")
    return p.stdout


def check(what, condition):
    if not condition:
        problems.append(what)


with tempfile.TemporaryDirectory() as top:
    os.environ.update(LETHE_STORE=top + "/store", XDG_STATE_HOME=top + "/state")
    os.environ.pop("LETHE_ANCHOR", None)
    os.chdir(top)

    # Usage: 2, the word that is wrong, and where help is.
    for args, word in [(["log", "--zork"], "--zork"), (["log", "--since", "x"], "'x'"), (["log", "--region", "R"], "'R'"), (["log", "a"], "'a'"),
                       (["log", "--type"], "--type"), (["audit", "x"], "'x'"), (["export"], "folder"), (["prove", "x"], "'x'"), (["prove"], "number"),
                       (["checkpoint", "x"], "'x'"), (["slot"], "define"), (["slot", "zork"], "'zork'"), (["slot", "get"], "1 argument"),
                       (["slot", "put", "a"], "2 arguments"), (["slot", "put", "a", "1", "--expect", "-1"], "'-1'"), (["slot", "define", "a"], "--schema"),
                       (["slot", "get", "a", "--version", "0"], "'0'"), (["audit", "--store", ""], "--store"),
                       (["version", "--json"], "'--json'"), (["slot", "watch", "a", "--count", "0"], "from 1")]:
        expect(2, *args, err=word)
        expect(2, *args, err=f"lethe {args[0]} --help")
    for verb in ["log", "audit", "export", "prove", "checkpoint", "slot", "version"]:
        expect(0, verb, "--help", out="Usage: lethe " + verb)
        expect(0, "help", verb, out="Usage: lethe " + verb)

    # No store: said, not made.
    for args in [["log"], ["audit"], ["export", "e"], ["prove", "0"], ["checkpoint"], ["slot", "list"], ["slot", "get", "a"]]:
        expect(2 if args == ["audit"] else 1, *args, err="there is none")
    check("a reading verb made a store", not os.path.exists("store"))

    # Bad schemas and values.
    expect(1, "slot", "define", "a", "--schema", "none.json", err="none.json")
    expect(1, "slot", "define", "a", "--schema", "-", stdin="{", err="not JSON")
    expect(1, "slot", "define", "a", "--schema", "-", stdin='{"typo": 1}', err="typo")
    expect(1, "slot", "define", "A", "--schema", "-", stdin="{}", err='"A"')
    expect(0, "slot", "define", "a", "--schema", "-", stdin='{"type": "object", "properties": {"n": {"type": "integer"}}}', out="a is defined")
    expect(0, "slot", "define", "a", "--schema", "-", stdin='{"properties": {"n": {"type": "integer"}}, "type": "object"}', out="seq 1")
    expect(1, "slot", "define", "a", "--schema", "-", stdin="{}", err="another schema")
    expect(1, "slot", "get", "a", err="no value")
    for value, word in [("{", "not JSON"), ("text", "quotes"), ('{"n":"x"}', "/n"), ('{"n":1,"n":2}', "duplicate"), ('{"n":9007199254740993}', "2^53"),
                        ("[" * 40 + "]" * 40, "nested"), ("NaN", "not JSON"), ('{"n":1}x', "not JSON"), ("", "not JSON"), ('"\\ud800"', "not JSON")]:
        expect(1, "slot", "put", "a", value, err=word)
    expect(1, "slot", "put", "a", "-", stdin='"' + "x" * 600000 + '"', err="524288")
    expect(1, "slot", "put", "b", "1", err="not defined")

    # Versions, compare-and-swap, history.
    expect(0, "slot", "put", "a", '{"n": 1}', "--expect", "0", out="version 1")
    expect(1, "slot", "put", "a", '{"n": 2}', "--expect", "0", err="version 1")
    expect(0, "slot", "put", "a", "-", "--expect", "1", stdin='{"n": 2}\n', out="version 2")
    check("slot get", expect(0, "slot", "get", "a") == '{"n":2}\n')
    check("slot get --version", expect(0, "slot", "get", "a", "--version", "1") == '{"n":1}\n')
    expect(1, "slot", "get", "a", "--version", "3", err="1 to 2")
    o = json.loads(expect(0, "slot", "get", "a", "--json"))
    check(f"slot get --json: {o}", (o["version"], o["slot"], o["slot_version"], o["value"], o["who"]) == (1, "a", 2, {"n": 2}, f"uid:{os.getuid()}"))
    o = json.loads(expect(0, "slot", "list", "--json"))
    check(f"slot list --json: {o}", o["version"] == 1 and [s["slot"] for s in o["slots"]] == ["a"])
    o = json.loads(expect(0, "slot", "history", "a", "--json"))
    check(f"slot history --json: {o}", [h["version"] for h in o["history"]] == [1, 2] and o["version"] == 1)

    # The log: each line an object with seq, time, type; filters.
    lines = [json.loads(x) for x in expect(0, "log", "--json").splitlines()]
    check("log: seq", [x["seq"] for x in lines] == list(range(len(lines))) and lines[0]["type"] == "ledger.created")
    check("log: time", all(a["time"] <= b["time"] for a, b in zip(lines, lines[1:])))
    check("log: refusals are recorded", sum(x["type"] == "slot.refused" for x in lines) >= 3)
    check("log --type", expect(0, "log", "--type", "slot.written", "--type", "slot.defined").count("\n") == 3)
    check("log --since", expect(0, "log", "--since", str(len(lines) - 2)).count("\n") == 2)
    check("log --since beyond", expect(0, "log", "--since", "999") == "")
    check("log --region", expect(1, "log", "--region", "0" * 26) == "")

    # A value that a terminal would obey is shown escaped, also as JSON.
    expect(0, "slot", "define", "t", "--schema", "-", stdin='{"type": "string"}')
    expect(0, "slot", "put", "t", '"\x9b2J\x7f\u202e x"')
    text = expect(0, "slot", "get", "t")
    check(f"terminal: {text!r}", "\x9b" not in text and "\x7f" not in text and "\u202e" not in text and json.loads(text) == "\x9b2J\x7f\u202e x")

    # Follow and watch see what another process writes.
    for args, word in [(["log", "--follow", "--json", "--type", "slot.written"], '"slot.written"'), (["slot", "watch", "a"], '{"n":')]:
        p = subprocess.Popen([lethe, *args], stdout=subprocess.PIPE, text=True)
        time.sleep(0.5)
        n = int(json.loads(expect(0, "slot", "get", "a", "--json"))["slot_version"])
        expect(0, "slot", "put", "a", json.dumps({"n": n}))
        while not select.select([p.stdout], [], [], 2)[0]:  # it began too late for that
            expect(0, "slot", "put", "a", json.dumps({"n": n}))
        seen = [p.stdout.readline()]
        while word not in seen[-1] or (args[0] == "log" and '"version":%d' % (n + 1) not in seen[-1]):
            seen.append(p.stdout.readline())
            if len(seen) > 50:
                problems.append(f"{args}: {seen}")
                break
        p.send_signal(signal.SIGTERM)
        check(f"{args}: ends {p.wait(60)} on SIGTERM", p.returncode == 0)
        p.stdout.close()
    p = subprocess.Popen([lethe, "log", "--follow"], stdout=subprocess.PIPE)
    p.stdout.readline()
    p.stdout.close()
    p.wait(60)  # nobody reads: it ends by itself

    # audit, checkpoint, prove, export.
    o = json.loads(expect(0, "audit", "--json"))
    check(f"audit --json: {o}", o["version"] == 1 and o["intact"] is True and o["slots"] == 2)
    expect(2, "audit", "--store", "/nonexistent/store", err="/nonexistent/store")
    n = o["entries"]
    c = json.loads(expect(0, "checkpoint", "--json"))
    check("checkpoint --json", c["size"] == n and expect(0, "checkpoint") == c["note"] and c["origin"] == o["origin"])
    expect(1, "prove", str(n), err=f"it has {n}")
    proof = expect(0, "prove", "0")
    expect(0, "prove", "0", "-o", "p")
    check("prove -o", open("p").read() == proof and proof.endswith(c["note"]))
    expect(1, "prove", "0", "-o", "/nowhere/p", err="/nowhere/p")
    expect(0, "export", "e", out=f"{n} entries")
    expect(1, "export", "e", err="not empty")
    expect(1, "export", "/nowhere/e", err="/nowhere/e")
    expect(1, "export", "p", err="p cannot be opened")
    full = subprocess.run(f"{lethe} log >/dev/full", shell=True, capture_output=True, text=True)
    check(f"log to a full disk ends {full.returncode}: {full.stderr}", full.returncode == 1 and "standard output" in full.stderr)

    # A damaged store: 1 and which.
    with open("store/data.mdb", "r+b") as f:
        f.truncate(20000)
    for args in [["audit"], ["log"], ["slot", "put", "a", "{}"]]:
        expect(1, *args, err="truncated")

# The default store and the anchors of other stores have one parent: neither is in the other's way, and no anchor is inside a store.
with tempfile.TemporaryDirectory() as top:
    os.environ.update(XDG_STATE_HOME=top + "/state")
    os.environ.pop("LETHE_STORE", None)
    expect(0, "slot", "define", "a", "--schema", "-", "--store", top + "/other", stdin="{}")
    expect(0, "slot", "put", "a", "1", "--store", top + "/other")
    expect(0, "slot", "define", "a", "--schema", "-", stdin="{}")
    expect(0, "slot", "put", "a", "1")
    check(f"the default store: {os.listdir(top + '/state')}", sorted(os.listdir(top + "/state")) == ["lethe", "lethe-anchors"])
    check("two anchors", len(os.listdir(top + "/state/lethe-anchors")) == 2)

for line in problems:
    print(line, file=sys.stderr)
sys.exit(1 if problems else 0)
