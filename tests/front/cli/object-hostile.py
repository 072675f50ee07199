#!/usr/bin/python3
"""Files that another node made to do harm, skills that propose too much, and jobs that breed. tests/hostile/ATTACKS.md has the list. TAP.

usage: object-hostile.py LETHE
"""
import json
import os

from foreign import Chain, Node, new_id
from tap import DIR, STORE, case, check, lethe, log, main, python_skill, same

os.chmod(DIR, 0o755)
python_skill("lab", "import sys\nimport lethe\nexec(sys.argv[1])", slots={"total": {"type": "integer"}}, reads=["total"], writes=["total"])
same(lethe("slot", "define", "total", "--schema", "-", input=b'{"type": "integer"}').code, 0)
WAITS = {"do": {"wait": {"elapsed": {"for": "1h"}}}}
WITH = {"attempts": 0, "may": [], "pace": {"base_usec": 1000000, "max_usec": 3600000000, "min_usec": 1000000, "target_usec": 10000000},
        "rest": {"elapsed": {"for_usec": 60000000}}, "timeout_usec": 30000000}
SCOPE = {"depth": 0, "fanout": 64, "reads": [], "skills": ["lab"], "writes": ["total"]}
FRIEND = Node("lethe/00000000000000f1")  # trusted here
STRANGER = Node("lethe/00000000000000f2")
STRANGER_2, STRANGER_3 = Node("lethe/00000000000000f3"), Node("lethe/00000000000000f4")
same(lethe("object", "trust", FRIEND.vkey).code, 0)


def complete(do, **more):
    return {"constraints": [], "do": do, "until": {"success": 1}, "with": dict(WITH, **more)}


def lab(code):
    return complete({"args": [code], "skill": "lab"})


WAITS_COMPLETE = complete({"wait": {"elapsed": {"for_usec": 3600000000}}})


def answer(*argv, code=0, **kw):
    r = lethe(*argv, "--json", **kw)
    same(r.code, code, r)
    check(b"damaged" not in r.err, r)
    return json.loads(r.out)


def take(data, code=0, *options):
    path = os.path.join(DIR, "file")
    with open(path, "wb") as f:
        f.write(data)
    got = answer("object", "import", path, *options, code=code)
    return got["error"]["code"] if code else got["how"]


def create(what, *options):
    path = os.path.join(DIR, "intent.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(what, f)
    return answer("object", "create", "--intent", path, *options)["object"]


def exported(o):
    path = os.path.join(DIR, "exported")
    same(lethe("object", "export", o, path).code, 0)
    with open(path, "rb") as f:
        return Chain(f.read())


def cycle(o, *options):
    return answer("object", "cycle", o, *options)


def show(o):
    return answer("object", "show", o)


def sleeping():
    o = create(WAITS)
    same(cycle(o)["action"], "dormancy")
    return o


def holds():
    for verb in ("verify", "audit"):
        r = lethe(verb)
        same(r.code, 0, verb, r)


@case
def a_stranger_s_entries_stop_no_object():  # O-9, O-42
    longer, forked = sleeping(), sleeping()
    files = {o: exported(o).add(STRANGER, "input", {"from": "x", "input": "y"}).file() for o in (longer, forked)}
    same(lethe("object", "input", forked, "hello").code, 0)
    for o, data in files.items():
        before = show(o)
        same(take(data, 1), "unknown_signer")
        same(show(o), before)
        same(cycle(o)["action"], "none")  # still eligible
    same(lethe("object", "trust", STRANGER.vkey).code, 0)
    same([take(files[o]) for o in (longer, forked)], ["ahead", "forked"])
    same(lethe("object", "trust", STRANGER.vkey, "--revoke").code, 0)
    third = sleeping()
    same(take(exported(third).add(STRANGER, "input", {"from": "x", "input": "y"}).file(), 1), "unknown_signer")  # nor revoked keys
    same(cycle(third)["action"], "none")
    holds()


@case
def an_id_beyond_all_ids_hides_nothing():  # O-7, O-9: names of tables stand behind the largest id
    for i in ("8" + new_id()[1:], "s" + new_id()[1:], "z" * 26):
        same(take(Chain(object_id=i).begin(STRANGER, WAITS_COMPLETE, SCOPE).file(), 1), "bad_bundle")
    last = "7" + "z" * 25
    same(take(Chain(object_id=last).begin(STRANGER, WAITS_COMPLETE, SCOPE).file()), "new")
    check(last in [o["object"] for o in answer("object", "list")["objects"]])
    holds()


@case
def what_a_context_says_has_its_form():  # O-3, O-24, O-25: the parts go into events, and an event has a size
    own = new_id()
    for more in ({"parent": 5}, {"parent": []}, {"parent": {}}, {"parent": {"object": 5, "serial": 1}}, {"parent": {"object": "x" * 65500, "serial": 1}},
                 {"parent": {"object": "\x1b[31m", "serial": 1}}, {"parent": {"object": new_id(), "serial": "x"}}, {"parent": {"object": own, "serial": 1}},
                 {"created": -1}, {"created": "now"}, {"policy": 5}, {"policy": "x" * 100000}, {"meta": [1]}):
        path = os.path.join(DIR, "file")
        with open(path, "wb") as f:
            f.write(Chain(object_id=own).begin(FRIEND, WAITS_COMPLETE, SCOPE, **more).file())
        for verb in ("verify", "import"):
            e = answer("object", verb, path, code=1)["error"]
            same(e["code"], "bad_intent", more)
            check("context." + next(iter(more)) in e["message"], e)
    same(answer("object", "show", own, code=1)["error"]["code"], "no_object")
    holds()


@case
def an_execution_beyond_the_trust_scope_is_refused():  # O-23, O-46: also a trusted node's entry proves no such thing
    begun = {"skill": "other", "args": [], "deadline_usec": 0, "step": 0, "attempt": 1}
    c = Chain().begin(FRIEND, lab("pass"), SCOPE).add(FRIEND, "evaluation").add(FRIEND, "started", begun)
    same(take(c.file(), 1), "beyond_scope")
    sleeps = {"reason": "wait", "not_before": 0, "trigger": {"elapsed": {"for_usec": 5}}}
    c = Chain().begin(FRIEND, WAITS_COMPLETE, SCOPE).add(FRIEND, "evaluation").add(FRIEND, "dormant", sleeps).add(FRIEND, "reentry", {"trigger": {}})
    same(take(c.file(), 1), "bad_bundle")
    holds()


@case
def a_new_object_of_a_stranger_is_shown_and_waits():  # O-9
    c = Chain().begin(STRANGER, lab("lethe.write('total', 9)"), SCOPE)
    same(take(c.file()), "new")
    same(answer("object", "cycle", c.object, code=1)["error"]["code"], "not_eligible")
    same(take(c.add(STRANGER, "evaluation").file()), "ahead")


@case
def the_keys_of_strangers_have_a_bound():  # O-9, O-42
    c, first = Chain().begin(STRANGER, WAITS_COMPLETE, SCOPE), 1
    same(take(c.file()), "new")
    for how, code in (("ahead", 0), ("too_many", 1)):
        more = Chain(c.file())
        for i in range(130):
            more.add(Node("lethe/" + "n" * 110 + "%04d" % (first + i)), "input", {"from": "a", "input": "b"})
        first += 130
        same(take(more.file(), code), how)
    same(show(c.object)["n"], 131)
    holds()


@case
def a_user_of_another_node_is_no_user_here():  # O-3, O-9
    c = Chain().begin(FRIEND, lab("lethe.result(1)"), SCOPE, by="uid:0")
    same(take(c.file()), "new")
    same(cycle(c.object)["outcome"]["kind"], "success")
    last = [e for e in log("--type", "object.entry") if e.get("object") == c.object and e["kind"] == "outcome"][-1]
    same(last["who"], FRIEND.name)
    own = [k for k in answer("object", "trust")["keys"] if k["state"] == "own"][0]
    same(take(Chain().begin(FRIEND, lab("pass"), SCOPE, node=own["node"]).file(), 1), "bad_intent")


@case
def whose_job_it_is_has_bounds():  # O-3, O-14
    for by in ("x" * 128, "a\0b", 7, None, ["uid:0"]):
        same(take(Chain().begin(FRIEND, lab("pass"), SCOPE, by=by).file(), 1), "bad_intent")
    for by in ("u" * 30 + "\u00e9" + "x" * 40, "\u202e\x1b[31m", ""):
        c = Chain().begin(FRIEND, lab("lethe.result(1)"), SCOPE, by=by)
        same(take(c.file()), "new")
        same(cycle(c.object)["outcome"]["kind"], "success")  # and the outcome is recorded
        for verb in (("list",), ("history", c.object), ("why", c.object), ("show", c.object)):
            r = lethe("object", *verb)
            same(r.code, 0, r)
            check(b"\x1b" not in r.out + r.err and "\u202e".encode() not in r.out + r.err, verb, r)
    holds()


@case
def a_trusted_key_cannot_have_this_node_s_name():  # O-9, O-38
    own = [k for k in answer("object", "trust")["keys"] if k["state"] == "own"][0]
    twin = Node(own["node"])
    same(answer("object", "trust", twin.vkey, code=1)["error"]["code"], "bad_operation")
    c = Chain().begin(twin, lab("pass"), SCOPE).add(twin, "evaluation").add(twin, "started", {"skill": "lab", "args": [], "deadline_usec": 0, "step": 0, "attempt": 1})
    same(take(c.file()), "new")
    same(answer("object", "cycle", c.object, code=1)["error"]["code"], "not_eligible")


def with_max(n):
    path = os.path.join(DIR, "policy-%d.json" % n)
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"version": 1, "objects": {"max": n}}, f)
    return "--policy", path


@case
def children_count_as_objects():  # O-25
    alive = sum(1 for o in answer("object", "list")["objects"] if o["state"] != "terminated")
    kids = [WAITS] * 3
    step = create({"do": {"delegate": kids}})
    tight, wide = with_max(alive + 4 + 2), with_max(alive + 4 + 3)  # 2 by the loop below, and the parents
    wish = create({"do": {"skill": "lab", "args": ["lethe.result({'next': {'delegate': [%r] * 3}})" % (WAITS,)]}, "until": {"success": 2}, "with": {"may": ["delegate"], "rest": {"elapsed": {"for": "1ms"}}}})
    same(cycle(wish)["action"], "execution")
    for o in (create(WAITS), create(WAITS)):
        same(cycle(o)["action"], "dormancy")
    got = cycle(step, *tight)
    same((got["action"], got["reason"]), ("dormancy", "denied"))
    for _ in range(3):
        same(cycle(step, *tight)["action"], "none")  # nor does it grow (O-33)
    n = len(lethe("object", "history", step, "--json").out.splitlines())
    same(cycle(wish, *tight)["action"], "dormancy")
    check("policy" in json.loads(lethe("object", "history", wish, "--json").out.splitlines()[-1])["data"]["refused_next"])
    same(n, 3)
    same(cycle(step, *wide)["action"], "reentry")
    same(cycle(step, *wide)["action"], "delegation")
    holds()


@case
def children_that_a_skill_proposes_have_its_deadline():  # O-23, O-47
    inner = dict(WAITS, until="never")
    wish = create({"do": {"skill": "lab", "args": ["lethe.result({'next': {'delegate': [{'do': {'delegate': [%r]}, 'until': 'never'}]}})" % (inner,)]}, "until": {"success": 2},
                   "with": {"may": ["delegate"], "rest": {"elapsed": {"for": "1ms"}}}, "constraints": [{"deadline": "3600s"}]}, "--scope", json.dumps(dict(SCOPE, depth=2)))
    same(cycle(wish)["action"], "execution")
    same(cycle(wish)["action"], "delegation")
    end = int(show(wish)["context"]["created"]) + 3600 * 1000000
    child = next(iter(json.loads(lethe("object", "history", wish, "--json").out.splitlines()[-1])["data"]["children"]))
    same(show(child)["intent"]["constraints"], [{"deadline": end}])
    same(show(child)["intent"]["do"]["delegate"][0]["constraints"], [{"deadline": end}])
    holds()


@case
def a_stranger_cannot_take_an_id():  # O-9, O-40
    for tail in ((), ("evaluation",), ("evaluation", "started")):  # the last one: an execution that nobody ends
        c = Chain().begin(FRIEND, lab("lethe.result(1)"), SCOPE)
        false = Chain(object_id=c.object).begin(STRANGER_2, WAITS_COMPLETE, SCOPE)
        for kind in tail:
            false.add(STRANGER_2, kind, {"skill": "lab", "args": [], "deadline_usec": 0, "step": 0, "attempt": 1} if kind == "started" else {})
        same(take(false.file()), "new")
        same(take(Chain(object_id=c.object).begin(STRANGER_3, WAITS_COMPLETE, SCOPE).file(), 1), "bad_bundle")  # nor another stranger
        same(take(c.file()), "replaced")
        same(show(c.object)["n"], 1)
        same(take(false.file(), 1), "bad_bundle")
        same(take(c.file()), "equal")
        same(cycle(c.object)["outcome"]["kind"], "success")
        kept = [e for e in log("--type", "object.entry") if e.get("object") == c.object and e["keyid"] == STRANGER_2.keyid]
        same(len(kept), 1 + len(tail))  # the ledger has all
        same(lethe("object", "verify", c.object).code, 0)
        holds()


@case
def an_object_that_was_trusted_gives_way_to_none():  # O-9, O-42
    once = Node("lethe/00000000000000f5")
    c = Chain().begin(once, WAITS_COMPLETE, SCOPE)
    same(lethe("object", "trust", once.vkey).code, 0)
    same(take(c.file()), "new")
    same(lethe("object", "trust", once.vkey, "--revoke").code, 0)
    same(take(Chain(object_id=c.object).begin(FRIEND, WAITS_COMPLETE, SCOPE).file(), 1), "bad_bundle")
    own = sleeping()
    same(take(Chain(object_id=own).begin(FRIEND, WAITS_COMPLETE, SCOPE).file(), 1), "bad_bundle")
    holds()


@case
def why_names_the_node_of_an_execution():  # O-33, O-38
    begun = {"skill": "lab", "args": [], "deadline_usec": 0, "step": 0, "attempt": 1}
    c = Chain().begin(FRIEND, lab("pass"), SCOPE).add(FRIEND, "evaluation").add(FRIEND, "started", begun)
    same(take(c.file()), "new")
    got = answer("object", "why", c.object)
    same((got["started"]["node"], got["elsewhere"], got["next"]["reason"]), (FRIEND.name, True, "running"))
    text = lethe("object", "why", c.object).out.decode()
    for word in ("runs: since 20", " on node " + FRIEND.name, "lethe object import", "lethe object end " + c.object):
        check(word in text, word, text)
    same(lethe("object", "end", c.object).code, 0)
    check("elsewhere" not in answer("object", "why", c.object))
    holds()


@case
def imports_count_as_objects():  # O-25
    alive = sum(1 for o in answer("object", "list")["objects"] if o["state"] != "terminated")
    c = Chain().begin(FRIEND, WAITS_COMPLETE, SCOPE)
    same(take(c.file(), 1, *with_max(alive)), "too_many")
    same(answer("object", "show", c.object, code=1)["error"]["code"], "no_object")
    same(take(c.file(), 0, *with_max(alive + 1)), "new")
    same(take(c.add(FRIEND, "evaluation").file(), 0, *with_max(alive)), "ahead")  # it is here already
    holds()


@case
def a_child_has_no_more_than_its_parent():  # O-25
    parent = create({"do": {"delegate": [{"do": {"skill": "lab"}}]}}, "--scope", json.dumps({"skills": ["lab"], "reads": [], "writes": [], "depth": 1, "fanout": 4}))
    childless = sleeping()
    inner = {"depth": 0, "fanout": 4, "reads": [], "skills": ["lab"], "writes": []}
    for up, wider, how in ((parent, {"writes": ["total"]}, 1), (parent, {"reads": "*"}, 1), (parent, {"depth": 1}, 1), (parent, {"fanout": 5}, 1), (parent, {}, 0), (childless, {"skills": []}, 1)):
        c = Chain().begin(FRIEND, WAITS_COMPLETE, dict(inner, **wider), parent={"object": up, "serial": 1})
        same(take(c.file(), how), "beyond_scope" if how else "new")
    holds()


@case
def a_parent_that_comes_after_its_child():  # O-25
    job = complete({"delegate": [lab("pass")], "gather": {"mode": "all"}})
    outer = {"depth": 1, "fanout": 4, "reads": [], "skills": ["lab"], "writes": []}
    inner = dict(outer, depth=0)
    for wider, signer, how in (({"writes": ["total"]}, FRIEND, 1), ({"depth": 1}, FRIEND, 1), ({"writes": ["total"]}, STRANGER_3, 0), ({}, FRIEND, 0)):
        child = new_id()
        parent = Chain().begin(FRIEND, job, outer).add(FRIEND, "evaluation").add(FRIEND, "delegation", {"children": {child: lab("pass")}, "gather": {"mode": "all"}, "serial": 1})
        same(take(Chain(object_id=child).begin(signer, lab("pass"), dict(inner, **wider), parent={"object": parent.object, "serial": 1}).file()), "new")
        same(take(parent.file(), how), "beyond_scope" if how else "new")
        same(answer("object", "why", parent.object, code=how).get("state"), None if how else "delegation")
    holds()


@case
def a_pace_of_an_older_version():  # O-31, O-41: an object from before the least of 10 ms goes on, at 10 ms
    fast = {"base_usec": 1000, "max_usec": 1000, "min_usec": 1000, "target_usec": 1000000}
    c = Chain().begin(FRIEND, complete({"wait": {"elapsed": {"at": 1}}}, pace=fast), SCOPE)
    same(take(c.file()), "new")
    same(cycle(c.object)["action"], "dormancy")
    last = json.loads(lethe("object", "history", c.object, "--json").out.splitlines()[-1])
    same(int(last["data"]["not_before"]) - int(last["time"]), 10000)
    holds()


@case
def nothing_is_left_of_all_that():
    check(STORE)
    holds()


main()
