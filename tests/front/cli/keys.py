#!/usr/bin/python3
"""Sections, handles, keys and gates from outside: real regions, and what they leave behind. TAP.

usage: keys.py LETHE root|user
"""
import json
import os
import re
import subprocess
import sys

from account import use

use(sys.argv[2])

from tap import DIR, ENV, STORE, case, check, lethe, log, main, run, same  # noqa: E402

PYTHON = "/usr/bin/python3"
LAB = "import json, os, sys\nimport lethe\nK = lambda: lethe._pipe.call('hello', {'protocol': 1})\nexec(sys.argv[1])\n"
SECTIONS = {"plan": {"schema": {"type": "object"}, "bytes": "4k"}, "note": {"schema": {"type": "string"}}}


def skill(name, manifest=None, text=LAB, register=True):
    d = os.path.join(DIR, name)
    os.makedirs(d, exist_ok=True)
    with open(os.path.join(d, "SKILL.md"), "w") as f:
        f.write("---\nname: %s\ndescription: A test.\n---\n" % name)
    with open(os.path.join(d, "lethe.json"), "w") as f:
        json.dump(dict({"version": 1, "entry": {"main": [PYTHON, "/skill/main.py"]}, "sections": SECTIONS}, **(manifest or {})), f)
    with open(os.path.join(d, "main.py"), "w") as f:
        f.write(text)
    if register:
        r = lethe("skill", "add", d)
        same(r.code, 0, r)
    return d


def lab(code, *options, skill="lab"):
    r = run(*options, skill, "--", code)
    same(r.code, 0, r)
    return r


def events(r, kind):
    return [e for e in log("--region", r.receipt["region"]) if e["type"] == kind]


def kept(text):
    """Files of the store, its anchor and the receipts that hold these bytes."""
    p = subprocess.run(["grep", "-rlaF", "--", text, DIR], stdout=subprocess.PIPE)
    return [f for f in p.stdout.decode().split() if not re.search(r"/(main\.py|lethe\.json)$", f)]


def put(slot, value, schema=None):
    if schema is not None:
        p = subprocess.run([os.path.abspath(sys.argv[1]), "slot", "define", slot, "--schema", "-"], input=json.dumps(schema).encode(), env=ENV,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        same(p.returncode, 0, p.stderr)
    r = lethe("slot", "put", "--", slot, json.dumps(value))
    same(r.code, 0, r)


skill("lab")
skill("helper")
skill("wide", {"key_scope": "invocation-tree", "sub_skills": ["helper", "narrow"]})
skill("narrow", {"sub_skills": ["helper"]})


@case
def working_state_is_typed():  # I-4, I-6
    r = lab("""out = []
def refused(f):
    try:
        f()
        out.append("ok")
    except lethe.LetheError as e:
        out.append(e.code)
plan = lethe.section("plan")
refused(lambda: lethe.section("none"))
refused(lambda: plan.write([1]))
refused(lambda: plan.write({"a": "x" * 5000}))
refused(lambda: plan.read())
refused(lambda: plan.write({"a": 1}, expect=0))
refused(lambda: plan.write({"a": 2}, expect=0))
out.append(plan.read())
plan.close()
refused(lambda: plan.read())
lethe.result(out)""")
    same(r.receipt["result"], ["undeclared_section", "schema", "too_large", "no_value", "ok", "conflict", {"a": 1}, "stale"])
    codes = {e["code"] for e in events(r, "request.refused")}
    same(codes, {"undeclared_section", "schema", "too_large", "conflict", "stale"})


@case
def a_key_is_nowhere_but_on_the_pipe():  # I-9, I-10
    r = lab("""key = K()["key"]
seen = [a for a in sys.argv if key in a] + [v for v in os.environ.values() if key in v]
for base in ("/work", "/tmp", "/skill"):
    for d, _, files in os.walk(base):
        seen += [f for f in files if key.encode() in open(os.path.join(d, f), "rb").read()]
lethe.section("note").write("a note")
print(key)
lethe.result(seen)""", "--verbose")
    key = r.out.decode().strip()
    check(re.fullmatch("[0-9a-f]{32}", key), r)
    same(r.receipt["result"], [])
    check(key not in r.err.decode(), r.err)
    for text in (key, key.upper()):
        same(kept(text), [])
    p = subprocess.run(["grep", "-rlaP", "".join("\\x" + key[i:i + 2] for i in range(0, 32, 2)), DIR], stdout=subprocess.PIPE)
    same(p.stdout, b"", "its bytes")
    check(lab("print(K()['key'])").out.decode().strip() != key, "two regions, two keys")


@case
def working_state_lives_in_the_region_alone():  # I-2
    r = lab("""with lethe.section("note") as s:
    s.write("canary-" + "section")
open("/work/f", "w").write("canary-" + "scratch")
lethe.log("canary-" + "log")
lethe.progress(1, None, "canary-" + "progress")
try:
    lethe.write("canary-" + "name", 1)
except lethe.LetheError:
    pass
lethe.result("canary-" + "result")""")
    check(kept("canary-result"), "the search finds what is there")
    for what in ("section", "scratch", "log", "progress"):
        same(kept("canary-" + what), [])
    same(r.receipt["teardown"]["sections"]["locked"], True)


@case
def teardown_unbinds_and_overwrites():  # I-13, I-16, I-17
    r = lab("a, b = lethe.section('plan'), lethe.section('note')\nc = lethe.section('note')\nc.close()\nb.write('x')")
    t = r.receipt["teardown"]
    same(t["handles_unbound"], 2, t)
    s = t["sections"]
    same((s["count"], s["bytes_held"] >= 3 * 4096, s["bytes_overwritten"] == s["bytes_held"], s["bytes_verified"] == s["bytes_held"]), (2, True, True, True), s)
    e = events(r, "region.released")[0]["teardown"]
    same((e["handles_unbound"], e["sections"]), (2, s))


@case
def handles_of_regions_that_are_gone():  # I-8, I-17: replayed by another region, with their own key and with its own
    r = lab("s = lethe.section('plan')\ns.write({})\nprint(K()['key'], s.handle)")
    key, handle = r.out.decode().split()
    code = """out = []
for key in (%r, K()["key"], None):
    try:
        out.append(lethe._pipe.call("handle.read", {"handle": %r, "key": key}))
    except lethe.LetheError as e:
        out.append(e.code)
lethe.result(out)""" % (key, handle)
    same(lab(code).receipt["result"], ["stale"] * 3)


@case
def guessing_ends_a_region():  # I-8
    r = run("lab", "--", """s = lethe.section("plan")
for i in range(1000):
    try:
        lethe._pipe.call("handle.read", {"handle": s.handle, "key": os.urandom(16).hex()})
    except lethe.NoPipe:
        break
    except lethe.LetheError as e:
        assert e.code == "bad_key", e.code""")
    same((r.receipt["outcome"], r.receipt["limiting_resource"]), ("denied", "pipe"), r)
    refused = [e for e in events(r, "request.refused") if e["code"] == "bad_key"]
    same(sum(e["count"] for e in refused), 64, refused)


@case
def keys_do_not_leave():  # I-11
    put("out", 0, {})
    skill("writer", {"writes": ["out"]})
    r = lab("""import base64
key = K()["key"]
raw = bytes.fromhex(key)
out = []
for n, value in enumerate((key, key.upper(), ":".join(key[i:i+2] for i in range(0, 32, 2)), base64.b64encode(raw).decode(), base64.urlsafe_b64encode(b"xy" + raw + b"z").decode(),
              raw.decode("latin-1"), list(raw), {key: 1}, {"deep": [[["see " + key]]]})):
    for what, call in enumerate((lambda: lethe.write("out", value), lambda: lethe.result(value), lambda: lethe.log(json.dumps(value)), lambda: lethe.progress(1, None, json.dumps(value, ensure_ascii=False)))):
        try:
            call()
            out.append([n, what])
        except lethe.LetheError as e:
            if e.code != "key_escape":
                out.append(e.code)
try:
    open("/" + key)
except OSError:
    pass
lethe.write("out", "nothing of it")
print(key)
lethe.result(out)""", skill="writer")
    # numbers in a message are text, and no spelling that is looked for (keyscan.h)
    same(r.receipt["result"], [[6, 2], [6, 3]])
    same(kept(r.out.decode().strip()), [])
    check([d for d in r.receipt["denials"] if "withheld" in d["object"]] or not any("/" in d["object"] for d in r.receipt["denials"]), r.receipt["denials"])
    same(lethe("slot", "get", "out").out.decode().strip(), '"nothing of it"')


@case
def slots_have_no_key_type():  # I-11
    d = skill("typed", {"slots": {"k": {"type": "object", "properties": {"k": {"format": "lethe-key"}}}}}, register=False)
    r = run(d, "--", "")
    same(r.code, 125, r)
    check(b"lethe-key" in r.err, r)
    with open(os.path.join(DIR, "key.json"), "w") as f:
        json.dump({"items": {"format": "lethe-key"}}, f)
    r = lethe("slot", "define", "k", "--schema", os.path.join(DIR, "key.json"))
    check(r.code != 0 and b"lethe-key" in r.err, r)
    skill("holder", {"sections": {"k": {"schema": {"format": "lethe-key"}, "bytes": 64}}})
    same(lab("s = lethe.section('k')\ns.write(K()['key'])\nlethe.result(s.read() == K()['key'])", skill="holder").receipt["result"], True)


OPEN_ABOVE = """above = K().get("tree", [])
try:
    s = lethe.section("note", above[0]["region"])
    s.write("from below")
    lethe.result([len(above), s.read()])
except (IndexError, lethe.LetheError) as e:
    lethe.result([len(above), getattr(e, "code", "nothing")])"""


@case
def a_sub_skill_writes_into_its_parents_section():  # I-27, I-28
    r = lab("""a = lethe.run("helper", [%r])
lethe.result([a["result"], lethe.section("note").read()])""" % OPEN_ABOVE, skill="wide")
    same(r.receipt["result"], [[1, "from below"], "from below"])
    same(events(r, "region.allocated")[0]["grant"]["key_scope"], "invocation-tree")
    a = json.loads(lethe("audit", "regions", "--json").out)
    check("invocation-tree" in json.dumps([x for x in a.get("regions", a.get("rows", [])) if x.get("region") == r.receipt["region"]] or a), a)


@case
def a_childs_writes_are_in_its_parents_record():  # I-75: at the parent's detail, with the region that did it
    skill("watched", {"key_scope": "invocation-tree", "sub_skills": ["helper"], "lineage": "handles"})
    r = lab('a = lethe.run("helper", [%r])\nlethe.result(a["region"])' % OPEN_ABOVE, skill="watched")
    child = r.receipt["result"]
    uses = [(e["type"], e.get("access"), e.get("version"), e["section"], e.get("by")) for e in log("--region", r.receipt["region"]) if e["type"].startswith("handle.")]
    same(uses, [("handle.issued", None, None, "note", child), ("handle.dereferenced", "write", 1, "note", child), ("handle.dereferenced", "read", 1, "note", child),
                ("handle.unbound", None, None, "note", None)])
    same([e["type"] for e in log("--region", child) if e["type"].startswith("handle.")], [], "the child's own detail is `events`")


@case
def evidence_is_not_lent():  # I-76, I-51: what a gate read is its own invocation's, also where the key is lent
    put("lent", {"score": 4}, {"type": "object"})
    skill("judge", {"key_scope": "invocation-tree", "sub_skills": ["helper"], "reads": ["lent"], "gates": [{"slot": "lent", "schema": {"required": ["score"]}}]})
    look = """above = K()["tree"][0]
got = [[s["name"] for s in above["sections"]]]
for method, params in (("handle.open", {"section": "gate.lent", "region": above["region"]}), ("handle.read", {"handle": %r})):
    try:
        got.append(lethe._pipe.call(method, dict(params, key=above["key"])))
    except lethe.LetheError as e:
        got.append(e.code)
lethe.result(got)"""
    r = lab("""s = lethe.section("gate.lent")
a = lethe.run("helper", [%r %% s.handle])
lethe.result([s.read(), a["result"]])""" % look, skill="judge")
    same(r.receipt["result"][0], {"score": 4}, r)
    check("gate.lent" not in r.receipt["result"][1][0] and "note" in r.receipt["result"][1][0], r)
    same(r.receipt["result"][1][1:], ["key_scope", "key_scope"], r)


@case
def siblings_stay_closed_to_each_other():  # I-8, I-21, I-27: also where both may use the key of the one above, and one hands its handle to the other
    one = """mine = lethe.section("note")
mine.write("the one's own")
above = lethe.section("note", K()["tree"][0]["region"])
above.write(mine.handle)
import time
while above.read() != "done": time.sleep(0.05)
lethe.result(mine.read())"""
    other = """import time
hello = K()
above = lethe.section("note", hello["tree"][0]["region"])
out = [len(hello["tree"])]
while True:
    try:
        handle = above.read()
        break
    except lethe.LetheError: time.sleep(0.05)
for key in (hello["key"], hello["tree"][0]["key"], None):
    for method, more in (("handle.read", {}), ("handle.write", {"value": "taken"}), ("handle.close", {})):
        try:
            lethe._pipe.call(method, dict(more, handle=handle, key=key))
            out.append("had")
        except lethe.LetheError as e:
            out.append(e.code)
    try:
        lethe._pipe.call("handle.open", {"section": "note", "region": handle.split(".")[0], "key": key})
        out.append("had")
    except lethe.LetheError as e:
        out.append(e.code)
above.write("done")
lethe.result(out)"""
    r = lab("""K()
answers = os.fdopen(3)
for i, code in enumerate((%r, %r)):
    os.write(4, (json.dumps({"jsonrpc": "2.0", "id": i, "method": "skill.run", "params": {"skill": "helper", "args": [code]}}) + "\\n").encode())
got = [json.loads(answers.readline()) for i in range(2)]
lethe.result({str(a["id"]): a["result"].get("result") for a in got})""" % (one, other), "--memory", "512m", skill="wide")
    same(r.receipt["result"], {"0": "the one's own", "1": [1] + ["bad_key"] * 12})
    sibling = [e["region"] for e in log("--type", "region.allocated") if e.get("parent") == r.receipt["region"]]
    refused = [e for s in sibling for e in log("--region", s) if e["type"] == "request.refused" and e["code"] == "bad_key"]
    same(sum(e["count"] for e in refused), 12, "each refusal is recorded")


@case
def without_the_scope_nobody_has_the_key():  # I-26
    r = lab('lethe.result(lethe.run("helper", [%r])["result"])' % OPEN_ABOVE, skill="narrow")
    same(r.receipt["result"], [0, "nothing"])
    same(events(r, "region.allocated")[0]["grant"]["key_scope"], "invocation")
    # the parent's key, carried there as an argument, is stopped on the way
    r = lab("""try:
    lethe.run("helper", ["print(1)", K()["key"]])
except lethe.LetheError as e:
    lethe.result(e.code)""", skill="narrow")
    same(r.receipt["result"], "key_escape")


@case
def sections_count_against_the_memory():  # I-5
    big = {"s%d" % i: {"schema": {}, "bytes": "512k"} for i in range(14)}
    skill("much", {"sections": big, "budgets": {"memory": "4m"}})
    r = run("much", "--", "")
    same(r.code, 125, r)
    check(b"sections take" in r.err, r)
    # One request that is too large with the sections, and not without: also where there is no control group, it is never carried out.
    ask = "x = bytearray(44 << 20)\n"
    if os.getuid() != 0:  # asked for and not used
        ask = "import mmap\nx = mmap.mmap(-1, 44 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
    skill("much", {"sections": {}})
    data = run("--proc", "much", "--", ask + "lethe.result(int(open('/proc/self/status').read().split('VmData:')[1].split()[0]) << 10)").receipt["result"]
    for n, outcome in ((0, "exited"), (14, "out_of_region")):
        skill("much", {"sections": {"s%d" % i: {"schema": {}, "bytes": "512k"} for i in range(n)}, "budgets": {"memory": data + (4 << 20)}})
        r = run("much", "--", ask + "lethe.result(1)")
        same((r.receipt["outcome"], r.receipt["result"] if n == 0 else None), (outcome, 1 if n == 0 else None), r)
    # What gates read counts, too.
    put("large", "x" * 100000, {})
    gated = {"reads": ["large"], "gates": [{"slot": "large", "schema": {}}], "sections": {"s%d" % i: {"schema": {}, "bytes": "512k"} for i in range(5)}}
    for memory, code in (("8m", 0), ("3600k", 125)):
        skill("much", dict(gated, budgets={"memory": memory}), "", register=False)
        r = run(os.path.join(DIR, "much"), "--", "")
        check((r.code == 125) == (code == 125), r)
        check(code == 0 or (b"sections take" in r.err and r.receipt["outcome"] == "setup_failed"), r)
    if os.getuid() != 0:
        return  # without a control group the sum of the processes is looked at now and then, and not to the page
    use = "x = bytearray(32 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\n"
    skill("much", {"sections": {}})
    peak = run("much", "--", use).receipt["usage"]["peak_memory_bytes"]
    skill("much", {"sections": big})
    check(run("much", "--", use).receipt["usage"]["peak_memory_bytes"] - peak > 6 << 20, "sections are in the peak")
    # as much as it takes without sections, and a little more: with them it is too much
    for sections, outcome in (({}, "exited"), (big, "out_of_region")):
        skill("much", {"sections": sections, "budgets": {"memory": peak + (5 << 20)}})
        r = run("much", "--", use)
        same(r.receipt["outcome"], outcome, r)


@case
def gates():  # I-50, I-51, I-52
    put("review", {"score": 1}, {"type": "object"})
    skill("gated", {"reads": ["review"], "gates": [{"slot": "review", "schema": {"properties": {"score": {"minimum": 3}}, "required": ["score"]}}]})
    look = "s = lethe.section('gate.review')\nlethe.result(s.read())"
    r = run("gated", "--", look)
    same((r.code, r.receipt["outcome"]), (125, "denied"), r)
    check(b"gate review" in r.err, r)
    put("review", {"score": 4})
    r = lab(look, skill="gated")
    same(r.receipt["result"], {"score": 4})
    e = events(r, "gate.evaluated")
    same([(x["slot"], x["version"], x["verdict"]) for x in e], [("review", 2, "pass")])
    r = lab("""s = lethe.section("gate.review")
try:
    s.write({"score": 9})
except lethe.LetheError as e:
    lethe.result(e.code)""", skill="gated")
    same(r.receipt["result"], "read_only")
    put("review", {"score": 2})
    same(run("gated", "--", look).code, 125, "what an earlier invocation read is no evidence now")
    # I-76: what was written longer ago than the gate allows keeps it closed; the age is recorded
    put("review", {"score": 5})
    for age, code in (("87600h", 0), ("1us", 125)):
        skill("gated", {"reads": ["review"], "gates": [{"slot": "review", "schema": True, "max_age": age}]})
        r = run("gated", "--", look)
        same(r.code, code, r)
        e = [x for x in log("--type", "gate.evaluated")][-1]
        same((e["verdict"], e.get("reason"), e["age_usec"] > 0), ("fail", "too_old", True) if code else ("pass", None, True), e)
        check(not code or b"gate review: the slot's value is older than the gate's max_age" in r.err, r)
    # and no other region has it: neither under its own name nor by asking for it
    r = lab("""try:
    lethe.section("gate.review")
except lethe.LetheError as e:
    lethe.result(e.code)""")
    same(r.receipt["result"], "undeclared_section")


@case
def lineage_detail_changes_no_outcome():  # I-36, I-37, I-38
    story = """out = []
for f in (lambda: s.write({"a": 1}), lambda: s.write(1), lambda: s.read(), lambda: lethe.read_handle(s.handle + "1"), lambda: s.close(), lambda: s.read(),
          lambda: lethe.section("note").write("left open"), lambda: lethe.result(K()["key"])):
    try:
        out.append(f() and 1)
    except lethe.LetheError as e:
        out.append(e.code)
lethe.result(out)"""
    seen = []
    for level in ("stats", "events", "handles"):
        skill("detail", {"lineage": level})
        r = lab("s = lethe.section('plan')\n" + story, skill="detail")
        t = r.receipt["teardown"]
        seen.append((r.receipt["outcome"], r.receipt["result"], t["handles_unbound"], t["grade"], t["sections"]["bytes_verified"]))
        traces = [e["type"] for e in log("--region", r.receipt["region"]) if e["type"].startswith("handle.")]
        same(bool(traces), level == "handles", traces)
        if traces:
            same(sorted(set(traces)), ["handle." + w for w in ("closed", "dereferenced", "issued", "refused", "unbound")])
    same(seen[0], seen[1])
    same(seen[1], seen[2])


@case
def sections_from_a_shell():
    d = skill("shell", {"entry": {"main": ["/bin/sh", "/skill/main.py"]}}, """set -eu
lethe-section list
lethe-section write note --text 'a "note"'
lethe-section read note --raw
lethe-section write plan '{"n":1}' --expect 0
h=$(lethe-section open plan)
lethe-section write "$h" '{"n":2}'
lethe-section read "$h" --version
lethe-section close "$h"
lethe-section read "$h" || echo "ended $?"
lethe-section read none || echo "ended $?"
i=0
while [ $i -lt 30 ]; do lethe-section write plan 7 2>/dev/null || i=$((i + 1)); done
lethe-section read plan
lethe-slot hello
""")
    r = run(d)
    same(r.code, 0, r)
    lines = r.out.decode().splitlines()
    same(lines[:6], ["note\trw\t65536" if "note" in lines[0] else "plan\trw\t4096", "plan\trw\t4096" if "plan" in lines[1] else "note\trw\t65536", "1", 'a "note"', "1", "2"], r)
    same(lines[6:11], ["2", "ended 1", "ended 1", '{"n":2}', lines[10]], r)
    check('"key":""' in lines[10] and not re.search(r"\b[0-9a-f]{32}\b", lines[10]), "no key on a terminal", lines[10])
    same(r.receipt["teardown"]["handles_unbound"], 0, "no handle was left open by a command, not by a refused one either")


@case
def the_record_holds():
    r = lethe("audit")
    same(r.code, 0, r)
    check(os.path.isdir(STORE))


main()
