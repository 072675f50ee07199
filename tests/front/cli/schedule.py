#!/usr/bin/python3
"""What the policy asks for by schedule: passes of the digest, and the erasure of what is beyond its stay; by the daemon, and by `lethe digest due`. TAP.

usage: schedule.py LETHE root|user"""
import json
import os
import sys

from account import use

use(sys.argv[2])

from tap import DIR, ENV, STORE, case, check, lethe, log, main, python_skill, same, start_daemon, stop_daemon, wait_for  # noqa: E402

POLICY = os.path.join(DIR, "policy.json")
AUTO = ["broken_ref", "superseded_by", "retired_dependency"]


def policy(**members):
    with open(POLICY, "w", encoding="utf-8") as f:
        json.dump(dict({"version": 1}, **members), f)
    return POLICY


def call(*argv, code=0):
    r = lethe(*argv, "--json")
    same(r.code, code, argv, r)
    return json.loads(r.out.splitlines()[-1])


def due(code=0):
    return call("digest", "due", "--policy", POLICY, code=code)


def save(ident, scope, refs=()):
    call("memory", "save", "memory", json.dumps({"subject": "s", "predicate": "p", "object": ident}), "--id", ident, "--type", "semantic", "--scope", scope, "--refs",
         json.dumps([{"kind": "memory_substrate", "id": r, "strength": "weak"} for r in refs]))


def stale(scope):
    """A scope with a record whose reference is broken."""
    call("scope", "create", scope)
    save("leaf", scope)
    save("stale", scope, ["leaf"])
    call("memory", "delete", "memory", "leaf", "--scope", scope)


def state(scope):
    return call("memory", "load", "memory", "stale", "--scope", scope)["record"]["state"]


def passes(scope):
    return call("digest", "passes", "--scope", scope)["passes"]


def failures():
    return log("--type", "schedule.failed")


def holds():
    for verb in ("verify", "audit"):
        r = lethe(verb)
        same(r.code, 0, r)
    same(call("rebuild")["differed"], 0)


@case
def what_is_due_is_done_once():  # M-67
    stale("once")
    policy(digest=[{"scope": "once", "archive": AUTO, "every": "24h"}, {"scope": "nowhere", "archive": AUTO, "every": "24h"}, {"scope": "default", "archive": AUTO}])
    r = due()
    same([(p["scope"], p["pass"], p["archived"]) for p in r["passes"]], [("once", 1, 1)], r)
    same(state("once"), "archived")
    same(due()["passes"], [])
    same([e.get("scheduled") for e in log("--type", "digest.pass") if e["name"] == "once"], [True])
    holds()


@case
def a_record_stays_archived_for_its_stay():  # M-67
    stale("stay")
    policy(digest=[{"scope": "stay", "archive": AUTO, "remove": AUTO, "stay": "24h"}])
    run = ["digest", "run", "--scope", "stay", "--policy", POLICY, "--apply"]
    same(call(*run)["archived"], 1)
    for more in ([], ["--name", "stale"], ["--approve", "auto:broken_ref"]):
        r = call(*run, *more)
        same((r["removed"], [(c["approved"], "until" in c) for c in r["candidates"]]), (0, [("no", True)]), more)
    same(state("stay"), "archived")
    policy(digest=[{"scope": "stay", "archive": AUTO, "remove": AUTO}])
    same(call(*run)["removed"], 1)
    holds()


@case
def other_routines_are_admitted_by_the_policy_alone():  # M-67, M-40
    stale("tidied")
    python_skill("tidy", """import json, sys
scan = json.loads(sys.stdin.readline())
print(json.dumps({"version": 1, "pass": scan["pass"], "blocked": [], "proposals": [{"op": "archive", "kind": r["kind"], "id": r["id"],
    "reason": {"reason": "broken_ref", "kind": "memory_substrate", "id": "leaf"}} for r in scan["records"]]}))
""")
    digest = call("skill", "show", "tidy")["digest"]
    run = ["digest", "run", "--scope", "tidied", "--policy", POLICY, "--apply", "--routine", "tidy"]
    policy(digest=[{"scope": "tidied", "archive": AUTO}])
    same(call(*run, code=1)["error"]["code"], "not_granted")
    policy(digest=[{"scope": "tidied", "archive": AUTO, "routines": ["tidy"]}])
    check("digest-required" in call(*run, code=1)["error"]["message"])
    policy(digest=[{"scope": "tidied", "archive": AUTO, "every": "24h", "routines": ["tidy", "digest"]}], skills={"tidy": {"digest": digest}})
    same([(p["routine"], p["archived"]) for p in due()["passes"]], [("tidy", 1), ("digest", 0)])
    same([e["routine"] for e in log("--type", "digest.pass") if e["name"] == "tidied"], ["tidy", "digest"])
    same(call("digest", "run", "--scope", "tidied", "--policy", POLICY, "--routine", "tidy")["applied"], False)
    holds()


@case
def a_routine_that_fails_is_recorded_and_waits():  # M-67
    stale("broken")
    python_skill("burnt", "import sys\nsys.exit('burnt out')\n")
    policy(digest=[{"scope": "broken", "archive": AUTO, "every": "24h", "routines": ["burnt"]}], skills={"burnt": {"digest": call("skill", "show", "burnt")["digest"]}})
    before = len(failures())
    r = due(code=1)
    same([(f["what"], f["scope"], f["routine"], f["code"]) for f in r["failed"]], [("digest", "broken", "burnt", "routine")], r)
    same([(e["what"], e["scope"]) for e in failures()[before:]], [("digest", "broken")])
    same(passes("broken"), [])
    same(state("broken"), "active")
    holds()


@case
def what_is_beyond_its_stay_is_erased():  # M-66
    run_id = call("note", "begin", "--agent", "scribe")["run"]
    for i in range(40):
        lethe("note", "add", run_id, "learning: Kakapo number %d is a bird" % i)
    same(lethe("promote", run_id).code, 0)
    lethe("note", "add", run_id, "constraint: stay below 100 euros")
    same(lethe("promote", run_id).code, 0)
    same(lethe("note", "end", run_id).code, 0)
    for name in ("tmp/a", "tmp/b", "keep/a"):
        same(lethe("slot", "define", name, "--schema", "-", input=b"{}").code, 0)
        call("slot", "put", name, '"Kakapo"')
    rows = len(call("canon", "list", "--bucket", "learnings")["rows"])
    check(rows == 40, rows)
    policy(retention=[{"bucket": "learnings", "stay": "1h"}, {"slots": "tmp/", "stay": "1h"}])
    same(due()["erased"], 0)
    seen = log()[-1]["time"]
    policy(retention=[{"bucket": "learnings", "stay": "1s"}, {"slots": "tmp/", "stay": "1s"}, {"scope": "nowhere", "bucket": "plan", "stay": "1s"}])
    wait_for(lambda: due() and not call("canon", "list", "--bucket", "learnings")["rows"], "rows beyond a second, since " + seen)
    wait_for(lambda: due() and [s.get("erased") for s in call("slot", "list")["slots"] if s["slot"].startswith("tmp/")] == [True, True], "values beyond a second")
    same([e["retention"] for e in log("--type", "canon.delete")], ["1s"] * 40)
    same(sorted({e["slot"] for e in log("--type", "slot.erased")}), ["tmp/a", "tmp/b"])
    same(len(call("canon", "list")["rows"]), 1)
    same(call("slot", "get", "keep/a")["value"], "Kakapo")
    call("slot", "erase", "keep/a")
    holds()
    same(lethe("compact").code, 0)
    for base, _, names in os.walk(STORE):
        for name in names:
            with open(os.path.join(base, name), "rb") as f:
                check(b"kakapo number" not in f.read().lower(), name)


@case
def the_daemon_does_it_by_itself():  # M-66, M-67
    stale("served")
    same(lethe("slot", "define", "old/x", "--schema", "-", input=b"{}").code, 0)
    call("slot", "put", "old/x", '"x"')
    python_skill("burnt2", "import sys\nsys.exit('burnt out')\n")
    stale("served-broken")
    policy(digest=[{"scope": "served", "archive": AUTO, "every": "24h"}, {"scope": "served-broken", "archive": AUTO, "every": "60s", "routines": ["burnt2"]}],
           retention=[{"slots": "old/", "stay": "1s"}], skills={"burnt2": {"digest": call("skill", "show", "burnt2")["digest"]}})
    before = len(failures())
    p = start_daemon(ENV, "--policy", POLICY)
    try:
        wait_for(lambda: len(passes("served")) == 1, "a pass of the daemon")
        wait_for(lambda: len(failures()) > before, "a failure of the daemon")
        wait_for(lambda: [s.get("erased") for s in call("slot", "list")["slots"] if s["slot"] == "old/x"] == [True], "an erasure of the daemon")
        same(state("served"), "archived")
        same(len(failures()), before + 1)
        # it does other work meanwhile, and another policy is looked at, at once
        stale("later")
        policy(digest=[{"scope": "served", "archive": AUTO, "every": "24h"}, {"scope": "later", "archive": AUTO, "every": "24h"}])
        same(lethe("serve", "--reload").code, 0)
        wait_for(lambda: len(passes("later")) == 1, "a pass by the new policy")
        same(len(passes("served")), 1)
    finally:
        same(stop_daemon(p), 0)
    p = start_daemon(ENV, "--policy", POLICY)  # nothing is due after a start
    try:
        same((len(passes("served")), len(passes("later"))), (1, 1))
    finally:
        same(stop_daemon(p), 0)
    holds()


main()
