#!/usr/bin/env python3
"""The digest: scan, proposals in a region, approval, numbered passes, reasons that can be told. TAP.

usage: digest.py LETHE
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "front", "cli"))
from tap import DIR, case, check, lethe, log, main, same  # noqa: E402

ALL = "auto:broken_ref,superseded_by,retired_dependency"
KINDS = {"memory": "memory_substrate", "knowledge": "knowledge_projections", "skill": "skill_artifacts"}


def call(verb, *argv, code=0, **kw):
    r = lethe(verb, *argv, "--json", **kw)
    same(r.code, code, verb, *argv, r.err)
    return json.loads(r.out) if code == 0 and r.out else r.err.decode()


class World:
    """A scope of its own."""
    n = 0

    def __init__(self):
        World.n += 1
        self.scope = "w%d" % World.n
        call("scope", "create", self.scope)

    def save(self, family, ident, *refs):
        payload = {"memory": {"summary": ident}, "knowledge": {"title": ident, "text": "x"}, "skill": {"name": ident, "steps": [{"order": 1, "instruction": "x"}]}}[family]
        edges = [dict(zip(("kind", "id", "strength", "role"), (KINDS[r[0]],) + r[1:])) for r in refs]
        return call("memory", "save", family, json.dumps(payload), "--id", ident, "--refs", json.dumps(edges), "--scope", self.scope,
                    *(["--type", "episodic"] if family == "memory" else []))

    def digest(self, *argv, code=0):
        return call("digest", "run", "--scope", self.scope, *argv, code=code)

    def apply(self, approve=ALL, *argv):
        return self.digest("--apply", "--approve", approve, *argv)

    def steps(self, answer):
        return [(c["op"], c["id"], c["reason"]["reason"], c["approved"]) for c in answer["candidates"]]

    def state(self, family, ident):
        return call("memory", "load", family, ident, "--scope", self.scope)["record"]["state"]

    def delete(self, family, ident):
        call("memory", "delete", family, ident, "--scope", self.scope)

    def why(self, family, ident):
        return call("digest", "why", family, ident, "--scope", self.scope)


@case
def nothing_changes_without_apply_or_approval():  # M-43, M-50, M-33
    w = World()
    w.save("memory", "old")
    w.save("memory", "new", ("memory", "old", "strong", "supersedes"))
    rows = len(log("--type", "digest.pass"))
    same(w.steps(w.digest()), [("archive", "old", "superseded_by", "no")])
    same(w.steps(w.digest("--approve", ALL)), [("archive", "old", "superseded_by", "policy")])
    same(len(log("--type", "digest.pass")), rows)
    same(w.digest("--apply")["archived"], 0)  # ask, and nobody answered
    same(w.state("memory", "old"), "active")
    same(w.apply("auto:broken_ref")["archived"], 0)
    same(w.digest("--apply", "--name", "memory_substrate/old")["archived"], 1)
    same(w.state("memory", "old"), "archived")


def policy_of(*rows):
    path = os.path.join(DIR, "policy.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"version": 1, "digest": rows}, f)
    return "--policy", path


@case
def the_policy_file_approves_without_a_person():  # M-43: by default nothing; of a scope, what is archived and what is removed each by its reasons
    w, other = World(), World()
    for x in (w, other):
        x.save("memory", "old")
        x.save("memory", "new", ("memory", "old", "strong", "supersedes"))
    silent = policy_of()
    same(w.digest("--apply", *silent)["archived"], 0)
    same(w.digest("--apply", *policy_of({"scope": w.scope, "archive": ["broken_ref"], "remove": ["superseded_by"]}))["archived"], 0)
    rule = policy_of({"scope": w.scope, "archive": ["superseded_by"]})
    same(w.digest("--apply", "--approve", "ask", *rule)["archived"], 0)
    same(other.digest("--apply", *rule)["archived"], 0)
    same(w.steps(w.digest(*rule)), [("archive", "old", "superseded_by", "policy")])
    same(w.state("memory", "old"), "active")
    same(w.digest("--apply", *rule)["archived"], 1)
    record = call("digest", "passes", "--scope", w.scope)["passes"][-1]["record"]
    same((record["automatic"], record["automatic_removal"], record["approval"]), (["superseded_by"], [], "policy_file"))
    same(w.steps(w.digest("--apply", *rule)), [("remove", "old", "superseded_by", "no")])
    same(w.state("memory", "old"), "archived")
    rule = policy_of({"scope": w.scope, "remove": ["superseded_by"]})
    same(w.digest("--apply", "--approve", "policy", *rule)["removed"], 1)
    same((w.state("memory", "old"), other.state("memory", "old")), ("removed", "active"))
    same(other.apply("auto:superseded_by")["archived"], 1)
    record = call("digest", "passes", "--scope", other.scope)["passes"][-1]["record"]
    same(record["approval"], "command_line")
    bad = policy_of({"scope": w.scope, "archive": ["everything"]})
    check("/digest/0/archive/0" in w.digest("--apply", *bad, code=1))


@case
def a_plain_fact_is_left_alone():  # M-44, M-15
    w = World()
    w.save("memory", "birthday")
    for _ in range(3):
        same(w.apply()["candidates"], [])
    same(w.state("memory", "birthday"), "active")


@case
def unsupported_only_when_it_is_named_and_seen_before():  # M-44
    w = World()
    w.save("memory", "alone")
    w.save("memory", "held")
    w.save("knowledge", "holds", ("memory", "held"))
    how = ("auto:unsupported_since", "--reasons", "unsupported_since")
    same(w.apply(*how)["candidates"], [])  # the first pass sees them, the second proposes
    second = w.apply(*how)
    same(w.steps(second), [("archive", "holds", "unsupported_since", "policy"), ("archive", "alone", "unsupported_since", "policy")])
    same([c["reason"]["pass"] for c in second["candidates"]], [1, 1])
    same(w.state("memory", "held"), "active")


@case
def every_reason_names_what_it_rests_on():  # M-42, M-44, M-46, M-49
    w = World()
    for ident in ("lost", "base", "old"):
        w.save("memory", ident)
    w.save("knowledge", "page", ("memory", "lost", "weak"))
    w.save("skill", "how", ("memory", "lost", "weak"))
    w.save("memory", "new", ("memory", "old", "strong", "supersedes"), ("memory", "lost", "weak"))
    w.delete("memory", "lost")
    answer = w.digest()
    same(w.steps(answer), [("archive", "page", "broken_ref", "no"), ("archive", "how", "broken_ref", "no"), ("archive", "new", "broken_ref", "no"),
                           ("archive", "old", "superseded_by", "no")])  # downstream first: pages, skills, memory
    same(answer["candidates"][0]["reason"], {"reason": "broken_ref", "kind": "memory_substrate", "id": "lost"})
    for _ in range(3):
        same(w.digest(), answer)


@case
def the_least_supported_first():  # M-49: of one family by support, then by id
    w = World()
    for ident in ("aa", "bb", "cc", "dd"):
        w.save("memory", ident)
    w.save("memory", "new", *[("memory", ident, "strong", "supersedes") for ident in ("aa", "bb", "cc", "dd")])
    w.save("knowledge", "page", ("memory", "aa", "strong"), ("memory", "bb", "weak"))
    same([c["id"] for c in w.digest()["candidates"]], ["cc", "dd", "bb", "aa"])


@case
def a_view_names_what_does_not_hold_any_more():  # M-20, M-58
    w = World()
    for ident in ("lost", "base", "live"):
        w.save("memory", ident)
    w.save("memory", "new", ("memory", "base", "strong", "supersedes"))
    w.save("knowledge", "page", ("memory", "lost", "weak", "cites"), ("memory", "base", "weak"), ("memory", "live", "weak"))
    w.delete("memory", "lost")
    view = lambda: [(e["id"], e["cause"], e["strength"], e["role"]) for e in call("memory", "view", "knowledge", "page", "--scope", w.scope)["view"]["invalidation"]]
    same(view(), [("lost", "deleted", "weak", "cites")])
    w.apply()
    same((w.state("knowledge", "page"), w.state("memory", "base")), ("archived", "archived"))
    same(view(), [("base", "weakened", "weak", "ref"), ("lost", "deleted", "weak", "cites")])
    w.apply("auto:superseded_by")
    same(view(), [("base", "removed", "weak", "ref"), ("lost", "deleted", "weak", "cites")])
    broken = call("memory", "refs", "knowledge", "page", "--scope", w.scope)["refs"]["broken"]
    same([(e["id"], e["state"]) for e in broken], [("base", "removed"), ("lost", "deleted")])


@case
def archived_by_one_pass_removed_by_a_later_one():  # M-34, M-35, M-36, M-38, M-39, M-45, M-46, M-47, M-48, M-51, M-62
    w = World()
    w.save("memory", "old")
    w.save("memory", "new", ("memory", "old", "strong", "supersedes"))
    w.save("knowledge", "page", ("memory", "old", "strong", "about"))
    same((w.apply()["archived"], w.state("memory", "old")), (1, "archived"))
    before = call("memory", "load", "memory", "old", "--scope", w.scope)["record"]["payload"]
    call("memory", "restore", "memory", "old", "--scope", w.scope)
    same(call("memory", "load", "memory", "old", "--scope", w.scope)["record"]["payload"], before)
    call("memory", "restore", "memory", "old", "--scope", w.scope, code=1)
    same(w.apply()["archived"], 1)
    answer = w.apply()
    same([(b["id"], [e["id"] for e in b["blockers"]]) for b in answer["blocked"]], [("old", ["page"])])
    same((answer["archived"], answer["removed"]), (1, 0))  # the page, whose dependency retired
    same(w.state("memory", "old"), "archived")
    same(w.apply()["removed"], 1)  # the page
    same(w.apply()["removed"], 1)
    record = call("memory", "load", "memory", "old", "--scope", w.scope)["record"]
    same(record["state"], "removed")
    check("payload" not in record and len(record["erased"]["sha256"]) == 64, record)
    for argv in (("list",), ("search", "old")):
        check("old" not in [r["id"] for r in call("memory", *argv, "--scope", w.scope)["records"]])
    for query in ("state:removed", "old state:archived,removed"):
        check("bad_query" in call("memory", "search", query, "--scope", w.scope, code=1), query)
    why = w.why("memory", "old")
    same([(c["change"], c.get("pass")) for c in why["changes"]], [("archived", 1), ("restored", None), ("archived", 2), ("removed", 5)])
    first = why["changes"][0]
    same((first["reason"]["reason"], first["reason"]["id"]), ("superseded_by", "new"))
    same([(e["id"], e["role"]) for e in first["candidate"]["in"]], [("new", "supersedes"), ("page", "about")])
    passes = call("digest", "passes", "--scope", w.scope)["passes"]
    same([p["pass"] for p in passes], [1, 2, 3, 4, 5])
    check(all(p["routine"] == "digest" and p["record"]["automatic"] and p["proposed_by"] for p in passes), passes)
    for p, version in ((passes[0], 2), (passes[4], 5)):  # I-77: what a pass did comes of the region that proposed it
        derived = json.loads(lethe("audit", "derived", p["proposed_by"], "--json").out)
        check("memory_substrate/old@%d" % version in [e["to"].get("value") for e in derived["edges"]], derived)
    same(lethe("memory", "save", "memory", '{"summary":"x"}', "--id", "old", "--type", "episodic", "--scope", w.scope).code, 1)
    same((lethe("audit").code, lethe("verify").code), (0, 0))


@case
def search_finds_archived_ones_when_asked():  # M-4, M-14
    w = World()
    w.save("memory", "kestrel")
    w.save("memory", "new", ("memory", "kestrel", "strong", "supersedes"))
    w.apply()
    find = lambda q: [r["id"] for r in call("memory", "search", q, "--scope", w.scope)["records"]]
    same(find("kestrel"), [])
    same(find("kestrel state:archived"), ["kestrel"])
    for argv in ((), ("--query", "kestrel")):  # M-4: no context has it
        same([r["id"] for r in call("context", *argv, "--scope", w.scope)["advisory"][0]["records"]], [] if argv else ["new"])


@case
def the_routine_runs_in_a_region_without_a_grant():  # M-27, M-40, M-41, M-60
    w = World()
    w.save("memory", "a-memory")
    call("kernel", "patch", "world", '{"set":[{"id":"kernel-secret","statement":"nobody reads this","lifecycle":"active"}],'
         '"refs":[{"kind":"memory_substrate","id":"a-memory"}]}', "--base", "1", "--scope", w.scope)
    w.apply()
    region = log("--type", "region.allocated")[-1]
    same(region["skill"]["name"] if isinstance(region.get("skill"), dict) else region.get("skill"), "digest")
    check(not region.get("reads") and not region.get("writes"), region)
    said = json.dumps([e for e in log() if e["type"] == "digest.pass"])
    check("kernel-secret" not in said)
    refused = lethe("digest", "run", "--scope", w.scope, "--name", "world_model_kernel/kernel", "--apply", "--json")
    same((refused.code, json.loads(refused.out)["error"]["code"]), (1, "bad_operation"))


@case
def options_are_judged():
    w = World()
    for argv, code in ((("--approve", "auto:everything"), 2), (("--approve", "yes"), 2), (("--reasons", "age"), 2), (("--scope", "nowhere"), 1)):
        same(lethe("digest", "run", *(() if "--scope" in argv else ("--scope", w.scope)), *argv).code, code, argv)
    same(lethe("digest", "sweep").code, 2)  # M-40: no other routine
    same(lethe("digest", "why", "memory", "unknown", "--scope", w.scope).code, 1)


main()
