#!/usr/bin/python3
"""Earlier versions: of records, of shared belief, of the context; by the operator and from a region, until they are erased. TAP.

usage: past.py LETHE root|user"""
import json
import sys

from account import use

use(sys.argv[2])

from tap import case, check, lethe, log, main, python_skill, run, same  # noqa: E402

M, K = "memory_substrate", "knowledge_projections"


def call(*argv, code=0, **kw):
    r = lethe(*argv, "--json", **kw)
    same(r.code, code, argv, r)
    return json.loads(r.out.splitlines()[-1])


def refused(code, *argv):
    same(call(*argv, code=1)["error"]["code"], code, argv)


def save(ident, text, **more):
    argv = ["memory", "save", "memory", json.dumps({"subject": ident, "predicate": "lives in", "object": text}), "--id", ident, "--type", "semantic"]
    for name, value in more.items():
        argv += ["--" + name, value]
    return call(*argv)["seq"]


def last():
    return log()[-1]["seq"]


def at(seq):
    return [e["time"] for e in log() if e["seq"] == seq][0]


def load(*argv):
    return call("memory", "load", "memory", *argv)["record"]


def holds():
    for verb in ("verify", "audit"):
        r = lethe(verb)
        same(r.code, 0, r)
    same(call("rebuild")["differed"], 0)


@case
def each_version_of_a_record_is_read_until_it_is_erased():  # M-64
    save("city", "x")
    seqs = [save("home", "Bern"), save("home", "Basel", refs=json.dumps([{"kind": M, "id": "city"}])), save("home", "Chur")]
    for i, place in enumerate(("Bern", "Basel", "Chur"), 1):
        for how in (("--version", str(i)), ("--at", str(seqs[i - 1])), ("--at", at(seqs[i - 1]))):
            r = load("home", *how)
            same((r["payload"]["object"], r["version"], r["last"], r["created"], r["state"]), (place, i, seqs[i - 1], seqs[0], "active"), how)
            same([e["id"] for e in r["refs"]], ["city"] if i == 2 else [], how)
    same(load("home", "--at", str(last())), load("home"))
    refused("no_record", "memory", "load", "memory", "home", "--version", "4")
    refused("no_record", "memory", "load", "memory", "home", "--version", "9007199254740991")
    refused("no_record", "memory", "load", "memory", "home", "--at", str(seqs[0] - 1))
    refused("no_record", "memory", "load", "memory", "nobody", "--version", "1")
    for moment in ("999999", "yesterday", "2001-01-01", "-1", ""):
        refused("bad_query", "memory", "load", "memory", "home", "--at", moment)
    for version in ("0", "-1", "x", "9223372036854775808"):
        same(lethe("memory", "load", "memory", "home", "--version", version).code, 2, version)
    same(lethe("memory", "load", "memory", "home", "--version", "1", "--at", "1").code, 2)
    call("memory", "delete", "memory", "home")
    refused("no_record", "memory", "load", "memory", "home", "--version", "1")
    refused("erased", "memory", "load", "memory", "home", "--at", str(seqs[0]))
    again = save("home", "Thun")
    same(load("home", "--version", "1")["payload"]["object"], "Thun")  # the version of this record, not of the one before
    same(load("home", "--version", "1")["created"], again)
    refused("erased", "memory", "load", "memory", "home", "--at", str(seqs[2]))
    holds()


@case
def belief_and_context_are_those_of_the_moment():  # M-64, M-66
    r = call("note", "begin", "--agent", "scribe")["run"]
    moments = []
    for text in ("issue boot_fails: the board does not boot", "issue boot_fails: the board hangs at boot", "constraint low_cost: stay below 100 euros", "issue boot_fails is fixed",
                 "constraint low_cost: stay below 50 euros"):
        same(lethe("note", "add", r, text).code, 0)
        same(lethe("promote", r).code, 0)
        moments.append(last())
    want = [("boot_fails", "open", 1, "the board does not boot"), ("boot_fails", "open", 2, "the board hangs at boot"), None,
            ("boot_fails", "resolved", 3, "the board hangs at boot"), None]
    for seq, row in zip(moments, want):
        for moment in (str(seq), at(seq)):
            if row:
                shown = call("canon", "show", "issues", "boot_fails", "--at", moment)
                same((shown["id"], shown["state"], shown["row_version"], shown["payload"]["title"]), row, moment)
    same([(x["id"], x["state"], x["version"]) for x in call("canon", "list", "--at", str(moments[2]))["rows"]], [("low_cost", "active", 1), ("boot_fails", "open", 2)])
    same(call("canon", "list", "--at", str(last()))["rows"], call("canon", "list")["rows"])  # aliases and phrases, too
    same(call("canon", "list", "--at", "1")["rows"], [])
    refused("no_record", "canon", "show", "constraints", "low_cost", "--at", str(moments[1]))
    then, now = call("context", "--at", str(moments[2])), call("context")
    same(then["at"], moments[2])
    same([x["payload"]["title"] for x in then["belief"]["issues"]], ["the board hangs at boot"])
    same([x["payload"]["statement"] for x in then["belief"]["constraints"]], ["stay below 100 euros"])
    check("issues" not in now["belief"], now)
    same(dict(call("context", "--at", str(last())), at=None), dict(now, at=None))
    refused("bad_query", "context", "--at", str(moments[2]), "--query", "board")
    call("canon", "erase", "issues", "boot_fails")
    shown = call("canon", "show", "issues", "boot_fails", "--at", str(moments[1]))
    check("payload" not in shown and shown["erased"] is True and "phrases" in shown and not shown["phrases"], shown)
    check(call("context", "--at", str(moments[1]))["belief"]["issues"][0]["erased"] is True)
    holds()


@case
def kernels_and_lanes_are_those_of_the_moment():  # M-64
    call("scope", "create", "team")
    before = last()
    call("kernel", "patch", "agent", json.dumps({"set": [{"id": "r1", "statement": "be brief", "lifecycle": "active"}]}), "--base", "1", "--scope", "team")
    save("old", "Rome", scope="team")
    middle = last()
    call("kernel", "patch", "agent", json.dumps({"set": [{"id": "r1", "statement": "be exact", "lifecycle": "active"}]}), "--base", "2", "--scope", "team")
    save("old", "Pisa", scope="team")
    save("new", "Siena", scope="team")
    c = call("context", "--scope", "team", "--at", str(middle))
    same([x["statement"] for x in c["core"]], ["be brief"])
    same([(x["id"], x["payload"]["object"]) for x in c["advisory"][0]["records"]], [("old", "Rome")])
    c = call("context", "--scope", "team", "--at", str(before))
    same((c["core"], c["belief"], [lane["records"] for lane in c["advisory"]]), ([], {}, [[], [], []]))
    c = call("context", "--scope", "team", "--at", "1")  # the scope was not there
    same((c["core"], c["belief"]), ([], {}))
    call("memory", "delete", "memory", "old", "--scope", "team")
    same([(x["id"], x.get("erased")) for x in call("context", "--scope", "team", "--at", str(middle))["advisory"][0]["records"]], [("old", True)])


@case
def a_region_reads_earlier_versions_of_what_it_may_read():  # M-64
    seqs = [save("shared", "one"), save("shared", "two")]
    save("gone", "was here")
    gone = last()
    call("memory", "delete", "memory", "gone")
    call("scope", "create", "secret")
    save("hidden", "no", scope="secret")
    python_skill("looker", """import json, lethe
M = "memory_substrate"
def get(*a, **kw):
    try:
        return lethe.memory_load(*a, **kw)["payload"]["object"]
    except lethe.LetheError as e:
        return e.code
print(json.dumps([get(M, "shared", version=1), get(M, "shared", version=2), get(M, "shared", at="%d"), get(M, "shared", version=3),
    get(M, "shared", version=0), get(M, "shared", version=-1), get(M, "shared", version=2**53 - 1), get(M, "shared", version=2**63), get(M, "shared", version=10**30),
    get(M, "shared", at="soon"), get(M, "shared", version=1, at="1"), get(M, "gone", version=1), get(M, "gone", at="%d"),
    get(M, "hidden", scope="secret", version=1), get("knowledge_projections", "shared", version=1), get("issues", "shared", version=1), get("agent_model_kernel", "kernel", at="1")]))
lethe.memory_save(M, {"subject": "anna", "predicate": "lives in", "object": "three"}, id="shared", type="semantic")
print(get(M, "shared", version=3), get(M, "shared", version=2), get(M, "shared"))
""" % (seqs[0], gone), memory=[{"scope": "default", "read": [M], "write": [M]}])
    r = run("looker")
    lines = r.out.decode().splitlines()
    got = json.loads(lines[0])
    check(got[7] in ("invalid_params", "parse", "invalid_request", "no_record") and got[8] in ("invalid_params", "parse", "invalid_request", "no_record"), got)
    same(got[:7] + got[9:], ["one", "two", "one", "no_record", "invalid_params", "invalid_params", "no_record", "bad_query", "invalid_params", "no_record", "erased", "not_granted",
                             "not_granted", "not_granted", "not_granted"], r)
    same(lines[1], "three two three")
    read = [e for e in log("--type", "memory.read") if e["region"] == r.receipt["region"]][-1]["read"]
    check("1" in json.dumps(read), read)


@case
def a_region_reads_belief_and_context_of_a_moment():  # M-64, G-73, I-77
    call("scope", "create", "crew")
    r = call("note", "begin", "--agent", "scribe", "--scope", "crew")["run"]
    moments = []
    for text in ("issue pump: the pump leaks", "issue pump: the pump leaks at the valve", "decision new_pump: a new pump is bought", "resolve pump: sealed"):
        same((lethe("note", "add", r, text).code, lethe("promote", r).code), (0, 0))
        moments.append(last())
    python_skill("historian", """import json, lethe
from lethe import canon_read, context_read
def refused(fn, *a, **kw):
    try:
        return fn(*a, **kw)
    except lethe.LetheError as e:
        return e.code
def rows(**kw):
    return [(x["id"], x["state"], x["version"]) for x in canon_read(**kw).rows]
m = %r
print(json.dumps([[rows(at=str(x)) for x in m], canon_read("issues", "pump", at=str(m[0])).rows[0]["payload"], canon_read("issues", "pump").rows[0]["version"],
    rows(at="0"), rows(at="1"), rows(limit=1, at=str(m[2])), canon_read(limit=1, at=str(m[2])).next, rows(after=canon_read(limit=1, at=str(m[2])).next, at=str(m[2])),
    [refused(canon_read, at=x) for x in ("", "soon", "-1", "99999999", "2001-01-01", "2999-01-01", "18446744073709551616", "7d\\0")],
    refused(canon_read, "decisions", "new_pump", at=str(m[1])), refused(canon_read, at=3), refused(context_read, at=3), refused(context_read, scope="default", at="1"),
    refused(context_read, query="pump", at=str(m[0])), context_read(at=str(m[1]))["belief"], context_read(at="0")["belief"], context_read(at=str(m[1]))["at"], "at" in context_read()]))
""" % moments, canon={"scope": "crew"})
    r = run("historian")
    got = json.loads(r.out)
    open1, open2, bought, done = ["pump", "open", 1], ["pump", "open", 2], ["new_pump", "active", 1], ["pump", "resolved", 3]
    by_bucket = sorted([open2, bought], key=lambda x: x[0] != call("canon", "list", "--scope", "crew")["rows"][0]["id"])
    same(got[0][:2], [[open1], [open2]], r)
    same([sorted(x) for x in got[0][2:]], [sorted([open2, bought]), sorted([done, bought])])
    same(got[1:5], [{"title": "the pump leaks"}, 3, [], []])
    same((got[5], got[7]), (by_bucket[:1], by_bucket[1:]), "a page, and the next, of the same moment")
    check(got[6].endswith("/" + by_bucket[0][0]), got[6])
    same(got[8], ["bad_query"] * 7 + ["invalid_params"])
    same(got[9:14], ["no_record", "invalid_params", "invalid_params", "not_granted", "bad_query"])
    same([(k, [x["payload"] for x in v]) for k, v in got[14].items()], [("issues", [{"title": "the pump leaks at the valve"}])])
    same(got[15:], [{}, moments[1], False])
    # What a region learned of an earlier version is recorded as that version.
    read = [e for e in log("--type", "belief.read") if e.get("region") == r.receipt["region"]]
    same([e["read"] for e in read], [{"crew": {"decisions": {"new_pump": [1]}, "issues": {"pump": [1, 2, 3]}}}])
    # Each shim says the moment; the text of an erased row is gone from the past, too.
    python_skill("old-shell", """import os, subprocess, sys
pipe = [int(os.environ[x]) for x in ("LETHE_IN", "LETHE_OUT")]
sys.stdout.write(subprocess.run(["/lethe/bin/lethe-slot", *sys.argv[1:]], pass_fds=pipe, stdout=subprocess.PIPE, text=True).stdout)
""", canon={"scope": "crew"})
    same(json.loads(run("old-shell", "--", "canon", "issues", "pump", "--at", str(moments[1])).out)["rows"][0]["version"], 2)
    call("canon", "erase", "issues", "pump", "--scope", "crew")
    there = json.loads(run("old-shell", "--", "canon", "--at", str(moments[1])).out)["rows"]
    same([("payload" in x, x.get("erased")) for x in there], [(False, True)])
    there = json.loads(run("old-shell", "--", "context", "--at", str(moments[1])).out)
    check("valve" not in json.dumps(there) and there["belief"]["issues"][0]["erased"] is True, there)
    holds()


@case
def moments_that_are_none():  # M-64
    # event 0 is a moment, too: before all rows, and not now
    for argv in (("canon", "list"), ("context",)):
        said = call(*argv, "--scope", "crew", "--at", "0")
        same(said.get("rows", []) or list(said.get("belief", {})), [], argv)
    same(call("context", "--scope", "crew", "--at", "0")["at"], 0)
    for moment, says in (("99999999", "there is no event 99999999: the newest is"), ("18446744073709551616", "the newest is"), ("2999-01-01", "is in the future: the time is 2"),
                         ("2001-01-01", "before the first event"), ("2026-02-30", "neither the number of an event nor a time such as"), ("tomorrow", "nor a time such as"),
                         ("", "nor a time such as"), ("-1", "nor a time such as"), ("1e3", "nor a time such as"), ("2026-11-28T25:00", "nor a time such as")):
        for argv in (("canon", "list"), ("canon", "show", "issues", "pump"), ("context",), ("memory", "load", "memory", "x")):
            r = lethe(*argv, "--scope", "crew", "--at", moment)
            check(r.code == 1 and says in r.err.decode() and "bad_query" in r.err.decode(), argv, moment, r)
    r = lethe("canon", "show", "decisions", "new_pump", "--scope", "crew", "--at", "1")
    check(b"of this scope as of event 1 (no_record)" in r.err, r)


@case
def a_search_finds_the_present_words_alone():  # M-64
    save("word", "formerly Wolverhampton")
    save("word", "Birmingham")
    same(call("memory", "search", "Wolverhampton")["records"], [])
    same(load("word", "--version", "1")["payload"]["object"], "formerly Wolverhampton")


main()
