#!/usr/bin/python3
"""Typed memory from inside a region, as a user sees it: what a skill saves, finds and deletes, what its manifest and the policy give it, and what it may not.
TAP.

usage: memory.py LETHE
"""
import json
import os

from tap import DIR, case, check, lethe, log, main, run, same

LAB = """import json, os, sys
import lethe
M = "memory_substrate"
K = "knowledge_projections"
def fact(text):
    return {"subject": "anna", "predicate": "was born", "object": text}
def refused(f, *args, **kw):
    try:
        f(*args, **kw)
    except lethe.LetheError as e:
        return e.code
exec(sys.argv[1])
"""
M, K, S = "memory_substrate", "knowledge_projections", "skill_artifacts"
POLICY = os.path.join(DIR, "policy.json")


def skill(name, main_file="main.py", text=LAB, entry=None, **manifest):
    d = os.path.join(DIR, name)
    os.makedirs(d, exist_ok=True)
    with open(os.path.join(d, "SKILL.md"), "w") as f:
        f.write("---\nname: %s\ndescription: A test.\n---\n" % name)
    with open(os.path.join(d, "lethe.json"), "w") as f:
        json.dump(dict({"version": 1, "entry": {"main": entry or ["/usr/bin/python3", "/skill/main.py"]}}, **manifest), f)
    with open(os.path.join(d, main_file), "w") as f:
        f.write(text)
    os.chmod(os.path.join(d, main_file), 0o755)
    r = lethe("skill", "add", d)
    same(r.code, 0, r)


skill("keeper", memory=[{"scope": "default", "read": [M, K], "write": [M, K], "delete": [M]}])
skill("reader", memory=[{"scope": "default", "read": [M]}])
skill("writer", memory=[{"scope": "default", "write": [M]}])
skill("mute")
skill("elsewhere", memory=[{"scope": "other", "read": [M], "write": [M]}, {"scope": "default", "read": [K]}])
for scope in ("default", "other"):
    same(lethe("scope", "create", scope).code, 0)
with open(POLICY, "w") as f:
    json.dump({"version": 1, "memory": [{"scope": "default", "read": [M, K], "write": [M, K], "delete": [M]}]}, f)


def records(scope="default", *argv):
    r = lethe("memory", "list", "--scope", scope, "--json", *argv)
    same(r.code, 0, r)
    return json.loads(r.out)["records"]


def out(r):
    same(r.code, 0, r)
    return r.out.decode().splitlines()


@case
def what_a_skill_saves_is_there_for_all():  # M-10 M-61: one event with the region's id, found by a later one and by the operator
    r = run("keeper", "--", """
a = lethe.memory_save(M, fact("on 3 May"), id="anna-birthday", type="semantic", expect=0)
print(a["created"], a["version"], a["scope"], a["kind"])
lethe.memory_save(K, {"title": "anna", "text": "all about her"}, id="anna", refs=[{"kind": M, "id": "anna-birthday"}])
print(lethe.memory_save(M, fact("on 4 May"), id="anna-birthday", type="semantic", expect=1)["version"])
print(refused(lethe.memory_save, M, fact("x"), id="anna-birthday", type="semantic", expect=1))
""")
    same(out(r), ["True 1 default " + M, "2", "conflict"], r)
    same([e["type"] for e in log("--region", r.receipt["region"]) if e["type"].startswith(("memory.", "mutation."))],
         ["mutation.refused", "memory.save", "memory.save", "memory.save"], "what is taken is an event with the region's end (I-24)")
    same([(x["kind"], x["id"]) for x in records()], [(M, "anna-birthday"), (K, "anna")])
    same(lethe("memory", "load", M, "anna-birthday", "--json").code, 0)
    r = run("reader", "--", """
print([x["id"] for x in lethe.memory_search("birthday may").records], lethe.memory_load(M, "anna-birthday")["payload"]["object"])
print([x["change"] for x in lethe.memory_history(M, "anna-birthday").changes], [x["id"] for x in lethe.memory_list().records])
print(refused(lethe.memory_load, K, "anna"), refused(lethe.memory_save, M, fact("x"), type="semantic"), refused(lethe.memory_delete, M, "anna-birthday"))
""")
    same(out(r), ["['anna-birthday'] on 4 May", "['created', 'updated'] ['anna-birthday']", "not_granted not_granted not_granted"], r)
    check(b"anna-birthday" in lethe("context", "--json").out, "and it is served")


@case
def by_default_there_is_none_of_it():  # fail closed: no scope, no family, whatever is asked
    r = run("mute", "--", """
print({refused(f, *a) for f, a in ((lethe.memory_save, (M, fact("x"))), (lethe.memory_load, (M, "anna-birthday")), (lethe.memory_list, ()),
       (lethe.memory_search, ("anna",)), (lethe.memory_history, (M, "anna-birthday")), (lethe.memory_delete, (M, "anna-birthday")))}, "memory" in lethe.hello())
""")
    same(out(r), ["{'not_granted'} False"], r)
    r = run("writer", "--", "print(refused(lethe.memory_list), refused(lethe.memory_load, M, 'anna-birthday'), lethe.memory_save(M, fact('x'), id='w', type='semantic')['created'])")
    same(out(r), ["not_granted not_granted True"], r)
    r = run("elsewhere", "--", """
print(lethe.memory_save(M, fact("there"), id="far", type="semantic")["scope"], [x["id"] for x in lethe.memory_list().records])
print(refused(lethe.memory_save, M, fact("x"), type="semantic", scope="default"), refused(lethe.memory_load, M, "anna-birthday", scope="default"),
      [x["id"] for x in lethe.memory_list(scope="default").records], refused(lethe.memory_load, M, "anna-birthday"))
""")
    same(out(r), ["other ['far']", "not_granted not_granted ['anna'] no_record"], r)
    same([x["id"] for x in records("other")], ["far"])


@case
def deletion_takes_the_policys_word():  # M-52 M-54
    r = run("keeper", "--", "print(refused(lethe.memory_delete, M, 'w'))")
    same(out(r), ["not_granted"], r)
    dry = json.loads(lethe("run", "--dry-run", "--json", "keeper").out)
    same(dry["memory"], [{"scope": "default", "read": [M, K], "write": [M, K]}])
    same([x["field"] for x in dry["reductions"]], ["/memory/0/delete"])
    check(b"memory        of scope default: read memory_substrate knowledge_projections, write memory_substrate" in lethe("run", "--dry-run", "keeper").out)
    r = run("--policy", POLICY, "keeper", "--", "print(refused(lethe.memory_delete, M, 'anna-birthday'), lethe.memory_delete(M, 'w', reason='no use')[0]['id'], refused(lethe.memory_load, M, 'w'))")
    same(out(r), ["dependents w no_record"], r)
    same([e["type"] for e in log("--region", r.receipt["region"]) if e["type"].startswith("memory.d")], ["memory.delete"])
    same(json.loads(lethe("memory", "history", M, "w", "--json").out)["changes"][-1]["reason"], "no use")
    r = run("--policy", POLICY, "elsewhere", "--", "print(refused(lethe.memory_list), lethe.hello()['memory'])")
    same(out(r), ["not_granted [{'scope': 'other'}, {'read': ['knowledge_projections'], 'scope': 'default'}]"], r)


@case
def what_is_hostile_leaves_its_code_and_nothing_else():  # M-11 M-18 M-23 I-11
    before = (records(), records("other"))
    r = run("keeper", "--", """
key = lethe.hello()["key"]
print(refused(lethe.memory_save, M, fact("x" * 1000000), type="semantic"), refused(lethe.memory_save, M, fact("x" * 1100000), type="semantic"))
print(refused(lethe.memory_save, M, fact("\\x1b[2J"), type="semantic"), refused(lethe.memory_save, M, fact("the key is " + key), type="semantic"),
      refused(lethe.memory_save, M, fact("x"), id="../anna", type="semantic"), refused(lethe.memory_save, M, dict(fact("x"), lineage=[]), type="semantic"))
print(refused(lethe.memory_save, M, fact("x"), type="semantic", refs=[{"kind": M, "id": "far", "scope": "other"}]), refused(lethe.memory_save, M, fact("x"), type="semantic",
      refs=[{"kind": M, "id": "far"}]), refused(lethe.memory_save, "working_state", {}), refused(lethe.memory_load, M, "far"))
""")
    same(out(r), ["too_large line_too_long", "bad_payload key_escape bad_name service_metadata", "cross_scope bad_ref not_granted no_record"], r)
    same((records(), records("other")), before)
    codes = [e["code"] for e in log("--region", r.receipt["region"]) if e["type"] == "mutation.refused"]
    same(codes, ["too_large", "bad_payload", "key_escape", "bad_name", "service_metadata", "cross_scope", "bad_ref"])
    r = lethe("audit", "--json")
    same(r.code, 0, r)
    same(lethe("verify").code, 0)


# I-24, M-10: a breach drops all that the region proposed, slots, notes and records alike (held.py has each budget)
@case
def nothing_stands_after_a_breach():
    schema = os.path.join(DIR, "any.json")
    with open(schema, "w") as f:
        f.write("{}")
    same(lethe("slot", "define", "held", "--schema", schema).code, 0)
    skill("hasty", memory=[{"scope": "default", "read": [M], "write": [M]}], writes=["held"], notes=True, budgets={"output": "64k"})
    r = run("hasty", "--", "import os, time\nlethe.write('held', 1)\nlethe.note_add('issue from_a_breach: x')\nlethe.memory_save(M, fact('falls'), id='falls', type='semantic')\n"
            "os.write(1, bytes(1 << 17))\ntime.sleep(60)")
    same((r.code, r.receipt["outcome"], r.receipt["notes"], r.receipt["memory"]["discarded"]), (137, "output_exceeded", {"added": 1, "dropped": 1}, 1), r)
    same(lethe("memory", "history", M, "falls").code, 1, "it never was")
    same(lethe("slot", "get", "held").code, 1, "never written")
    same([e["type"] for e in log("--region", r.receipt["region"]) if e["type"] in ("memory.save", "memory.discarded", "slot.discarded", "run.ended")],
         ["memory.discarded", "slot.discarded", "run.ended"])


# What a sub-skill tries, whoever started it: pages and typed records, slots, notes and belief.
TRIES = """
def got(f, *args, **kw):
    try:
        return f(*args, **kw) is not None or True
    except lethe.LetheError as e:
        return e.code
print(got(lethe.memory_list), got(lethe.memory_load, M, "anna-birthday"), got(lethe.memory_load, K, "anna"), got(lethe.memory_save, M, fact("y"), id="greed", type="semantic"))
print(got(lethe.read, "plan"), got(lethe.write, "plan", "mine"), got(lethe.write, "own", 1), got(lethe.note_add, "a"), got(lethe.canon_read))
"""


def below(above, policy=None):
    """What the sub-skill `greedy` could, and its region's grant."""
    r = run(*(("--policy", policy) if policy else ()), above, "--", "print(lethe.run('greedy', [%r])['output'])" % TRIES)
    grants = {e["grant"]["skill"]["name"]: e["grant"] for e in log("--type", "region.allocated")[-2:]}
    return [x.split() for x in out(r) if x], grants["greedy"]


# I-23: of memory, slots, notes and belief, too, a sub-skill has nothing that the region above it has not, but for what the policy says of it by its digest
@case
def a_sub_skill_has_nothing_that_the_region_above_has_not():
    no = "not_granted"
    schema = os.path.join(DIR, "any.json")
    with open(schema, "w") as f:
        f.write("{}")
    for name in ("plan", "own"):
        same(lethe("slot", "define", name, "--schema", schema).code, 0)
    same(lethe("slot", "put", "plan", '"theirs"').code, 0)
    skill("greedy", memory=[{"scope": "default", "read": [M, K], "write": [M]}], reads=["plan"], writes=["plan", "own"], notes=True, canon=True)
    skill("poor", sub_skills=["greedy"])
    skill("half", sub_skills=["greedy"], memory=[{"scope": "default", "read": [M]}], reads=["plan"], writes=["own"], canon=True)
    got, grant = below("poor")
    same(got, [[no] * 4, [no] * 5])
    same((grant["memory"], grant["reads"], grant["writes"], "notes" in grant, "canon" in grant), ([{"scope": "default"}], [], [], False, False), grant)
    same(sorted(x["field"] for x in grant["reductions"] if "budgets" not in x["field"]), ["/canon", "/memory/0/read", "/memory/0/write", "/notes", "/reads", "/writes", "/writes"], grant)
    got, grant = below("half")
    same(got, [["True", "True", no, no], ["True", no, "True", no, "True"]])
    check("beyond_parent" not in grant, grant)
    digest = json.loads(lethe("skill", "show", "greedy", "--json").out)["digest"]
    row = {"digest": digest, "memory": [{"scope": "default", "read": [M], "write": [M]}], "as_sub_skill": {"reads": ["plan"], "notes": "default"}}
    policy = os.path.join(DIR, "below.json")
    with open(policy, "w") as f:
        json.dump({"version": 1, "skills": {"greedy": row}}, f)
    got, grant = below("poor", policy)
    same(got, [["True", "True", no, "True"], ["True", no, no, "True", no]])
    same(grant["beyond_parent"], ["slot read plan", "memory read memory_substrate of default", "memory write memory_substrate of default", "notes of default"])
    regions = json.loads(lethe("audit", "regions", "relaxed", "--json").out)
    check(any("slot read plan" in (x.get("beyond_parent") or []) for x in regions["regions"]), regions)
    same([lethe("slot", "get", "plan").out, lethe("memory", "delete", M, "greed").code], [b'"theirs"\n', 0])


@case
def the_shell_and_node_have_the_same_doors():
    skill("shell", "main.sh", """#!/bin/sh
set -e
lethe-slot memory save knowledge_projections '{"title":"shells","text":"they work"}' --id shells --expect 0
echo '{"title":"shells","text":"they work well"}' | lethe-slot memory save knowledge_projections - --id shells
lethe-slot memory search 'work well' --limit 1
first=$(lethe-slot memory list 'kind:knowledge' --limit 1)
next=${first#*next\\":\\"}
lethe-slot memory list 'kind:knowledge' --after "${next%%\\"*}"
lethe-slot memory history knowledge_projections shells --limit 1
lethe-slot memory load knowledge_projections shells
lethe-slot memory load memory_substrate far || echo "refused $?"
lethe-slot memory history knowledge_projections shells --after later || echo "usage $?"
""", entry=["main.sh"], memory=[{"scope": "default", "read": [M, K], "write": [K]}])
    lines = out(run("shell"))
    same([json.loads(x).get("version") for x in lines[:2]], [1, 2], lines)
    same([[y["id"] for y in json.loads(x)["records"]] for x in lines[2:4]], [["shells"], ["shells"]], lines)
    same(([x["change"] for x in json.loads(lines[4])["changes"]], json.loads(lines[5])["record"]["version"], lines[6:]), (["created"], 2, ["refused 1", "usage 2"]), lines)
    skill("nodes", "main.js", """const lethe = require("lethe");
const a = lethe.memorySave({ kind: "memory_substrate", type: "episodic", payload: { summary: "node was here" } });
console.log(a.created, lethe.memorySearch("node").records[0].id === a.id, lethe.memoryLoad("memory_substrate", a.id).payload.summary,
        lethe.memoryHistory("memory_substrate", a.id).changes.length, lethe.memoryList({ filter: "type:episodic" }).records.length);
""", entry=["/usr/bin/env", "node", "/skill/main.js"], memory=[{"scope": "default", "read": [M], "write": [M]}])
    same(out(run("nodes")), ["true true node was here 1 1"])


main()
