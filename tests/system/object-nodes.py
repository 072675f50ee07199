#!/usr/bin/python3
"""Two nodes, each a store with its daemon, drain one set of objects with delegation three levels deep; the test carries bundles between them and decides nothing
else. No object is evaluated twice at once, every result is gathered or marked late. LETHE_OBJECT_NODES: how many objects (24). TAP.

usage: object-nodes.py LETHE root|user
"""
import collections
import json
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "front", "cli"))
from account import use  # noqa: E402

use(sys.argv[2])

from tap import DIR, case, check, main, same, wait_for  # noqa: E402
from node import Node, check_chain, kinds  # noqa: E402

COUNT = int(os.environ.get("LETHE_OBJECT_NODES", "24"))
SEED = int(os.environ.get("LETHE_TEST_SEED", str(int(time.time()))))
TREE = 15  # a root, two children, four of theirs, eight leaves
FAST = {"pace": {"base": "5ms", "min": "10ms", "max": "50ms"}, "timeout": "60s"}
LEAF = """import sys
import lethe
lethe.result({"leaf": sys.argv[1]})
"""
a, b = Node("a"), Node("b")
os.chmod(DIR, 0o755)
chance = random.Random(SEED)
roots = {}  # id -> the names of its leaves


def other(node):
    return b if node is a else a


def delegate(children, **gather):
    return {"do": {"delegate": children, "gather": dict({"mode": "all"}, **gather)}, "with": FAST}


def tree(name):
    """Leaves wait for the slot `go`: what sleeps can be moved, whatever a daemon does meanwhile."""
    def leaf(path):
        return {"do": {"steps": [{"wait": {"prerequisite": {"slot": "go", "is": "set"}}}, {"skill": "leaf", "args": [path]}]}, "with": FAST}

    names = ["%s.%d.%d.%d" % (name, i, j, k) for i in range(2) for j in range(2) for k in range(2)]
    return delegate([delegate([delegate([leaf("%s.%d.%d.%d" % (name, i, j, k)) for k in range(2)]) for j in range(2)]) for i in range(2)]), names


def parent(row):
    p = row.get("parent")
    return p["object"] if isinstance(p, dict) else p


def living():
    """Where each object is: {id: (node, row)}. An object that is away is on its way, or where it went."""
    found = {}
    for node in (a, b):
        for id, row in node.objects().items():
            if not (row.get("away") or row.get("unknown")):
                check(id not in found or "terminated" in (row["state"], found[id][1]["state"]), "an object is at two nodes", id, row, found.get(id))
                if id not in found or found[id][1]["state"] != "terminated":
                    found[id] = (node, row)
    return found


def carry(id, node, move=True):
    """Whether it went. A node keeps what it is at work with; what it gave away, the other one takes."""
    path = os.path.join(DIR, id + ".lethe")
    r = node.run("object", "export", id, path, *(["--move"] if move else []))
    if r.code != 0:
        check(b"running" in r.err or b"away" in r.err or b"is at work" in r.err, "an export is refused for another reason", r)
        return False
    same(node.run("object", "verify", path).code, 0, "the bundle by itself, without a store")
    r = other(node).run("object", "import", path)
    same(r.code, 0, "the import of", id, r)
    os.unlink(path)
    return True


def bring_results():
    """What is done, to where its parent is: a copy, which nobody can evaluate any more."""
    there = living()
    for id, (node, row) in there.items():
        up = parent(row)
        if row["state"] == "terminated" and up in there and there[up][0] is not node and id not in brought:
            if carry(id, node, move=False):
                brought.add(id)


brought = set()


def states(want):
    """How many objects there are, and whether all leaves sleep."""
    rows = [row for _, row in living().values()]
    return len(rows), collections.Counter(r["state"] for r in rows), want


@case
def nodes_that_trust_each_other():  # O-9
    for node in (a, b):
        node.skill("leaf", LEAF)
        node.must("slot", "define", "go", "--schema", node.file({"type": "boolean"}))
        node.must("slot", "define", "late", "--schema", node.file({"type": "boolean"}))
    id = a.create({"do": {"wait": {"elapsed": {"for": "1h"}}}})
    a.cycle(id)
    path = DIR + "/first.lethe"
    a.must("object", "export", id, path)
    r = b.run("object", "import", path, "--json")
    same((r.code, json.loads(r.out)["eligible"]), (0, False), r)
    r = b.run("object", "cycle", id)
    check(r.code == 1 and b"unknown_signer" in r.err, "an unknown signer's object is not evaluated", r)
    a.must("object", "end", id)
    a.must("object", "trust", b.vkey())
    b.must("object", "trust", a.vkey())


@case
def the_trees_grow_at_both():  # O-24 O-27: three levels, by the daemons alone
    for k in range(max(1, (COUNT + TREE - 1) // TREE)):
        intent, names = tree("t%d" % k)
        roots[a.create(intent, {"skills": ["leaf"], "reads": [], "writes": [], "depth": 3, "fanout": 4})] = names
    for k, id in enumerate(sorted(roots)):
        if k % 2:
            check(carry(id, a), "nobody works yet", id)
    for node in (a, b):
        node.start()

    def grown():
        rows = [row for id, (_, row) in living().items() if id in roots or parent(row)]
        return len(rows) == TREE * len(roots) and all(r["state"] == "dormant" for r in rows)
    wait_for(grown, "%d trees of %d objects, all asleep: %s" % (len(roots), TREE, collections.Counter(r["state"] for _, r in living().values())), 300, every=0.3)


@case
def objects_move_while_both_drain_them():  # O-8 O-43 O-53
    moved = 0
    sleepers = sorted(id for id, (_, row) in living().items() if id in roots or parent(row))
    for id in chance.sample(sleepers, len(sleepers) // 2):  # of every level; everybody sleeps
        node = living()[id][0]
        check(carry(id, node), "a sleeping object can be moved", id)
        moved += 1
    check(moved > 0, "nothing was moved")
    for node in (a, b):
        node.must("slot", "put", "go", "true")
    refused = 0
    until = time.monotonic() + 600
    while True:
        there = living()
        open_ = [id for id, (_, row) in there.items() if row["state"] != "terminated" and (id in roots or parent(row))]
        if not open_:
            break
        check(time.monotonic() < until, "the trees come to no end", [there[id][1] for id in open_][:5])
        id = chance.choice(open_)
        if carry(id, there[id][0]):
            moved += 1
        else:
            refused += 1
        bring_results()
    print("# seed %d: %d moves, %d refused, %d results brought" % (SEED, moved, refused, len(brought)), flush=True)


@case
def a_child_that_answers_late_is_marked_late():  # O-26 O-28
    leaf = {"do": {"steps": [{"wait": {"prerequisite": {"slot": "late", "is": "set"}}}, {"skill": "leaf", "args": ["late"]}]}, "with": FAST}
    root = a.create({"do": {"delegate": [leaf], "gather": {"mode": "all", "within": "300ms"}}, "with": dict(FAST, attempts=1)},
                    {"skills": ["leaf"], "reads": [], "writes": [], "depth": 1, "fanout": 4})
    wait_for(lambda: living()[root][1]["state"] == "terminated", "the end of the parent, without an answer", every=0.05)
    child = [id for id, (_, row) in living().items() if parent(row) == root][0]
    check(carry(child, a), "a sleeping child can be moved", child)
    for node in (a, b):
        node.must("slot", "put", "late", "true")
    wait_for(lambda: living()[child][1]["state"] == "terminated", "the end of the child", every=0.05)
    check(carry(child, b, move=False))
    wait_for(lambda: [e for e in a.history(root) if e["kind"] == "child" and e["data"]["late"]], "the late answer in the memory of the parent", every=0.05)
    same(a.show(root)["state"], "terminated")
    roots[root] = None


def entries(node):
    """Every entry of an object that this ledger has, its own or taken over: {(object, n): hash}."""
    return {(e["object"], int(e["n"])): e["head"] for e in node.lines("log", "--json", "--type", "object.entry")}


@case
def no_object_was_evaluated_twice():  # O-43 O-53: each number of an object stands for one entry, whoever appended it
    for node in (a, b):
        node.stop()
    of_a, of_b = entries(a), entries(b)
    twice = {k: (of_a[k], of_b[k]) for k in of_a.keys() & of_b.keys() if of_a[k] != of_b[k]}
    same(twice, {}, "entries of one number that differ")
    own = collections.Counter()
    for id, (node, _) in living().items():
        history = node.history(id)
        check_chain(id, history)
        own.update(e["node"] for e in history)
        for e in history:
            ledger = of_a if e["node"] == a.origin() else of_b
            check((id, int(e["n"])) in ledger, "an entry is not in the ledger of the node that signed it", id, e["n"], e["node"])
    print("# entries: %d by a, %d by b" % (own[a.origin()], own[b.origin()]), flush=True)
    check(min(own[a.origin()], own[b.origin()]) > 0, "one node did all of it", own)


@case
def every_result_was_gathered_or_marked_late():  # O-26 O-27 O-28
    there = living()
    answered = collections.Counter()
    for id, (node, row) in there.items():
        history = node.history(id)
        children = [c for e in history if e["kind"] == "delegation" for c in e["data"]["children"]]
        # A child that has not answered when its aggregate closes is told as such; its answer comes behind, and is late.
        missed = [e["data"]["child"] for e in history if e["kind"] == "child" and e["data"]["status"] == "non_response"]
        late = [e["data"]["child"] for e in history if e["kind"] == "child" and e["data"]["late"]]
        told = [e["data"]["child"] for e in history if e["kind"] == "child" and e["data"]["status"] != "non_response"]
        same(sorted(missed), sorted(late), id, "those without an answer in time, and the late answers")
        same(sorted(told), sorted(set(told)), id, "an answer counts once")
        same(sorted(children), sorted(told), id, "children, and their answers")
        answered.update(told)
        if id in roots and roots[id]:
            same((row["state"], history[-1]["data"]["reason"]), ("terminated", "satisfied"), id)
    below = [id for id, (_, row) in there.items() if parent(row)]
    same(sorted(answered), sorted(below), "every object below another one")
    values = [e["outcome"].get("value") for id in below for e in there[id][0].history(id) if e["kind"] == "outcome" and e["outcome"]["kind"] == "success"]
    text = json.dumps(values)
    for names in filter(None, roots.values()):
        for name in names:
            check(name in text, "the value of leaf %s" % name)
    check("delegation" in [k for id in there for k in kinds(there[id][0].history(id))])


@case
def a_child_has_less_than_its_parent():  # O-24 O-25: lineage in both directions, whichever node keeps whom
    there = living()
    for id, (node, row) in there.items():
        if parent(row):
            own, above = node.show(id)["context"], there[parent(row)][0].show(parent(row))
            same(own["parent"]["object"], parent(row), id)
            same(int(own["scope"]["depth"]), int(above["context"]["scope"]["depth"]) - 1, id, "depth")
            check(set(own["scope"]["skills"]) <= set(above["context"]["scope"]["skills"]), id, own, above["context"])


@case
def both_stores_are_whole():  # O-7 O-46
    for node in (a, b):
        node.whole(node.objects())


main()
