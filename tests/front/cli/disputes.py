#!/usr/bin/python3
"""Records that say opposite things: found, shown everywhere, and settled by a note, by an operator, by a rule. TAP.

usage: disputes.py LETHE root|user
"""
import json

from tap import case, check, lethe, main, python_skill, run, same

python_skill("look", "import json\nimport lethe\nprint(json.dumps({'rows': lethe.canon_read('constraints').rows, 'facts': lethe.memory_list(scope='default').records}))",
             canon=True, memory=[{"scope": "default", "read": ["memory_substrate"]}])
python_skill("facts", "import json\nimport lethe\nprint(json.dumps({'facts': lethe.memory_list(scope='default').records}))",
             memory=[{"scope": "default", "read": ["memory_substrate"]}])


def call(*argv, code=0):
    r = lethe(*argv, "--json")
    same(r.code, code, argv, r.err)
    return json.loads(r.out.splitlines()[-1])


def say(*notes, scope="default"):
    r = call("note", "begin", "--agent", "alice", "--scope", scope)["run"]
    for text in notes:
        call("note", "add", r, text)
    return call("promote", r)


def scope_of(name):
    call("scope", "create", name)
    return name


def names(row, member="disputed"):
    return sorted("%s/%s" % (d["kind"], d.get("rule", d["id"])) for d in row.get(member, []))


def rows(scope="default"):
    return {"%s/%s" % (r["bucket"], r["id"]): names(r) for r in call("canon", "list", "--state", "active", "--scope", scope)["rows"]}


def birthday(ident, day, *more, scope="default"):
    return call("memory", "save", "memory", json.dumps({"subject": "Ann", "predicate": "birthday", "object": day}), "--id", ident, "--type", "semantic",
                "--scope", scope, *more)


def facts(scope="default"):
    return {r["id"]: names(r) for r in call("memory", "list", "--scope", scope)["records"] if r["state"] == "active"}


def holds():
    same(lethe("verify").code, 0)
    same(lethe("audit").code, 0)
    same(call("rebuild")["differed"], 0)


@case
def opposite_constraints_are_both_kept_and_shown():  # G-69
    same(say("constraint no_network: skills must not use the network", "constraint net: skills may use the network",
             "constraint tls: skills must use TLS", "constraint ipv6: skills must use IPv6")["committed"], 4)
    same(rows(), {"constraints/ipv6": [], "constraints/net": ["constraints/no_network"], "constraints/no_network": ["constraints/net"], "constraints/tls": []})
    same(names(call("canon", "show", "constraints", "net")), ["constraints/no_network"])
    made = call("canon", "history", "constraints", "net")["changes"][0]
    same(made["disputes"], ["constraints/no_network"])
    belief = call("context")["belief"]["constraints"]
    same({r["id"]: names(r) for r in belief}["no_network"], ["constraints/net"])
    check(b"disputed by constraints/net" in lethe("canon", "list").out)
    check(b"disputed by constraints/net" in lethe("context").out)
    pair = call("canon", "disputes")["disputes"]
    same(pair, [{"a": "constraints/net", "b": "constraints/no_network", "keep": "constraints/net"}])
    holds()


@case
def two_birthdays_are_both_served_and_shown():  # M-65
    birthday("ann-1", "11 March")
    birthday("ann-2", "March 11th")
    same(facts(), {"ann-1": [], "ann-2": []})  # another wording is the same
    birthday("ann-3", "12 April")
    both = ["memory_substrate/ann-1", "memory_substrate/ann-2"]
    same(facts(), {"ann-1": ["memory_substrate/ann-3"], "ann-2": ["memory_substrate/ann-3"], "ann-3": both})
    same(names(call("memory", "load", "memory", "ann-3")["record"]), both)
    same({r["id"]: names(r) for r in call("memory", "search", "birthday")["records"]}["ann-3"], both)
    same(names(call("memory", "view", "memory", "ann-3")["view"]), both)
    lane = call("context")["advisory"][0]["records"]
    same({r["id"]: names(r) for r in lane}["ann-1"], ["memory_substrate/ann-3"])


@case
def rules_of_kernels_are_parties():  # M-65, M-68
    scope = scope_of("kernels")
    say("constraint net: skills may use the network", scope=scope)
    rules = [{"id": "quiet", "statement": "Skills must never use the network.", "lifecycle": "active"},
             {"id": "loud", "statement": "Skills must use the network.", "lifecycle": "active"},
             {"id": "old", "statement": "Skills must not use the network.", "lifecycle": "superseded"}]
    call("kernel", "patch", "world", json.dumps({"set": rules}), "--base", "1", "--scope", scope)
    shown = {r["id"]: names(r) for r in call("kernel", "show", "world", "--scope", scope)["rules"]}
    same(shown, {"loud": ["world_model_kernel/quiet"], "old": [], "quiet": ["constraints/net", "world_model_kernel/loud"]})
    core = {r["id"]: names(r) for r in call("context", "--scope", scope)["core"]}
    same(core, {"loud": shown["loud"], "quiet": shown["quiet"]})
    same(names(call("canon", "show", "constraints", "net", "--scope", scope)), ["world_model_kernel/quiet"])
    settled = call("canon", "settle", "world/quiet", "--keep", "world/quiet", "--scope", scope)["settled"]
    same(sorted(s["ended"] for s in settled), ["constraints/net", "world_model_kernel/loud"])
    same(call("canon", "disputes", "--scope", scope)["disputes"], [])
    same({r["id"]: r["lifecycle"] for r in call("kernel", "show", "world", "--scope", scope)["rules"]}["loud"], "superseded")


@case
def the_opposite_is_a_row_of_its_own():  # G-69: likeness alone once bound it to the row, and replaced the row
    scope = scope_of("alike")
    same(say("constraint: skills must not use the network", "constraint: skills may use the network", scope=scope)["committed"], 2)
    same(sorted(len(v) for v in rows(scope).values()), [1, 1])


@case
def a_note_settles():  # G-69
    scope = scope_of("noted")
    say("decision pg: use Postgres for the store", "decision no_pg: do not use Postgres for the store", scope=scope)
    same(rows(scope)["decisions/pg"], ["decisions/no_pg"])
    same(say("invalidate decision no_pg: Postgres it is", scope=scope)["committed"], 1)
    same(rows(scope), {"decisions/pg": []})
    say("constraint c1: skills must log requests", "constraint c2: skills must not log requests", scope=scope)
    same(rows(scope)["constraints/c1"], ["constraints/c2"])
    say("constraint c2: skills must not log passwords", scope=scope)  # written anew: no dispute any more
    same((rows(scope)["constraints/c1"], rows(scope)["constraints/c2"]), ([], []))


@case
def an_operator_settles():  # G-69
    scope = scope_of("settled")
    say("decision tabs: use tabs", "decision spaces: do not use tabs", scope=scope)
    done = call("canon", "settle", "tabs", "--keep", "spaces", "--reason", "the formatter has spoken", "--scope", scope)["settled"]
    same([(d["kept"], d["ended"]) for d in done], [("decisions/spaces", "decisions/tabs")])
    last = call("canon", "history", "decisions", "tabs", "--scope", scope)["changes"][-1]
    same((last["operation"], last["settles"], last["payload"]), ("invalidate", "decisions/spaces", {"superseded_by": "spaces", "why": "the formatter has spoken"}))
    same(rows(scope), {"decisions/spaces": []})
    for ident, day in (("a", "11 March"), ("b", "12 April")):
        birthday(ident, day, scope=scope)
    same(call("canon", "settle", "memory/a", "--keep", "memory/a", "--scope", scope)["settled"][0]["ended"], "memory_substrate/b")
    same(facts(scope), {"a": []})
    same(call("memory", "history", "memory", "b", "--scope", scope)["changes"][-1]["reason"], {"reason": "disputed_by", "kind": "memory_substrate", "id": "a"})
    call("memory", "restore", "memory", "b", "--scope", scope)
    same(facts(scope)["a"], ["memory_substrate/b"])
    holds()


@case
def both_may_stay():  # G-69
    scope = scope_of("both")
    say("constraint aa: skills must use TLS", "constraint bb: skills need not use TLS", scope=scope)
    done = call("canon", "settle", "constraints/aa", "--both", "--scope", scope)["settled"]
    same([(d["kept"], d["with"]) for d in done], [("constraints/aa", "constraints/bb")])
    same(rows(scope), {"constraints/aa": [], "constraints/bb": []})
    same(names(call("canon", "show", "constraints", "bb", "--scope", scope), "settled"), ["constraints/aa"])
    event = [e for e in map(json.loads, lethe("log", "--json").out.splitlines()) if e["type"] == "dispute.settled"][-1]
    same([event[m] for m in ("kind", "id", "with_kind", "with_id")], ["constraints", "aa", "constraints", "bb"])
    say("constraint bb: skills need not use TLS in tests", "constraint bb: skills need not use TLS", scope=scope)
    same(rows(scope)["constraints/aa"], ["constraints/bb"])  # written anew since
    holds()


@case
def a_rule_settles_and_the_digest_proposes():  # G-69
    scope = scope_of("ruled")
    say("constraint aa: skills must use TLS", "constraint bb: skills must not use TLS", scope=scope)
    for ident, day in (("a", "11 March"), ("b", "12 April")):
        birthday(ident, day, scope=scope)
    found = call("digest", "run", "--scope", scope)["candidates"]
    same([(c["op"], c["id"], c["reason"]["reason"], c["reason"]["id"], c["approved"]) for c in found], [("archive", "a", "disputed_by", "b", "no")])
    done = call("canon", "settle", "--rule", "oldest", "--scope", scope)
    same((sorted(d["ended"] for d in done["settled"]), done["left"]), (["constraints/bb", "memory_substrate/b"], 0))
    same((rows(scope), facts(scope)), ({"constraints/aa": []}, {"a": []}))
    birthday("c", "13 May", scope=scope)
    same(call("digest", "run", "--scope", scope, "--approve", "auto:disputed_by", "--apply")["archived"], 1)
    same(facts(scope), {"c": []})


@case
def a_successor_is_no_dispute():  # M-65
    scope = scope_of("successor")
    birthday("a", "11 March", scope=scope)
    birthday("b", "12 April", "--refs", json.dumps([{"kind": "memory_substrate", "id": "a", "role": "supersedes"}]), scope=scope)
    same(facts(scope), {"a": [], "b": []})


@case
def a_region_sees_no_name_that_it_may_not_read():  # G-69, M-60
    call("memory", "save", "memory", json.dumps({"subject": "skills", "predicate": "must use", "object": "the network"}), "--id", "claim", "--type", "semantic")
    look = json.loads(run("look").out)
    same(names({r["id"]: r for r in look["rows"]}["no_network"]), ["constraints/net", "memory_substrate/claim"])
    claim = {r["id"]: r for r in look["facts"]}["claim"]
    same((names(claim), "disputed_more" in claim), (["constraints/no_network"], False))
    claim = {r["id"]: r for r in json.loads(run("facts").out)["facts"]}["claim"]
    same((names(claim), claim["disputed_more"]), ([], True))


@case
def refusals():  # G-69
    for argv, words in ((["settle", "no_network"], "one of --keep and --both"), (["settle", "--rule", "best"], "neither newest nor oldest"),
                        (["settle", "no_network", "--both", "--reason", "x"], "--reason goes with --keep")):
        r = lethe("canon", *argv)
        check(r.code == 2 and words in r.err.decode(), argv, r)
    for argv, code in ((["tls", "--both"], "no_record"), (["nothing", "--both"], "bad_name"), (["net", "--keep", "tls"], "no_record")):
        same(call("canon", "settle", *argv, code=1)["error"]["code"], code, argv)


main()
