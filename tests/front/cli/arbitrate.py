#!/usr/bin/python3
"""Slots with a rule of arbitration, from outside: regions that compete for one slot at the same time, what they can learn of each other, what counts
of them, and what is told of the verdict. TAP.

usage: arbitrate.py LETHE root|user
"""
import itertools
import json
import os
import subprocess
import sys

from account import use

use(sys.argv[2])
from tap import DIR, ENV, LETHE, alone, case, check, lethe, log, main, python_skill, run, same, wait_for  # noqa: E402

SCHEMA = os.path.join(DIR, "text.json")
with open(SCHEMA, "w") as f:
    f.write('{"type":"string"}')
SLOTS = ["open", "first", "cas", "quorum", "sure", "listed", "other", "secret", "tree"]
# What it is told to do stands in its first argument; wait() until its standard input says something.
LAB = """import json, os, sys, time
import lethe
def say(x):
    sys.stdout.write(json.dumps(x) + "\\n")
    sys.stdout.flush()
def wait():
    sys.stdin.readline()
def refused(*args, **kw):
    try:
        lethe.write(*args, **kw)
    except lethe.LetheError as e:
        return e.code
exec(sys.argv[1])
"""


def skill(name, **manifest):
    python_skill(name, LAB, **manifest)


GRANTED = [s for s in SLOTS if s != "secret"]
for name in ("judge-a", "judge-b", "judge-c"):
    skill(name, reads=GRANTED, writes=GRANTED)
skill("hog", writes=GRANTED, budgets={"wall": "1s"})
skill("together", sub_skills=["judge-a"], writes=GRANTED, key_scope="invocation-tree", sections={"common": {"schema": {}}})
skill("apart", sub_skills=["judge-a"], writes=GRANTED)


def define(name, rule):
    r = lethe("slot", "define", name, "--schema", SCHEMA, "--arbitrate", rule)
    same(r.code, 0, r)


define("secret", "confidence:0/2")


class Judge:
    """A region that has begun, and does one thing after the other as it is told."""

    def __init__(self, code, skill="judge-a"):
        self.p = subprocess.Popen([LETHE, "run", skill, "--", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env=dict(ENV), text=True)

    def said(self):
        line = self.p.stdout.readline()
        check(line, self.p.poll(), self.p.stderr.read() if not line else "")
        return json.loads(line)

    def go(self):
        self.p.stdin.write("\n")
        self.p.stdin.flush()

    def end(self, code=0):
        out, err = self.p.communicate(timeout=60)
        same(self.p.returncode, code, out, err)
        return out


def propose(value, slot, confidence=None, expect=None, skill="judge-a"):
    """One region that has proposed and goes on living."""
    j = Judge("say(lethe.write(%r, %r, expect=%r, confidence=%r).seq)\nwait()" % (slot, value, expect, confidence), skill)
    j.seq = j.said()
    return j


def show(slot):
    return json.loads(lethe("slot", "show", slot, "--json").out)


def value(slot):
    r = lethe("slot", "get", slot)
    return json.loads(r.out) if r.code == 0 else None


def verdicts(slot):
    return json.loads(lethe("slot", "history", slot, "--json").out)["verdicts"]


def clean():
    """Nothing runs, the record holds, and folding it again gives the rows that are there."""  # G-29
    same(lethe("ps", "--json").out, b"")
    for verb in ("audit", "verify"):
        r = lethe(verb)
        same(r.code, 0, r)


@case
def competing_regions_learn_nothing_of_each_other():  # I-55, I-18
    define("open", "confidence:0.5/3")
    # After its own write each looks wherever it may, and says all that it found.
    look = """say(lethe.write("open", "canary-%d", confidence=%r).version)
wait()
found = [lethe.list_slots(), lethe.hello()["region"], dict(os.environ), [os.path.join(b, f) for b, _, n in os.walk("/work") for f in n]]
for s in %r:
    try:
        found.append(lethe.read(s))
    except lethe.LetheError as e:
        found.append(e.code)
for base, dirs, names in os.walk("/tmp"):
    found += [open(os.path.join(base, n), errors="replace").read() for n in names]
say(found)"""
    judges = [Judge(look % (i, c, GRANTED), s) for i, (c, s) in enumerate(((0.6, "judge-a"), (0.9, "judge-b"), (0.7, "judge-c")))]
    same([j.said() for j in judges], [1, 1, 1], "all three have proposed, and none held the slot")
    judges[0].go()
    check("canary-0" in judges[0].end(), "it sees its own")
    same(len(show("open")["gathered"]), 1)
    # One that begins when something is gathered sees as little.
    late = Judge("""try:
    say(lethe.read("open"))
except lethe.LetheError as e:
    say(e.code)""")
    same(late.said(), "no_value")
    late.end()
    same(value("open"), None, "nor does the operator's get")
    check(b"canary" not in lethe("slot", "show", "open", "--json").out + lethe("log", "--json").out, "nor is it in the ledger")
    for i in (1, 2):
        judges[i].go()
        out = judges[i].end()
        same([n for n in range(3) if "canary-%d" % n in out], [i], out)
    same(value("open"), "canary-1")
    after = Judge('say(lethe.read("open"))')
    same(after.said(), "canary-1")
    after.end()
    clean()


@case
def any_order_of_ends_has_the_same_verdict():  # I-56
    rules = {"first": ("first/3", {}), "quorum": ("quorum:2/3", {}), "sure": ("confidence:0.2/3", {"confidence": 1}),
             "listed": ("priority:judge-c,judge-b/3", {"skill": 1}), "cas": ("cas/3", {"expect": 1})}
    for slot, (rule, kind) in rules.items():
        define(slot, rule)
        values = ["x", "y", "y"] if slot == "quorum" else ["x", "y", "z"]
        won = set()
        for n, order in enumerate(itertools.permutations(range(3))):
            js = [propose(v, slot, confidence=(0.4, 0.8, 0.1)[i] if kind.get("confidence") else None, skill="judge-" + "abc"[i],
                          expect=n if kind.get("expect") else None) for i, v in enumerate(values)]
            for i in order:
                same(len(verdicts(slot)), n, "not before the last one")
                js[i].go()
                js[i].end()
            v = verdicts(slot)[-1]
            same([p["seq"] for p in v["proposals"]], [j.seq for j in js], "by sequence, whatever the order of the ends")
            won.add((value(slot), [j.seq for j in js].index(v["winner"]), tuple(p["verdict"] for p in v["proposals"])))
        same(len(won), 1, slot, won)
        same(won.pop()[:2], {"first": ("x", 0), "quorum": ("y", 1), "sure": ("y", 1), "listed": ("z", 2), "cas": ("x", 0)}[slot], slot)
    clean()


@case
def a_hostile_skill_has_one_voice_and_no_say_in_the_rule():  # I-55, I-56
    define("other", "quorum:2/3")
    r = run("judge-a", "--", """codes = [refused("secret", "x", confidence=0.5), refused("other", "x", confidence=1), refused("sure", "x"), refused("cas", "x"),
         refused("other", "x", expect=7), refused("nowhere", "x")]
for c in (1.0000001, -0.1, 2**60, 1e308, float("nan"), float("inf"), "1", True, [1], {"a": 1}):
    codes.append(refused("sure", "x", confidence=c))
for i in range(20):
    lethe.write("other", "mine")
lethe.result(codes)""")
    same(r.code, 0, r)
    same(r.receipt["result"],
         ["not_granted", "rule", "rule", "rule", "conflict", "not_granted"] + ["invalid_params"] * 4 + ["parse"] * 2 + ["invalid_params"] * 4)
    same(len(show("other")["gathered"]), 1, "of twenty proposals one counts")
    region = r.receipt["region"]
    same(sorted({e["reason"] for e in log("--region", region) if e["type"] == "slot.discarded"}), ["superseded"])
    same(len([e for e in log("--region", region) if e["type"] == "slot.gathered"]), 1)
    same(len(show("sure")["gathered"]), 0)
    # Nobody writes past the verdict: not by a plain write, not by claiming to be one.
    r = run("judge-a", "--", """import lethe
try:
    lethe._pipe.call("slot.write", {"name": "other", "value": "x", "arbitrated": 1, "from": "me"})
except lethe.LetheError as e:
    lethe.result(e.code)""")
    same(r.receipt["result"], "invalid_params", r)
    same(value("other"), None)
    r = lethe("slot", "decide", "other", "--json")
    same(json.loads(r.out)["reason"], "no_quorum", r)
    clean()


@case
def what_ends_badly_does_not_count():  # I-24, I-56
    slot = "open"
    before = value(slot)
    r = run("hog", "--", 'lethe.write("open", "too late", confidence=1)\ntime.sleep(60)')
    same(r.code, 124, r)
    same(len(show(slot)["gathered"]), 0)
    # Killed with half a proposal in the pipe: what was acknowledged counts, the half line never was.
    r = run("judge-a", "--", """lethe.write("open", "whole", confidence=0.51)
os.write(int(os.environ["LETHE_OUT"]), b'{"jsonrpc":"2.0","id":9,"method":"slot.write","params":{"name":"open","confidence":1,"value":"half')
os.kill(os.getpid(), 9)""")
    same(r.code, 137, r)
    same(len(show(slot)["gathered"]), 1)
    same(json.loads(lethe("slot", "decide", slot, "--json").out)["reason"], "won")
    same((before, value(slot)), ("canary-1", "whole"))
    clean()


@case
def many_at_once_lose_nothing():  # I-55, I-56
    define("first-of-4", "first/4")
    skill("crowd", writes=["first-of-4"])
    js = [Judge('say(lethe.write("first-of-4", "v%d").seq)' % i, "crowd") for i in range(12)]
    seqs = [j.said() for j in js]
    for j in js:
        j.end()
    rounds = verdicts("first-of-4")
    same([len(v["proposals"]) for v in rounds], [4] * 3)
    same(sorted(p["seq"] for v in rounds for p in v["proposals"]), sorted(seqs), "each counts once, in one round")
    for v in rounds:
        same(v["winner"], min(p["seq"] for p in v["proposals"]))
    same(show("first-of-4")["slot_version"], 3)
    clean()


@case
def regions_that_share_a_key_count_as_one():  # I-55
    define("tree", "first/9")
    code = """say([lethe.run("judge-a", ['lethe.write("tree", "sub")'])["outcome"] for i in range(3)])
lethe.write("tree", "top")"""
    for name, n in (("together", 1), ("apart", 5)):
        r = run(name, "--", code)
        same(r.code, 0, r)
        same(json.loads(r.out), ["exited"] * 3)
        same(len(show("tree")["gathered"]), n, name)
    same(len([e for e in log("--type", "slot.discarded") if e["reason"] == "not_disjoint"]), 3)
    clean()


@case
@alone
def a_killed_supervisor_loses_nothing():  # I-60, I-56
    gathered = len(show("tree")["gathered"])
    js = [propose("orphan", "tree") for i in range(9 - gathered)]
    js[0].go()
    js[0].end()
    for j in js[1:]:
        j.p.kill()
        j.p.communicate()
    same(len(show("tree")["gathered"]), gathered + 1, "it outlives them")
    same(value("tree"), None)
    r = run("judge-a", "--", "pass")  # whose start finishes what they left
    same(r.code, 0, r)
    same(value("tree"), "sub")
    same(len(verdicts("tree")[0]["proposals"]), 9)
    clean()


@case
def the_verdict_is_told():
    define("told", "confidence:0.5/2")
    skill("teller", writes=["told"])
    regions = []
    for c in (0.9, 0.2):
        j = Judge('lethe.write("told", "v%s", confidence=%s)\nsay(os.environ["LETHE_REGION"])' % (c, c), "teller")
        regions.append(j.said())
        j.end()
        if c == 0.9:
            check(b"gathered, and not decided yet" in lethe("why", regions[0]).out)
            check(b"1 of 2 gathered" in lethe("slot", "list").out, lethe("slot", "list"))
            check(b"gathered 1 of 2" in lethe("slot", "show", "told").out)
    why = lethe("why", regions[0]).out.decode(), lethe("why", regions[1]).out.decode()
    check("told: won" in why[0], why[0])
    check("told: below_floor; the value of region %s was taken, skill teller" % regions[0] in why[1], why[1])
    slots = [s for s in json.loads(lethe("why", "--json", regions[1]).out)["slots"] if s["type"] == "slot.gathered"]
    same((slots[0]["verdict"]["verdict"], slots[0]["verdict"]["winner"]["region"]), ("below_floor", regions[0]))
    text = lethe("slot", "history", "told").out.decode().splitlines()
    same([line.split()[0] for line in text], ["verdict", "won", "below_floor", "version"], text)
    got = json.loads(lethe("slot", "get", "told", "--json").out)
    same((got["region"], got["arbitrated"], got["value"]), (regions[0], verdicts("told")[0]["seq"], "v0.9"))
    # The operator's verbs, when they cannot be done.
    for argv, says in ((("decide", "told"), b"no proposal is gathered"), (("decide", "nowhere"), b"not defined"), (("show", "nowhere"), b"not defined"),
                       (("define", "told", "--schema", SCHEMA), b"another rule"), (("define", "told", "--schema", SCHEMA, "--arbitrate", "first/2"), b"another rule")):
        r = lethe("slot", *argv)
        check(r.code == 1 and says in r.err, argv, r)
    for rule in ("first", "first/0", "quorum:4/3", "confidence:2/3", "x/1", "{}"):
        same(lethe("slot", "define", "wrong", "--schema", SCHEMA, "--arbitrate", rule).code, 2, rule)
    clean()


# G-74: finding 8, from outside: a new question closes the round before; its leftovers do not count; a deadline
@case
def rounds():
    schema = os.path.join(DIR, "any.json")
    with open(schema, "w") as f:
        f.write("{}")
    skill("answers", writes=["asked"])
    same(lethe("slot", "define", "asked", "--schema", schema, "--arbitrate",
               '{"rule":"quorum","of":3,"least":3,"by":"answer"}').code, 0)

    def answer(value):
        return lethe("run", "answers", "--", "say(refused('asked', %r))" % value)

    same(json.loads(lethe("slot", "ask", "asked", "--question", "colour", "--json").out)["question"], "colour")
    for value in ("blue", "red"):
        r = answer({"answer": value})
        same((r.code, json.loads(r.out)), (0, None), r)
    r = lethe("slot", "show", "asked")
    check(b"round    colour" in r.out and b": open" in r.out, r)
    same(lethe("slot", "ask", "asked", "--question", "size", "--deadline", "1h").code, 0)
    shown = json.loads(lethe("slot", "show", "asked", "--json").out)
    same((shown["round"]["question"], shown["round"]["open"], shown["gathered"]), ("size", True, []))
    same((shown["verdict"]["reason"], [p["verdict"] for p in shown["verdict"]["proposals"]]), ("closed", ["closed"] * 2))
    for i in range(3):
        r = answer({"answer": 42, "why": i})
        same(json.loads(r.out), None, r)
    same(json.loads(lethe("slot", "get", "asked").out)["answer"], 42)
    r = answer({"answer": 43})
    same(json.loads(r.out), "rule", r)
    check(b"size" in lethe("slot", "show", "asked").out and b": closed" in lethe("slot", "show", "asked").out)
    for argv in (("--question", "two words"), ("--question", "q", "--deadline", "soon"), ("--question", "q", "--deadline", "9000h"), ()):
        check(lethe("slot", "ask", "asked", *argv).code in (1, 2), argv)
    same([e["question"] for e in log("--type", "slot.asked")], ["colour", "size"])
    same((lethe("audit").code, lethe("verify").code), (0, 0))
    same(json.loads(lethe("rebuild", "--json").out)["differed"], 0)


# G-74: a judge is a skill: it sees the round's values, chooses one of them or none, and brings nothing of its own
JUDGE = """import json, sys
line = sys.stdin.readline()
q = json.loads(line)
def of(value):
    return next(p["proposal"] for p in q["proposals"] if p["value"] == value)
def say(text):
    sys.stdout.write(text + "\\n")
"""


def judge_skill(name, code, **manifest):
    python_skill(name, JUDGE + code, **manifest)


def judged(name, *argv, slot="judged"):
    r = lethe("slot", "decide", slot, "--judge", name, "--json", *argv)
    same(r.code, 0, r)
    return json.loads(r.out)


def open_round(question, *values, slot="judged"):
    same(lethe("slot", "ask", slot, "--question", question).code, 0)
    for value in values:
        r = lethe("run", "for-judge", "--", "say(refused(%r, %r))" % (slot, value))
        same(json.loads(r.out), None, r)


@case
def a_judge_chooses():
    define("judged", "judge/3")
    define("ruled", "quorum:3/3")
    skill("for-judge", writes=["judged", "ruled"])
    # The question that the judge saw is not kept: the judge of each case answers by it.
    judge_skill("fair", "say(json.dumps({'proposal': of('green'), 'sha256': q['proposals'][of('green') - 1]['sha256']}))")
    judge_skill("exact", """shown = [(p["value"], p["regions"], p["skills"], len(p["sha256"])) for p in q["proposals"]]
good = (sorted(shown) == [("blue", 1, ["for-judge"], 64), ("green", 2, ["for-judge"], 64)]
        and [p["sha256"] for p in q["proposals"]] == sorted(p["sha256"] for p in q["proposals"])
        and sorted(q) == ["proposals", "question", "round", "slot", "version"] and (q["slot"], q["question"]) == ("judged", "q-one")
        and line.count("\\n") == 1 and sys.stdin.read() == "")
say(json.dumps({"proposal": of("blue") if good else "none"}))""")
    r = lethe("run", "for-judge", "--", "say(refused('judged', 'early'))")
    same(json.loads(r.out), "rule", r)
    open_round("q-one", "green", "blue", "green")
    shown = json.loads(lethe("slot", "show", "judged", "--json").out)
    same((len(shown["gathered"]), shown["round"]["open"]), (3, True), "three of three, and the judge alone decides")
    r = lethe("run", "for-judge", "--", "say(refused('judged', 'late'))")
    same(len(show("judged")["gathered"]), 3, "no more than the rule says", r)
    same([e["reason"] for e in log("--type", "slot.discarded") if e["slot"] == "judged"], ["full"])
    r = lethe("slot", "decide", "judged")
    check(r.code == 1 and b"decide judged --judge SKILL" in r.err, r)
    check(show("judged")["round"]["open"], "a refused verdict closes nothing")
    v = judged("exact")
    same((value("judged"), v["reason"], v["judge"]["skill"]["name"]), ("blue", "won", "exact"), v)
    same(sorted(p["verdict"] for p in v["proposals"]), ["not_chosen", "not_chosen", "won"])
    same(v["judge"]["answer"], v["winner"])
    began = [e for e in log("--region", v["judge"]["region"]) if e["type"] == "region.allocated"]
    same((began[0]["skill"], began[0]["seq"] > show("judged")["round"]["seq"]), (v["judge"]["skill"], True))
    check(b"judge " + v["judge"]["region"].encode() + b"  skill exact" in lethe("slot", "history", "judged").out)
    # The judge is among those that had a say, and among the readers.
    judge = v["judge"]["region"].encode()
    check(b"region %s (exact) had a say in slot/judged@1" % judge in lethe("audit", "touched", "slot/judged@1").out)
    check(b"region %s (exact) read slot/judged@1" % judge in lethe("audit", "derived", "slot/judged@1").out)
    # Under another rule a judge may close an open round.
    open_round("q-two", "green", "blue", slot="ruled")
    v = judged("fair", slot="ruled")
    same((value("ruled"), v["reason"], v["rule"]["rule"]), ("green", "won", "quorum"), v)
    clean()


@case
def a_judge_brings_nothing_of_its_own():  # G-74
    # each answer, or none; the fault in the record; a part of what is told
    bad = {
        "new-text": ("say(json.dumps({'proposal': of('green'), 'value': 'mine'}))", "bad_answer", 'member \\"value\\"'),
        "reason": ("say(json.dumps({'proposal': of('green'), 'reason': 'canary-word'}))", "bad_answer", 'member \\"reason\\"'),
        "text": ("say('green')", "bad_answer", "not JSON"),
        "beyond": ("say('{\"proposal\": 3}')", "bad_answer", "from 1 to 2"),
        "zero": ("say('{\"proposal\": 0}')", "bad_answer", "from 1 to 2"),
        "huge": ("say('{\"proposal\": 9223372036854775807}')", "bad_answer", "from 1 to 2"),
        "real": ("say('{\"proposal\": 1.0}')", "bad_answer", "from 1 to 2"),
        "forged": ("say(json.dumps({'proposal': 1, 'sha256': '0' * 64}))", "bad_answer", "sha256 is not that"),
        "twice": ("say('{\"proposal\": 1, \"proposal\": 2}')", "bad_answer", "not JSON"),
        "deep": ("say('{\"proposal\": ' + '[' * 5000 + ']' * 5000 + '}')", "bad_answer", "not JSON"),
        "nul": ("say('{\"proposal\": 1}\\0')", "advisor_lines", "NUL"),
        "lines": ("say('{\"proposal\": 1}\\n{\"proposal\": 2}')", "advisor_lines", "more than one line"),
        "silent": ("pass", "advisor_lines", "answered nothing"),
        "fails": ("say('{\"proposal\": 1}')\nsys.exit(3)", "advisor_exit", "exit code 3"),
        "killed": ("import os\nos.kill(os.getpid(), 9)", "advisor_exit", ""),
        "flood": ("say('x' * 300000)", "advisor_too_long", ""),
        "slow": ("import time\ntime.sleep(600)", "advisor_timeout", "in time"),
    }
    for n, (name, (code, fault, says)) in enumerate(bad.items()):
        judge_skill("judge-" + name, code)
        open_round("bad-%d" % n, "green", "red")
        v = judged("judge-" + name, *(("--timeout", "2s") if name == "slow" else ()))
        same((v["winner"], v["reason"], v["judge"]["fault"]), (None, "judge_failed", fault), name, v)
        check(says in json.dumps(v["why"]), name, v["why"])
        same((value("judged"), show("judged")["round"]["open"]), ("blue", False), name)
    check(b"canary-word" not in lethe("log", "--json").out, "a judge's words are in no record")
    # "none" is an answer.
    judge_skill("judge-none", "say(json.dumps({'proposal': 'none'}))")
    open_round("none", "green", "red")
    v = judged("judge-none")
    same((v["winner"], v["reason"], "fault" in v["judge"], v["judge"]["answer"]), (None, "no_choice", False, None), v)
    # A judge has no right to write: neither to the slot that it judges nor anywhere else.
    judge_skill("judge-writes", """import lethe
try:
    lethe.write("judged", "mine")
    say("written")
except lethe.LetheError as e:
    say(json.dumps({"proposal": of("green" if e.code == "not_granted" else "red")}))""", writes=["judged"])
    open_round("writes", "green", "red")
    judged("judge-writes")
    same(value("judged"), "green")
    clean()


@case
def a_judge_and_the_time_that_it_takes():  # G-74
    def asked(*argv):
        r = lethe("slot", "decide", "judged", *argv)
        return r.code, r.err.decode()

    # Nothing to judge, nobody to judge, and options alone: each leaves the round as it is.
    code, err = asked("--judge", "fair")
    check(code == 1 and "no round is open" in err, err)
    open_round("empty")
    code, err = asked("--judge", "fair")
    check(code == 1 and "no valid proposal" in err, err)
    open_round("left", "green", "red")
    for argv, says, want in ((("--judge", "no-such-skill"), "no-such-skill", 1), (("--timeout", "2s"), "give --judge SKILL", 2),
                             (("--policy", "/nowhere"), "give --judge SKILL", 2), (("--judge", "fair", "--timeout", "soon"), "soon", 2)):
        code, err = asked(*argv)
        check(code == want and says in err, argv, code, err)
    check(show("judged")["round"]["open"])
    clean()


@case
def what_came_meanwhile_is_not_judged():  # G-74
    # The judge waits until the scope has the record `go`, which is written after what comes meanwhile.
    judge_skill("waits", """import lethe, time
while True:
    try:
        lethe.memory_load("knowledge_projections", "go-" + q["question"])
        break
    except lethe.LetheError as e:
        if e.code not in ("no_record", "no_scope"):
            raise
    time.sleep(0.02)
say(json.dumps({"proposal": of("green")}))""", memory=[{"scope": "default", "read": ["knowledge_projections"]}])

    def meanwhile(question, fn, values=("green", "red")):
        open_round(question, *values)
        before = len(log("--type", "region.allocated"))
        p = subprocess.Popen([LETHE, "slot", "decide", "judged", "--judge", "waits", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(ENV))
        wait_for(lambda: len(log("--type", "region.allocated")) > before, "the judge's region")
        fn()
        r = lethe("memory", "save", "knowledge_projections", '{"title":"go","text":"go"}', "--id", "go-" + question)
        same(r.code, 0, r)
        out, err = p.communicate(timeout=120)
        return p.returncode, out, err

    code, out, err = meanwhile("meanwhile", lambda: lethe("run", "for-judge", "--", "say(refused('judged', 'blue'))"))
    same(code, 0, err)
    same(([p["verdict"] for p in json.loads(out)["proposals"]], value("judged")), (["won", "not_chosen", "unseen"], "green"))
    # A new question, before the judge has answered: its answer is not for this one.
    code, out, err = meanwhile("closed-early", lambda: same(lethe("slot", "ask", "judged", "--question", "next").code, 0))
    check(code == 1 and b"was closed while the judge ran" in err, code, out, err)
    same((show("judged")["round"]["question"], show("judged")["round"]["open"]), ("next", True))
    # A signal ends the judge, and the round goes on.
    open_round("cancelled", "green")
    before = len(log("--type", "region.allocated"))
    p = subprocess.Popen([LETHE, "slot", "decide", "judged", "--judge", "waits"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(ENV))
    wait_for(lambda: len(log("--type", "region.allocated")) > before, "the judge's region")
    p.terminate()
    out, err = p.communicate(timeout=120)
    check(p.returncode == 143 and b"the round stays open" in err, p.returncode, err)
    check(show("judged")["round"]["open"])
    clean()


main()
