#!/usr/bin/python3
"""Governed memory from inside a region, as a user sees it: notes that a skill keeps, what becomes of them when it has ended, what it reads of shared belief,
and what it may not. TAP.

usage: notes.py LETHE
"""
import concurrent.futures
import json
import os

from tap import DIR, case, check, lethe, log, main, python_skill, run, same

LAB = """import json, os, sys, time
import lethe
def refused(f, *args, **kw):
    try:
        f(*args, **kw)
    except lethe.LetheError as e:
        return e.code
def raw(line):
    os.write(int(os.environ["LETHE_OUT"]), line.encode() + b"\\n")
exec(sys.argv[1])
"""


def skill(name, **manifest):
    python_skill(name, LAB, **manifest)


skill("scribe", notes=True, canon=True)
skill("reader", canon={"scope": "default"})
skill("other", notes={"scope": "other"}, canon={"scope": "other"})
skill("lost", notes={"scope": "nowhere"}, canon={"scope": "nowhere"})
skill("lost-reader", canon={"scope": "nowhere"})
skill("lost-keeper", memory=[{"scope": "default", "read": ["memory_substrate"]}, {"scope": "nowhere", "write": ["memory_substrate"]}])
skill("mute")
skill("hasty", notes=True)
skill("quiet", notes=True, canon=True, lineage="stats")
skill("above", notes=True, sub_skills=["scribe", "lost"])
same(lethe("scope", "create", "other").code, 0)


def runs():
    r = lethe("note", "runs", "--json")
    same(r.code, 0, r)
    return {x["run"]: x for x in json.loads(r.out)["runs"]}


def notes_of(region):
    r = lethe("note", "list", region, "--json")
    same(r.code, 0, r)
    return json.loads(r.out)["notes"]


def belief(*argv):
    r = lethe("canon", "list", "--json", *argv)
    return json.loads(r.out)["rows"] if r.code == 0 else []


def events(region):
    return [(e["type"], e.get("code")) for e in log("--region", region)]


@case
def notes_wait_for_who_promotes_them():  # G-1 G-2 G-3 G-5: the run is the region, its agent the skill
    r = run("scribe", "--", "print(lethe.note_add('issue boot_fails: the board does not boot'), lethe.note_add('x = 3', role='tool_result'))")
    same((r.code, r.out), (0, b"1 2\n"), r)
    same(r.receipt["notes"], {"added": 2, "dropped": 0})
    region = r.receipt["region"]
    same({k: runs()[region][k] for k in ("agent", "scope", "notes", "processed")}, {"agent": "scribe", "scope": "default", "notes": 2, "processed": 0})
    same([(n["text"], n["role"], n["outcome"]) for n in notes_of(region)],
         [("issue boot_fails: the board does not boot", "agent", "unprocessed"), ("x = 3", "tool_result", "unprocessed")])
    check("the board" not in lethe("log", "--json").out.decode(), "no note is in the ledger")
    same([x for x, _ in events(region) if x.startswith("run.")], ["run.started"])
    same(belief(), [])
    p = lethe("promote", region, "--json")
    same(p.code, 0, p)
    same([(x["bucket"], x["id"]) for x in belief()], [("issues", "boot_fails")], p)
    same([n["outcome"] for n in notes_of(region)], ["committed", "rejected"])


@case
def run_promote_does_it_right_away():  # G-5 G-9
    r = run("--promote", "scribe", "--", "lethe.note_add('decision use_lmdb: LMDB holds the rows'); lethe.note_add('nothing of note')")
    same(r.code, 0, r)
    same(r.receipt["notes"], {"added": 2, "dropped": 0, "committed": 1, "pending": 0, "rejected": 1, "invalid": 0, "resolved": 0, "expired": 0})
    same([x["id"] for x in belief("--bucket", "decisions")], ["use_lmdb"])
    r = run("--promote", "scribe", "--", "pass")
    same((r.code, r.receipt["notes"]), (0, {"added": 0, "dropped": 0}))
    r = run("--promote", "mute", "--", "pass")
    check(r.code == 0 and "notes" not in r.receipt, r)
    r = run("--promote", "scribe", "--", "lethe.note_add('issue rain_in: it rains in'); sys.exit(3)")
    same((r.code, r.receipt["notes"]["committed"]), (3, 1), r)


# G-54, G-7, G-48: 8 regions that promote at once lose nothing, see each other's rows, and leave what the same notes leave one after the other, in the ledger's order
@case
def eight_regions_promote_at_once():
    for scope in ("eight", "serial"):
        same(lethe("scope", "create", scope).code, 0)
    skill("one-of-eight", notes={"scope": "eight"})
    one = """
i = int(sys.argv[2])
for k in range(4):
    for text in ("issue own_%d_%d: ours" % (i, k), "task shared_task: at %d %d" % (i, k), "resolve made_by_%d_%d: over" % ((i + 1) % 8, k),
                 "decision: we take road number %d in round %d" % (i, k), "issue made_by_%d_%d: for the one before" % (i, k)):
        lethe.note_add(text)
"""
    with concurrent.futures.ThreadPoolExecutor(8) as several:
        ends = list(several.map(lambda i: lethe("run", "--promote", "--receipt", os.path.join(DIR, "eight-%d" % i), "one-of-eight", "--", one, str(i)), range(8)))
    same([r.code for r in ends], [0] * 8, [r.err for r in ends])
    receipts = [json.load(open(os.path.join(DIR, "eight-%d" % i), encoding="utf-8")) for i in range(8)]
    same([(r["notes"]["added"], r["notes"]["committed"] + r["notes"]["pending"]) for r in receipts], [(20, 20)] * 8)
    believed = {(r["bucket"], r["id"]): r for r in belief("--scope", "eight")}
    same(believed["task_state", "shared_task"]["version"], 32)
    waiting = {i["request"].get("target_id") for i in json.loads(lethe("pending", "list", "--scope", "eight", "--json").out)["items"]}
    made = {k[1]: r["state"] for k, r in believed.items() if k[1].startswith("made_by")}
    same((len(made), {i for i, state in made.items() if state == "open"}), (32, {i for i in waiting if i and i.startswith("made_by")}))  # G-62: said before the row was there
    number = [s["seq"] for s in json.loads(lethe("scope", "list", "--json").out)["scopes"] if s["scope"] == "eight"][0]
    order = [e for e in log() if e.get("scope") == number and ((e["type"].startswith("canon.") and "pending" not in e) or e["type"] == "note.pending")]
    same(len(order), 160)
    same(sorted({e["run"] for e in order}), sorted(r["region"] for r in receipts))
    texts = {r["region"]: [n["text"] for n in notes_of(r["region"])] for r in receipts}
    serial = lethe("note", "begin", "--agent", "one-of-eight", "--scope", "serial").out.decode().strip()
    for e in order:
        same(lethe("note", "add", serial, texts[e["run"]][e["note"] - 1]).code, 0)
    same(lethe("promote", serial, "--batch", "1").code, 0)
    again = {(r["bucket"], r["id"]): r for r in belief("--scope", "serial")}
    for found in (believed, again):
        for r in found.values():
            del r["created"], r["last"]
    same(again, believed)


@case
def a_region_reads_belief_and_nothing_else_of_memory():  # G-51 G-2
    waiting = run("scribe", "--", "lethe.note_add('issue never_looked_at: a raw note')").receipt["region"]
    r = run("reader", "--", """
b = lethe.canon_read()
print(json.dumps([[x["bucket"], x["id"], x["state"]] for x in b.rows]), b.next)
print(json.dumps(lethe.canon_read("issues", "boot_fails").rows[0]["payload"], sort_keys=True))
print(refused(lethe.canon_read, "issues", "never_looked_at"), refused(lethe.note_add, "issue a_b: c"), refused(lethe.canon_read, "notes"))
one = lethe.canon_read(limit=1)
while one.next:
    print(len(one.rows), one.next)
    one = lethe.canon_read(limit=1, after=one.next)
print(json.dumps([x["id"] for x in lethe.canon_read("issues", state="resolved").rows]))
""")
    same(r.code, 0, r)
    lines = r.out.decode().splitlines()
    rows = json.loads(lines[0].rsplit(" ", 1)[0])
    same(sorted(rows), [["decisions", "use_lmdb", "active"], ["issues", "boot_fails", "open"], ["issues", "rain_in", "open"]])
    check("does not boot" in lines[1], lines)
    same(lines[2], "no_record not_granted invalid_params")
    same([x.split()[0] for x in lines[3:5]], ["1", "1"], lines)
    same(lines[5:], ["[]"])
    check("never_looked_at" not in r.out.decode() and "a raw note" not in r.out.decode(), r)
    end = [e for e in log("--region", r.receipt["region"]) if e["type"] == "belief.read"]
    same([(e["scope"], int(e["count"]), int(e["rows"])) for e in end], [("default", 7, 7)])
    same(end[0]["read"], {"default": {"decisions": {"use_lmdb": [1]}, "issues": {"boot_fails": [1], "rain_in": [1]}}})  # I-77
    same(lethe("note", "end", waiting, "--drop").code, 0)


def audit(*argv, code=0):
    r = lethe("audit", *argv, "--json")
    same(r.code, code, r)
    return json.loads(r.out)


# I-77: what a poisoned note reached through three regions, and who read a version of what is on its way; at lineage stats who may have, and never a silent none
@case
def a_poisoned_note_is_followed():
    with open(os.path.join(DIR, "any.json"), "w", encoding="utf-8") as f:
        f.write("{}")
    substrate = {"scope": "default", "read": ["memory_substrate"], "write": ["memory_substrate"]}
    for n, level in enumerate(("events", "handles", "stats")):
        slot, house, issue = "well%d" % n, "house%d" % n, "well_is_dry%d" % n
        same(lethe("slot", "define", slot, "--schema", os.path.join(DIR, "any.json")).code, 0)
        skill("first", canon=True, writes=[slot])
        skill("second", lineage=level, reads=[slot], memory=[substrate])
        skill("third", memory=[dict(substrate, write=[])])
        skill("apart", canon=True, reads=[slot], memory=[substrate])
        same(lethe("slot", "put", slot, "1").code, 0)
        before = run("apart", "--", "lethe.memory_list()").receipt["region"]
        note = run("--promote", "scribe", "--", "lethe.note_add('issue %s: go to the other one')" % issue).receipt["region"]
        first = run("first", "--", "lethe.write(%r, lethe.canon_read('issues', %r).rows[0]['payload'])" % (slot, issue)).receipt["region"]
        second = run("second", "--", "lethe.memory_save('memory_substrate', {'subject': 'well', 'predicate': 'says', 'object': str(lethe.read(%r))}, type='semantic', id=%r)" % (slot, house)).receipt["region"]
        third = run("third", "--", "print(lethe.memory_load('memory_substrate', %r))" % house).receipt["region"]
        stats = level == "stats"
        a = audit("touched", "slot/%s@2" % slot, code=int(stats))
        same([(e["how"], e["from"].get("region"), e["to"].get("region")) for e in a["edges"]], [("wrote", first, None)] + ([] if stats else [("read", None, second)]), a)
        same((a["complete"], [(u["region"], u["value"]) for u in a["unknown"]]), (not stats, [(second, "slot/%s@2" % slot)] if stats else []), a)
        same(audit("touched", "slot/%s@1" % slot)["edges"][-1]["to"], {"region": before, "skill": "apart"})
        a = audit("derived", "note/%s@1" % note, code=int(stats))
        reached = [e["to"].get("value") or e["to"]["region"] for e in a["edges"]]
        whole = ["issues/%s@1" % issue, first, "slot/%s@2" % slot, second, "memory_substrate/%s@1" % house, third]
        same(reached, whole[:3] if stats else whole, a)
        same([u["region"] for u in a["unknown"]], [second] if stats else [])
        same(reached, [e["to"].get("value") or e["to"]["region"] for e in audit("derived", note, code=int(stats))["edges"]][1:], "from the region that wrote it")
    r = lethe("audit", "derived", "slot/%s@2" % slot)
    check(r.code == 1 and ("region %s (second) may have read slot/%s@2: lineage stats: reads of slots and gates are counted (1)" % (second, slot)).encode() in r.out and b"\nincomplete: " in r.out, r)
    for argv, says in ((("touched", "slot/none"), "slot/none: this ledger has no such value"), (("touched", "slot/%s@9" % slot), "has no version 9: it has 1 to 2"), (("derived", "0" * 26), "this ledger has no region"),
                       (("touched", note), "is a region, and a value is needed"), (("touched",), "touched needs a value"), (("touched", "slot/a", "b"), "an extra argument"), (("derived", "issues/x", "--scope", "none"), "scope 'none' is not in the ledger"),
                       (("touched", "well"), "'well' names no value")):
        r = lethe("audit", *argv)
        check(r.code == 2 and says in r.err.decode() and not r.out, argv, r)
        check("error" in json.loads(lethe("audit", *argv, "--json").out), argv)


@case
def who_did_not_ask_has_neither():  # G-8
    r = run("mute", "--", "print(refused(lethe.note_add, 'issue a_b: c'), refused(lethe.canon_read), sorted(set(lethe.hello()) & {'notes', 'canon'}))")
    same((r.code, r.out), (0, b"not_granted not_granted []\n"), r)
    check(("request.refused", "not_granted") in events(r.receipt["region"]) and r.receipt["region"] not in runs(), r)
    r = run("--exec", "/usr/bin/python3", "-c", "import sys; sys.path.insert(0, '/lethe/python'); import lethe\ntry: lethe.note_add('a')\nexcept lethe.LetheError as e: print(e.code)")
    same((r.code, r.out), (0, b"not_granted\n"), r)


@case
def nobody_writes_shared_belief_through_the_pipe():  # G-8: refused as an unknown method, and recorded
    before, size = belief(), len(log("--type", "canon.upsert"))
    r = run("scribe", "--", """
for method in ("canon.write", "canon.upsert", "canon.append", "canon.resolve", "canon.invalidate", "canon.promote", "promote", "pending.bind"):
    print(refused(lethe._pipe.call, method, {"bucket": "decisions", "id": "evil_row", "operation": "upsert", "payload": {"title": "t"}}))
""")
    same((r.code, r.out.decode().split()), (0, ["unknown_method"] * 8), r)
    same(belief(), before)
    same(len(log("--type", "canon.upsert")), size)
    refusals = [e for e in log("--region", r.receipt["region"]) if e["type"] == "request.refused"]
    same(sum(int(e["count"]) for e in refusals if e["code"] == "unknown_method"), 8)


@case
def a_note_is_of_its_own_run_and_scope():  # G-2: a forged run id, another scope
    victim = run("scribe", "--", "lethe.note_add('issue first_one: of the victim')").receipt["region"]
    r = run("scribe", "--", """
for more in ({"run": "%s"}, {"scope": "default"}, {"agent": "scribe"}, {"region": "%s"}):
    print(refused(lethe._pipe.call, "note.add", dict({"text": "issue forged_one: x"}, **more)))
print(refused(lethe._pipe.call, "canon.read", {"scope": "default"}), lethe.hello()["notes"], lethe.hello()["canon"])
""" % (victim, victim))
    same((r.code, r.out.decode().splitlines()), (0, ["invalid_params"] * 4 + ["invalid_params default default"]), r)
    same(len(notes_of(victim)), 1)
    r = run("other", "--", "print(lethe.canon_read().rows, lethe.hello()['notes'], lethe.hello()['canon'], lethe.note_add('issue own_one: of scope other'))")
    same((r.code, r.out, runs()[r.receipt["region"]]["scope"]), (0, b"[] other other 1\n", "other"), r)
    same(lethe("promote", r.receipt["region"]).code, 0)
    same([x["id"] for x in belief("--scope", "other")], ["own_one"])
    check("own_one" not in [x["id"] for x in belief()], "it is in its own scope alone")
    r = run("other", "--", "print([x['id'] for x in lethe.canon_read().rows], refused(lethe.canon_read, 'issues', 'boot_fails'))")
    same((r.code, r.out), (0, b"['own_one'] no_record\n"), r)
    same(lethe("note", "end", victim, "--drop").code, 0)


@case
def a_scope_that_is_not_there_is_told_before_anything_runs():  # G-2 M-21
    before = len(log("--type", "region.allocated"))
    for name, field in (("lost", "/notes/scope"), ("lost-reader", "/canon/scope"), ("lost-keeper", "/memory/1/scope")):
        r = run(name, "--", "print('it ran')")
        same((r.code, r.out), (125, b""), r)
        for part in ("lethe.json#" + field, '"nowhere"', "no scope of that name", "lethe scope create nowhere"):
            check(part in r.err.decode(), part, r)
    same(len(log("--type", "region.allocated")), before)
    policy = os.path.join(DIR, "lost.json")
    with open(policy, "w") as f:
        json.dump({"version": 1, "skills": {"lost": {"digest": json.loads(lethe("skill", "show", "lost", "--json").out)["digest"], "as_sub_skill": {"notes": "nowhere"}}}}, f)
    r = run("--policy", policy, "above", "--", "print(refused(lethe.run, 'lost', ['pass']))")
    same((r.code, r.out), (0, b"refused\n"), r)
    same(lethe("scope", "create", "nowhere").code, 0)
    r = run("lost", "--", "print(lethe.note_add('a'))")
    same((r.code, r.out), (0, b"1\n"), r)
    same(lethe("note", "end", r.receipt["region"], "--drop").code, 0)
    same(lethe("scope", "delete", "nowhere").code, 0)
    same(run("lost", "--", "pass").code, 125)


@case
def a_breach_drops_the_notes():  # I-24 G-4: as it does proposals; told in run.ended
    r = run("--promote", "--output-limit", "4", "hasty", "--", "lethe.note_add('issue from_a_breach: x'); lethe.note_add('b'); print('too much', flush=True); time.sleep(60)")
    same((r.code, r.receipt["notes"]), (137, {"added": 2, "dropped": 2}), r)
    region = r.receipt["region"]
    check(region not in runs() and lethe("promote", region).code == 1, "its run is over")
    of = [e for e in log("--region", region) if e["type"] == "run.ended"]
    same([(int(e["notes"]), int(e["dropped"]), e["run"]) for e in of], [(2, 2, region)])
    order = [x for x, _ in events(region)]
    check(order.index("region.faulted") < order.index("run.ended") < order.index("region.released"), order)
    same([x for x in belief() if x["id"] == "from_a_breach"], [])


@case
def floods_and_bad_notes_are_bounded():  # G-2 I-24: each with its code, none harms what was there
    r = run("--timeout", "60s", "scribe", "--", """
print(refused(lethe.note_add, "x" * (1024 * 1024 - 200)), refused(lethe.note_add, "x" * 32769), refused(lethe.note_add, "x" * 2000000))
print(refused(lethe.note_add, ""), refused(lethe.note_add, "a\\0b"), refused(lethe.note_add, "a", role="operator"), refused(lethe.note_add, 7))
key = lethe.hello()["key"]
print(refused(lethe.note_add, "the key is " + key), refused(lethe.note_add, "-".join(key)))
print(lethe.note_add("\\x01\\x1b[2J\\u202e control characters stay text"))
""")
    same((r.code, r.out.decode().splitlines()), (0, ["too_large too_large line_too_long", " ".join(["invalid_params"] * 4), "key_escape key_escape", "1"]), r)
    check(key_free(r.receipt["region"]))
    r = run("--timeout", "120s", "scribe", "--", """
n = 0
while True:
    code = refused(lethe.note_add, "noise %d" % n)
    if code:
        break
    n += 1
print(n, code, refused(lethe.note_add, "more"))
""", timeout=200)
    same((r.code, r.out), (0, b"4096 too_many too_many\n"), r)
    same((r.receipt["notes"]["added"], runs()[r.receipt["region"]]["notes"]), (4096, 4096))
    same(lethe("note", "end", r.receipt["region"], "--drop").code, 0)


def key_free(region):
    return [n["text"] for n in notes_of(region)] == ["\x01\x1b[2J\u202e control characters stay text"]


@case
def the_record_says_no_more_than_was_asked():  # I-36 I-37: at stats reads are a number, what a run is stays
    r = run("quiet", "--", "lethe.note_add('a'); lethe.canon_read(); lethe.canon_read(); refused(lethe.canon_read, 'nothing')")
    same(r.code, 0, r)
    of = events(r.receipt["region"])
    same([x for x, _ in of if x in ("run.started", "belief.read", "request.refused")], ["run.started"])
    released = [e for e in log("--region", r.receipt["region"]) if e["type"] == "region.released"][0]
    same({k: int(v) for k, v in released["lineage"]["counts"].items()}, {"belief.read": 2, "request.refused/invalid_params": 1})


@case
def a_sub_skill_has_a_run_of_its_own():  # G-1 G-2
    r = run("--promote", "above", "--", "lethe.note_add('issue of_above: x'); print(lethe.run('scribe', [\"print(lethe.note_add('issue of_below: y'))\"])[\"region\"])")
    same(r.code, 0, r)
    below = r.out.decode().strip()
    same((r.receipt["notes"]["committed"], runs()[below]["notes"], runs()[below]["processed"]), (1, 1, 0), r)
    same([x["id"] for x in belief() if x["id"].startswith("of_")], ["of_above"])


@case
def the_shell_has_both_doors():  # G-1 G-51
    d = os.path.join(DIR, "shell")
    os.makedirs(d)
    for name, text in (("SKILL.md", "---\nname: shell\ndescription: A test.\n---\n"),
                       ("lethe.json", json.dumps({"version": 1, "entry": {"main": ["main.sh"]}, "notes": True, "canon": True})),
                       ("main.sh", "#!/bin/sh\nset -e\nlethe-slot note 'learning shells_work: from a shell'\necho out | lethe-slot note --role tool_result\n"
                                   "lethe-slot canon decisions use_lmdb\nlethe-slot canon issues --limit 1\n")):
        with open(os.path.join(d, name), "w") as f:
            f.write(text)
    os.chmod(os.path.join(d, "main.sh"), 0o755)
    r = run(d)
    same(r.code, 0, r)
    lines = r.out.decode().splitlines()
    same((lines[:2], json.loads(lines[2])["rows"][0]["id"], len(json.loads(lines[3])["rows"])), (["1", "2"], "use_lmdb", 1), r)
    same([n["text"] for n in notes_of(r.receipt["region"])], ["learning shells_work: from a shell", "out\n"])


@case
def the_effective_policy_says_it():
    r = lethe("run", "--dry-run", "--json", "lost")
    same((json.loads(r.out)["notes"], json.loads(r.out)["canon"]), ("nowhere", "nowhere"))
    check(b"notes         of scope nowhere" in lethe("run", "--dry-run", "lost").out)
    check("notes" not in json.loads(lethe("run", "--dry-run", "--json", "mute").out))


@case
def the_store_is_whole():  # I-52
    for verb in ("audit", "verify"):
        r = lethe(verb)
        same(r.code, 0, verb, r)


main()
