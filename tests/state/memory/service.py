#!/usr/bin/env python3
"""The typed memory service at the command line: records, reads, scopes, kernels, deletion, working state. TAP.

usage: service.py LETHE
"""
import hashlib
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "front", "cli"))
from tap import DIR, ENV, LETHE, STORE, case, check, lethe, log, main, same, start_daemon, stop_daemon, wait_for  # noqa: E402

FACT = {"subject": "Ann", "predicate": "has birthday on", "object": "11 March"}
PAGE = {"title": "a page", "text": "some words about it"}
HOW = {"name": "bake", "steps": [{"order": 1, "instruction": "mix"}, {"order": 2, "instruction": "wait"}]}


def call(verb, *argv, code=0, **kw):
    r = lethe(verb, *argv, "--json", **kw)
    same(r.code, code, verb, *argv, r.err)
    return json.loads(r.out) if code == 0 and r.out else r.err.decode()


def save(family, payload, ident=None, refs=None, kind=None, scope=None, code=0, more=()):
    argv = ["save", family, json.dumps(payload)]
    for name, v in (("--id", ident), ("--type", kind), ("--scope", scope), ("--refs", json.dumps(refs) if refs is not None else None)):
        argv += [name, v] if v is not None else []
    return call("memory", *argv, *more, code=code)


def fact(ident, refs=None, **kw):
    return save("memory", FACT, ident, refs, "semantic", **kw)


def ref(ident, strength="strong", role="ref", kind="memory_substrate", **more):
    return dict({"kind": kind, "id": ident, "strength": strength, "role": role}, **more)


def load(family, ident, code=0, *more):
    r = call("memory", "load", family, ident, *more, code=code)
    return r["record"] if code == 0 else r


def events():
    return len(log())


@case
def only_the_families_there_are():  # M-1, M-2, M-3
    for name in ("memory", "memory_substrate", "knowledge", "knowledge_projections", "skill", "skill_artifacts"):
        payload = FACT if name.startswith("mem") else PAGE if name.startswith("know") else HOW
        save(name, payload, "family-" + name.replace("_", "-"), kind="semantic" if name.startswith("mem") else None)
    for name in ("agent_model_kernel", "world_model_kernel", "working_state", "issues", "dreams", ""):
        check("none of" in save(name, FACT, "x", code=1), name)


@case
def saving_says_which_it_was_and_counts():  # M-10, M-16, M-32
    first = fact("counted")
    same((first["created"], first["record_version"]), (True, 1))
    second = fact("counted")
    same((second["created"], second["record_version"]), (False, 2))
    same([(c["change"], c["version"]) for c in call("memory", "history", "memory", "counted")["changes"]], [("created", 1), ("updated", 2)])
    check(all(c["time"] and c["who"] == "uid:%d" % os.geteuid() and c["seq"] > 0 for c in call("memory", "history", "memory", "counted")["changes"]))
    check("expected 0" in fact("counted", code=1, more=("--expect", "0")))
    same(fact("counted", more=("--expect", "2"))["record_version"], 3)
    check(save("memory", {"summary": "s"}, "counted", kind="episodic", code=1).count("type of a record never changes"))


@case
def what_is_not_in_order_writes_nothing():  # M-5, M-6, M-8, M-11, M-18, M-23, M-30, M-57
    fact("base")
    before = load("memory", "base")
    rows = [
        (dict(FACT, confidence=2), None, "0 to 1"), (dict(FACT, object=""), None, "empty"), (dict(FACT, extra=1), None, "no field"),
        ({"subject": "s"}, None, "missing"), ("text", None, "not an object"),
        (FACT, [ref("nothing")], "not there"), (FACT, [ref("base")], "itself"), (FACT, [ref("base", kind="agent_model_kernel")], "cannot refer"),
        (FACT, [ref("base", kind="working_state")], "cannot refer"), (FACT, [ref("base", kind="issues")], "cannot refer"),
        (FACT, [ref("counted", scope="elsewhere")], "own scope"), (FACT, [ref("counted", strength="iron")], "strong or weak"), (FACT, {"a": 1}, "not an array"),
    ] + [(dict(FACT, **{name: 1}), None, "filled in by the service")
         for name in ("support", "lineage", "invalidation", "cleanup", "version", "state", "lifecycle", "created", "scope")]
    for payload, refs, words in rows:
        said = save("memory", payload, "base", refs, "semantic", code=1)
        check(words in said, payload, refs, said)
        same(load("memory", "base"), before)
    check("another step" in save("skill", dict(HOW, steps=HOW["steps"] + [{"order": 1, "instruction": "x"}]), "bake", code=1))
    check("no type" in save("knowledge", PAGE, "p", kind="semantic", code=1))
    refused = [e for e in log("--type", "mutation.refused")]
    check(len(refused) >= len(rows) and not any("Ann" in json.dumps(e) for e in refused), "what was refused is not in the ledger")


@case
def a_skill_artifact_is_advice():  # M-8
    save("skill", HOW, "bake")
    same(lethe("run", "bake").code, 127)
    check(not json.loads(lethe("skill", "list", "--json").out)["skills"])


@case
def load_gives_the_raw_record_or_an_error():  # M-12
    record = load("memory", "base")
    same(record["payload"], FACT)
    check(not {"support", "lineage", "invalidation", "cleanup"} & set(record), record)
    for argv in (("memory", "unknown"), ("knowledge", "base"), ("memory", "Not An Id")):
        load(*argv, 1)
    load("memory", "base", 1, "--scope", "nowhere")


@case
def list_is_typed_and_in_order():  # M-13, M-33
    n = events()
    rows = call("memory", "list")["records"]
    same([(r["created"], r["id"]) for r in rows], sorted((r["created"], r["id"]) for r in rows))
    same({r["kind"] for r in call("memory", "list", "kind:knowledge")["records"]}, {"knowledge_projections"})
    same([r["id"] for r in call("memory", "list", "id:base")["records"]], ["base"])
    fact("referring", [ref("base")])
    same([r["id"] for r in call("memory", "list", "ref:memory_substrate/base")["records"]], ["referring"])
    save("knowledge", PAGE, "base")  # another family's
    same(call("memory", "list", "ref:knowledge_projections/base")["records"], [])
    same(call("memory", "list", "created<2001-01-01")["records"], [])
    row = call("memory", "list", "id:referring")["records"][0]
    same(row["text"], "Ann has birthday on 11 March")
    check("referring" in [r["id"] for r in call("memory", "list", 'prefix:"Ann has birthday"')["records"]])
    same(call("memory", "list", 'prefix:"11 March"')["records"], [])
    check("referring" in [r["id"] for r in call("memory", "search", '"birthday on 11"')["records"]])
    for bad in ("zork:1", "kind:", "kind:zork", "created>yesterday", "words"):
        check("filter" in call("memory", "list", bad, code=1), bad)
    same(events(), n + 2)


@case
def search_ranks_and_does_not_widen():  # M-14, M-33
    for i in range(3):
        save("knowledge", {"title": "heron %d" % i, "text": "heron " * (i + 1) + "pond " * 5}, "heron-%d" % i)
    n = events()
    rows = call("memory", "search", "heron")["records"]
    same({r["id"] for r in rows}, {"heron-0", "heron-1", "heron-2"})
    same([(-r["score"], r["id"]) for r in rows], sorted((-r["score"], r["id"]) for r in rows))
    same(len(call("memory", "search", "heron", "--limit", "2")["records"]), 2)
    same([r["id"] for r in call("memory", "search", 'heron "heron 1"')["records"]], ["heron-1"])
    same([r["id"] for r in call("memory", "search", "heron id:heron-2")["records"]], ["heron-2"])
    same(call("memory", "search", "nothinglikethat")["records"], [])
    call("scope", "create", "egrets")
    for ident in ("egret-b", "egret-a", "egret-c"):  # made in another order than that of their ids
        save("knowledge", {"title": ident, "text": "pond"}, ident, scope="egrets")
    save("memory", {"summary": "pond"}, "egret-aa", kind="episodic", scope="egrets")
    for query, most, ids in (("kind:knowledge", "20", "a b c"), ("kind:knowledge", "2", "a b"), ("state:active", "3", "a aa b"), ("state:active", "100", "a aa b c")):
        rows = call("memory", "search", query, "--limit", most, "--scope", "egrets")["records"]
        same([(r["id"], r["score"]) for r in rows], [("egret-" + i, 0) for i in ids.split()], "fields alone: equal scores, by id")
    n = events()
    for bad in ("", "   ", '"open', "zork:x heron", "heron AND pond"):
        check("query" in call("memory", "search", bad, code=1), bad)
    same(lethe("memory", "search", "heron", "--limit", "101").code, 2)
    same(events(), n)


@case
def views_are_computed_when_they_are_read():  # M-17, M-19, M-20, M-58, M-33
    fact("seen")
    view = lambda: call("memory", "view", "memory", "seen")["view"]
    same(view()["support"], {"strong": 0, "weak": 0, "score": 0})
    save("knowledge", PAGE, "viewer", [ref("seen", role="about"), ref("seen", "weak", "mentions")])
    n = events()
    same(view()["support"], {"strong": 1, "weak": 1, "score": 1.35})
    same([(e["kind"], e["id"], e["role"]) for e in view()["lineage"]["incoming"]],
         [("knowledge_projections", "viewer", "about"), ("knowledge_projections", "viewer", "mentions")])
    same(events(), n)
    save("knowledge", PAGE, "viewer", [])
    same(view()["support"]["score"], 0)
    rows = call("memory", "view", "memory", "seen")["view"]
    same((rows["invalidation"], rows["cleanup"]), ([], []))
    # What has the id of one that was deleted is another: its lineage begins with itself, and the history (M-16) has both
    fact("twice", [])
    call("memory", "delete", "memory", "twice")
    seq = fact("twice", [])["seq"]
    same(call("memory", "view", "memory", "twice")["view"]["lineage"], {"events": [seq], "incoming": []})
    same([c["change"] for c in call("memory", "history", "memory", "twice")["changes"]], ["created", "deleted", "created"])


@case
def questions_to_the_refgraph():  # M-7, M-57, M-58
    for ident, refs in (("g-a", []), ("g-b", [ref("g-a"), ref("g-a"), ref("g-a", "weak", "also")]), ("g-c", [ref("g-b", role="extends")]), ("g-d", [ref("g-c", "weak")])):
        fact(ident, refs)
    refs = call("memory", "refs", "memory", "g-a")["refs"]
    same([(e["id"], e["strength"], e["role"]) for e in refs["incoming"]], [("g-b", "weak", "also"), ("g-b", "strong", "ref")])
    same([e["id"] for e in refs["blockers"]], ["g-b", "g-b"])
    same([(e["id"], e["depth"], e["holds"]) for e in refs["dependents"]], [("g-b", 1, True), ("g-c", 2, True), ("g-d", 3, False)])
    same([e["id"] for e in call("memory", "refs", "memory", "g-b")["refs"]["outgoing"]], ["g-a", "g-a"])
    reach = call("memory", "refs", "memory", "g-d", "--depth", "2")["refs"]
    same([(n["id"], n["depth"]) for n in reach["nodes"]], [("g-d", 0), ("g-c", 1), ("g-b", 2)])
    same(len(call("memory", "refs", "memory", "g-a", "--depth", "16", "--incoming")["refs"]["nodes"]), 4)
    same(call("memory", "refs")["refs"], [])
    call("memory", "delete", "memory", "g-d")
    fact("g-e", [ref("seen", "weak")])
    call("memory", "delete", "memory", "seen")
    same([(e["id"], e["to_id"], e["state"]) for e in call("memory", "refs")["refs"]], [("g-e", "seen", "deleted")])
    same([e["id"] for e in call("memory", "refs", "memory", "g-e")["refs"]["broken"]], ["seen"])
    same([e["cause"] for e in call("memory", "view", "memory", "g-e")["view"]["invalidation"]], ["deleted"])


@case
def a_scope_is_a_world_of_its_own():  # M-21, M-22, M-23, M-24, M-25, M-26
    call("scope", "create", "other")
    same(lethe("scope", "create", "other").code, 1)
    same(sorted(k["kernel"] for k in call("kernel", "status", "--scope", "other")["kernels"]), ["agent", "world"])
    fact("base", scope="other", refs=[])  # the same id is another record
    fact("secret", scope="other")
    load("memory", "secret", 1)
    check("not there" in fact("crossing", [ref("secret")], code=1))
    check("own scope" in fact("crossing", [ref("secret", scope="other")], code=1))
    same(call("memory", "search", "birthday", "--scope", "other")["records"].__len__(), 2)
    call("kernel", "patch", "agent", '{"set":[{"id":"r","statement":"s","lifecycle":"active"}]}', "--base", "1", "--scope", "other")
    same(call("scope", "delete", "other", "--reason", "over")["records"], 4)
    for argv in (("memory", "list"), ("memory", "search", "birthday"), ("kernel", "status"), ("context",)):
        same(lethe(*argv, "--scope", "other").code, 1, argv)
    call("scope", "create", "other")
    same(call("memory", "list", "--scope", "other")["records"], [])
    same(call("kernel", "show", "agent", "--scope", "other")["rules"], [])
    call("memory", "history", "memory", "secret", "--scope", "other", code=1)
    same(load("memory", "base")["id"], "base")
    same(lethe("audit").code, 0)
    same(lethe("verify").code, 0)


@case
def kernels_change_by_patches_alone():  # M-27, M-28, M-29, M-30, M-31
    rule = lambda i, s, l="active": {"id": i, "statement": s, "lifecycle": l}
    patch = lambda kernel, p, base, *more, code=0: call("kernel", "patch" if not more or more[0] != "merge" else "merge", kernel, json.dumps(p), "--base", base,
                                                        *[m for m in more if m != "merge"], code=code)
    same(patch("agent", {"set": [rule("polite", "be polite"), rule("old", "x", "superseded")]}, "1")["kernel_version"], 2)
    r = lethe("kernel", "patch", "agent", json.dumps({"set": [rule("brief", "be brief")]}), "--base", "1", "--json")
    same(r.code, 1)
    same([(c["id"], c["change"]) for c in json.loads(r.out)["conflicts"]], [("old", "added"), ("polite", "added")])
    same(patch("agent", {"set": [rule("brief", "be brief")]}, "1", "merge")["kernel_version"], 3)
    r = lethe("kernel", "merge", "agent", json.dumps({"set": [rule("polite", "be kind")]}), "--base", "1", "--json")
    same((r.code, [c["id"] for c in json.loads(r.out)["conflicts"]]), (1, ["polite"]))
    same(patch("agent", {"set": [rule("polite", "be kind")]}, "1", "merge", "--resolve", '{"polite":"mine"}')["kernel_version"], 4)
    same([c["change"] for c in call("kernel", "diff", "agent", "3", "4")["changes"]], ["changed"])
    same(call("kernel", "show", "agent", "--at", "2")["rules"][1]["statement"], "be polite")
    entries = call("kernel", "log", "agent")["log"]
    same([(e["version"], e["base"]) for e in entries], [(2, 1), (3, 2), (4, 3)])
    check(all(e["before"] == b["after"] for b, e in zip(entries, entries[1:])), entries)
    check(entries[0]["before"] is None and all(len(e["after"]["sha256"]) == 64 for e in entries), entries)  # there was nothing yet
    same([c["id"] for c in call("context")["core"]], ["brief", "polite"])  # not what is superseded
    patch("world", {"set": [rule("w", "it rains")], "refs": [ref("base")]}, "1")
    check("kernel" in call("memory", "delete", "memory", "base", "--cascade", code=1))
    for argv in (("memory", "delete", "agent_model_kernel", "kernel"), ("memory", "save", "agent_model_kernel", "{}"), ("digest", "why", "agent_model_kernel", "kernel")):
        same(lethe(*argv).code, 1, argv)
    for bad in ({"set": [rule("Bad Id", "x")]}, {"set": [rule("a", "x", "archived")]}, {"remove": ["nothing"]}, {"force": True}, []):
        patch("agent", bad, "4", code=1)
    patch("agent", {"set": [rule("a", "x")]}, "0", code=1)
    patch("agent", {"set": [rule("a", "x")]}, "99", code=1)


# M-28: what a kernel refers to is put together as its rules are, and nothing of another's is overwritten
@case
def references_of_kernels_are_merged():
    call("scope", "create", "merging")
    here = ("--scope", "merging")
    for ident in "abc":
        fact(ident, scope="merging")
    patch = lambda verb, refs, base, *more, code=0: lethe("kernel", verb, "agent", json.dumps({"refs": refs}), "--base", base, *here, *more, "--json").out
    told = lambda out: json.loads(out)
    names = lambda: [(r["id"], r.get("strength", "strong")) for r in call("kernel", "show", "agent", *here)["refs"]]
    same(told(patch("patch", [ref("a")], "1"))["kernel_version"], 2)
    late = told(patch("patch", [ref("b")], "1"))
    same((late["error"]["code"], [(c["id"], c["change"]) for c in late["conflicts"]]), ("conflict", [("memory_substrate/a ref", "added")]))
    same(told(patch("merge", [ref("b")], "1"))["kernel_version"], 3)
    same(names(), [("a", "strong"), ("b", "strong")])
    same(told(patch("patch", [ref("a", strength="weak"), ref("b")], "3"))["kernel_version"], 4)
    both = told(patch("merge", [ref("b"), ref("c")], "3"))  # one took a away, the other made it weak
    same((both["error"]["code"], [c["id"] for c in both["conflicts"]]), ("conflict", ["memory_substrate/a ref"]))
    for resolve, word in (('{"memory_substrate/a ref":"ours"}', "mine or theirs"), ('{"memory_substrate/b ref":"mine"}', "both sides"), ("[]", "not an object"),
                          ('{"memory_substrate/a ref":1}', "mine or theirs")):
        wrong = told(patch("merge", [ref("b"), ref("c")], "3", "--resolve", resolve))["error"]
        check(wrong["code"] == "bad_payload" and word in wrong["message"], resolve, wrong)
    same(told(patch("merge", [ref("b"), ref("c")], "3", "--resolve", '{"memory_substrate/a ref":"theirs"}'))["kernel_version"], 5)
    same(names(), [("a", "weak"), ("b", "strong"), ("c", "strong")])
    for bad, code in (([1], "bad_ref"), ([{"kind": "memory_substrate"}], "bad_ref"), ([ref("a", scope="default")], "cross_scope"), ([ref("a", foo=1)], "bad_ref")):
        same(told(patch("merge", bad, "4"))["error"]["code"], code, bad)
    twice = {"set": [{"id": "r", "statement": s, "lifecycle": "active"} for s in "xy"]}
    check(b"set already" in lethe("kernel", "patch", "agent", json.dumps(twice), "--base", "5", *here).err)
    for argv in (("show", "agent", "--at", "0"), ("diff", "agent", "0"), ("diff", "agent", "1", "0")):
        same(lethe("kernel", *argv, *here).code, 2, argv)
    same(lethe("verify").code, 0)


# M-11, M-12, M-14: with --json a refusal is an object with its code, and its words for people have the code, too
@case
def refusals_have_their_code():
    fact("coded")
    here = '[{"kind":"memory_substrate","id":"%s"%s}]'
    for code, argv in (("bad_payload", ("save", "memory", "{}", "--type", "episodic")), ("syntax", ("save", "memory", "{")),
                       ("service_metadata", ("save", "memory", '{"summary":"s","state":"archived"}', "--type", "episodic")),
                       ("bad_operation", ("save", "dreams", "{}")), ("bad_operation", ("delete", "agent_model_kernel", "kernel")),
                       ("bad_ref", ("save", "knowledge", json.dumps(PAGE), "--refs", here % ("nowhere", ""))),
                       ("cross_scope", ("save", "knowledge", json.dumps(PAGE), "--refs", here % ("coded", ',"scope":"elsewhere"'))),
                       ("conflict", ("save", "memory", json.dumps(FACT), "--type", "semantic", "--id", "coded", "--expect", "7")),
                       ("bad_name", ("save", "memory", json.dumps(FACT), "--type", "semantic", "--id", "A b")), ("no_record", ("load", "memory", "nobody")),
                       ("no_scope", ("load", "memory", "coded", "--scope", "nowhere")), ("bad_state", ("restore", "memory", "coded")),
                       ("bad_query", ("search", "")), ("bad_query", ("list", "words"))):
        r = lethe("memory", *argv, "--json")
        said = json.loads(r.out)
        same((r.code, said["error"]["code"], said["version"]), (1, code, 1), argv)
        check(said["error"]["message"] and ("(%s)" % code).encode() in r.err, r)
        same(lethe("memory", *argv).out, b"", argv)
    call("scope", "create", "coded")
    patch = ("kernel", "patch", "world", '{"set":[{"id":"r","statement":"s","lifecycle":"active"}]}', "--base", "1", "--scope", "coded")
    call(*patch)
    stale = json.loads(lethe(*patch, "--json").out)
    same((stale["error"]["code"], [c["id"] for c in stale["conflicts"]]), ("conflict", ["r"]))


@case
def deletion_says_who_depends_and_leaves_a_trace():  # M-15, M-36, M-38, M-52, M-53, M-54, M-55
    for ident, refs in (("d-root", []), ("d-one", [ref("d-root")]), ("d-two", [ref("d-one")]), ("d-weak", [ref("d-root", "weak")])):
        fact(ident, refs)
    same([(d["id"], d["depth"], d["holds"]) for d in call("memory", "delete", "memory", "d-root", "--check")["dependents"]],
         [("d-one", 1, True), ("d-weak", 1, False), ("d-two", 2, True)])
    check("2 records hold" in call("memory", "delete", "memory", "d-root", code=1))
    refused = json.loads(lethe("memory", "delete", "memory", "d-root", "--json").out)
    same((refused["error"]["code"], [d["id"] for d in refused["dependents"]], refused["version"]), ("dependents", ["d-one", "d-weak", "d-two"], 1))
    listed = lethe("memory", "delete", "memory", "d-root")
    check(listed.code == 1 and listed.out.count(b"holds") == 2 and b"(dependents)" in listed.err, listed)
    same([d["id"] for d in call("memory", "delete", "memory", "d-root", "--cascade", "--reason", "a test")["deleted"]], ["d-two", "d-one", "d-root"])
    for ident in ("d-root", "d-one", "d-two"):
        load("memory", ident, 1)
    last = call("memory", "history", "memory", "d-root")["changes"][-1]
    same((last["change"], last["reason"], last["who"]), ("deleted", "a test", "uid:%d" % os.geteuid()))
    same([d["id"] for d in last["dependents"]], ["d-one", "d-weak", "d-two"], "as they were before anything went")
    event = [e for e in log("--type", "memory.delete") if e["id"] == "d-root"][0]
    check(event["kind"] == "memory_substrate" and len(event["payload"]["sha256"]) == 64, event)
    same(load("memory", "d-weak")["state"], "active")
    fact("d-root")  # the id is free, and its history goes on
    same([c["change"] for c in call("memory", "history", "memory", "d-root")["changes"]], ["created", "deleted", "created"])
    call("memory", "delete", "memory", "unknown", code=1)


@case
def what_was_deleted_is_nowhere():  # M-56, M-25
    word, page = "xylographQuartz4711", "zeugmaBasalt4712"
    fact("gone-0", [])
    save("memory", {"summary": "the %s stands here" % word}, "gone", kind="episodic")
    call("scope", "create", "doomed")
    save("knowledge", {"title": page, "text": page + " again"}, "page", scope="doomed")
    for i in range(40):
        fact("filler-%d" % i)
    call("memory", "delete", "memory", "gone")
    call("scope", "delete", "doomed")
    for argv in (("memory", "search", word), ("memory", "list"), ("context", "--query", word), ("context",), ("memory", "history", "memory", "gone"), ("log",)):
        check(word.encode() not in lethe(*argv, "--json").out, argv)
    lethe("export", DIR + "/exported")
    same(lethe("compact").code, 0)
    for top in (STORE, DIR + "/exported"):
        for folder, _, files in os.walk(top):
            for name in files:
                with open(os.path.join(folder, name), "rb") as f:
                    data = f.read().lower()
                check(word.lower().encode() not in data and page.lower().encode() not in data, folder, name)
    same(lethe("audit").code, 0)
    same(lethe("verify").code, 0)
    same(load("memory", "filler-7")["payload"], FACT)


@case
def words_of_what_was_deleted_lead_to_nothing_that_stays():  # M-56
    def words(name):
        return [hashlib.sha256(b"%s %d" % (name, i)).hexdigest()[:16] for i in range(6000)]

    # So many that the index needs pages which only lead to others: there, too, stand words.
    save("knowledge", {"title": "stays", "text": " ".join(words(b"stays"))}, "wordy-stays")
    save("knowledge", {"title": "goes", "text": " ".join(words(b"goes"))}, "wordy-goes")
    call("memory", "delete", "knowledge", "wordy-goes")
    same(lethe("compact").code, 0)
    for folder, _, files in os.walk(STORE):
        for name in files:
            with open(os.path.join(folder, name), "rb") as f:
                data = f.read()
            same([w for w in words(b"goes") if w.encode() in data], [], folder, name)
    same(lethe("audit").code, 0)
    same(lethe("verify").code, 0)
    same(call("memory", "search", words(b"stays")[1234])["records"][0]["id"], "wordy-stays")


@case
def compaction_waits_for_nobody_and_harms_nobody():  # M-56
    lethe("slot", "define", "some/slot", "--schema", "-", input=b"{}", stdin=None)
    p = subprocess.Popen([LETHE, "slot", "watch", "some/slot"], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        wait_for(lambda: lethe("compact").code == 1, "that who watches has opened it")
        r = lethe("compact")
        check(r.code == 1 and b"has it open" in r.err, r)
    finally:
        p.terminate()
        p.communicate()
    same(lethe("compact").code, 0)
    same(lethe("audit").code, 0)


@case
def context_keeps_its_tiers():  # M-3, M-4, M-9
    context = call("context")
    same(set(context) - {"version"}, {"scope", "kernels", "core", "belief", "advisory", "withheld", "cut"})
    same([lane["lane"] for lane in context["advisory"]], ["memory", "knowledge", "skill"])
    check(all(lane["advisory"] is True for lane in context["advisory"]))
    check("birthday" not in json.dumps(context["core"]) and "birthday" not in json.dumps(context["belief"]))
    check(all(len(lane["records"]) <= 10 for lane in context["advisory"]))
    same([r["id"] for r in context["advisory"][0]["records"]], [r["id"] for r in call("memory", "list", "kind:memory state:active")["records"]][-10:])  # the newest
    same([r["id"] for r in call("context", "--lane", "1")["advisory"][0]["records"]], [context["advisory"][0]["records"][-1]["id"]])
    same(len([r for lane in call("context", "--query", "heron", "--lane", "2")["advisory"] for r in lane["records"]]), 2)
    # M-14: what is malformed is named: the field, what was written, the rule
    for query, rule in (('"open', "a quote that is not closed"), ("zork:heron", '"zork" is no field'), ("", "an empty query"), ("heron AND pond", "AND is no operator"),
                        ("heron state:archived", "only active records are served"), ("x" * 5000, "4096")):
        r = lethe("context", "--query", query, "--json")
        error = json.loads(r.out)["error"]
        same((r.code, error["code"]), (1, "bad_query"), query)
        check(error["message"].startswith('query "' + query[:40].replace('"', "\\x22")) and rule in error["message"], error)
        check(b"(bad_query)" in r.err, r)
    # A lane that the query does not ask for is empty, and the others are as they would be
    lanes = {lane["lane"]: [r["id"] for r in lane["records"]] for lane in call("context", "--query", "heron kind:knowledge,skill")["advisory"]}
    same((lanes["memory"], len(lanes["knowledge"]), lanes["skill"]), ([], 3, []))
    text = lethe("context").out.decode()
    check(text.index("CORE") < text.index("BELIEF") < text.index("ADVISORY"), text)


@case
def working_state_is_of_the_moment():  # M-9, M-24, M-41
    r = lethe("memory", "working", "get")
    check(r.code == 1 and b"lethe serve" in r.err, r)
    env = dict(ENV, LETHE_SOCKET=DIR + "/working-socket")
    daemon = start_daemon(env)
    try:
        n = events()
        same(call("memory", "working", "set", '{"step":"peregrineFalcon"}', env=env)["scope"], "default")
        same(call("memory", "working", "get", env=env)["value"], {"step": "peregrineFalcon"})
        same(events(), n)
        for argv in (("memory", "search", "peregrinefalcon"), ("memory", "list"), ("context",), ("digest", "run")):
            check(b"peregrine" not in lethe(*argv, "--json", env=env).out, argv)
        call("scope", "create", "brief", env=env)
        call("memory", "working", "set", '"here"', "--scope", "brief", env=env)
        call("scope", "delete", "brief", env=env)
        call("memory", "working", "get", "--scope", "brief", code=1, env=env)
        call("scope", "create", "brief", env=env)
        same(call("memory", "working", "get", "--scope", "brief", env=env)["value"], None)
        call("memory", "working", "set", json.dumps("x" * 70000), code=1, env=env)
        call("memory", "working", "clear", env=env)
        same(call("memory", "working", "get", env=env)["value"], None)
        call("memory", "working", "set", "1", env=env)
    finally:
        stop_daemon(daemon)
    daemon = start_daemon(env)
    try:
        same(call("memory", "working", "get", env=env)["value"], None)
    finally:
        stop_daemon(daemon)
    for folder, _, files in os.walk(STORE):
        for name in files:
            with open(os.path.join(folder, name), "rb") as f:
                check(b"peregrineFalcon" not in f.read(), name)



@case
def a_long_chain_is_no_long_line():
    """Each line is as long as its record needs, however far down that is."""
    for i in range(20):
        fact("chain-%d" % i, refs=[ref("chain-%d" % (i - 1))] if i else None)
    lines = lethe("memory", "delete", "memory", "chain-0", "--check").out.decode().splitlines()
    same([len(line) - len(line.lstrip()) for line in lines], [2 * min(d, 16) for d in range(1, 20)], lines)
    check("[19] memory_substrate chain-19 " in lines[-1] and "[" not in lines[15], lines)


@case
def a_list_has_no_control_characters():
    """Behind a carriage return a terminal writes over what it wrote: in a list each text is one line of what can be seen."""
    save("memory", dict(FACT, object="x\rfalse\ty\nz"), "returns", kind="semantic")
    row = [r for r in call("memory", "list")["records"] if r["id"] == "returns"][0]
    same(row["text"], "Ann has birthday on x false y z")
    same(load("memory", "returns")["payload"]["object"], "x\rfalse\ty\nz", "what was saved is as it was")
    check(b"Ann has birthday on x false y z\n" in lethe("memory", "list").out)

main()
