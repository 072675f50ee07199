#!/usr/bin/python3
"""What an agent reads in its region to act: the context of its scopes, the kernels, the notes of its run and what became of them, what waits; and what it may
not read. TAP.

usage: own.py LETHE root|user
"""
import json
import os
import sys

from account import use

use(sys.argv[2])

from tap import DIR, case, check, lethe, log, main, python_skill, run, same  # noqa: E402

os.chmod(DIR, 0o755)
LAB = """import json, os, sys
import lethe
def refused(f, *args, **kw):
    try:
        f(*args, **kw)
    except lethe.LetheError as e:
        return [e.code, e.message]
def say(o):
    print(json.dumps(o._asdict() if hasattr(o, "_asdict") else o))
exec(sys.argv[1])
"""
ALL = {"notes": {"scope": "default", "read": True}, "canon": True, "kernels": True,
       "memory": [{"scope": "default", "read": ["memory_substrate", "knowledge_projections", "skill_artifacts"], "write": ["memory_substrate", "knowledge_projections"]}]}


def skill(name, **manifest):
    python_skill(name, LAB, **manifest)


skill("agent", **ALL)
skill("nothing")
skill("adds", notes=True)
skill("believes", canon=True)
skill("knows", kernels=True)
skill("remembers", memory=[{"scope": "default", "read": ["memory_substrate"]}])
skill("blind", notes={"scope": "default", "read": True})
skill("elsewhere", notes={"scope": "other", "read": True}, canon={"scope": "other"}, kernels={"scope": "other"})
skill("talks", session={"sections": {}}, **ALL)
skill("talks-blind", session={"sections": {}}, notes=True)
skill("above", sub_skills=["agent"], **ALL)
same(lethe("scope", "create", "other").code, 0)


def said(name, code, *options):
    r = run(*options, name, "--", code)
    same(r.code, 0, r)
    return json.loads(r.out), r.receipt["region"]


def patch(kernel, *rules, scope="default"):
    base = {k["kernel"]: k["kernel_version"] for k in json.loads(lethe("kernel", "status", "--scope", scope, "--json").out)["kernels"]}[kernel]
    r = lethe("kernel", "patch", kernel, json.dumps({"set": list(rules)}), "--base", str(base), "--scope", scope)
    same(r.code, 0, r)


def promoted(*notes, name="agent"):
    r = run("--promote", name, "--", "[lethe.note_add(x) for x in %r]" % (notes,))
    same(r.code, 0, r)
    return r.receipt["region"]


def open_(name="talks"):
    r = lethe("session", "open", name, "--json")
    same(r.code, 0, r)
    return json.loads(r.out)["session"]


def turn(session, code, want=0):
    r = lethe("session", "turn", session, "--", code)
    same(r.code, want, r)
    return json.loads(r.out) if r.out else None


def promote(run_id):
    r = lethe("promote", run_id, "--json")
    same(r.code, 0, r)
    return json.loads(r.out.splitlines()[-1])  # one line a note comes before


def events(region, kind):
    return [e for e in log("--region", region) if e["type"] == kind]


@case
def an_agent_reads_the_context_that_the_operator_sees():  # G-73 M-3: one function makes both
    promoted("issue boot_fails: the board does not boot", "constraint no_downtime: db1 must not go down")
    patch("agent", {"id": "brief", "statement": "Be brief.", "lifecycle": "active"}, {"id": "old", "statement": "Be long.", "lifecycle": "superseded"})
    said("agent", "lethe.memory_save('memory_substrate', {'subject': 'db1', 'predicate': 'runs', 'object': 'in Bern'}, id='where', type='semantic'); say(1)")
    there, region = said("agent", "say(lethe.context_read())")
    here = json.loads(lethe("context", "--json").out)
    del here["version"]
    same(there, here)
    same([x["id"] for x in there["core"]], ["brief"])
    same(sorted(there["belief"]), ["constraints", "issues"])
    same((there["withheld"], there["cut"], there["kernels"]), ([], [], {"agent": 2, "world": 1}))
    read = events(region, "memory.read")[0]["read"]["default"]  # I-77: each part is a read, with its version
    same(read, {"agent_model_kernel": {"kernel": [2]}, "world_model_kernel": {"kernel": [1]}, "memory_substrate": {"where": [1]}})
    same(events(region, "belief.read")[0]["read"]["default"], {"issues": {"boot_fails": [1]}, "constraints": {"no_downtime": [1]}})
    found = json.loads(lethe("audit", "touched", "agent_model_kernel/kernel", "--json").out)
    check(region in json.dumps(found), found)
    there, _ = said("agent", "say(lethe.context_read(query='Bern', lane=1))")
    same([[x["id"] for x in lane["records"]] for lane in there["advisory"]], [["where"], [], []])


@case
def each_part_needs_its_own_grant():  # G-73: nothing without a grant; the refusal names the member of the manifest
    for name, call, member in (("nothing", "lethe.context_read", '"kernels", "canon" or "memory"'), ("nothing", "lethe.note_list", '"notes"'), ("adds", "lethe.note_list", '"read": true'),
                               ("adds", "lethe.pending_list", '"read": true'), ("believes", "lambda: lethe.kernel_read('agent')", '"kernels"'),
                               ("believes", "lambda: lethe.memory_view('memory_substrate', 'where')", '"memory"'), ("knows", "lambda: lethe.memory_refs('memory_substrate', 'where')", '"memory"'),
                               ("remembers", "lambda: lethe.memory_view('knowledge_projections', 'where')", '"memory"')):
        got, _ = said(name, "say(refused(%s))" % call)
        check(got[0] == "not_granted" and member in got[1], name, call, got)
    for name, has in (("believes", {"belief"}), ("knows", {"core"}), ("remembers", {"memory"})):
        there, _ = said(name, "say(lethe.context_read())")
        same({x["tier"] for x in there["withheld"]}, {"core", "belief", "memory", "knowledge", "skill"} - has, name)
        same((bool(there["core"]), bool(there["belief"]), [x["lane"] for x in there["advisory"]]), ("core" in has, "belief" in has, ["memory"] if "memory" in has else []), name)
        same({x["tier"]: x["grant"] for x in there["withheld"]}.get("core", "kernels"), "kernels")


@case
def no_other_scope_is_seen():  # G-73: another scope and one that is not there are refused in the same words
    patch("world", {"id": "secret", "statement": "Nobody else knows.", "lifecycle": "active"}, scope="other")
    promoted("issue other_only: a secret", name="elsewhere")
    got, _ = said("agent", "say([refused(lethe.context_read, scope=s) for s in ('other', 'not-there')])")
    same(got[0][0], "not_granted")
    same(got[0], got[1])
    there, _ = said("elsewhere", "say([lethe.context_read(), lethe.kernel_read('world')._asdict()])")
    same((there[0]["scope"], [x["id"] for x in there[0]["belief"]["issues"]], [x["id"] for x in there[1]["rules"]]), ("other", ["other_only"], ["secret"]))
    there, _ = said("agent", "say(lethe.context_read())")
    check("secret" not in json.dumps(there), there)


@case
def a_context_has_the_bytes_that_it_may_have():  # G-73: bounded, and it says what it leaves out
    promoted(*("issue bulk_%02d: %s" % (i, "x" * 900) for i in range(40)))
    there, _ = said("agent", "say(lethe.context_read(bytes=8192))")
    check(len(json.dumps(there)) < 12000 and there["cut"] == ["issues"], there["cut"])
    check(there["core"] and there["belief"]["constraints"] and there["advisory"][0]["records"], "one part does not starve the others")
    same([json.loads(lethe("context", "--json", "--bytes", "8192").out)[k] for k in ("belief", "cut")], [there["belief"], there["cut"]])
    for bad in (0, 1023, 262145, -1, 1 << 60):
        got, _ = said("agent", "say(refused(lethe.context_read, bytes=%d))" % bad)
        same(got[0], "invalid_params", bad)
    same(lethe("context", "--bytes", "1").code, 2)


@case
def a_session_is_one_run():  # G-75 G-73: turns read the notes of the turns before, and what became of them
    s = open_()
    turn(s, "lethe.note_add('issue disk_full: the disk of db1 is full')")
    there = turn(s, "lethe.note_add('what a nice day'); say(lethe.note_list())")
    same((there["run"], [(n["note"], n["outcome"]) for n in there["notes"]]), (s, [(1, "unprocessed"), (2, "unprocessed")]))
    turns = [n["region"] for n in there["notes"]]
    check(len(set(turns)) == 2 and s not in turns, turns)
    same(promote(s)["committed"], 1)
    there = turn(s, "lethe.note_add('resolve that thing, it is over'); say(lethe.note_list())")
    same([(n["outcome"], n.get("bucket"), n.get("id")) for n in there["notes"]], [("committed", "issues", "disk_full"), ("rejected", None, None), ("unprocessed", None, None)])
    check(not {"raw", "interpreted", "source_ref"} & set(there["notes"][0]), there["notes"][0])
    pages = turn(s, "a = lethe.note_list(limit=2); b = lethe.note_list(after=a.next); say([len(a.notes), a.next, len(b.notes), b.next])")
    same(pages, [2, 2, 1, None])
    # another session of the same skill, another run, sees none of them
    other = open_()
    same(turn(other, "say([lethe.note_list().notes, lethe.pending_list().items])"), [[], []])
    there, alone = said("agent", "lethe.note_add('mine'); say(lethe.note_list())")
    same((there["run"], [n["text"] for n in there["notes"]]), (alone, ["mine"]))
    got, _ = said("above", "lethe.note_add('of the one above'); say(lethe.run('agent', ['say(lethe.note_list())']))")
    same(json.loads(got["output"])["notes"], [])
    # the reads are recorded, with whose notes they were: what the later turns wrote derives from the first
    last = [e for e in log("--type", "note.read") if e["run"] == s]
    same([e["read"]["default"] for e in log("--region", last[1]["region"]) if e["type"] == "belief.read"], [{"issues": {"disk_full": [1]}}])
    same([(x["from"], x["to"], x["by"]) for x in last[0]["notes"]], [(1, 1, turns[0])])
    derived = lethe("audit", "derived", turns[0], "--json")
    check(derived.code in (0, 1) and turns[1].encode() in derived.out, derived)
    lethe("session", "close", s)
    lethe("session", "close", other)
    same(lethe("note", "end", s, "--drop").code, 0)
    same([e["dropped"] for e in log("--type", "run.ended") if e["run"] == s], [1])


@case
def what_waits_is_seen_with_its_reason():  # G-64 G-73
    promoted("issue pump_a_leaks: pump a leaks oil", "issue pump_b_leaks: pump b leaks oil")
    s = open_()
    turn(s, "lethe.note_add('The pump leaks oil issue is fixed.')")
    same(promote(s)["pending"], 1)
    there = turn(s, "say([lethe.pending_list().items, lethe.note_list().notes[0]])")
    item = there[0][0]
    same((item["number"], item["state"], there[1]["outcome"], there[1]["pending"], there[1]["pending_state"]), (1, "open", "pending", item["pending"], "open"))
    check({"pump_a_leaks", "pump_b_leaks"} <= {c["id"] for c in item["now"]["candidates"]}, item)
    shown = json.loads(lethe("pending", "show", str(item["pending"]), "--json").out)
    same({k: v for k, v in item.items() if k not in ("number", "region")}, {k: v for k, v in shown.items() if k in item})
    same(lethe("pending", "bind", str(item["pending"]), "pump_a_leaks").code, 0)
    there = turn(s, "say([lethe.pending_list().items, lethe.note_list().notes[0]])")
    same((there[0], there[1]["pending_state"]), ([], "resolved"))
    lethe("session", "close", s)


@case
def without_belief_a_fate_names_no_row():  # G-73: the right to notes is no way to shared belief
    there, region = said("blind", "lethe.note_add('issue seen_by_none: a thing'); lethe.note_add('The pump leaks oil issue is fixed.'); say(1)")
    same(promote(region)["notes"], 2)
    skill("blind-talks", session={"sections": {}}, notes={"scope": "default", "read": True})
    s = open_("blind-talks")
    turn(s, "lethe.note_add('issue seen_by_none_2: a thing'); lethe.note_add('The pump leaks oil problem is solved.')")
    promote(s)
    there = turn(s, "say([lethe.note_list().notes, lethe.pending_list().items])")
    same(there[0][0]["outcome"], "committed")
    check(not {"id", "bucket", "seq", "message", "state"} & set(there[0][0]) and "pump_" not in json.dumps(there), there)
    lethe("session", "close", s)


@case
def a_turn_that_breaks_its_budget_loses_its_own_notes():  # I-24 G-75
    s = open_()
    turn(s, "lethe.note_add('issue stays_here: noted well')")
    r = lethe("session", "turn", "--timeout", "1s", s, "--", "lethe.note_add('issue goes_away: noted badly'); import time; time.sleep(60)")
    same(r.code, 124, r)
    there = turn(s, "lethe.note_add('issue stays_too: noted later'); say(lethe.note_list())")
    same([n["text"].split(":")[0] for n in there["notes"]], ["issue stays_here", "issue stays_too"])
    same([e["dropped"] for e in log("--type", "note.dropped") if e["run"] == s], [1])
    done = promote(s)
    same((done["notes"], done["committed"]), (2, 2))
    same(lethe("note", "end", s).code, 0)
    same(lethe("verify").code, 0)
    lethe("session", "close", s)


@case
def a_view_hides_what_may_not_be_read():  # G-73 M-17 M-19
    said("agent", "lethe.memory_save('knowledge_projections', {'title': 'about db1', 'text': 'It runs in Bern.'}, id='about', refs=[{'kind': 'memory_substrate', 'id': 'where', 'strength': 'strong'}]); say(1)")
    whole, _ = said("agent", "say([lethe.memory_view('memory_substrate', 'where'), lethe.memory_refs('memory_substrate', 'where')])")
    same((whole[0]["hidden"], [x["id"] for x in whole[0]["lineage"]["incoming"]], [x["id"] for x in whole[1]["incoming"]]), (0, ["about"], ["about"]))
    part, region = said("remembers", "say([lethe.memory_view('memory_substrate', 'where'), lethe.memory_refs('memory_substrate', 'where')])")
    same((part[0]["hidden"], part[0]["lineage"]["incoming"], part[1]["hidden"], part[1]["incoming"]), (1, [], 1, []))
    same(events(region, "memory.read")[0]["read"]["default"], {"memory_substrate": {"where": [1]}})
    _, region = said("agent", "say(lethe.memory_refs('memory_substrate', 'where'))")
    same(events(region, "memory.read")[0]["read"]["default"], {"memory_substrate": {"where": [1]}, "knowledge_projections": {"about": [1]}})


def version(kernel):
    return {k["kernel"]: k["kernel_version"] for k in json.loads(lethe("kernel", "status", "--json").out)["kernels"]}[kernel]


@case
def kernels_hold_typed_statements():  # M-68 G-73: of self and world, with sources; an agent reads them in its region
    r = lethe("kernel", "state", "world", "db1-role", "db1", "role", "primary", "--section", "services", "--source", "memory_substrate/where", "--base", str(version("world")))
    same(r.code, 0, r)
    r = lethe("kernel", "state", "world", "db1-role", "db1", "role", "primary", "--section", "services", "--source", "the runbook", "--base", "1")
    same(r.code, 1, r)  # M-28: a patch of an older version overwrites nothing
    patch("agent", {"id": "skill-sql", "section": "self", "subject": "agent", "predicate": "can read", "object": "SQL", "sources": [{"text": "its skill"}, {"event": 1}], "lifecycle": "active"},
          {"id": "skill-old", "section": "self", "subject": "agent", "predicate": "can read", "object": "COBOL", "sources": [{"kind": "memory_substrate", "id": "where", "version": 1}], "lifecycle": "invalidated"})
    there, region = said("agent", "say([lethe.kernel_read('world', section='services')._asdict(), lethe.kernel_read('agent')._asdict(), lethe.context_read()['core']])")
    same(there[0]["rules"], [{"id": "db1-role", "lifecycle": "active", "object": "primary", "predicate": "role", "section": "services", "sources": [{"id": "where", "kind": "memory_substrate"}], "subject": "db1"}])
    same([x["id"] for x in there[1]["rules"]], ["brief", "old", "skill-old", "skill-sql"])  # old kernels' rules stand beside them
    same([(x["id"], x.get("object")) for x in there[2]], [("brief", None), ("skill-sql", "SQL"), ("db1-role", "primary")])
    same(events(region, "memory.read")[0]["read"]["default"]["world_model_kernel"], {"kernel": [version("world")]})
    pages, _ = said("agent", "a = lethe.kernel_read('agent', limit=3); b = lethe.kernel_read('agent', after=a.next, limit=3); say([[x['id'] for x in a.rules], a.next, [x['id'] for x in b.rules], b.next])")
    same(pages, [["brief", "old", "skill-old"], "skill-old", ["skill-sql"], None])
    same([x["id"] for x in json.loads(lethe("kernel", "show", "world", "--section", "services").out)["rules"]], ["db1-role"])
    check(b"[services] db1 role primary" in lethe("context").out, lethe("context").out)
    same([lethe(verb).code for verb in ("verify", "rebuild", "verify")], [0, 0, 0])
    again, _ = said("agent", "say(lethe.context_read()['core'])")
    same(again, there[2])


@case
def a_statement_that_is_none_is_refused():  # M-68: each message names the field and the rule
    good = {"id": "x", "section": "s", "subject": "a", "predicate": "b", "object": "c", "sources": [{"text": "t"}], "lifecycle": "active"}
    for change, word in (({"section": "S"}, "section"), ({"section": "a" * 33}, "section"), ({"section": 1}, "section"), ({"subject": ""}, "subject"), ({"subject": "a\nb"}, "subject"),
                         ({"predicate": "x" * 513}, "predicate"), ({"object": 3}, "object"), ({"object": "x" * 4097}, "object"), ({"sources": []}, "sources"), ({"sources": "t"}, "sources"),
                         ({"sources": [{"text": "t"}] * 9}, "sources"), ({"sources": [{}]}, "sources[0].kind"), ({"sources": [{"kind": "moon", "id": "x"}]}, "sources[0].kind"),
                         ({"sources": [{"kind": "issues", "id": "X Y"}]}, "sources[0].id"), ({"sources": [{"event": 0}]}, "event"), ({"sources": [{"event": "1"}]}, "event"),
                         ({"sources": [{"text": "t", "kind": "issues"}]}, "sources[0].kind"), ({"statement": "both"}, "statement"), ({"lifecycle": "gone"}, "lifecycle"), ({"id": ""}, "id")):
        r = lethe("kernel", "patch", "world", json.dumps({"set": [dict(good, **change)]}), "--base", str(version("world")))
        check(r.code == 1 and word.encode() in r.err, change, r)
    for missing in good:
        r = lethe("kernel", "patch", "world", json.dumps({"set": [{k: v for k, v in good.items() if k != missing}]}), "--base", str(version("world")))
        check(r.code == 1 and missing.encode() in r.err, missing, r)
    for argv in (("kernel", "state", "world", "x", "a", "b", "c", "--base", "1", "--section", "s"), ("kernel", "state", "world", "x", "a", "b", "c", "--section", "s", "--source", "t"), ("kernel", "state", "world", "x", "a", "b")):
        same(lethe(*argv).code, 2, argv)


main()
