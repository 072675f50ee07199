#!/usr/bin/python3
"""Advisors and digests while `lethe serve` runs for the store: the command line starts their regions itself, beside the daemon's, and what comes of it is what comes of
it without a daemon. TAP.

usage: advised.py LETHE root|user
"""
import json
import os
import signal
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "front", "cli"))
from account import use  # noqa: E402

use(sys.argv[2])
from tap import DIR, ENV, LETHE, case, check, lethe, log, main, same, start_daemon, stop_daemon, wait_for  # noqa: E402

ENV["LETHE_SOCKET"] = os.path.join(DIR, "socket")
NOTES = ["issue boot_fails: the board does not boot", "The boot_fails issue is resolved: gone.", "decision use_lmdb: LMDB holds the rows", "nothing of note",
         "learning logs_help: read the log first"]
ALL = "auto:broken_ref,superseded_by,retired_dependency"
POLICY = os.path.join(DIR, "policy.json")


def skill(name, code, **manifest):
    folder = os.path.join(DIR, name)
    os.makedirs(folder, exist_ok=True)
    for file, text in (("SKILL.md", "---\nname: %s\ndescription: A test.\n---\n" % name), ("main.py", code),
                       ("lethe.json", json.dumps(dict({"version": 1, "entry": {"main": ["/usr/bin/python3", "/skill/main.py"]}}, **manifest)))):
        with open(os.path.join(folder, file), "w", encoding="utf-8") as f:
            f.write(text)
    return folder


ADVISOR = skill("advisor", """import json, sys
told = json.loads(sys.stdin.readline())
text = told["note"]["text"]
if text.startswith("issue "):
    id, title = text[6:].split(": ")
    answer = {"decision": "accept", "bucket": "issues", "operation": "upsert", "target_id": id, "payload": {"title": title}, "confidence": 0.9}
elif "gone" in text:
    answer = {"decision": "accept", "bucket": "issues", "operation": "resolve", "payload": {}, "target_id": told["context"]["issues"][0]["id"], "confidence": 0.9}
else:
    answer = {"decision": "reject", "rationale": "not by this advisor", "confidence": 0.9}
print(json.dumps(answer))
""")
SLOW = skill("slow", "import sys, time\nsys.stdin.readline()\ntime.sleep(3600)\n")
COUNT = skill("count", "import lethe\nlethe.write('n', 1)\nprint('counted')\n", writes=["n"], slots={"n": {"type": "integer"}}, budgets={"wall": "60s"})
WAIT = skill("wait", "import time\nprint('here', flush=True)\ntime.sleep(3600)\n", budgets={"wall": "600s"})


class World:
    """A store, with a daemon of its own or without."""
    n = 0

    def __init__(self, served):
        World.n += 1
        self.served = served
        self.env = dict(ENV, LETHE_STORE=os.path.join(DIR, "store%d" % World.n), LETHE_ANCHOR=os.path.join(DIR, "anchor%d" % World.n),
                        LETHE_SERVE="1" if served else "0")
        same(self.lethe("scope", "create", "default").code, 0)
        self.daemon = start_daemon(self.env) if served else None

    def lethe(self, *argv, **kw):
        return lethe(*argv, env=self.env, **kw)

    def said(self, *argv):
        r = self.lethe(*argv)
        same(r.code, 0, argv, r)
        return r.out.decode()

    def told(self, *argv):
        return json.loads(self.said(*argv, "--json"))

    def run_of(self, *notes):
        run = self.said("note", "begin", "--agent", "alice").strip()
        for n in notes:
            self.said("note", "add", run, n)
        return run

    def end(self):
        if self.daemon:
            same(stop_daemon(self.daemon), 0, self.daemon.said)
        for verb in ("audit", "verify"):
            same(self.lethe(verb).code, 0, verb)
        same(self.ps(), [])

    def ps(self):
        return [json.loads(x) for x in self.said("ps", "--json").splitlines()]

    def regions(self):
        return [json.loads(x) for x in self.said("log", "--json", "--type", "region.allocated").splitlines()]


def plain(outcome):
    """Without what differs from store to store."""
    return {k: outcome.get(k) for k in ("outcome", "code", "bucket", "operation", "id", "state", "created")} | \
        {"by": outcome.get("interpreted", {}).get("by"), "degraded": outcome.get("interpreted", {}).get("degraded")}


def promoted(w):
    run = w.run_of(*NOTES)
    lines = [json.loads(x) for x in w.said("promote", run, "--advisor", ADVISOR, "--json").splitlines()]
    sums = {k: v for k, v in lines[-1].items() if k != "run"}
    rows = [(x["bucket"], x["id"], x["state"], x["payload"]) for x in w.told("canon", "list")["rows"]]
    return [plain(x) for x in lines[:-1]], sums, rows


def digested(w):
    def save(ident, *refs):
        w.said("memory", "save", "memory", json.dumps({"summary": ident}), "--type", "episodic", "--id", ident, "--refs", json.dumps(list(refs)))
    save("old")
    save("new", {"kind": "memory_substrate", "id": "old", "role": "supersedes"})
    out = []
    for argv in ((), ("--approve", ALL, "--apply"), ("--approve", ALL, "--apply")):
        o = w.told("digest", "run", *argv)
        out.append({k: v for k, v in o.items() if k not in ("seq",)})
    out.append([(x["change"], x.get("pass")) for x in w.told("memory", "history", "memory", "old")["changes"]])
    return out


@case
def what_an_advisor_was_told_is_recorded():  # I-77: the note and the rows of its context, and which row it made; at lineage stats that it was told something
    for level, code in (("events", 0), ("stats", 1)):
        w = World(False)
        advisor = skill("advisor", open(os.path.join(ADVISOR, "main.py"), encoding="utf-8").read(), lineage=level)
        run = w.run_of(*NOTES[:2])
        w.said("promote", run, "--advisor", advisor)
        one, two = [x["region"] for x in w.regions()]
        r = w.lethe("audit", "derived", "note/%s@1" % run, "--json")
        a = json.loads(r.out)
        reached = [e["to"].get("value") or e["to"]["region"] for e in a["edges"]]
        same(r.code, code, r)
        if level == "events":
            same(reached, [one, "issues/boot_fails@1", two, "issues/boot_fails@2"], a)
            told = [(x["region"], x["run"], x["note"], x["rows"], x["read"]) for x in map(json.loads, w.said("log", "--json", "--type", "context.read").splitlines())]
            same(told, [(one, run, 1, 0, {}), (two, run, 2, 1, {"default": {"issues": {"boot_fails": [1]}}})])
            rows = [x for x in map(json.loads, w.said("log", "--json").splitlines()) if x["type"].startswith("canon.")]
            same([x["advisor"] for x in rows], [one, two], rows)
        else:
            same(reached, ["issues/boot_fails@1", "issues/boot_fails@2"], a)
            same({u["region"] for u in a["unknown"]}, {one, two}, a)
        w.end()
    skill("advisor", open(os.path.join(ADVISOR, "main.py"), encoding="utf-8").read())


@case
def the_same_comes_of_it_with_a_daemon_and_without():  # M-40 M-49 G-12
    answers = []
    for served in (False, True):
        w = World(served)
        answers.append((promoted(w), digested(w)))
        same({e["skill"]["name"] for e in w.regions()}, {"advisor", "digest"})
        w.end()
    same(answers[0], answers[1])
    outcomes, sums, rows = answers[0][0]
    same((sums["committed"], sums["rejected"], sums["invalid"]), (2, 3, 0), outcomes)
    check(all(x["by"] and not x["degraded"] for x in outcomes), outcomes)
    same([(x["archived"], x["removed"]) for x in answers[0][1][:3]], [(0, 0), (1, 0), (0, 1)])


@case
def neither_harms_the_daemons_regions():  # G-54: invocations of the daemon go on meanwhile, and nothing of either is lost
    w = World(True)
    waits = subprocess.Popen([LETHE, "run", WAIT], env=w.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    same(waits.stdout.readline(), b"here\n")
    codes, stop = [], threading.Event()

    def others():
        while not stop.is_set():
            r = w.lethe("run", COUNT)
            codes.append((r.code, r.out, r.err))
    beside = threading.Thread(target=others)
    beside.start()
    try:
        wait_for(lambda: len(codes) >= 2, "invocations")
        a, b = promoted(w), digested(w)
        wait_for(lambda: len(codes) >= 4, "more invocations")
    finally:
        stop.set()
        beside.join()
    same({c for c in codes}, {(0, b"counted\n", b"")})
    same((a[1]["committed"], [(x["archived"], x["removed"]) for x in b[:3]]), (2, [(0, 0), (1, 0), (0, 1)]))
    same([r["skill"] if isinstance(r["skill"], str) else r["skill"]["name"] for r in w.ps()], ["wait"])
    check(waits.poll() is None, "the daemon's region lives")
    waits.send_signal(signal.SIGTERM)
    waits.communicate(timeout=60)
    same(w.told("slot", "list")["slots"][0]["version"], len(codes))
    w.end()


@case
def what_a_killed_command_leaves_the_next_one_finishes():  # I-60
    w = World(True)
    run = w.run_of("issue a_b: c")
    p = subprocess.Popen([LETHE, "promote", run, "--advisor", SLOW], env=w.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: w.ps(), "the advisor's region")
    p.kill()
    p.wait()
    same(w.lethe("run", COUNT).code, 0, "the daemon goes on")
    lines = [json.loads(x) for x in w.said("promote", run, "--advisor", ADVISOR, "--json").splitlines()]
    same([x.get("outcome") for x in lines[:-1]], ["committed"])
    same(w.ps(), [])
    same(len([1 for x in w.said("log", "--json", "--type", "region.recovered").splitlines()]), 1)
    w.end()


@case
def limits_of_the_policy_count_both():  # max_regions is the store's, whoever starts the region
    with open(POLICY, "w", encoding="utf-8") as f:
        json.dump({"version": 1, "max_regions": 1}, f)
    w = World(True)
    waits = subprocess.Popen([LETHE, "run", WAIT], env=w.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    same(waits.stdout.readline(), b"here\n")
    run = w.run_of("issue a_b: c")
    r = w.lethe("digest", "run", "--policy", POLICY)
    check(r.code == 1 and b"max_regions" in r.err, r)
    r = w.lethe("promote", run, "--advisor", ADVISOR, "--policy", POLICY, "--json")
    check(r.code != 0 or json.loads(r.out.splitlines()[0])["interpreted"]["degraded"], r)
    waits.send_signal(signal.SIGTERM)
    waits.communicate(timeout=60)
    w.end()


main()
